#include <string>
#include <vector>

#include "common/log_analysis/triage/process_end.h"
#include "common/profile/hangs/flight_record.h"
#include "common/profile/hangs/pickle.h"
#include "services/node/checks/log/checkpoint.h"
#include "services/node/checks/log/job_data.h"
#include "services/node/checks/log/known_issues.h"
#include "services/node/checks/log/nccl_log.h"
#include "services/node/checks/log/nccl_topology.h"
#include "services/node/checks/log/safetensors.h"
#include "services/node/checks/log/scheduler.h"
#include "services/node/checks/log/stacks.h"
#include "services/node/checks/log/training_step.h"
#include "services/node/checks/system/capture.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

// Every parser of single lines, over each line.
void LogLines(absl::string_view text) {
  for (const absl::string_view line : node::Lines(text)) {
    Use(node::QuotedKeys(line));
    Use(node::ParseNormRow(line));
    Use(node::FindCudaOom(line));
    Use(node::ParseTrainingStep(line));
    Use(triage::FindExit(line));
    Use(triage::FindWatchdogTimeout(line));
  }
}

void NcclLog(absl::string_view text) {
  node::NcclLog log;
  for (const absl::string_view line : node::Lines(text)) log.Add(line);
  Use(log.Of("node-1"));
  Use(log.connected());
}

void Sacct(absl::string_view text) {
  const auto records = node::ParseSacct(text);
  if (!records.ok()) return;
  for (const auto& record : *records) {
    for (const auto& [name, value] : record) Use(node::PlainState(value));
  }
}

void Memory(absl::string_view text) {
  Use(node::MemoryGib(text));
  Use(node::PlainState(text));
}

std::vector<Parser> All() {
  return {
      {"lines", LogLines},
      {"nccl_log", NcclLog},
      {"sacct", Sacct},
      {"memory", Memory},
      {"pickle", [](absl::string_view text) { Use(hangs::Pickle::Parse(text)); }},
      {"flight_record", [](absl::string_view text) { Use(hangs::ParseFlightRecord(text)); }},
      {"apt_history", [](absl::string_view text) { Use(node::ParseAptHistory(text)); }},
      {"nccl_topology", [](absl::string_view text) { Use(node::ParseNcclTopology(text)); }},
      {"safetensors", [](absl::string_view text) { Use(node::ParseSafetensors(text)); }},
      {"shard_index", [](absl::string_view text) { Use(node::ParseShardIndex(text)); }},
      {"zip_end",
       [](absl::string_view text) {
         Use(node::CheckZipEnd(text, static_cast<std::int64_t>(text.size())));
       }},
      {"py_spy", [](absl::string_view text) { Use(node::ParsePySpy(text)); }},
  };
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = All();
  return kParsers;
}

}  // namespace galen::fuzz
