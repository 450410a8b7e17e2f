#include "tests/chaos/promises.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::chaos {
namespace {

using v1::DiagnosisEvent;

bool IsEnd(const DiagnosisEvent& event) {
  switch (event.event_case()) {
    case DiagnosisEvent::kConcluded:
    case DiagnosisEvent::kEscalated:
    case DiagnosisEvent::kCancelled:
    case DiagnosisEvent::kFailed:
      return true;
    default:
      return false;
  }
}

class Reading {
 public:
  void Take(const DiagnosisEvent& event) {
    ++count_;
    const std::string at = absl::StrCat("event ", event.sequence(), ": ");
    if (event.sequence() != count_) {
      broken_.push_back(absl::StrCat(at, "is the ", count_, ". of the log"));
    }
    if (event.has_created() != (count_ == 1)) {
      broken_.push_back(absl::StrCat(
          at, count_ == 1 ? "the log does not begin with `created`" : "`created` again"));
    }
    if (event.has_feedback_received()) {
      // A person's word; a cause that is established starts no other round.
      ended_ = ended_ && !event.feedback_received().confirmed_label().empty();
      return;
    }
    if (ended_)
      broken_.push_back(absl::StrCat(at, IsEnd(event) ? "a second end" : "after the end"));
    if (IsEnd(event)) ended_ = true;
    if (event.has_check_completed()) Finished(event.check_completed().result(), at);
    if (event.has_verdicts_given()) {
      for (const v1::Verdict& verdict : event.verdicts_given().verdicts()) Judged(verdict, at);
    }
  }

  std::vector<std::string> Finish() && {
    if (!ended_) broken_.push_back(absl::StrCat("no end after ", count_, " events"));
    return std::move(broken_);
  }

 private:
  void Finished(const v1::CheckResult& result, const std::string& at) {
    if (!results_.insert(result.id()).second) {
      broken_.push_back(absl::StrCat(at, result.id(), " finished twice"));
    }
  }

  void Judged(const v1::Verdict& verdict, const std::string& at) {
    bool cites = false;
    for (const v1::Reason& reason : verdict.reasons()) {
      for (const std::string& id : reason.evidence_ids()) {
        cites = true;
        // Signals come from logs and texts; each has an id of its own kind.
        if (absl::StartsWith(id, "signal/") || results_.contains(id)) continue;
        broken_.push_back(absl::StrCat(at, "the verdict on ", verdict.label(), " cites ", id,
                                       ", which no check of this log gave"));
      }
    }
    if (!cites && verdict.outcome() != v1::Verdict::INCONCLUSIVE) {
      broken_.push_back(absl::StrCat(at, "the verdict on ", verdict.label(), " cites nothing"));
    }
  }

  std::int64_t count_ = 0;
  bool ended_ = false;
  std::set<std::string> results_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> BrokenPromises(absl::Span<const DiagnosisEvent> log) {
  Reading reading;
  for (const DiagnosisEvent& event : log) reading.Take(event);
  return std::move(reading).Finish();
}

}  // namespace galen::chaos
