#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/perfmodel/holdout.h"
#include "common/perfmodel/picture.h"
#include "common/perfmodel/predict.h"
#include "common/perfmodel/tables/read_table.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

const std::map<std::string, double>* Facts(const std::string& model) {
  static const auto* const facts = new std::map<std::string, double>{
      {"peak_bf16_tflops", 989}, {"peak_fp32_tflops", 67}, {"memory_gb_s", 3350}, {"nvlinks", 18},
      {"link_gb_s", 50},         {"nvlink_gen", 4},        {"pcie_gen", 5},       {"tdp_w", 700}};
  return model == "G" ? facts : nullptr;
}

perfmodel::Factors SomeFactors() {
  perfmodel::Factors factors;
  for (const char* name : {"compute", "memory", "host", "pair", "ring", "switch", "net", "step",
                           "overlap", "latency"}) {
    factors.Set(name, 0.5);
  }
  return factors;
}

// A prediction is a positive number and the sum of its parts.
void Predicted(const perfmodel::Job& job, const perfmodel::Machine& machine) {
  const auto time = perfmodel::PredictStep(job, machine, SomeFactors());
  if (!time.ok()) return;
  const double sum = time->compute + time->memory + time->interconnect + time->bubble;
  if (!std::isfinite(time->total) || time->total <= 0 ||
      std::abs(sum - time->total) > 1e-6 * time->total) {
    std::abort();
  }
  Use(perfmodel::RooflineSvg({machine.gpu, 1e15, time->matrix_rate, 1e12, time->memory_rate},
                             {perfmodel::RoofPoint{"step", time->work.flops / time->work.bytes,
                                                   time->work.flops / time->total}}));
}

void Fields(absl::string_view text) {
  const auto job = perfmodel::ParseJob(text);
  const auto machine = perfmodel::MachineOf("G", *Facts("G"));
  if (!job.ok() || !machine.ok()) return;
  perfmodel::Machine with_nics = *machine;
  with_nics.nics = 400e9;
  Predicted(*job, with_nics);
}

void JobFile(absl::string_view text) {
  const auto read = perfmodel::ReadJobFile(text, "job.yaml", Facts);
  if (read.ok()) Predicted(read->job, read->machine);
}

void Table(absl::string_view text) {
  const auto all = perfmodel::ReadTable(text, "own.yaml", Facts);
  if (!all.ok()) return;
  const auto trial = perfmodel::TryHalf(*all, 0.9);
  if (!trial.ok()) std::abort();  // parsed values are positive and finite
  for (const perfmodel::Tested& one : trial->tested) {
    if (!(one.interval.low <= one.interval.expected) ||
        !(one.interval.expected <= one.interval.high)) {
      std::abort();
    }
  }
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"fields", Fields}, {"job", JobFile}, {"table", Table}};
  return kParsers;
}

}  // namespace galen::fuzz
