#ifndef SERVICES_GATEWAY_TICKETS_SITE_H_
#define SERVICES_GATEWAY_TICKETS_SITE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/http/secret.h"
#include "services/gateway/tickets/document.h"
#include "services/gateway/tickets/system.h"

namespace galen::gateway::tickets {

// A ticket system of a site, and the tenants whose diagnoses it gets.
struct Target {
  std::string name;  // names its records in the store: not to be changed
  TicketSystem system;
  std::set<std::string> tenants;  // "*": all
  // The states in which a ticket is opened: "concluded", "escalated", "awaiting_feedback",
  // "failed". An open ticket gets every further state.
  std::set<std::string> when;
  std::map<std::string, std::string> variables;
  TicketSystem::Auth auth;
  std::string user;
  galen::http::Secret secret;
  Reader audience = Reader::kCustomer;
  absl::Duration timeout = absl::Seconds(20);  // of one request
  int concurrency = 2;                         // requests at the same time
  // Our accounts there: their own comments are ignored.
  std::set<std::string> own_accounts;
  // Closing the ticket confirms the cause that the report names first.
  bool close_confirms = false;
  // Cancelling the diagnosis closes the ticket.
  bool resolve_cancelled = false;

  bool Serves(absl::string_view tenant) const {
    return tenants.count("*") > 0 || tenants.count(std::string(tenant)) > 0;
  }
};

struct Site {
  std::string console_url;
  std::vector<Target> targets;
};

// Reads a site's file of ticket systems (docs/tickets.md). Files of secrets are read now, and are
// relative to the directory of `file`. INVALID_ARGUMENT "file:line: what; remedy".
absl::StatusOr<Site> ParseSite(absl::string_view text, const std::string& file,
                               const std::map<std::string, TicketSystem>& systems);
absl::StatusOr<Site> LoadSite(const std::string& file,
                              const std::vector<std::string>& knowledge_directories);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_SITE_H_
