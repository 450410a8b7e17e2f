#include "common/knowledge/words.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace galen::knowledge {
namespace {

using v1::Check;
using v1::Rule;

constexpr Word<Rule::Op> kOps[] = {
    {"==", Rule::EQ},      {"!=", Rule::NE},         {"<", Rule::LT},
    {"<=", Rule::LE},      {">", Rule::GT},          {">=", Rule::GE},
    {"in", Rule::IN},      {"not_in", Rule::NOT_IN}, {"contains", Rule::CONTAINS},
    {"lacks", Rule::LACKS}};
constexpr Word<Check::Kind> kKinds[] = {{"native", Check::NATIVE}, {"extract", Check::EXTRACT},
                                        {"promql", Check::PROMQL}, {"log", Check::LOG},
                                        {"exec", Check::EXEC},     {"history", Check::HISTORY}};
constexpr Word<galen::v1::Where> kWheres[] = {{"description", galen::v1::DESCRIPTION},
                                              {"job_log", galen::v1::JOB_LOG},
                                              {"kernel_log", galen::v1::KERNEL_LOG},
                                              {"tool_output", galen::v1::TOOL_OUTPUT}};
constexpr Word<galen::v1::Strength> kStrengths[] = {
    {"weak", galen::v1::WEAK}, {"strong", galen::v1::STRONG}, {"decisive", galen::v1::DECISIVE}};
constexpr Word<galen::v1::SignalRole> kRoles[] = {{"primary", galen::v1::PRIMARY},
                                                  {"secondary", galen::v1::SECONDARY},
                                                  {"wrapper", galen::v1::WRAPPER},
                                                  {"context", galen::v1::CONTEXT}};
constexpr Word<v1::Outcome> kOutcomes[] = {
    {"works", v1::WORKS}, {"fails", v1::FAILS}, {"differs", v1::DIFFERS}};
constexpr Word<v1::KernelFamily> kKernelFamilies[] = {{"xid", v1::KERNEL_XID},
                                                      {"sxid", v1::KERNEL_SXID},
                                                      {"amdgpu", v1::KERNEL_AMDGPU},
                                                      {"nvrm", v1::KERNEL_NVRM},
                                                      {"aer", v1::KERNEL_AER},
                                                      {"nic", v1::KERNEL_NIC},
                                                      {"io_error", v1::KERNEL_IO_ERROR},
                                                      {"oom_kill", v1::KERNEL_OOM_KILL},
                                                      {"lockup", v1::KERNEL_LOCKUP},
                                                      {"hung_task", v1::KERNEL_HUNG_TASK},
                                                      {"machine_check", v1::KERNEL_MACHINE_CHECK},
                                                      {"iommu_fault", v1::KERNEL_IOMMU_FAULT},
                                                      {"bar", v1::KERNEL_BAR},
                                                      {"nfs", v1::KERNEL_NFS},
                                                      {"denial", v1::KERNEL_DENIAL},
                                                      {"power", v1::KERNEL_POWER}};
constexpr absl::string_view kOwners[] = {"customer", "provider", "either"};
constexpr absl::string_view kSeverities[] = {"low", "medium", "high", "critical"};
constexpr absl::string_view kPriors[] = {"low", "medium", "high"};
constexpr absl::string_view kTypes[] = {"bool", "int", "float", "enum", "text", "event"};
constexpr absl::string_view kNeeds[] = {"nvidia",   "amd",       "rdma",       "root",
                                        "idle_gpu", "two_nodes", "prometheus", "job_context"};
constexpr absl::string_view kParameterTypes[] = {"int", "float", "bool", "text"};
constexpr absl::string_view kComparisons[] = {"differs", "same_on_all", "below_median_pct",
                                              "above_median_pct"};
constexpr absl::string_view kOccupied[] = {"gpu", "nic", "disk", "cpu"};
constexpr absl::string_view kReferences[] = {"expected", "baseline", "capacity",   "configured",
                                             "required", "rated",    "recommended"};

constexpr std::size_t kMaxListed = 16;

// Edits that turn one word into the other: insert, delete, replace.
std::size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

absl::Span<const Word<Rule::Op>> OpWords() { return kOps; }
absl::Span<const Word<Check::Kind>> KindWords() { return kKinds; }
absl::Span<const Word<galen::v1::Where>> WhereWords() { return kWheres; }
absl::Span<const Word<galen::v1::Strength>> StrengthWords() { return kStrengths; }
absl::Span<const Word<galen::v1::SignalRole>> RoleWords() { return kRoles; }
absl::Span<const Word<v1::Outcome>> OutcomeWords() { return kOutcomes; }
absl::Span<const Word<v1::KernelFamily>> KernelFamilyWords() { return kKernelFamilies; }
absl::Span<const absl::string_view> Owners() { return kOwners; }
absl::Span<const absl::string_view> Severities() { return kSeverities; }
absl::Span<const absl::string_view> Priors() { return kPriors; }
absl::Span<const absl::string_view> FindingTypes() { return kTypes; }
absl::Span<const absl::string_view> Needs() { return kNeeds; }
absl::Span<const absl::string_view> ParameterTypes() { return kParameterTypes; }
absl::Span<const absl::string_view> ComparisonWords() { return kComparisons; }
absl::Span<const absl::string_view> OccupiedKinds() { return kOccupied; }
absl::Span<const absl::string_view> ReferenceWords() { return kReferences; }

bool Knows(absl::Span<const absl::string_view> words, absl::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string Nearest(absl::string_view word, absl::Span<const absl::string_view> known) {
  // A typo changes a letter or two; beyond a third of the word it is another word. The bound on
  // the length keeps a hostile file from making this expensive.
  if (word.size() > 200) return "";
  std::size_t best = word.size() / 3 + 1;
  absl::string_view nearest;
  for (absl::string_view candidate : known) {
    const std::size_t longer = std::max(candidate.size(), word.size());
    if (longer - std::min(candidate.size(), word.size()) > best) continue;
    const std::size_t distance = Distance(word, candidate);
    if (distance < best || (distance == best && nearest.empty())) {
      best = distance;
      nearest = candidate;
    }
  }
  return std::string(nearest);
}

std::string Suggest(absl::string_view word, absl::Span<const absl::string_view> known,
                    absl::string_view otherwise) {
  if (const std::string nearest = Nearest(word, known); !nearest.empty()) {
    return absl::StrCat("did you mean \"", nearest, "\"?");
  }
  if (!otherwise.empty() || known.size() > kMaxListed) return std::string(otherwise);
  return absl::StrCat("use one of: ", absl::StrJoin(known, ", "));
}

}  // namespace galen::knowledge
