#include "services/watch/kubernetes/conclusions.h"

#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"

namespace galen::watch::kubernetes {
namespace {

constexpr int kNamesPage = 256;
constexpr int kMostPages = 64;  // new names at once
constexpr int kMostEvents = 200;
constexpr std::size_t kMostNames = 200'000;  // remembered
// A person may resume a finished diagnosis with feedback; it is observed for this long.
constexpr absl::Duration kAfterEnd = absl::Hours(1);

}  // namespace

absl::Status Conclusions::Read(const std::string& name, Followed& followed) {
  using Event = galen::v1::DiagnosisEvent;
  for (;;) {
    absl::StatusOr<std::vector<Event>> events = events_.Read(name, followed.last, kMostEvents);
    if (absl::IsNotFound(events.status())) {
      followed.over = true;
      return absl::OkStatus();
    }
    GALEN_RETURN_IF_ERROR(events.status());
    for (const Event& event : *events) {
      followed.last = event.sequence();
      followed.heard = ToTime(event.event_time());
      switch (event.event_case()) {
        case Event::kCreated:
          followed.of_bundle = !event.created().incident().bundle().empty();
          break;
        case Event::kConcluded:
          if (!followed.of_bundle) {
            followed.conclusion = ConclusionOf(
                name, followed.heard, event.concluded().report(),
                absl::StartsWith(name, absl::StrCat(own_, "/")) ? Witness::kAll : Witness::kChecks);
          }
          followed.over =
              event.concluded().report().outcome() == galen::v1::Report::CAUSE_CONFIRMED;
          break;
        case Event::kEscalated:
        case Event::kCancelled:
        case Event::kFailed:
          followed.over = true;
          break;
        case Event::kFeedbackReceived:
          if (event.feedback_received().confirmed_label().empty()) followed.over = false;
          break;
        default:
          break;
      }
    }
    if (events->size() < static_cast<std::size_t>(kMostEvents)) return absl::OkStatus();
  }
}

absl::Status Conclusions::FindNew() {
  const absl::Time now = clock_.Now();
  std::string token;
  for (int i = 0; i < kMostPages; ++i) {
    GALEN_ASSIGN_OR_RETURN(const store::EventLog::Page page, events_.List("", kNamesPage, token));
    // Names come newest first: after a page of known or old ones, all are known or old.
    bool fresh = false;
    for (const std::string& name : page.names) {
      const auto [at, is_new] = followed_.try_emplace(name);
      if (!is_new) continue;
      if (absl::Status status = Read(name, at->second); !status.ok()) {
        followed_.erase(at);
        return status;
      }
      if (now - at->second.heard < hold_) fresh = true;
    }
    token = page.next_page_token;
    if (token.empty() || !fresh) return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status Conclusions::Scan() {
  GALEN_RETURN_IF_ERROR(FindNew());
  const absl::Time now = clock_.Now();
  for (auto& [name, followed] : followed_) {
    const absl::Duration age = now - followed.heard;
    if (followed.over && age > kAfterEnd) continue;
    if (age > hold_) continue;
    GALEN_RETURN_IF_ERROR(Read(name, followed));
  }
  // The names are kept, because they would be new in the next list; but not without limit.
  for (auto at = followed_.begin(); at != followed_.end();) {
    const bool old = now - at->second.heard > hold_;
    if (old) at->second.conclusion.reset();
    at = old && followed_.size() > kMostNames ? followed_.erase(at) : std::next(at);
  }
  return absl::OkStatus();
}

std::vector<Conclusion> Conclusions::All() const {
  std::vector<Conclusion> all;
  for (const auto& [name, followed] : followed_) {
    if (followed.conclusion.has_value()) all.push_back(*followed.conclusion);
  }
  return all;
}

}  // namespace galen::watch::kubernetes
