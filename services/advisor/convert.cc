#include "services/advisor/convert.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "services/advisor/learning/signature.h"

namespace galen::advisor {
namespace {

constexpr int kMostNeeds = 32;
constexpr std::size_t kMostComponents = 64;
constexpr int kMostVersions = 64;
constexpr int kMostConditions = 64;
constexpr std::size_t kMostWord = 64;

absl::Status CheckWord(absl::string_view field, const std::string& word) {
  if (!word.empty() && word.size() <= kMostWord) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": has between 1 and 64 bytes"));
}

double Times(std::int64_t failures, double expected) {
  return static_cast<double>(failures) / std::max(expected, 1e-9);
}

v1::Pattern OfMismatch(const LearnedMismatch& learned, v1::Pattern::Kind kind) {
  const Mismatch& evidence = learned.evidence;
  v1::Pattern pattern;
  pattern.set_id(learned.id);
  pattern.set_kind(kind);
  pattern.set_archetype(learned.archetype);
  for (const std::string& stack : learned.stacks) pattern.add_stacks(stack);
  pattern.set_context(learned.context);
  pattern.set_p(evidence.p);
  pattern.set_effect(Times(evidence.failed, evidence.expected));
  pattern.set_runs(evidence.runs);
  pattern.set_failures(evidence.failed);
  pattern.set_evidence(absl::StrFormat(
      "%d of %d runs failed, %.1f were to be expected; of %d pairs with the same workload "
      "elsewhere "
      "%d failed here alone and %d there alone; of %d pairs with other workloads here %d and %d",
      evidence.failed, evidence.runs, evidence.expected, evidence.elsewhere.pairs,
      evidence.elsewhere.only_treated, evidence.elsewhere.only_control, evidence.others.pairs,
      evidence.others.only_treated, evidence.others.only_control));
  return pattern;
}

}  // namespace

absl::StatusOr<Hardware> HardwareOf(const v1::Hardware& hardware) {
  Hardware result;
  result.gpu = hardware.gpu();
  result.nic = hardware.nic();
  result.driver = hardware.driver();
  result.gpus_per_node = hardware.gpus_per_node();
  result.clock_limit = hardware.clock_limit();
  result.power_limit = hardware.power_limit();
  if (hardware.settings_size() > 32) {
    return absl::InvalidArgumentError("hardware.settings: there are more than 32");
  }
  result.settings.insert(hardware.settings().begin(), hardware.settings().end());
  return result;
}

absl::StatusOr<JobFacts> FactsOf(const v1::RegisterJobRequest& request) {
  JobFacts facts;
  if (request.needs_size() > kMostNeeds || request.versions_size() > int{kMostComponents} ||
      request.conditions_size() > kMostConditions) {
    return absl::InvalidArgumentError(
        "needs, versions, conditions: there are at most 32, 64 and 64");
  }
  for (const std::string& need : request.needs()) {
    if (!IsNeed(need)) {
      return absl::InvalidArgumentError(absl::StrCat("needs: \"",
                                                     absl::CHexEscape(need.substr(0, kMostWord)),
                                                     "\" is not in the list in docs/advisor.md"));
    }
    facts.needs.insert(need);
  }
  for (const auto& [component, versions] : request.versions()) {
    GALEN_RETURN_IF_ERROR(CheckWord("versions", component));
    if (versions.versions_size() > kMostVersions) {
      return absl::InvalidArgumentError("versions: a component has at most 64");
    }
    for (const std::string& version : versions.versions()) {
      GALEN_RETURN_IF_ERROR(CheckWord("versions", version));
      facts.versions[component].insert(version);
    }
  }
  if (!request.hardware().driver().empty()) {
    GALEN_RETURN_IF_ERROR(CheckWord("hardware.driver", request.hardware().driver()));
    facts.versions["driver"].insert(request.hardware().driver());
  }
  facts.gpu = request.hardware().gpu();
  for (const std::string& condition : request.conditions()) {
    GALEN_RETURN_IF_ERROR(CheckWord("conditions", condition));
    facts.settings.insert(condition);
  }
  return facts;
}

absl::Status CheckSignature(const v1::Signature& signature) {
  if (IsToken(signature.archetype()) && IsToken(signature.stack())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "signature: archetype and stack are 32 lowercase hexadecimal digits each (galen.advisor, "
      "docs/advisor.md)");
}

absl::StatusOr<Signs> SignsOf(const google::protobuf::RepeatedPtrField<v1::SignLevel>& levels,
                              const BuildUpSigns& signs, std::int64_t* unknown) {
  Signs result{};
  if (levels.size() > static_cast<int>(kMostSigns)) {
    return absl::InvalidArgumentError("signs: there are at most 16");
  }
  for (const v1::SignLevel& level : levels) {
    std::size_t place = 0;
    if (signs.Find(level.sign(), place) == nullptr) {
      if (unknown != nullptr) {
        ++*unknown;
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("signs: \"", absl::CHexEscape(level.sign().substr(0, kMostWord)),
                       "\" is none of advisor/buildup.yaml"));
    }
    if (level.level() < 0 || level.level() > 3) {
      return absl::InvalidArgumentError(absl::StrCat(level.sign(), ": a level is 0 to 3"));
    }
    result[place] = static_cast<std::uint8_t>(level.level());
  }
  return result;
}

absl::StatusOr<RunRecord> RunOf(const v1::Run& run, const BuildUpSigns& signs,
                                std::int64_t* unknown) {
  RunRecord record;
  GALEN_RETURN_IF_ERROR(CheckSignature(run.signature()));
  record.archetype = run.signature().archetype();
  record.stack = run.signature().stack();
  record.context = run.context();
  record.start = absl::FromUnixSeconds(run.start_time().seconds());
  record.gpus = run.gpus();
  record.planned_hours = run.planned_hours();
  record.hours = run.hours();
  switch (run.ending()) {
    case v1::Run::COMPLETED:
      record.ending = Ending::kCompleted;
      break;
    case v1::Run::STOPPED:
      record.ending = Ending::kStopped;
      break;
    case v1::Run::FAILED:
      record.ending = Ending::kFailed;
      break;
    default:
      return absl::InvalidArgumentError("ending: is COMPLETED, STOPPED or FAILED");
  }
  record.node = run.node();
  record.nodes.assign(run.nodes().begin(), run.nodes().end());
  for (const std::string& node : record.nodes) {
    if (node.empty() || node.size() > 256) {
      return absl::InvalidArgumentError("nodes: a name has between 1 and 256 bytes");
    }
  }
  if (record.node.size() > 256) {
    return absl::InvalidArgumentError("node: a name has at most 256 bytes");
  }
  for (const v1::RunEpisode& episode : run.episodes()) {
    GALEN_ASSIGN_OR_RETURN(const Signs seen, SignsOf(episode.signs(), signs, unknown));
    record.episodes.push_back({episode.begin_hours(), episode.end_hours(), seen});
  }
  if (run.behaviour_size() != 0 && run.behaviour_size() != int{kBehaviours}) {
    return absl::InvalidArgumentError("behaviour: four numbers or none");
  }
  record.behaviour_known = run.behaviour_size() > 0;
  std::copy(run.behaviour().begin(), run.behaviour().end(), record.behaviour.begin());
  return record;
}

std::vector<v1::Pattern> PatternsOf(const Learned& learned, const BuildUpSigns& signs) {
  std::vector<v1::Pattern> patterns;
  for (const LearnedMismatch& each : learned.mismatches) {
    patterns.push_back(OfMismatch(each, v1::Pattern::MISMATCH));
  }
  for (const LearnedMismatch& each : learned.of_one_node) {
    patterns.push_back(OfMismatch(each, v1::Pattern::ONE_NODE));
  }
  for (const LearnedBuildUp& each : learned.build_ups) {
    const BuildUpSign* sign = signs.Find(each.sign);
    if (sign == nullptr) continue;
    v1::Pattern pattern;
    pattern.set_id(absl::StrCat("build-up-", sign->name));
    pattern.set_kind(v1::Pattern::BUILD_UP);
    pattern.set_sign(sign->name);
    pattern.set_p(each.evidence.p);
    pattern.set_effect(std::exp(each.evidence.effect));
    pattern.set_failures(static_cast<std::int64_t>(each.evidence.failures));
    pattern.set_evidence(
        absl::StrFormat("%s: each level makes failures %.2f times as likely (95 %% from %.2f to "
                        "%.2f), by %.0f failures in %.0f hours with it",
                        sign->title, std::exp(each.evidence.effect),
                        std::exp(each.evidence.effect - 1.96 * each.evidence.error),
                        std::exp(each.evidence.effect + 1.96 * each.evidence.error),
                        each.evidence.failures, each.evidence.hours));
    patterns.push_back(std::move(pattern));
  }
  for (const FleetHistory::Lemon& lemon : learned.lemons) {
    v1::Pattern pattern;
    pattern.set_id(absl::StrCat("lemon-", lemon.node));
    pattern.set_kind(v1::Pattern::LEMON);
    pattern.set_node(lemon.node);
    pattern.set_fault(std::string(ToString(lemon.verdict.kind)));
    pattern.set_p(lemon.verdict.p);
    pattern.set_runs(lemon.runs);
    pattern.set_failures(lemon.failures);
    pattern.set_evidence(lemon.verdict.reason);
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

}  // namespace galen::advisor
