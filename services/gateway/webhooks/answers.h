#ifndef SERVICES_GATEWAY_WEBHOOKS_ANSWERS_H_
#define SERVICES_GATEWAY_WEBHOOKS_ANSWERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/gateway/http/message.h"
#include "services/gateway/webhooks/sender.h"
#include "services/gateway/webhooks/state.h"

// What senders are answered, each in the form that it understands. All are pure.
namespace galen::gateway::webhooks {

// It only asked whether anybody is there.
http::Response ProbeAnswer();
// The events are stored: what became of each, and what was passed over.
http::Response AcceptedAnswer(Sender::Answer form, const std::vector<Outcome>& outcomes,
                              const std::vector<std::string>& ignored);
// It cannot be taken now. `sender.overload` with Retry-After; Slack's users read a sentence, which
// it shows with no other code than 200.
http::Response OverloadAnswer(const Sender& sender, const absl::Status& status);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_ANSWERS_H_
