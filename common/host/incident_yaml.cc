#include "common/host/incident_yaml.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/bundle_files.h"
#include "common/yaml/yaml.h"
#include "google/protobuf/timestamp.pb.h"

namespace galen::host {
namespace {

constexpr std::size_t kMaxDescription = std::size_t{1} << 20;
constexpr std::size_t kMaxNodes = 10'000;
constexpr std::size_t kMaxLogs = 1'000;
constexpr std::size_t kMaxAttributes = 1'000;

// Common input of all readers below.
struct File {
  absl::string_view name;
  std::vector<std::string>& remarks;
};

// A proto `string` field must be valid UTF-8.
std::string Clean(absl::string_view text) { return CleanText(text, kMaxDescription); }

absl::StatusOr<std::string> Text(const Yaml& value, const File& file, absl::string_view field) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(value, file.name, field));
  return Clean(text);
}

absl::Status Time(const Yaml& value, const File& file, absl::string_view field,
                  google::protobuf::Timestamp& out) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(value, file.name, field));
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return YamlError(value, file.name,
                     absl::StrCat(field, ": \"", CleanText(text, 64),
                                  "\" is not a time; write 2025-01-31T12:00:00Z"));
  }
  out = ToTimestamp(time);
  return absl::OkStatus();
}

absl::StatusOr<std::int32_t> Count(const Yaml& value, const File& file, absl::string_view field) {
  GALEN_ASSIGN_OR_RETURN(const std::int64_t number, YamlInteger(value, file.name, field));
  if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) {
    return YamlError(value, file.name, absl::StrCat(field, ": is not 0 or a positive number"));
  }
  return static_cast<std::int32_t>(number);
}

void Unknown(const Yaml& value, const File& file, absl::string_view field,
             absl::string_view known) {
  file.remarks.push_back(absl::StrCat(file.name, ":", value.line, ": field \"",
                                      CleanText(field, 64), "\" is not read; known are ", known));
}

absl::Status ExpectMap(const Yaml& value, const File& file, absl::string_view field) {
  if (value.kind == Yaml::Kind::kMap || value.kind == Yaml::Kind::kNull) return absl::OkStatus();
  return YamlError(value, file.name, absl::StrCat(field, ": is not a map; write name: value"));
}

// Reads `attributes`, and every unknown field.
absl::Status Attribute(const Yaml& value, const File& file, absl::string_view field,
                       google::protobuf::Map<std::string, std::string>& out) {
  if (field == "attributes") {
    GALEN_RETURN_IF_ERROR(ExpectMap(value, file, field));
    for (const auto& [name, item] : value.fields) {
      GALEN_ASSIGN_OR_RETURN(out[Clean(name)], Text(item, file, name));
    }
  } else {
    GALEN_ASSIGN_OR_RETURN(out[Clean(field)], Text(value, file, field));
  }
  if (out.size() > kMaxAttributes) {
    return YamlError(value, file.name, absl::StrCat("more than ", kMaxAttributes, " attributes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::LogSource> Log(const Yaml& entry, const File& file) {
  v1::LogSource log;
  if (entry.kind == Yaml::Kind::kScalar) {
    log.set_path(Clean(entry.scalar));
  } else if (entry.kind != Yaml::Kind::kMap) {
    return YamlError(entry, file.name, "logs: is not an entry; write {path: train.log, kind: job}");
  }
  for (const auto& [name, value] : entry.fields) {
    if (name == "path") {
      GALEN_ASSIGN_OR_RETURN(*log.mutable_path(), Text(value, file, name));
    } else if (name == "node") {
      GALEN_ASSIGN_OR_RETURN(*log.mutable_node(), Text(value, file, name));
    } else if (name == "rank") {
      GALEN_ASSIGN_OR_RETURN(const std::int32_t rank, Count(value, file, name));
      log.set_rank(rank);
    } else if (name == "kind") {
      GALEN_ASSIGN_OR_RETURN(const std::string kind, Text(value, file, name));
      if (kind == "job") {
        log.set_kind(v1::LogSource::JOB);
      } else if (kind == "system") {
        log.set_kind(v1::LogSource::SYSTEM);
      } else if (kind == "scheduler") {
        log.set_kind(v1::LogSource::SCHEDULER);
      } else if (kind == "tool") {
        log.set_kind(v1::LogSource::TOOL);
      } else if (!kind.empty()) {
        return YamlError(value, file.name,
                         absl::StrCat("kind: \"", CleanText(kind, 64),
                                      "\" is unknown; write job, system, scheduler or tool"));
      }
    } else {
      Unknown(value, file, name, "path, node, rank, kind");
    }
  }
  if (const absl::Status safe = CheckRelative(log.path()); !safe.ok()) {
    return YamlError(entry, file.name,
                     absl::StrCat("logs: ", safe.message(), "; name a file below logs/"));
  }
  return log;
}

absl::Status Logs(const Yaml& value, const File& file, v1::Incident& incident) {
  if (value.kind != Yaml::Kind::kList && value.kind != Yaml::Kind::kNull) {
    return YamlError(value, file.name, "logs: is not a list; write - {path: train.log, kind: job}");
  }
  if (value.items.size() > kMaxLogs) {
    return YamlError(value, file.name, absl::StrCat("logs: more than ", kMaxLogs, " logs"));
  }
  for (const Yaml& entry : value.items) {
    GALEN_ASSIGN_OR_RETURN(*incident.add_logs(), Log(entry, file));
  }
  return absl::OkStatus();
}

absl::Status ReadWorkload(const Yaml& workload, const File& file, v1::Workload& out) {
  GALEN_RETURN_IF_ERROR(ExpectMap(workload, file, "workload"));
  const std::map<absl::string_view, std::string*> texts = {
      {"name", out.mutable_name()},
      {"framework", out.mutable_framework()},
      {"framework_version", out.mutable_framework_version()},
      {"launcher", out.mutable_launcher()},
      {"image", out.mutable_image()}};
  for (const auto& [name, value] : workload.fields) {
    if (const auto text = texts.find(name); text != texts.end()) {
      GALEN_ASSIGN_OR_RETURN(*text->second, Text(value, file, name));
    } else if (name == "world_size") {
      GALEN_ASSIGN_OR_RETURN(const std::int32_t ranks, Count(value, file, name));
      out.set_world_size(ranks);
    } else if (name == "gpus_per_node") {
      GALEN_ASSIGN_OR_RETURN(const std::int32_t gpus, Count(value, file, name));
      out.set_gpus_per_node(gpus);
    } else if (name == "started_at") {
      GALEN_RETURN_IF_ERROR(Time(value, file, name, *out.mutable_start_time()));
    } else {
      GALEN_RETURN_IF_ERROR(Attribute(value, file, name, *out.mutable_attributes()));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadEnvironment(const Yaml& environment, const File& file, v1::Environment& out) {
  GALEN_RETURN_IF_ERROR(ExpectMap(environment, file, "environment"));
  const std::map<absl::string_view, std::string*> texts = {{"gpu", out.mutable_gpu()},
                                                           {"driver", out.mutable_driver()},
                                                           {"cuda", out.mutable_cuda()},
                                                           {"os", out.mutable_os()},
                                                           {"nic", out.mutable_nic()}};
  for (const auto& [name, value] : environment.fields) {
    if (const auto text = texts.find(name); text != texts.end()) {
      GALEN_ASSIGN_OR_RETURN(*text->second, Text(value, file, name));
    } else {
      GALEN_RETURN_IF_ERROR(Attribute(value, file, name, *out.mutable_attributes()));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadNodes(const Yaml& value, const File& file,
                       google::protobuf::RepeatedPtrField<std::string>& out) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> nodes,
                         YamlTexts(value, file.name, "nodes"));
  if (nodes.size() > kMaxNodes) {
    return YamlError(value, file.name, absl::StrCat("nodes: more than ", kMaxNodes, " nodes"));
  }
  for (const std::string& node : nodes) *out.Add() = Clean(node);
  return absl::OkStatus();
}

absl::Status ReadBaseline(const Yaml& baseline, const File& file, v1::Baseline& out) {
  GALEN_RETURN_IF_ERROR(ExpectMap(baseline, file, "baseline"));
  for (const auto& [name, value] : baseline.fields) {
    if (name == "started_at") {
      GALEN_RETURN_IF_ERROR(Time(value, file, name, *out.mutable_start_time()));
    } else if (name == "ended_at") {
      GALEN_RETURN_IF_ERROR(Time(value, file, name, *out.mutable_end_time()));
    } else if (name == "nodes") {
      GALEN_RETURN_IF_ERROR(ReadNodes(value, file, *out.mutable_nodes()));
    } else {
      Unknown(value, file, name, "started_at, ended_at, nodes");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadField(const std::string& name, const Yaml& value, const File& file,
                       v1::Incident& incident) {
  if (name == "description") {
    GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(value, file.name, name));
    if (text.size() > kMaxDescription) {
      return YamlError(value, file.name,
                       "description: is longer than 1 MiB; move logs to files below logs/");
    }
    incident.set_description(Clean(text));
    return absl::OkStatus();
  }
  if (name == "nodes") return ReadNodes(value, file, *incident.mutable_nodes());
  if (name == "started_at") return Time(value, file, name, *incident.mutable_start_time());
  if (name == "ended_at") return Time(value, file, name, *incident.mutable_end_time());
  if (name == "logs") return Logs(value, file, incident);
  if (name == "workload") return ReadWorkload(value, file, *incident.mutable_workload());
  if (name == "environment") return ReadEnvironment(value, file, *incident.mutable_environment());
  if (name == "baseline") return ReadBaseline(value, file, *incident.mutable_baseline());
  Unknown(value, file, name,
          "description, started_at, ended_at, nodes, logs, workload, environment, baseline");
  return absl::OkStatus();
}

std::string FormatTime(const google::protobuf::Timestamp& time) {
  return absl::FormatTime(absl::RFC3339_full, ToTime(time), absl::UTCTimeZone());
}

void AppendText(std::string& out, absl::string_view indent, absl::string_view name,
                absl::string_view value) {
  if (!value.empty()) absl::StrAppend(&out, indent, name, ": ", YamlQuote(value), "\n");
}

void AppendAttributes(std::string& out,
                      const google::protobuf::Map<std::string, std::string>& attributes) {
  if (attributes.empty()) return;
  absl::StrAppend(&out, "  attributes:\n");
  const std::map<std::string, std::string> sorted(attributes.begin(), attributes.end());
  for (const auto& [name, value] : sorted) {
    absl::StrAppend(&out, "    ", YamlQuote(name), ": ", YamlQuote(value), "\n");
  }
}

void AppendLogs(std::string& out, const v1::Incident& incident) {
  if (incident.logs().empty()) return;
  absl::StrAppend(&out, "logs:\n");
  for (const v1::LogSource& log : incident.logs()) {
    absl::StrAppend(&out, "  - {path: ", YamlQuote(log.path()));
    if (!log.node().empty()) absl::StrAppend(&out, ", node: ", YamlQuote(log.node()));
    if (log.has_rank()) absl::StrAppend(&out, ", rank: ", log.rank());
    switch (log.kind()) {
      case v1::LogSource::JOB:
        absl::StrAppend(&out, ", kind: job");
        break;
      case v1::LogSource::SYSTEM:
        absl::StrAppend(&out, ", kind: system");
        break;
      case v1::LogSource::SCHEDULER:
        absl::StrAppend(&out, ", kind: scheduler");
        break;
      case v1::LogSource::TOOL:
        absl::StrAppend(&out, ", kind: tool");
        break;
      default:
        break;
    }
    absl::StrAppend(&out, "}\n");
  }
}

void AppendWorkload(std::string& out, const v1::Workload& workload) {
  absl::StrAppend(&out, "workload:\n");
  AppendText(out, "  ", "name", workload.name());
  AppendText(out, "  ", "framework", workload.framework());
  AppendText(out, "  ", "framework_version", workload.framework_version());
  AppendText(out, "  ", "launcher", workload.launcher());
  if (workload.world_size() > 0) {
    absl::StrAppend(&out, "  world_size: ", workload.world_size(), "\n");
  }
  if (workload.gpus_per_node() > 0) {
    absl::StrAppend(&out, "  gpus_per_node: ", workload.gpus_per_node(), "\n");
  }
  AppendText(out, "  ", "image", workload.image());
  if (workload.has_start_time()) {
    AppendText(out, "  ", "started_at", FormatTime(workload.start_time()));
  }
  AppendAttributes(out, workload.attributes());
}

void AppendNodes(std::string& out, absl::string_view indent,
                 const google::protobuf::RepeatedPtrField<std::string>& nodes) {
  absl::StrAppend(&out, indent, "nodes: [");
  for (int i = 0; i < nodes.size(); ++i) {
    absl::StrAppend(&out, i == 0 ? "" : ", ", YamlQuote(nodes[i]));
  }
  absl::StrAppend(&out, "]\n");
}

}  // namespace

absl::StatusOr<v1::Incident> ParseIncident(absl::string_view text, absl::string_view file,
                                           std::vector<std::string>& remarks) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  const File where{file, remarks};
  GALEN_RETURN_IF_ERROR(ExpectMap(document, where, "the incident"));
  v1::Incident incident;
  for (const auto& [name, value] : document.fields) {
    GALEN_RETURN_IF_ERROR(ReadField(name, value, where, incident));
  }
  return incident;
}

std::string FormatIncident(const v1::Incident& incident) {
  std::string out = absl::StrCat("description: ", YamlQuote(incident.description()), "\n");
  if (incident.has_start_time()) {
    AppendText(out, "", "started_at", FormatTime(incident.start_time()));
  }
  if (incident.has_end_time()) AppendText(out, "", "ended_at", FormatTime(incident.end_time()));
  AppendNodes(out, "", incident.nodes());
  AppendLogs(out, incident);
  if (incident.has_workload()) AppendWorkload(out, incident.workload());
  if (incident.has_environment()) {
    const v1::Environment& environment = incident.environment();
    absl::StrAppend(&out, "environment:\n");
    AppendText(out, "  ", "gpu", environment.gpu());
    AppendText(out, "  ", "driver", environment.driver());
    AppendText(out, "  ", "cuda", environment.cuda());
    AppendText(out, "  ", "os", environment.os());
    AppendText(out, "  ", "nic", environment.nic());
    AppendAttributes(out, environment.attributes());
  }
  if (incident.has_baseline()) {
    const v1::Baseline& baseline = incident.baseline();
    absl::StrAppend(&out, "baseline:\n");
    if (baseline.has_start_time()) {
      AppendText(out, "  ", "started_at", FormatTime(baseline.start_time()));
    }
    if (baseline.has_end_time()) AppendText(out, "  ", "ended_at", FormatTime(baseline.end_time()));
    if (!baseline.nodes().empty()) AppendNodes(out, "  ", baseline.nodes());
  }
  return out;
}

}  // namespace galen::host
