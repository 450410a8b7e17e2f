#ifndef SERVICES_GATEWAY_WEBHOOKS_ANSWERS_H_
#define SERVICES_GATEWAY_WEBHOOKS_ANSWERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/gateway/http/message.h"
#include "services/gateway/webhooks/sender.h"
#include "services/gateway/webhooks/state.h"

// Answers to senders, each in the form that the sender understands. All are pure.
namespace galen::gateway::webhooks {

// It only asked whether anybody is there.
http::Response ProbeAnswer();
// The events are stored: the outcome of each, and the ignored events.
http::Response AcceptedAnswer(Sender::Answer form, const std::vector<Outcome>& outcomes,
                              const std::vector<std::string>& ignored);
// The delivery cannot be taken now. `sender.overload` with Retry-After; Slack's users read a
// sentence, which Slack shows only with code 200.
http::Response OverloadAnswer(const Sender& sender, const absl::Status& status);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_ANSWERS_H_
