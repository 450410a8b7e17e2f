#ifndef SERVICES_GATEWAY_WEBHOOKS_ENDPOINTS_H_
#define SERVICES_GATEWAY_WEBHOOKS_ENDPOINTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/gateway/webhooks/sender.h"
#include "services/gateway/webhooks/signature.h"

namespace galen::gateway::webhooks {

// Settings of a poll for events that were never delivered.
struct EndpointPoll {
  std::map<std::string, std::string> settings;
  std::string token;  // of the sender's interface, a secret
  std::string ca_file;
  absl::Duration every = absl::Minutes(10);
};

// One endpoint of a site: POST /hooks/NAME.
struct Endpoint {
  std::string name;  // [a-z0-9-]{1,63}
  const Sender* sender = nullptr;
  std::string tenant;
  Scheme scheme;
  std::vector<Key> keys;                   // of each of them a signature is good
  std::vector<std::string> nodes;          // patterns of host names that may be named; none: any
  std::vector<std::string> default_nodes;  // of an event that names none
  std::vector<Condition> only;             // what opens an incident must hold this, too
  std::vector<std::string> own_authors;    // whose events are ignored: our own
  std::string strategy;
  std::string tickets;  // name of the target whose tickets it reports; "": none
  std::optional<EndpointPoll> poll;

  bool MayName(const std::string& node) const;
};

// A site's endpoints and all senders.
struct Site {
  std::map<std::string, Sender> senders;
  std::map<std::string, Endpoint> endpoints;
  std::vector<std::string> warnings;  // a sentence each
};

// Reads the file of endpoints `path`, the secrets that it names (relative to its folder), and the
// senders below the knowledge directories. INVALID_ARGUMENT with every problem, by file and line;
// NOT_FOUND, PERMISSION_DENIED: a file cannot be read.
absl::StatusOr<Site> LoadSite(const std::string& path,
                              absl::Span<const std::string> knowledge_directories);

// The same from texts. `read` returns the content of a file of secrets.
using ReadSecret = absl::StatusOr<std::string> (*)(const std::string& path);
absl::StatusOr<Site> ParseSite(absl::string_view text, const std::string& file,
                               std::map<std::string, Sender> senders, ReadSecret read);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_ENDPOINTS_H_
