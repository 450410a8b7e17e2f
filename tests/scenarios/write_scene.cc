#include "tests/scenarios/write_scene.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/host/edit.h"
#include "common/host/process.h"
#include "common/telemetry/selector.h"

namespace galen::scenarios {
namespace {

namespace fs = std::filesystem;

std::string Rfc3339(absl::Time at) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", at, absl::UTCTimeZone());
}

absl::Status Put(const fs::path& path, absl::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out ? absl::OkStatus()
             : absl::UnavailableError(absl::StrCat(path.string(), ": cannot be written"));
}

std::string LabelText(const telemetry::Labels& labels) {
  std::string text = labels.at(telemetry::kMetricName);
  absl::string_view between = "{";
  for (const auto& [label, value] : labels) {
    if (label == telemetry::kMetricName) continue;
    absl::StrAppend(&text, between, label, "=", telemetry::Quote(value));
    between = ",";
  }
  return text + "} ";
}

}  // namespace

absl::Status WriteOpenMetrics(const Scene& scene, const std::string& path) {
  std::map<std::string, std::vector<const telemetry::TimeSeries*>> metrics;
  for (const telemetry::TimeSeries& series : scene.series)
    metrics[series.labels.at(telemetry::kMetricName)].push_back(&series);
  std::ofstream out(path, std::ios::binary);
  std::string text;
  for (const auto& [metric, all] : metrics) {
    const bool counter = absl::EndsWith(metric, "_total");
    text = absl::StrCat("# TYPE ", absl::StripSuffix(metric, "_total"), " ",
                        counter ? "counter" : "unknown", "\n");
    for (const telemetry::TimeSeries* const series : all) {
      const std::string labels = LabelText(series->labels);
      for (const timeseries::Sample& sample : series->samples) {
        if (sample.value == std::floor(sample.value) && std::abs(sample.value) < 9e15) {
          absl::StrAppend(&text, labels, static_cast<std::int64_t>(sample.value));
        } else {
          absl::StrAppendFormat(&text, "%s%.9g", labels, sample.value);
        }
        absl::StrAppendFormat(&text, " %d.%03d\n", sample.at / 1000, sample.at % 1000);
      }
      out << text;
      text.clear();
    }
  }
  out << "# EOF\n";
  out.close();
  return out ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

absl::Status WriteBundle(const Scene& scene, const std::string& directory) {
  GALEN_RETURN_IF_ERROR(host::NewBundle(directory, scene.incident, scene.nodes, scene.end));
  std::error_code error;
  fs::create_directories(fs::path(directory) / "logs", error);
  fs::create_directories(fs::path(directory) / "telemetry", error);
  v1::Incident incident;
  incident.set_description(scene.incident);
  incident.mutable_start_time()->set_seconds(absl::ToUnixSeconds(scene.start));
  incident.mutable_end_time()->set_seconds(absl::ToUnixSeconds(scene.end));
  for (const Log& log : scene.logs) {
    GALEN_RETURN_IF_ERROR(Put(fs::path(directory) / "logs" / log.path, log.text));
    v1::LogSource& source = *incident.add_logs();
    source.set_path(log.path);
    source.set_kind(log.kernel ? v1::LogSource::SYSTEM : v1::LogSource::JOB);
    if (!log.node.empty()) source.set_node(log.node);
    if (log.rank.has_value()) source.set_rank(*log.rank);
  }
  for (const std::string& node : scene.nodes) incident.add_nodes(node);
  const Job& job = scene.jobs.back();
  v1::Workload& workload = *incident.mutable_workload();
  workload.set_name(job.name);
  workload.set_framework(absl::StrContains(scene.logs.back().text, "iteration") ? "Megatron-LM"
                                                                                : "MaxText");
  workload.set_world_size(static_cast<std::int32_t>(job.nodes.size()) * scene.gpus);
  workload.set_gpus_per_node(scene.gpus);
  workload.mutable_start_time()->set_seconds(absl::ToUnixSeconds(job.start));
  GALEN_RETURN_IF_ERROR(host::SetIncident(directory, incident));
  return WriteOpenMetrics(scene, (fs::path(directory) / "telemetry/scene.om").string());
}

absl::Status WriteTsdb(const Scene& scene, const std::string& directory) {
  constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin";
  std::error_code error;
  fs::create_directories(directory, error);
  const std::string text = directory + ".om";
  GALEN_RETURN_IF_ERROR(WriteOpenMetrics(scene, text));
  const auto made =
      host::RunProcess({"promtool", "tsdb", "create-blocks-from", "openmetrics", text, directory},
                       kPath, {}, {.time = absl::Minutes(5)});
  fs::remove(text, error);
  GALEN_RETURN_IF_ERROR(made.status());
  if (made->exit_code != 0)
    return absl::InternalError(
        absl::StrCat("promtool ended with ", made->exit_code, ": ", made->err));
  return absl::OkStatus();
}

std::string TruthJson(const Scene& scene) {
  nlohmann::ordered_json out;
  out["study"] = scene.study;
  out["seed"] = scene.seed;
  out["variant"] = scene.missing ? "missing" : "";
  out["style"] = scene.style == Style::kAmd ? "amd" : "nvidia";
  out["start"] = Rfc3339(scene.start);
  out["end"] = Rfc3339(scene.end);
  out["interval_seconds"] = absl::ToDoubleSeconds(scene.interval);
  out["nodes"] = scene.nodes;
  for (const Job& job : scene.jobs) {
    out["jobs"].push_back({{"name", job.name},
                           {"start", Rfc3339(job.start)},
                           {"train", Rfc3339(job.train)},
                           {"end", Rfc3339(job.end)},
                           {"runs", job.runs},
                           {"nodes", job.nodes}});
  }
  out["series"] = scene.series.size();
  out["samples"] = scene.samples();
  out["incident"] = scene.incident;
  auto& truth = out["truth"];
  truth["labels"] = scene.truth.labels;
  truth["guilty_nodes"] = scene.truth.guilty_nodes;
  truth["guilty_devices"] = scene.truth.guilty_devices;
  truth["cleared_nodes"] = scene.truth.cleared_nodes;
  truth["transitions"] = nlohmann::ordered_json::array();
  for (const Transition& turn : scene.truth.transitions)
    truth["transitions"].push_back({{"at", Rfc3339(turn.at)}, {"what", turn.what}});
  truth["system_fine"] = scene.truth.system_fine;
  truth["decisive"] = scene.truth.decisive;
  truth["left_out"] = scene.truth.left_out;
  truth["ask"] = scene.truth.ask;
  return out.dump(2) + "\n";
}

}  // namespace galen::scenarios
