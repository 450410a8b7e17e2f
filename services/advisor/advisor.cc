#include "services/advisor/advisor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "services/advisor/convert.h"

namespace galen::advisor {
namespace {

constexpr char kJournal[] = "advisor-runs";
constexpr char kSpace[] = "advisor";
constexpr char kKey[] = "patterns";
constexpr int kMostRunsAtOnce = 1000;
// Bounds one read to 64 MiB.
constexpr int kReadAtOnce = 16;
constexpr std::size_t kMostReportBytes = std::size_t{4} << 20;
constexpr std::size_t kMostName = 512;
constexpr double kDefaultHorizon = 24;
constexpr std::size_t kMostPatterns = 1000;
constexpr std::size_t kMostRevoked = 2000;
// A whole set is one record of the store.
constexpr std::size_t kMostSetBytes = store::kMaxRecordValue - (std::size_t{16} << 10);
constexpr std::size_t kMostRevokedBytes = kMostSetBytes / 3;
constexpr std::size_t kMostPatternBytes = kMostSetBytes - kMostRevokedBytes;
constexpr std::size_t kMostEntryOverhead = 16;  // tag and length of an entry and of its parts

absl::Status CheckJob(const std::string& job) {
  if (absl::StartsWith(job, "tenants/") && absl::StrContains(job, "/jobs/") &&
      job.size() <= kMostName) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("job: is tenants/{tenant}/jobs/{job}, of at most 512 bytes");
}

std::size_t BytesOfRevoked(const v1::PatternSet& set) {
  std::size_t bytes = 0;
  for (const auto& [id, revoked] : set.revoked()) {
    bytes += id.size() + revoked.ByteSizeLong() + kMostEntryOverhead;
  }
  return bytes;
}

// The position up to which the journal was read for the set; 0: nothing was learned.
std::int64_t LearnedTo(const v1::PatternSet& set) {
  if (set.has_origin() || set.patterns().empty()) return set.origin().last_position();
  return set.patterns(0).origin().last_position();
}

bool SamePlaces(const BuildUpSigns& a, const BuildUpSigns& b) {
  return std::equal(a.all().begin(), a.all().end(), b.all().begin(), b.all().end(),
                    [](const BuildUpSign& x, const BuildUpSign& y) { return x.name == y.name; });
}

v1::Warning OfKnown(const KnownMismatch& known) {
  v1::Warning warning;
  warning.set_severity(known.error ? v1::Warning::ERROR : v1::Warning::WARNING);
  warning.set_kind(v1::Warning::KNOWN);
  warning.set_name(known.name);
  warning.set_title(known.title);
  warning.set_advice(known.advice);
  warning.set_check(known.check);
  warning.set_source(known.source);
  return warning;
}

v1::Warning OfLearned(const v1::Pattern& pattern) {
  v1::Warning warning;
  warning.set_severity(v1::Warning::WARNING);
  warning.set_kind(v1::Warning::LEARNED);
  warning.set_name(pattern.id());
  warning.set_title(absl::StrFormat(
      "workloads like this one fail %.1f times as often on these machines as is to be expected",
      pattern.effect()));
  warning.set_advice("Take machines of another kind, or another version of the software.");
  warning.set_source(absl::StrFormat("%s (p %.2g; %d recorded runs)", pattern.evidence(),
                                     pattern.p(), pattern.origin().runs()));
  return warning;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const AdvisorKnowledge>> AdvisorKnowledge::Load(
    const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(KnownMismatches known, KnownMismatches::Load(directories));
  GALEN_ASSIGN_OR_RETURN(BuildUpSigns signs, BuildUpSigns::Load(directories));
  return std::make_shared<const AdvisorKnowledge>(
      AdvisorKnowledge{std::move(known), std::move(signs)});
}

Advisor::Advisor(store::Store& store, HotSwap<AdvisorKnowledge> knowledge, const Clock& clock,
                 Options options)
    : store_(store),
      knowledge_(std::move(knowledge)),
      clock_(clock),
      options_(std::move(options)),
      learner_knowledge_(knowledge_.Get()),
      learner_(std::make_unique<Learner>(options_.learner)),
      retention_({options_.keep, options_.keep_runs, options_.keep_bytes}),
      model_knowledge_(learner_knowledge_),
      served_([this] {
        auto served = std::make_shared<Served>();
        served->knowledge = knowledge_.Get();
        return served;
      }()),
      confirmations_(store.records(), clock, options_.most_jobs) {}

void Advisor::Serve(v1::PatternSet set, std::int64_t record) {
  auto served = std::make_shared<Served>();
  served->set = std::move(set);
  served->record = record;
  served->learned = learned_;
  served->knowledge = model_knowledge_;
  served->model = model_position_;
  for (v1::Pattern& pattern : *served->set.mutable_patterns()) {
    const auto revoked = served->set.revoked().find(pattern.id());
    if (revoked == served->set.revoked().end()) {
      pattern.clear_revoked();
    } else {
      *pattern.mutable_revoked() = revoked->second;
      continue;
    }
    if (pattern.kind() == v1::Pattern::MISMATCH) {
      served->mismatches[absl::StrCat(pattern.archetype(), "\n", pattern.context())].push_back(
          &pattern);
    }
  }
  served_.Set(std::move(served));
}

void Advisor::MakeModel() {
  learned_ = learner_->Learn();
  learned_.left_out += unusable_;
  model_knowledge_ = learner_knowledge_;
  model_position_ = position_;
}

void Advisor::TakeKnowledge() {
  const std::shared_ptr<const AdvisorKnowledge> knowledge = knowledge_.Get();
  if (knowledge == learner_knowledge_) return;
  if (SamePlaces(knowledge->signs, model_knowledge_->signs)) model_knowledge_ = knowledge;
  if (!SamePlaces(knowledge->signs, learner_knowledge_->signs)) {
    // Counts are by place, and the old ones would be attributed to other signs.
    learner_ = std::make_unique<Learner>(options_.learner);
    retention_ = Retention({options_.keep, options_.keep_runs, options_.keep_bytes});
    unknown_signs_ = unusable_ = position_ = first_ = model_position_ = fresh_runs_ = 0;
    fresh_.clear();
  }
  learner_knowledge_ = knowledge;
}

void Advisor::ForgetLearned() {
  const std::int64_t learned_to = LearnedTo(served_.Get()->set);
  while (!fresh_.empty() && fresh_.front().first <= learned_to) {
    fresh_runs_ -= fresh_.front().second;
    fresh_.pop_front();
  }
}

absl::Status Advisor::ReadJournal() {
  TakeKnowledge();
  const std::int64_t learned_to = LearnedTo(served_.Get()->set);
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<store::JournalEntry> entries,
                           store_.journal().Read(kJournal, position_, kReadAtOnce));
    if (entries.empty()) break;
    for (const store::JournalEntry& entry : entries) {
      v1::ReportRunsRequest request;
      if (!request.ParseFromString(entry.record)) {
        return absl::DataLossError(absl::StrCat(store_.Describe(), ": record ", entry.position,
                                                " of the journal of runs is damaged"));
      }
      for (const v1::Run& run : request.runs()) {
        const absl::StatusOr<RunRecord> record =
            RunOf(run, learner_knowledge_->signs, &unknown_signs_);
        if (!record.ok() || !learner_->Add(*record).ok()) ++unusable_;
      }
      if (first_ == 0) first_ = entry.position;
      position_ = entry.position;
      retention_.Add(entry.position, request.runs_size(), entry.record.size());
      if (entry.position > learned_to) {
        fresh_.push_back({entry.position, request.runs_size()});
        fresh_runs_ += request.runs_size();
      }
    }
  }
  if (retention_.trim() > trimmed_) {
    // Running advisors have already counted trimmed records; a restarted one no longer sees them.
    if (store_.journal().Trim(kJournal, retention_.trim()).ok()) trimmed_ = retention_.trim();
  }
  return absl::OkStatus();
}

absl::Status Advisor::ReadPatterns() {
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Record> record,
                         store_.records().Get(kSpace, kKey));
  if (!record.has_value() || record->version == served_.Get()->record) return absl::OkStatus();
  v1::PatternSet set;
  if (!set.ParseFromString(record->value)) {
    return absl::DataLossError(
        absl::StrCat(store_.Describe(), ": the record of what was learned is damaged"));
  }
  Serve(std::move(set), record->version);
  ForgetLearned();
  return absl::OkStatus();
}

absl::Status Advisor::Put(v1::PatternSet set) {
  const std::shared_ptr<const Served> before = served_.Get();
  set.set_version(before->set.version() + 1);
  // (The revocations are stored beside them.)
  for (v1::Pattern& pattern : *set.mutable_patterns()) pattern.clear_revoked();
  GALEN_ASSIGN_OR_RETURN(
      const std::int64_t record,
      store_.records().Put(kSpace, kKey, set.SerializeAsString(), before->record));
  Serve(std::move(set), record);
  ForgetLearned();
  return absl::OkStatus();
}

absl::Status Advisor::LearnLocked() {
  MakeModel();
  v1::PatternSet set = served_.Get()->set;
  set.clear_patterns();
  v1::Pattern::Origin& origin = *set.mutable_origin();
  origin.set_first_position(first_);
  origin.set_last_position(position_);
  origin.set_runs(learned_.runs);
  *origin.mutable_learned_at() = ToTimestamp(clock_.Now());
  origin.set_false_discovery_rate(learned_.q);
  std::size_t room = kMostPatternBytes;
  for (v1::Pattern& pattern : PatternsOf(learned_, model_knowledge_->signs)) {
    if (set.patterns_size() == static_cast<int>(kMostPatterns)) break;
    *pattern.mutable_origin() = origin;
    const std::size_t bytes = pattern.ByteSizeLong() + kMostEntryOverhead;
    if (bytes > room) continue;
    room -= bytes;
    *set.add_patterns() = std::move(pattern);
  }
  return Put(std::move(set));
}

absl::Status Advisor::Follow() {
  MutexLock lock(mu_);
  GALEN_RETURN_IF_ERROR(ReadPatterns());
  GALEN_RETURN_IF_ERROR(ReadJournal());
  const std::shared_ptr<const Served> served = served_.Get();
  const std::int64_t runs = learner_->runs();
  if (runs > 0 &&
      (LearnedTo(served->set) == 0 || fresh_runs_ >= std::max(options_.learn_after, runs / 100))) {
    const absl::Status status = LearnLocked();
    // Another advisor was faster: its set is equally good.
    return absl::IsAborted(status) ? ReadPatterns() : status;
  }
  // The patterns in the store stay; the model behind them is made again: after a start, after
  // another advisor learned, and when signs have other places.
  if ((runs > 0 && (model_position_ == 0 || model_position_ < LearnedTo(served->set))) ||
      model_knowledge_ != learner_knowledge_) {
    MakeModel();
  }
  if (served->knowledge != model_knowledge_ || served->model != model_position_) {
    Serve(served->set, served->record);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::RegisterJobResponse> Advisor::RegisterJob(
    const v1::RegisterJobRequest& request) const {
  GALEN_RETURN_IF_ERROR(CheckSignature(request.signature()));
  GALEN_ASSIGN_OR_RETURN(const Hardware hardware, HardwareOf(request.hardware()));
  GALEN_ASSIGN_OR_RETURN(const JobFacts facts, FactsOf(request));
  v1::RegisterJobResponse response;
  GALEN_ASSIGN_OR_RETURN(*response.mutable_context(), ContextOf(hardware));
  const std::shared_ptr<const AdvisorKnowledge> knowledge = knowledge_.Get();
  for (const KnownMismatch* known : knowledge->known.Find(facts)) {
    *response.add_warnings() = OfKnown(*known);
  }
  const std::shared_ptr<const Served> served = served_.Get();
  response.set_version(served->set.version());
  const auto it = served->mismatches.find(
      absl::StrCat(request.signature().archetype(), "\n", response.context()));
  if (it == served->mismatches.end()) return response;
  for (const v1::Pattern* pattern : it->second) {
    if (std::find(pattern->stacks().begin(), pattern->stacks().end(),
                  request.signature().stack()) != pattern->stacks().end()) {
      *response.add_warnings() = OfLearned(*pattern);
    }
  }
  return response;
}

absl::StatusOr<v1::ReportProgressResponse> Advisor::ReportProgress(
    const v1::ReportProgressRequest& request) {
  GALEN_RETURN_IF_ERROR(CheckJob(request.job()));
  GALEN_RETURN_IF_ERROR(CheckSignature(request.signature()));
  if (!(request.hours() >= 0) || !(request.horizon_hours() >= 0) || request.hours() > 100'000 ||
      request.horizon_hours() > 10'000) {
    return absl::InvalidArgumentError("hours, horizon_hours: are 0 to 100,000 and to 10,000");
  }
  const std::shared_ptr<const Served> served = served_.Get();
  // Places of signs are those of the model.
  const std::shared_ptr<const AdvisorKnowledge> knowledge = served->knowledge;
  GALEN_ASSIGN_OR_RETURN(const Signs signs, SignsOf(request.signs(), knowledge->signs));
  RunningJob job;
  job.archetype = request.signature().archetype();
  job.stack = request.signature().stack();
  job.context = request.context();
  job.gpus = request.gpus();
  job.hours = request.hours();
  job.signs = signs;
  // A sign whose pattern was revoked has no effect.
  for (std::size_t i = 0; i < knowledge->signs.all().size(); ++i) {
    if (served->set.revoked().contains(absl::StrCat("build-up-", knowledge->signs.all()[i].name))) {
      job.signs[i] = 0;
    }
  }
  const Hazard hazard =
      HazardOf(served->learned, job,
               request.horizon_hours() > 0 ? request.horizon_hours() : kDefaultHorizon);
  v1::ReportProgressResponse response;
  v1::Hazard& told = *response.mutable_hazard();
  told.set_known(hazard.known);
  told.set_why(hazard.why);
  told.set_horizon_hours(hazard.horizon);
  if (!hazard.known) return response;
  told.set_probability(hazard.probability);
  told.set_ratio(hazard.ratio.value);
  told.set_ratio_low(hazard.ratio.low);
  told.set_ratio_high(hazard.ratio.high);
  for (const Hazard::Because& because : hazard.because) {
    if (const BuildUpSign* sign = knowledge->signs.Find(because.sign)) told.add_because(sign->name);
  }
  // If even an unknown job would be left alone, the store need not be read.
  const absl::Time now = clock_.Now();
  Confirmation quiet;
  if (OnHazard(hazard, knowledge->signs, now, options_.alarm, quiet).what == Step::Do::kNothing) {
    return response;
  }
  Step step;
  GALEN_RETURN_IF_ERROR(
      confirmations_.Change(request.job(), [&](Confirmation& confirmation) -> bool {
        step = OnHazard(hazard, knowledge->signs, now, options_.alarm, confirmation);
        return step.what == Step::Do::kRunCheck;
      }));
  if (step.what != Step::Do::kRunCheck) return response;
  response.set_check(step.check);
  response.set_reason(step.reason);
  return response;
}

absl::StatusOr<v1::ReportTestResponse> Advisor::ReportTest(const v1::ReportTestRequest& request) {
  GALEN_RETURN_IF_ERROR(CheckJob(request.job()));
  TestResult result = TestResult::kNotRun;
  switch (request.outcome()) {
    case v1::ReportTestRequest::PASSED:
      result = TestResult::kPassed;
      break;
    case v1::ReportTestRequest::FAILED:
      result = TestResult::kFailed;
      break;
    case v1::ReportTestRequest::NOT_RUN:
      break;
    default:
      return absl::InvalidArgumentError("outcome: is PASSED, FAILED or NOT_RUN");
  }
  bool asked = false;
  Step step;
  GALEN_RETURN_IF_ERROR(
      confirmations_.Change(request.job(), [&](Confirmation& confirmation) -> bool {
        asked = confirmation.stage != Confirmation::Stage::kQuiet;
        const Confirmation::Stage before = confirmation.stage;
        step = OnTest(request.check(), result, clock_.Now(), confirmation);
        return confirmation.stage != before;
      }));
  if (!asked) {
    return absl::NotFoundError(absl::StrCat(request.job(), ": no check was asked for of this job"));
  }
  v1::ReportTestResponse response;
  response.set_alarm(step.what == Step::Do::kAlarm);
  response.set_reason(step.reason);
  return response;
}

absl::StatusOr<v1::ReportRunsResponse> Advisor::ReportRuns(const v1::ReportRunsRequest& request) {
  if (request.runs_size() < 1 || request.runs_size() > kMostRunsAtOnce) {
    return absl::InvalidArgumentError("runs: there are between 1 and 1,000 in a call");
  }
  if (request.ByteSizeLong() > kMostReportBytes) {
    return absl::InvalidArgumentError("runs: they have more than 4 MiB: report fewer in a call");
  }
  const std::shared_ptr<const AdvisorKnowledge> knowledge = knowledge_.Get();
  // Validated completely before anything is written: a separate learner checks whether it accepts
  // them.
  Learner trial;
  for (int i = 0; i < request.runs_size(); ++i) {
    const absl::StatusOr<RunRecord> record = RunOf(request.runs(i), knowledge->signs);
    const absl::Status status = record.ok() ? trial.Add(*record) : record.status();
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("runs[", i, "]: ", status.message()));
    }
  }
  v1::ReportRunsResponse response;
  GALEN_ASSIGN_OR_RETURN(const std::int64_t position,
                         store_.journal().Append(kJournal, {request.SerializeAsString()}));
  response.set_position(position);
  return response;
}

absl::StatusOr<v1::LearnResponse> Advisor::Learn() {
  MutexLock lock(mu_);
  GALEN_RETURN_IF_ERROR(ReadPatterns());
  GALEN_RETURN_IF_ERROR(ReadJournal());
  GALEN_RETURN_IF_ERROR(LearnLocked());
  v1::LearnResponse response;
  response.set_version(served_.Get()->set.version());
  response.set_runs(learned_.runs);
  response.set_left_out(learned_.left_out);
  response.set_unknown_signs(unknown_signs_);
  response.set_tested(static_cast<std::int64_t>(learned_.tested_pairs + learned_.tested_signs));
  return response;
}

v1::PatternSet Advisor::Patterns() const { return served_.Get()->set; }

absl::StatusOr<v1::Pattern> Advisor::Revoke(const v1::RevokePatternRequest& request) {
  if (request.by().empty() || request.why().empty() || request.by().size() > kMostName ||
      request.why().size() > 4096) {
    return absl::InvalidArgumentError(
        "by, why: say who takes the pattern out of use and why, in at most 512 and 4,096 bytes");
  }
  MutexLock lock(mu_);
  GALEN_RETURN_IF_ERROR(ReadPatterns());
  v1::PatternSet set = served_.Get()->set;
  for (const v1::Pattern& pattern : set.patterns()) {
    if (pattern.id() != request.id()) continue;
    if (set.revoked_size() >= static_cast<int>(kMostRevoked)) {
      return absl::ResourceExhaustedError("2,000 patterns are revoked: restore some first");
    }
    v1::Pattern::Revocation& revoked = (*set.mutable_revoked())[request.id()];
    revoked.set_by(request.by());
    revoked.set_why(request.why());
    *revoked.mutable_at() = ToTimestamp(clock_.Now());
    if (BytesOfRevoked(set) > kMostRevokedBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("revoked patterns have more than ", kMostRevokedBytes >> 10,
                       " KiB with who and why: restore some first, or say why in fewer words"));
    }
    v1::Pattern result = pattern;
    *result.mutable_revoked() = revoked;
    GALEN_RETURN_IF_ERROR(Put(std::move(set)));
    return result;
  }
  return absl::NotFoundError(absl::StrCat(request.id(), ": no such pattern is learned"));
}

absl::StatusOr<v1::Pattern> Advisor::Restore(const v1::RestorePatternRequest& request) {
  if (request.by().empty() || request.by().size() > kMostName) {
    return absl::InvalidArgumentError("by: say who puts the pattern back into use");
  }
  MutexLock lock(mu_);
  GALEN_RETURN_IF_ERROR(ReadPatterns());
  v1::PatternSet set = served_.Get()->set;
  if (set.mutable_revoked()->erase(request.id()) == 0) {
    return absl::NotFoundError(absl::StrCat(request.id(), ": no such pattern is revoked"));
  }
  GALEN_RETURN_IF_ERROR(Put(std::move(set)));
  const std::shared_ptr<const Served> served = served_.Get();
  for (const v1::Pattern& pattern : served->set.patterns()) {
    if (pattern.id() == request.id()) return pattern;
  }
  v1::Pattern result;  // not learned at present
  result.set_id(request.id());
  return result;
}

}  // namespace galen::advisor
