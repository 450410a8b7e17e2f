#include "common/perfmodel/tables/read_table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/perfmodel/calibrate.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::perfmodel {
namespace {

constexpr absl::string_view kFields[] = {
    "id",       "gpu",       "gpus_per_node", "nics",  "fabric",     "memory_gb_s",    "host_gb_s",
    "resource", "precision", "tflops",        "gb_s",  "collective", "ranks",          "local",
    "bytes",    "bus_gb_s",  "microseconds",  "shape", "seconds",    "tokens_per_gpu", "power_w",
    "held_out", "source"};

// The measured values; an entry has one of them.
constexpr absl::string_view kMeasured[] = {"tflops",       "gb_s",    "bus_gb_s",
                                           "microseconds", "seconds", "tokens_per_gpu"};

constexpr absl::string_view kJobFields[] = {
    "gpu", "gpus_per_node", "nics", "fabric", "memory_gb_s", "host_gb_s", "shape", "throughput_of"};

// One entry, field by field.
class Entry {
 public:
  Entry(const Yaml& map, absl::string_view file) : map_(map), file_(file) {}

  absl::Status Wrong(absl::string_view what) const { return YamlError(map_, file_, what); }
  bool Has(absl::string_view name) const { return map_.Find(name) != nullptr; }
  // "" if it is missing.
  absl::StatusOr<std::string> Text(absl::string_view name) const {
    const Yaml* value = map_.Find(name);
    if (value == nullptr) return "";
    return YamlText(*value, file_, name);
  }
  // 0 if it is missing; else positive.
  absl::StatusOr<double> Number(absl::string_view name) const {
    const Yaml* value = map_.Find(name);
    if (value == nullptr) return 0.0;
    GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(*value, file_, name));
    double number = 0;
    if (!absl::SimpleAtod(text, &number) || !std::isfinite(number) || number < 1e-12 ||
        number > 1e24) {
      return YamlError(*value, file_, absl::StrCat(name, ": ", text, " is not a positive number"));
    }
    return number;
  }
  absl::StatusOr<std::int64_t> Count(absl::string_view name, std::int64_t otherwise) const {
    const Yaml* value = map_.Find(name);
    if (value == nullptr) return otherwise;
    GALEN_ASSIGN_OR_RETURN(const std::int64_t count, YamlInteger(*value, file_, name));
    if (count < 1 || count > (std::int64_t{1} << 24)) {
      return YamlError(*value, file_, absl::StrCat(name, ": is a number from 1 to 16777216"));
    }
    return count;
  }

 private:
  const Yaml& map_;
  absl::string_view file_;
};

absl::Status ReadMachine(const Entry& entry, FactsOf facts, Machine& machine) {
  GALEN_ASSIGN_OR_RETURN(const std::string gpu, entry.Text("gpu"));
  if (gpu.empty()) return entry.Wrong("needs gpu, a model of knowledge/hardware");
  const std::map<std::string, double>* known = facts(gpu);
  if (known == nullptr) {
    return entry.Wrong(absl::StrCat("gpu: ", gpu, " is not a model of knowledge/hardware"));
  }
  auto made = MachineOf(gpu, *known);
  if (!made.ok()) return entry.Wrong(made.status().message());
  machine = *std::move(made);
  GALEN_ASSIGN_OR_RETURN(machine.gpus_per_node,
                         entry.Count("gpus_per_node", machine.gpus_per_node));
  GALEN_ASSIGN_OR_RETURN(const std::string nics, entry.Text("nics"));
  if (!nics.empty()) {
    const auto rate = ParseNics(nics);
    if (!rate.ok()) return entry.Wrong(rate.status().message());
    machine.nics = *rate;
  }
  GALEN_ASSIGN_OR_RETURN(machine.fabric, entry.Text("fabric"));
  GALEN_ASSIGN_OR_RETURN(const double memory, entry.Number("memory_gb_s"));
  if (memory > 0) machine.memory = memory * 1e9;
  GALEN_ASSIGN_OR_RETURN(const double host, entry.Number("host_gb_s"));
  if (host > 0) machine.host = host * 1e9;
  return absl::OkStatus();
}

absl::Status ReadRate(const Entry& entry, Measurement& one) {
  one.kind = Measured::kRate;
  GALEN_ASSIGN_OR_RETURN(one.resource, entry.Text("resource"));
  GALEN_ASSIGN_OR_RETURN(one.precision, entry.Text("precision"));
  if (one.resource == "compute" && one.precision.empty()) {
    return entry.Wrong("needs precision (bf16, fp8); it decides the peak");
  }
  const bool compute = one.resource == "compute";
  GALEN_ASSIGN_OR_RETURN(const double value, entry.Number(compute ? "tflops" : "gb_s"));
  one.value = value * (compute ? 1e12 : 1e9);
  return absl::OkStatus();
}

absl::Status ReadTransfer(const Entry& entry, Measurement& one) {
  one.kind = Measured::kTransfer;
  GALEN_ASSIGN_OR_RETURN(const std::string name, entry.Text("collective"));
  const auto kind = CollectiveNamed(name);
  if (!kind.has_value()) {
    return entry.Wrong(absl::StrCat("collective: ", name,
                                    ": is all_reduce, all_gather, reduce_scatter, all_to_all, "
                                    "broadcast or send_receive"));
  }
  one.collective = *kind;
  GALEN_ASSIGN_OR_RETURN(one.group.ranks, entry.Count("ranks", 0));
  if (one.group.ranks < 2) return entry.Wrong("needs ranks, 2 or more");
  GALEN_ASSIGN_OR_RETURN(
      one.group.local, entry.Count("local", std::min(one.group.ranks, one.machine.gpus_per_node)));
  if (one.group.local > one.group.ranks) return entry.Wrong("local: more than ranks");
  GALEN_ASSIGN_OR_RETURN(one.bytes, entry.Number("bytes"));
  if (one.bytes == 0) return entry.Wrong("needs bytes, the size as nccl-tests prints it");
  GALEN_ASSIGN_OR_RETURN(const double bus, entry.Number("bus_gb_s"));
  GALEN_ASSIGN_OR_RETURN(const double microseconds, entry.Number("microseconds"));
  one.value =
      bus > 0 ? one.bytes * BusFactor(*kind, one.group.ranks) / (bus * 1e9) : microseconds * 1e-6;
  return absl::OkStatus();
}

absl::Status ReadStep(const Entry& entry, Measurement& one) {
  one.kind = Measured::kStep;
  GALEN_ASSIGN_OR_RETURN(const std::string shape, entry.Text("shape"));
  auto job = ParseJob(shape);
  if (!job.ok()) return entry.Wrong(job.status().message());
  one.job = *std::move(job);
  GALEN_ASSIGN_OR_RETURN(one.value, entry.Number("seconds"));
  GALEN_ASSIGN_OR_RETURN(const double tokens, entry.Number("tokens_per_gpu"));
  if (one.value == 0 && tokens > 0) {
    const ModelShape& its = one.job->shape;
    one.value = static_cast<double>(its.batch) * static_cast<double>(its.sequence) /
                static_cast<double>(its.gpus) / tokens;
  }
  GALEN_ASSIGN_OR_RETURN(one.power, entry.Number("power_w"));
  return absl::OkStatus();
}

absl::StatusOr<Measurement> ReadMeasurement(const Yaml& map, absl::string_view file,
                                            FactsOf facts) {
  GALEN_RETURN_IF_ERROR(YamlFields(map, file, kFields));
  const Entry entry(map, file);
  Measurement one;
  GALEN_ASSIGN_OR_RETURN(one.id, entry.Text("id"));
  GALEN_ASSIGN_OR_RETURN(one.source, entry.Text("source"));
  if (one.id.empty()) return entry.Wrong("needs id");
  GALEN_RETURN_IF_ERROR(ReadMachine(entry, facts, one.machine));
  if (const Yaml* held = map.Find("held_out"); held != nullptr) {
    GALEN_ASSIGN_OR_RETURN(one.held_out, YamlBool(*held, file, "held_out"));
  }
  const int kinds = (entry.Has("resource") ? 1 : 0) + (entry.Has("collective") ? 1 : 0) +
                    (entry.Has("shape") ? 1 : 0);
  if (kinds != 1) return entry.Wrong("needs one of resource, collective and shape");
  std::vector<absl::string_view> measured;
  std::copy_if(std::begin(kMeasured), std::end(kMeasured), std::back_inserter(measured),
               [&entry](absl::string_view name) { return entry.Has(name); });
  if (measured.size() > 1) {
    return entry.Wrong(absl::StrCat("has ", absl::StrJoin(measured, " and "),
                                    ", of which one says what was measured; leave that one"));
  }
  GALEN_RETURN_IF_ERROR(entry.Has("resource")     ? ReadRate(entry, one)
                        : entry.Has("collective") ? ReadTransfer(entry, one)
                                                  : ReadStep(entry, one));
  if (one.value <= 0) {
    return entry.Wrong(
        "says nothing measured: a rate has tflops or gb_s, a collective bus_gb_s or microseconds, "
        "a step seconds or tokens_per_gpu");
  }
  if (one.kind != Measured::kStep) {
    if (const auto held = FactorOf(one); !held.ok()) return entry.Wrong(held.status().message());
  }
  return one;
}

absl::Status Add(absl::string_view text, absl::string_view file, FactsOf facts,
                 std::vector<Measurement>& all) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  if (document.kind == Yaml::Kind::kNull) return absl::OkStatus();
  const Yaml* list = document.Find("measurements");
  if (document.kind != Yaml::Kind::kMap || list == nullptr || document.fields.size() != 1 ||
      list->kind != Yaml::Kind::kList) {
    return YamlError(document, file, "is not a list `measurements:`");
  }
  for (const Yaml& item : list->items) {
    if (all.size() >= kMostMeasurements) {
      return YamlError(item, file, absl::StrCat("more than ", kMostMeasurements, " measurements"));
    }
    GALEN_ASSIGN_OR_RETURN(Measurement one, ReadMeasurement(item, file, facts));
    one.place = absl::StrCat(file, ":", item.line);
    all.push_back(std::move(one));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> ParseNics(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, 'x');
  std::int64_t count = 0;
  double gbits = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &count) || count < 1 || count > 1024 ||
      !absl::SimpleAtod(parts[1], &gbits) || !(gbits > 0) || gbits > 1e6) {
    return absl::InvalidArgumentError(
        absl::StrCat("nics: ", text, ": is COUNTxGBITS, like 8x400 for eight of 400 Gbit/s"));
  }
  return static_cast<double>(count) * gbits * 1e9 / 8;
}

absl::StatusOr<JobOnMachine> ReadJobFile(absl::string_view text, absl::string_view file,
                                         FactsOf facts) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  GALEN_RETURN_IF_ERROR(YamlFields(document, file, kJobFields));
  const Entry entry(document, file);
  JobOnMachine read;
  GALEN_RETURN_IF_ERROR(ReadMachine(entry, facts, read.machine));
  GALEN_ASSIGN_OR_RETURN(const std::string shape, entry.Text("shape"));
  auto job = ParseJob(shape);
  if (!job.ok()) return entry.Wrong(job.status().message());
  read.job = *std::move(job);
  GALEN_ASSIGN_OR_RETURN(const std::string covers, entry.Text("throughput_of"));
  if (covers == "node") {
    read.covers = Covers::kNode;
  } else if (covers == "gpu") {
    read.covers = Covers::kGpu;
  } else if (!covers.empty() && covers != "job") {
    return entry.Wrong(absl::StrCat("throughput_of: ", covers, ": is job, node or gpu"));
  }
  return read;
}

absl::Status UniqueIds(absl::Span<const Measurement> measurements) {
  std::map<absl::string_view, const Measurement*> by_id;
  for (const Measurement& one : measurements) {
    const auto [first, added] = by_id.emplace(one.id, &one);
    if (added) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(one.place, ": id: ", one.id, " is also in ", first->second->place,
                     "; give each measurement an id of its own, and each file once"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Measurement>> ReadTable(absl::string_view text, absl::string_view file,
                                                   FactsOf facts) {
  std::vector<Measurement> all;
  GALEN_RETURN_IF_ERROR(Add(text, file, facts, all));
  GALEN_RETURN_IF_ERROR(UniqueIds(all));
  return all;
}

absl::StatusOr<std::vector<Measurement>> LoadTables(const std::vector<std::string>& directories,
                                                    FactsOf facts) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFolder(directories, "perfmodel"));
  std::vector<Measurement> all;
  for (const KnowledgeFile& file : files) {
    GALEN_RETURN_IF_ERROR(Add(file.text, file.path, facts, all));
  }
  GALEN_RETURN_IF_ERROR(UniqueIds(all));
  return all;
}

}  // namespace galen::perfmodel
