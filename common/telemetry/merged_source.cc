#include "common/telemetry/merged_source.h"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/steady.h"
#include "common/telemetry/merge_series.h"

namespace galen::telemetry {
namespace {

// One that does not answer in less than this may be in order.
constexpr absl::Duration kLeastTime = absl::Seconds(1);

// Messages of sources begin with their name, except those about the question.
std::string Named(const Source& source, const absl::Status& status) {
  const std::string name = source.name();
  if (absl::StrContains(status.message(), name)) return std::string(status.message());
  return absl::StrCat(name, ": ", status.message());
}

bool IsSilence(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// The error if nobody answered.
absl::Status NobodyAnswers(const std::vector<std::string>& why, const absl::Status& first) {
  return absl::Status(first.code(), absl::StrJoin(why, "; "));
}

}  // namespace

MergedSource::MergedSource(std::vector<std::shared_ptr<Source>> sources)
    : MergedSource(std::move(sources), Options()) {}

MergedSource::MergedSource(std::vector<std::shared_ptr<Source>> sources, Options options)
    : sources_(std::move(sources)),
      options_([&options] {
        Options filled = std::move(options);
        if (!filled.now) filled.now = &SteadyNow;
        return filled;
      }()),
      silent_(sources_.size()) {}

std::string MergedSource::name() const {
  return absl::StrJoin(sources_, ", ", [](std::string* out, const std::shared_ptr<Source>& source) {
    out->append(source->name());
  });
}

bool MergedSource::evaluates() const {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](const auto& source) { return source->evaluates(); });
}

template <typename T>
std::vector<absl::StatusOr<T>> MergedSource::AskAll(
    const std::function<absl::StatusOr<T>(Source&, std::size_t, const Call&)>& ask,
    const Call& call) {
  const absl::Time begun = options_.now();
  // One that hangs must not take the time of all questions that follow.
  const absl::Duration time = std::min(options_.most_time, (call.deadline - begun) / 4);
  Call limited = call;
  limited.deadline = begun + time;
  std::vector<absl::StatusOr<T>> answers(sources_.size(), absl::UnknownError("not asked"));
  std::vector<bool> asked(sources_.size(), true);
  {
    const MutexLock lock(mu_);
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (silent_[i].until <= begun) continue;
      asked[i] = false;
      answers[i] = silent_[i].why;
    }
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (!asked[i]) continue;
    threads.emplace_back([&, i] { answers[i] = ask(*sources_[i], i, limited); });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::Time ended = options_.now();
  const MutexLock lock(mu_);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    // A caller without time says nothing of the source.
    const bool late = absl::IsDeadlineExceeded(answers[i].status()) && time < kLeastTime;
    if (asked[i] && IsSilence(answers[i].status()) && !late) {
      silent_[i] = {ended + options_.pause, answers[i].status()};
    }
  }
  return answers;
}

absl::StatusOr<Answer> MergedSource::Merged(
    const std::function<absl::StatusOr<Answer>(Source&, std::size_t, const Call&)>& ask,
    bool evaluated, const Call& call) {
  std::vector<absl::StatusOr<Answer>> answers = AskAll<Answer>(ask, call);
  std::optional<Answer> merged;
  std::vector<std::string> names;
  std::vector<std::string> missing;
  std::vector<std::string> differ;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    absl::StatusOr<Answer>& answer = answers[i];
    if (absl::IsCancelled(answer.status())) return answer.status();
    if (!answer.ok()) {
      missing.push_back(Named(*sources_[i], answer.status()));
      continue;
    }
    names.push_back(sources_[i]->name());
    if (!merged.has_value()) {
      merged = *std::move(answer);
      continue;
    }
    const MergeResult result = MergeSeries(std::move(answer->series), evaluated, merged->series);
    merged->complete = merged->complete && answer->complete;
    for (const std::string& warning : answer->warnings) merged->Warn(warning);
    if (result.differ == 0) continue;
    differ.push_back(
        absl::StrCat(names.back(), " and ", absl::StrJoin(names.begin(), names.end() - 1, ", "),
                     " differ about ", result.differ, " series with the same labels, such as ",
                     result.example, "; the first source counts. Two machines need two names"));
  }
  if (!merged.has_value()) return NobodyAnswers(missing, answers.front().status());
  merged->source = absl::StrJoin(names, ", ");
  for (const std::string& why : differ) merged->Incomplete(why);
  for (const std::string& why : missing) merged->Incomplete(absl::StrCat("no answer: ", why));
  if (merged->series.size() > call.limits.series) {
    merged->series.resize(call.limits.series);
    merged->Incomplete(
        absl::StrCat("more than ", call.limits.series, " series of all sources; ask for fewer"));
  }
  return *std::move(merged);
}

absl::StatusOr<Answer> MergedSource::Instant(const std::string& query, absl::Time at,
                                             const Call& call) {
  return Merged([&](Source& source, std::size_t,
                    const Call& limited) { return source.Instant(query, at, limited); },
                true, call);
}

absl::StatusOr<Answer> MergedSource::RangeOf(const std::string& query, const Range& range,
                                             const Call& call) {
  return Merged([&](Source& source, std::size_t,
                    const Call& limited) { return source.RangeOf(query, range, limited); },
                true, call);
}

absl::StatusOr<Answer> MergedSource::Samples(const std::string& selector, absl::Time start,
                                             absl::Time end, const Call& call) {
  return Merged([&](Source& source, std::size_t,
                    const Call& limited) { return source.Samples(selector, start, end, limited); },
                false, call);
}

absl::StatusOr<Answer> MergedSource::SeriesOf(const std::string& selector, absl::Time start,
                                              absl::Time end, const Call& call) {
  return Merged([&](Source& source, std::size_t,
                    const Call& limited) { return source.SeriesOf(selector, start, end, limited); },
                false, call);
}

absl::StatusOr<std::vector<std::string>> MergedSource::LabelValues(const std::string& label,
                                                                   const std::string& selector,
                                                                   absl::Time start, absl::Time end,
                                                                   const Call& call,
                                                                   bool* complete) {
  using Values = std::vector<std::string>;
  std::unique_ptr<bool[]> whole(new bool[sources_.size()]());
  const auto answers = AskAll<Values>(
      [&](Source& source, std::size_t i, const Call& limited) {
        return source.LabelValues(label, selector, start, end, limited, &whole[i]);
      },
      call);
  std::set<std::string> all;
  std::vector<std::string> missing;
  bool every = true;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (absl::IsCancelled(answers[i].status())) return answers[i].status();
    every = every && answers[i].ok() && whole[i];
    if (answers[i].ok()) {
      all.insert(answers[i]->begin(), answers[i]->end());
    } else {
      missing.push_back(Named(*sources_[i], answers[i].status()));
    }
  }
  if (missing.size() == answers.size()) return NobodyAnswers(missing, answers.front().status());
  if (complete != nullptr) *complete = every;
  return Values(all.begin(), all.end());
}

}  // namespace galen::telemetry
