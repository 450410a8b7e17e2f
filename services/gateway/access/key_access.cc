#include "services/gateway/access/key_access.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::gateway {

KeyAccess::KeyAccess(ApiKeyStore& key_store, const Clock& clock,
                     std::function<void(const std::string&)> tell, absl::Duration refresh)
    : key_store_(key_store),
      clock_(clock),
      tell_(std::move(tell)),
      task_(
          [this, refresh] {
            const absl::Status status = key_store_.Refresh();
            if (!status.ok() && !std::exchange(away_, true)) {
              tell_(absl::StrCat("API keys cannot be read, the known ones stay good: ",
                                 status.message()));
            } else if (status.ok() && std::exchange(away_, false)) {
              tell_("API keys can be read again");
            }
            return refresh;
          },
          refresh) {}

absl::StatusOr<Principal> KeyAccess::Authenticate(const http::Request& request) {
  constexpr absl::string_view kBearer = "bearer ";
  // With two keys it is unclear which one is meant.
  if (request.headers.Count("Authorization") + request.headers.Count("X-API-Key") > 1) {
    return absl::UnauthenticatedError("send one API key, not several");
  }
  absl::string_view text = request.headers.Get("X-API-Key");
  if (text.empty()) {
    text = request.headers.Get("Authorization");
    if (!absl::StartsWithIgnoreCase(text, kBearer)) {
      return absl::UnauthenticatedError("send an API key: Authorization: Bearer KEY");
    }
    text.remove_prefix(kBearer.size());
  }
  return key_store_.Find(absl::StripAsciiWhitespace(text), clock_.Now());
}

}  // namespace galen::gateway
