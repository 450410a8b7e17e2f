#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "galen/advisor/v1/advisor.pb.h"
#include "services/advisor/convert.h"
#include "services/advisor/learning/context.h"
#include "services/advisor/learning/known_mismatches.h"
#include "services/advisor/learning/signature.h"
#include "services/advisor/learning/signs.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

constexpr char kKey[] = "a key of sixteen bytes and more";
constexpr char kGpus[] =
    "gpus:\n  - {match: 'NVIDIA (A|H)100', has: [fp16, bf16, sm_80], source: s}\n";
constexpr char kSigns[] =
    "signs:\n  - {name: a, title: a grows, resource: memory, check: gpu.memory_test, levels: [1, "
    "2, "
    "3], unit: u, source: s}\n";

// The mismatches found for some jobs are a subset of the known ones, errors first.
void Ask(const advisor::KnownMismatches& known) {
  for (const char* gpu : {"", "NVIDIA H100 80GB HBM3", "Tesla V100-SXM2-32GB"}) {
    advisor::JobFacts facts;
    facts.gpu = gpu;
    facts.needs = {"fp8", "rdma", "multi_node"};
    facts.settings = {"acs_enabled"};
    facts.versions = {{"nccl", {"2.19.3", "2.20.5"}}, {"cuda", {"11.4"}}, {"driver", {"535.129"}}};
    const auto found = known.Find(facts);
    if (found.size() > known.size()) std::abort();
    bool error = true;
    for (const advisor::KnownMismatch* one : found) {
      if (one->error && !error) std::abort();
      error = one->error;
      Use(one->title);
    }
  }
}

void Gpus(absl::string_view text) {
  const auto known = advisor::KnownMismatches::Parse(text, "");
  if (known.ok()) Ask(*known);
}

void Mismatches(absl::string_view text) {
  const auto known = advisor::KnownMismatches::Parse(kGpus, text);
  if (known.ok()) Ask(*known);
}

void BuildUp(absl::string_view text) {
  const auto signs = advisor::BuildUpSigns::Parse(text, "buildup.yaml");
  if (!signs.ok()) return;
  if (signs->all().size() > advisor::kMostSigns) std::abort();
  std::set<std::string> names;
  for (const advisor::BuildUpSign& sign : signs->all()) {
    if (!names.insert(sign.name).second) std::abort();
    for (const double value : {-1.0, 0.0, sign.levels[0], sign.levels[2], 1e300, std::nan("")}) {
      if (advisor::BuildUpSigns::LevelOf(sign, value) > 3) std::abort();
    }
  }
}

// Lines of a word and a share, and of a component and a version: a signature has tokens, and the
// digested texts contain only their words.
void Signature(absl::string_view text) {
  advisor::OperatorMix mix;
  advisor::Versions versions;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    double share = 0;
    if (words.size() == 2 && absl::SimpleAtod(words[1], &share)) mix[words[0]] = share;
    if (words.size() == 2) versions[words[0]] = words[1];
  }
  for (const advisor::Grain grain : {advisor::Grain::kCoarse, advisor::Grain::kFine}) {
    for (const std::int64_t gpus : {std::int64_t{-1}, std::int64_t{1}, std::int64_t{1} << 62}) {
      const auto signature = advisor::Sign(kKey, mix, gpus, versions, grain);
      if (!signature.ok()) continue;
      if (!advisor::IsToken(signature->archetype) || !advisor::IsToken(signature->stack)) {
        std::abort();
      }
      Use(advisor::CanonicalMix(mix, gpus, grain));
    }
  }
  const std::string canonical = advisor::CanonicalVersions(versions);
  for (const absl::string_view word : absl::StrSplit(canonical, ' ', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(word, '=');
    if (parts.size() != 2 || !advisor::IsComponent(parts[0])) std::abort();
  }
}

// A registration and a run as they come in, as JSON.
void Registration(absl::string_view text) {
  advisor::v1::RegisterJobRequest request;
  if (!google::protobuf::util::JsonStringToMessage(
           google::protobuf::StringPiece(text.data(), text.size()), &request)
           .ok()) {
    return;
  }
  if (advisor::CheckSignature(request.signature()).ok() &&
      (request.signature().archetype().size() != 32 || request.signature().stack().size() != 32)) {
    std::abort();
  }
  const auto facts = advisor::FactsOf(request);
  if (facts.ok() && facts->needs.size() > 32) std::abort();
  const auto hardware = advisor::HardwareOf(request.hardware());
  if (!hardware.ok()) return;
  const auto context = advisor::ContextOf(*hardware);
  // One line for any input.
  if (context.ok() && context->find('\n') != std::string::npos) std::abort();
}

void Run(absl::string_view text) {
  static const auto* const signs =
      new absl::StatusOr<advisor::BuildUpSigns>(advisor::BuildUpSigns::Parse(kSigns, "signs"));
  advisor::v1::Run run;
  if (!google::protobuf::util::JsonStringToMessage(
           google::protobuf::StringPiece(text.data(), text.size()), &run)
           .ok()) {
    return;
  }
  const auto record = advisor::RunOf(run, **signs);
  if (!record.ok()) return;
  advisor::Learner learner;
  if (learner.Add(*record).ok()) Use(learner.Learn().no_hazard);
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"gpus", Gpus},           {"mismatches", Mismatches},     {"buildup", BuildUp},
      {"signature", Signature}, {"registration", Registration}, {"run", Run}};
  return kParsers;
}

}  // namespace galen::fuzz
