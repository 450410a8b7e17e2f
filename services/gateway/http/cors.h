#ifndef SERVICES_GATEWAY_HTTP_CORS_H_
#define SERVICES_GATEWAY_HTTP_CORS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/gateway/http/handler.h"

namespace galen::gateway::http {

// Allows requests from pages of named other sites (the Fetch standard, CORS protocol): answers
// their preflights, and permits them in every answer to read it. Cookies are never involved, so no
// answer allows credentials. Everything else goes to the handler behind it. Thread-safe.
class Cors final : public Handler {
 public:
  // `origins`: "https://ops.example.com", without a path; "*": every site. INVALID_ARGUMENT: one is
  // not an origin. `behind` must outlive this.
  static absl::StatusOr<std::unique_ptr<Cors>> Make(const std::vector<std::string>& origins,
                                                    Handler& behind);

  void Handle(Request request, std::shared_ptr<Exchange> exchange) override;
  std::optional<BodyRules> TakesPieces(const Request& head) override;
  HeadVerdict LookAtHead(const Request& head) override;
  Response Refuse(int status, const std::string& why) override;

 private:
  explicit Cors(Handler& behind) : behind_(behind) {}
  bool Allows(absl::string_view origin) const;

  Handler& behind_;
  absl::flat_hash_set<std::string> origins_;
  bool every_ = false;
};

}  // namespace galen::gateway::http

#endif  // SERVICES_GATEWAY_HTTP_CORS_H_
