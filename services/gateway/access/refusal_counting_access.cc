#include "services/gateway/access/refusal_counting_access.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace galen::gateway {
namespace {

constexpr std::size_t kMostSources = 1'000;
constexpr int kMostLines = 20;
constexpr absl::Duration kTellAgain = absl::Minutes(1);

}  // namespace

absl::StatusOr<Principal> RefusalCountingAccess::Authenticate(const http::Request& request) {
  absl::StatusOr<Principal> principal = access_.Authenticate(request);
  if (principal.ok()) return principal;
  refused_.fetch_add(1, std::memory_order_relaxed);
  // A client without a credential is not reported: it may not know yet that it needs one.
  if (request.headers.Has("Authorization") || request.headers.Has("X-API-Key")) {
    const std::string news = Note(request.peer);
    if (!news.empty()) tell_(absl::StrCat(news, principal.status().message()));
  }
  return principal;
}

std::string RefusalCountingAccess::Note(const std::string& source) {
  const absl::Time now = clock_.Now();
  const MutexLock lock(mu_);
  // Bounds memory: the counts of all sources are dropped when there are too many.
  if (sources_.size() >= kMostSources && !sources_.contains(source)) sources_.clear();
  const auto [it, is_new] = sources_.try_emplace(source, Source{absl::InfinitePast()});
  Source& seen = it->second;
  ++seen.count;
  if (now - minute_ >= kTellAgain) {
    minute_ = now;
    lines_ = 0;
  }
  if (now - seen.since < kTellAgain || lines_ >= kMostLines) return "";
  ++lines_;
  seen.since = now;
  return absl::StrCat(std::exchange(seen.count, 0), " of the requests from ",
                      source.empty() ? "an unknown address" : CleanText(source, 64),
                      " had a credential that is refused: ");
}

}  // namespace galen::gateway
