#include "common/log_analysis/triage/first_failures.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/base/re2_piece.h"
#include "common/base/text.h"
#include "common/log_analysis/scan/line_facts.h"
#include "common/log_analysis/scan/timestamp.h"
#include "common/log_analysis/triage/signatures.h"
#include "re2/re2.h"

namespace galen::triage {
namespace {

// A launcher restarts a process, or announces it.
constexpr char kRestart[] =
    R"((?i)\b(?:restart(?:ing|ed)|will restart|relaunch(?:ing|ed)|requeued)\b)";

}  // namespace

FirstFailures::FirstFailures(std::vector<std::string> signatures, FirstOf first_of, absl::Time near)
    : signatures_(std::move(signatures)), first_of_(std::move(first_of)), near_(near) {}

bool FirstFailures::Earlier(const Failure& a, const Failure& b) const {
  constexpr absl::Duration kTogether = absl::Minutes(1);
  if (a.of_survivor != b.of_survivor) {
    const Failure& own = a.of_survivor ? b : a;
    const Failure& survivor = a.of_survivor ? a : b;
    const bool together = !own.time.has_value() || !survivor.time.has_value() ||
                          *own.time <= *survivor.time + kTogether;
    if (together) return &own == &a;
  }
  if (a.time.has_value() && b.time.has_value() && *a.time != *b.time) return *a.time < *b.time;
  return false;  // what came first stays
}

void FirstFailures::NoteExit(const JobLine& line) {
  auto exit = FindExit(line.text);
  if (!exit.has_value()) return;
  if (!exit->rank.has_value()) exit->rank = log_scan::FindRank(line.text);
  if (!exit->rank.has_value()) exit->rank = line.rank;
  began_anew_ = began_anew_ || exit->signal.value_or(0) != 0 || exit->exit_code.value_or(0) != 0;
  if (exits_.size() < kMaxRanks) exits_.emplace(exit->rank.value_or(-1), *exit);
}

// Drops the failures of this log so far: the program survived them.
void FirstFailures::ForgetSurvived() {
  first_ = before_.first;
  for (auto& [rank, failure] : before_.by_rank) {
    if (failure.has_value()) {
      by_rank_[rank] = *std::move(failure);
    } else {
      by_rank_.erase(rank);
    }
  }
  before_.by_rank.clear();
  count_ = before_.count;
}

absl::string_view FirstFailures::Add(const JobLine& line) {
  if (line.log_id != log_) {
    log_ = line.log_id;
    clock_.reset();
    loading_ = false;
    began_anew_ = false;
    beyond_start_ = false;
    before_ = {first_, {}, count_};
  }
  const absl::string_view dated = line.dated.empty() ? line.text : line.dated;
  if (const auto stamp = log_scan::FindTimeStamp(dated); stamp.has_value()) {
    log_scan::TimeContext context;
    if (near_ != absl::InfinitePast() && near_ != absl::InfiniteFuture()) context.near = near_;
    if (const auto time = log_scan::Resolve(*stamp, context)) clock_ = time;
  }
  if (absl::StrContains(line.text, "Traceback (most recent call last)")) loading_ = false;
  loading_ = loading_ || absl::StrContains(line.text, "load_state_dict") ||
             absl::StrContains(line.text, "torch.load(") ||
             absl::StrContains(line.text, "load_checkpoint") ||
             absl::StrContains(line.text, "load_from_checkpoint") ||
             absl::StrContains(line.text, "torch/serialization.py");
  NoteExit(line);
  static const RE2 restart(kRestart);
  began_anew_ = began_anew_ || RE2::PartialMatch(Piece(line.text), restart);
  if (const auto timeout = FindWatchdogTimeout(line.text); timeout.has_value()) {
    const bool barrier =
        timeout->op == "BARRIER" || (timeout->op == "ALLREDUCE" && timeout->numel_in == 1);
    const bool equal = timeout->ran_ms >= timeout->timeout_ms &&
                       timeout->ran_ms - timeout->timeout_ms <= timeout->timeout_ms / 50 + 2000;
    timeout_equals_ = timeout_equals_.value_or(false) || (barrier && equal);
  }
  const int index = first_of_(line.text);
  if (index < 0) return "";
  const SignatureName parsed = ParseSignatureName(signatures_[static_cast<std::size_t>(index)]);
  absl::string_view signature = parsed.name;
  const absl::string_view shown = signature;
  switch (parsed.kind) {
    case SignatureName::Kind::kFailure:
      break;
    case SignatureName::Kind::kConnected:
      if (!began_anew_ && !beyond_start_) ForgetSurvived();
      return "";
    case SignatureName::Kind::kDone:
      if (!began_anew_) ForgetSurvived();
      return "";
    case SignatureName::Kind::kHarmless:
      return "";
  }
  beyond_start_ = beyond_start_ || !parsed.of_start;
  if (signature == "cuda_oom" && loading_) signature = "cuda_oom_in_load";
  ++count_;
  Failure failure;
  failure.rank = log_scan::FindRank(line.text);
  if (!failure.rank.has_value()) failure.rank = line.rank;
  const auto known = failure.rank.has_value() ? by_rank_.find(*failure.rank) : by_rank_.end();
  // Nothing new: this rank failed earlier, and so did another.
  if (first_.has_value() && known != by_rank_.end() && !clock_.has_value() &&
      !first_->of_survivor && !known->second.of_survivor) {
    return shown;
  }
  failure.signature = std::string(signature);
  failure.text = CleanText(absl::StripAsciiWhitespace(line.text).substr(0, 512), 512);
  failure.log = std::string(line.log);
  failure.node = std::string(line.node);
  failure.line = line.number;
  failure.time = clock_;
  failure.of_survivor = parsed.of_survivor;
  if (failure.rank.has_value() && by_rank_.size() < kMaxRanks &&
      (known == by_rank_.end() || Earlier(failure, known->second))) {
    before_.by_rank.try_emplace(
        *failure.rank, known == by_rank_.end() ? std::nullopt : std::optional(known->second));
    by_rank_[*failure.rank] = failure;
  }
  if (!first_.has_value() || Earlier(failure, *first_)) first_ = std::move(failure);
  return shown;
}

std::vector<std::string> BeganAnewExpressions() {
  std::vector<std::string> expressions = ProcessEndExpressions();
  expressions.emplace_back(kRestart);
  return expressions;
}

std::vector<std::string> FirstFailureExpressions() {
  std::vector<std::string> expressions = BeganAnewExpressions();
  // Frames of a traceback.
  for (const char* more :
       {R"(Traceback \(most recent call last\))", R"(load_state_dict)", R"(torch\.load\()",
        R"(load_checkpoint)", R"(load_from_checkpoint)", R"(torch/serialization\.py)"}) {
    expressions.emplace_back(more);
  }
  return expressions;
}

}  // namespace galen::triage
