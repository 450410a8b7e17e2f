#include "services/node/checks/log/expected_rate.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/perfmodel/expect.h"
#include "common/perfmodel/tables/read_table.h"
#include "re2/re2.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

constexpr char kName[] = "job.expected_rate";
constexpr std::size_t kMostSettings = 4096;

// Settings that a program prints of itself, and how long its last steps took.
struct Printed {
  std::map<std::string, std::string> settings;
  std::deque<double> seconds;
  std::int64_t steps = 0;
  std::string gpu;
};

struct Place {
  std::string gpu;  // product name
  std::int64_t gpus = 0;
  double nics = 0;
  std::string fabric;
};

Place PlaceOfHost(const host::Host& host) {
  Place place;
  if (const auto xml = Output(host, {"nvidia-smi", "-q", "-x"}); xml.ok()) {
    static const RE2 product(R"(<product_name>([^<]{1,128})</product_name>)");
    re2::StringPiece rest(*xml);
    std::string name;
    while (place.gpus < 1024 && RE2::FindAndConsume(&rest, product, &name)) {
      if (place.gpus++ == 0) place.gpu = name;
    }
  }
  const auto ports = ReadPorts(host);
  if (!ports.ok()) return place;
  const std::set<std::string> fabric = FabricPorts(*ports);
  for (const RdmaPort& port : *ports) {
    if (!fabric.contains(DeviceOf(port))) continue;
    place.nics += port.rate_gbps.value_or(0) * 1e9 / 8;
    place.fabric = port.link_layer == "InfiniBand" ? "infiniband" : "roce";
  }
  return place;
}

void TakeLine(const std::vector<CheckData::Pattern>& patterns, std::size_t most_steps,
              absl::string_view line, Printed* printed) {
  const re2::StringPiece text = Piece(line);
  for (const CheckData::Pattern& pattern : patterns) {
    std::string first;
    std::string second;
    if (pattern.name == "setting") {
      if (RE2::PartialMatch(text, *pattern.compiled, &first, &second) &&
          printed->settings.size() < kMostSettings) {
        printed->settings.insert_or_assign(first, second);
      }
      continue;
    }
    if (!RE2::PartialMatch(text, *pattern.compiled, &first)) continue;
    if (pattern.name == "gpu") {
      if (printed->gpu.empty()) printed->gpu = first;
    } else if (pattern.name == "batch") {
      printed->settings.insert_or_assign("global_batch_size", first);
    } else if (double took = 0; absl::SimpleAtod(first, &took) && took > 0) {
      ++printed->steps;
      printed->seconds.push_back(pattern.name == "milliseconds" ? took / 1e3 : took);
      if (printed->seconds.size() > most_steps) printed->seconds.pop_front();
    }
  }
}

// The published measurements as they calibrate, once a process.
absl::StatusOr<const perfmodel::Calibration*> Published(const knowledge::Knowledge& knowledge) {
  static const auto* const calibration = [&knowledge] {
    const auto load = [&]() -> absl::StatusOr<perfmodel::Calibration> {
      std::map<std::string, std::map<std::string, double>> facts;
      for (const auto& hardware : knowledge.base().hardware()) {
        facts[hardware.model()] = {hardware.facts().begin(), hardware.facts().end()};
      }
      GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                             knowledge::FindDirectories({}));
      GALEN_ASSIGN_OR_RETURN(
          const std::vector<perfmodel::Measurement> measurements,
          perfmodel::LoadTables(
              directories,
              [&facts](const std::string& model) -> const std::map<std::string, double>* {
                const auto found = facts.find(model);
                return found != facts.end() ? &found->second : nullptr;
              }));
      return perfmodel::Calibrate(measurements);
    };
    return new absl::StatusOr<perfmodel::Calibration>(load());
  }();
  GALEN_RETURN_IF_ERROR(calibration->status());
  return &**calibration;
}

// Turns an error of the model into UNAVAILABLE: without its inputs the check cannot judge.
absl::Status Lacks(const absl::Status& status) { return absl::UnavailableError(status.message()); }

absl::StatusOr<perfmodel::Machine> MachineFor(const CheckContext& context, const Printed& printed,
                                              std::int64_t gpus_of_job) {
  const Place place = PlaceOfHost(context.host);
  std::string product = context.parameters.Text("gpu");
  if (product.empty()) product = place.gpu.empty() ? printed.gpu : place.gpu;
  const knowledge::v1::Hardware* const hardware =
      product.empty() ? nullptr : context.knowledge.FindHardware(product);
  if (hardware == nullptr) {
    return absl::UnavailableError(
        product.empty() ? "neither the node nor the logs say which GPU it is; set gpu"
                        : absl::StrCat(product, ": knowledge/hardware has no such GPU; set gpu"));
  }
  auto machine =
      perfmodel::MachineOf(hardware->model(), {hardware->facts().begin(), hardware->facts().end()});
  if (!machine.ok()) return Lacks(machine.status());
  if (place.gpus > 0) machine->gpus_per_node = place.gpus;
  machine->nics = place.nics;
  machine->fabric = place.fabric;
  if (const std::string& nics = context.parameters.Text("nics"); !nics.empty()) {
    GALEN_ASSIGN_OR_RETURN(machine->nics, perfmodel::ParseNics(nics));
  }
  if (const std::string& fabric = context.parameters.Text("fabric"); !fabric.empty()) {
    machine->fabric = fabric;
  }
  if (gpus_of_job > machine->gpus_per_node && (machine->nics <= 0 || machine->fabric.empty())) {
    return absl::UnavailableError(
        absl::StrCat("the job has ", gpus_of_job,
                     " GPUs on several nodes, and the adapters between them are "
                     "not known; set nics and fabric"));
  }
  return machine;
}

const char* BoundBy(const perfmodel::StepTime& parts) {
  const std::pair<double, const char*> all[] = {{parts.compute, "compute"},
                                                {parts.memory, "memory"},
                                                {parts.interconnect, "interconnect"},
                                                {parts.bubble, "pipeline"}};
  return std::max_element(std::begin(all), std::end(all))->second;
}

}  // namespace

const LogWant kExpectedRateWant = {.name = "expected_rate",
                                   .expressions = [](const knowledge::Knowledge& knowledge) {
                                     return TextsOf(PatternsOf(knowledge, kName));
                                   }};

std::string ShapeOf(const std::map<std::string, std::string>& settings, const CheckData& data) {
  const auto is = [&](const std::string& setting, absl::string_view value) {
    const auto found = settings.find(setting);
    if (found == settings.end() || found->second == "None") return false;
    return value == "*" || found->second == value;
  };
  std::map<std::string, std::string> fields;
  for (const std::vector<std::string>& sets : data.Lists("sets")) {
    if (sets.size() < 4 || !is(sets[0], sets[1])) continue;
    if (sets.size() >= 6 && !is(sets[4], sets[5])) continue;
    fields[sets[2]] = sets[3] == "*" ? settings.at(sets[0]) : sets[3];
  }
  return absl::StrJoin(fields, ",", absl::PairFormatter("="));
}

absl::StatusOr<CheckOutput> CheckExpectedRate(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, kName));
  GALEN_ASSIGN_OR_RETURN(const double least, data.Number("least_steps"));
  GALEN_ASSIGN_OR_RETURN(const double warmup, data.Number("warmup_steps"));
  const std::vector<CheckData::Pattern> patterns = data.Patterns();
  Printed printed;
  const auto take = [&](const LogLine& line) {
    TakeLine(patterns, static_cast<std::size_t>(least), line.text, &printed);
  };
  GALEN_RETURN_IF_ERROR(
      ForEachWantedLine(context, LogsOf::kAllNodes, kExpectedRateWant, take).status());
  std::string shape = context.parameters.Text("shape");
  if (shape.empty()) shape = ShapeOf(printed.settings, data);
  if (shape.empty()) {
    return absl::UnavailableError(
        "the logs do not say how the model and the job are made (Megatron prints its arguments); "
        "set shape");
  }
  if (static_cast<double>(printed.steps) < warmup + least) {
    return absl::UnavailableError(absl::StrCat("the logs tell how long ", printed.steps,
                                               " steps took, and it takes ", warmup + least,
                                               " to judge"));
  }
  const auto job = perfmodel::ParseJob(shape);
  if (!job.ok()) return Lacks(job.status());
  GALEN_ASSIGN_OR_RETURN(const perfmodel::Machine machine,
                         MachineFor(context, printed, job->shape.gpus));
  GALEN_ASSIGN_OR_RETURN(const perfmodel::Calibration* const calibration,
                         Published(context.knowledge));
  const auto expected = perfmodel::Expect(*job, machine, *calibration);
  if (!expected.ok()) return Lacks(expected.status());
  std::vector<double> seconds(printed.seconds.begin(), printed.seconds.end());
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  const double took = *middle;
  const auto standing = perfmodel::StandingOf(expected->step, took);
  CheckOutput output;
  output.findings.push_back(FloatFinding("step_s", "", "", took));
  output.findings.push_back(FloatFinding("expected_step_s", "", "", expected->step.expected));
  output.findings.push_back(FloatFinding("times_expected", "", "", took / expected->step.expected));
  output.findings.push_back(
      BoolFinding("slower_than_expected", "", "", standing == perfmodel::Standing::kAbove));
  output.findings.push_back(TextFinding("bound_by", "", "", BoundBy(expected->parts)));
  output.message = absl::StrFormat(
      "a step takes %.4g s; %.4g s is expected, %.4g to %.4g s at %.0f %%, of %d %s (%s)", took,
      expected->step.expected, expected->step.low, expected->step.high,
      100 * expected->step.confidence, job->shape.gpus, machine.gpu, shape);
  return output;
}

}  // namespace galen::node
