#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"

namespace galen::node {
namespace {

// The total capacity of the machine's power supplies in watts, from `dmidecode -t 39`.
std::optional<double> SupplyCapacity(const host::Host& host) {
  const auto result = host.Run({"dmidecode", "-t", "39"});
  if (!result.ok() || result->exit_code != 0) return std::nullopt;
  std::optional<double> capacity;
  for (absl::string_view line : absl::StrSplit(result->out, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "Max Power Capacity:")) continue;
    // "Unknown" where the slot is empty.
    if (const std::optional<double> watts = LeadingNumber(line); watts.has_value()) {
      capacity = capacity.value_or(0) + *watts;
    }
  }
  return capacity;
}

// The least power that the rest of the machine takes under load, in watts: its processors, by the
// smallest thermal design power of their family, and its board. Nothing: the processors are
// unknown.
std::optional<double> HostAllowance(const host::Host& host, const CheckData& data, double least_cpu,
                                    double board) {
  const auto result = host.Run({"lscpu"});
  if (!result.ok() || result->exit_code != 0) return std::nullopt;
  std::string model;
  double sockets = 0;
  for (absl::string_view line : absl::StrSplit(result->out, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, "Model name:") && model.empty()) {
      model = std::string(absl::StripAsciiWhitespace(line));
    } else if (absl::ConsumePrefix(&line, "Socket(s):")) {
      sockets = LeadingNumber(line).value_or(0);
    }
  }
  // A virtual machine does not see the machine that it runs on.
  if (model.empty() || sockets < 1 || sockets > 64) return std::nullopt;
  double cpu = least_cpu;
  for (const std::vector<std::string>& entry : data.Lists("cpu_w")) {
    double watts = 0;
    if (entry.size() == 2 && absl::StrContains(model, entry[0]) &&
        absl::SimpleAtod(entry[1], &watts)) {
      cpu = watts;
      break;
    }
  }
  return sockets * cpu + board;
}

// Peaks reach past the limit for moments; a reading of more than `most` times it is a sensor's
// fault.
std::optional<bool> DrawPlausible(const GpuPower& power, double most) {
  const std::optional<double> limit = power.max_limit.has_value() ? power.max_limit : power.limit;
  if (!power.draw.has_value() || !limit.has_value()) return std::nullopt;
  return *power.draw > 0 && *power.draw <= most * *limit;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuPower(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "gpu.power"));
  GALEN_ASSIGN_OR_RETURN(const double most, data.Number("plausible_share_of_limit"));
  GALEN_ASSIGN_OR_RETURN(const double least_cpu, data.Number("least_cpu_w"));
  GALEN_ASSIGN_OR_RETURN(const double board, data.Number("board_w"));
  GALEN_ASSIGN_OR_RETURN(GpuState state, QueryGpus(context.host));
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  // Known only when every limit is.
  std::optional<double> sum_of_limits = 0;
  const auto reduced = [](const Gpu& gpu) {
    return gpu.power.limit.has_value() && gpu.power.default_limit.has_value() &&
           *gpu.power.limit < *gpu.power.default_limit;
  };
  for (Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    // The model's data sheet, if the device does not report its limit.
    if (!gpu.power.default_limit.has_value()) {
      gpu.power.default_limit = HardwareFact(context.knowledge, gpu.product, "tdp_w");
    }
    findings.Float("draw_w", subject, gpu.power.draw);
    v1::Finding& limit = findings.Float("limit_w", subject, gpu.power.limit);
    if (gpu.power.default_limit.has_value()) limit.set_expected(Short(*gpu.power.default_limit));
    findings.Float("default_limit_w", subject, gpu.power.default_limit);
    findings.Bool("draw_plausible", subject, DrawPlausible(gpu.power, most)).set_expected("true");
    if (sum_of_limits.has_value() && gpu.power.limit.has_value()) {
      *sum_of_limits += *gpu.power.limit;
    } else {
      sum_of_limits = std::nullopt;
    }
    std::vector<std::string> told;
    if (!DrawPlausible(gpu.power, most).value_or(true)) {
      told.push_back(absl::StrCat("shows a draw of ", Short(*gpu.power.draw), " W"));
    }
    if (reduced(gpu)) {
      told.push_back(absl::StrCat("limited to ", Short(*gpu.power.limit), " W of ",
                                  Short(*gpu.power.default_limit), " W"));
    }
    if (!told.empty()) sentence.Special(gpu, absl::StrJoin(told, ", "));
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no GPU of this node reports its power");
  }
  const std::optional<double> supply = SupplyCapacity(context.host);
  findings.Float("psu_capacity_w", findings.Node(), supply);
  findings.Float("sum_of_limits_w", findings.Node(), sum_of_limits);
  std::optional<double> margin;
  if (supply.has_value() && sum_of_limits.has_value()) {
    const auto rest = HostAllowance(context.host, data, least_cpu, board);
    if (rest.has_value()) margin = *supply - *sum_of_limits - *rest;
  }
  findings.Float("supply_margin_w", findings.Node(), margin);
  std::string message = sentence.Tell("at the default power limit");
  if (sum_of_limits.has_value() && supply.has_value()) {
    absl::StrAppend(&message, "; limits add up to ", Short(*sum_of_limits), " W of ",
                    Short(*supply), " W of supply");
    if (margin.value_or(0) < 0) {
      absl::StrAppend(&message, ", which lacks ", Short(-*margin), " W for processors and board");
    }
  }
  const bool newer = !Excerpt(state, state.gpus.front(), "gpu_power_readings").empty();
  return std::move(findings).Finish(
      std::move(message),
      ExcerptOfFirst(state, newer ? "gpu_power_readings" : "power_readings", reduced));
}

}  // namespace galen::node
