// Ranking and pruning the children of an inner label, and judging leaves, over the knowledge that
// ships, with the check results of one node of eight GPUs.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/knowledge/load.h"
#include "common/reasoner/builtin_reasoner.h"

namespace galen::reasoner {
namespace {

const knowledge::Knowledge& Book() {
  static const auto& loaded = *new std::shared_ptr<const knowledge::Knowledge>(
      knowledge::Load(std::vector<std::string>{absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")}, {})
          .value());
  return *loaded;
}

// Every check of the catalogue with a normal value of each finding; one GPU has an ECC error.
galen::v1::EvidenceSet Evidence(int nodes) {
  galen::v1::EvidenceSet evidence;
  for (int node = 0; node < nodes; ++node) {
    for (const knowledge::v1::Check& check : Book().base().checks()) {
      galen::v1::CheckResult& result = *evidence.add_results();
      result.set_check(check.name());
      result.set_node(absl::StrCat("n", node));
      result.set_id(absl::StrCat(check.name(), "@n", node));
      result.set_status(galen::v1::CheckResult::PASS);
      for (const knowledge::v1::FindingSpec& spec : check.findings()) {
        if (spec.type() == "event") continue;
        const int devices = spec.subject() == "gpu" ? 8 : 1;
        for (int gpu = 0; gpu < devices; ++gpu) {
          galen::v1::Finding& finding = *result.add_findings();
          finding.set_name(spec.name());
          if (devices > 1) finding.mutable_subject()->set_device(absl::StrCat("gpu:", gpu));
          if (spec.type() == "bool") {
            finding.set_bool_value(false);
          } else if (spec.type() == "int" || spec.type() == "float") {
            const bool faulty =
                node == 0 && gpu == 3 && spec.name() == "dram_uncorrectable_volatile";
            finding.set_int_value(faulty ? 1 : 0);
            finding.set_abnormal(faulty);
          } else {
            finding.set_text_value("none");
          }
        }
      }
    }
  }
  return evidence;
}

void BM_RankRoot(benchmark::State& state) {
  const BuiltinReasoner reasoner(Book());
  v1::RankQuestion question;
  *question.mutable_evidence() = Evidence(static_cast<int>(state.range(0)));
  for (const knowledge::v1::Label* child : Book().Children("")) {
    question.add_choices()->set_label(child->label());
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(reasoner.RankChildren(question, absl::InfiniteFuture()));
  }
}
BENCHMARK(BM_RankRoot)->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond);

void BM_RankWithoutEvidence(benchmark::State& state) {
  const BuiltinReasoner reasoner(Book());
  v1::RankQuestion question;
  for (const knowledge::v1::Label* child : Book().Children("GPU")) {
    question.add_choices()->set_label(child->label());
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(reasoner.RankChildren(question, absl::InfiniteFuture()));
  }
}
BENCHMARK(BM_RankWithoutEvidence)->Unit(benchmark::kMicrosecond);

void BM_JudgeLeaf(benchmark::State& state) {
  const BuiltinReasoner reasoner(Book());
  v1::JudgeQuestion question;
  *question.mutable_evidence() = Evidence(static_cast<int>(state.range(0)));
  question.add_labels("GPU.MEMORY.UNCORRECTABLE_ECC");
  for (auto _ : state) {
    benchmark::DoNotOptimize(reasoner.Judge(question, absl::InfiniteFuture()));
  }
}
BENCHMARK(BM_JudgeLeaf)->Arg(1)->Arg(8)->Unit(benchmark::kMicrosecond);

void BM_ProposeFromHistory(benchmark::State& state) {
  const BuiltinReasoner reasoner(Book());
  v1::HistoryQuestion question;
  question.set_max_causes(2);
  question.mutable_incident()->set_description(
      "Training does not start, NCCL cannot connect to one rank and gives up after a while");
  for (auto _ : state) {
    benchmark::DoNotOptimize(reasoner.ProposeFromHistory(question, absl::InfiniteFuture()));
  }
}
BENCHMARK(BM_ProposeFromHistory)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace galen::reasoner
