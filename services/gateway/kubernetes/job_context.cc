#include "services/gateway/kubernetes/job_context.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::gateway::kubernetes {
namespace {

using kube::Json;

constexpr std::size_t kMostName = 253;
constexpr std::size_t kMostImage = 512;
constexpr int kMostGpus = 1024;
constexpr int kMostNodes = 10'000;  // as of an incident

absl::StatusOr<JobKind> ParseKind(const Yaml& entry, absl::string_view file) {
  JobKind kind;
  if (entry.kind != Yaml::Kind::kMap) {
    return YamlError(entry, file, "jobs: an entry is not a map; write name, job, role, index");
  }
  for (const Yaml::Field& field : entry.fields) {
    if (field.name == "name") {
      GALEN_ASSIGN_OR_RETURN(kind.name, YamlText(field.value, file, field.name));
    } else if (field.name == "job") {
      GALEN_ASSIGN_OR_RETURN(kind.job, YamlText(field.value, file, field.name));
    } else if (field.name == "role") {
      GALEN_ASSIGN_OR_RETURN(kind.role, YamlTexts(field.value, file, field.name));
    } else if (field.name == "index") {
      GALEN_ASSIGN_OR_RETURN(kind.index, YamlTexts(field.value, file, field.name));
    } else {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": unknown; there are name, job, role, index"));
    }
  }
  if (kind.name.empty() || kind.job.empty()) {
    return YamlError(entry, file, "jobs: an entry needs a name and the label of its job");
  }
  return kind;
}

const Json* At(const Json& object, std::initializer_list<const char*> path) {
  const Json* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

// The value of a label, or of an annotation.
std::string Mark(const Json& pod, const std::string& name) {
  for (const char* where : {"labels", "annotations"}) {
    const Json* marks = At(pod, {"metadata", where});
    if (marks == nullptr || !marks->is_object()) continue;
    const auto found = marks->find(name);
    if (found != marks->end() && found->is_string()) {
      return CleanText(found->get<std::string>(), kMostName);
    }
  }
  return "";
}

std::string FirstMark(const Json& pod, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::string value = Mark(pod, name); !value.empty()) return value;
  }
  return "";
}

// nvidia.com/gpu, amd.com/gpu, gpu.intel.com/...: limits with a name that ends in gpu.
int GpusOf(const Json& container) {
  const Json* limits = At(container, {"resources", "limits"});
  if (limits == nullptr || !limits->is_object()) return 0;
  int gpus = 0;
  for (const auto& [name, value] : limits->items()) {
    int count = 0;
    if (!absl::EndsWith(name, "/gpu")) continue;
    if (value.is_string() && absl::SimpleAtoi(value.get<std::string>(), &count)) {
      gpus += std::clamp(count, 0, kMostGpus);
    } else if (value.is_number_unsigned() && value < unsigned{kMostGpus}) {
      gpus += value.get<int>();
    }
  }
  return std::min(gpus, kMostGpus);
}

std::string OwnerOf(const Json& pod) {
  const Json* owners = At(pod, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return "";
  for (const Json& owner : *owners) {
    if (!owner.is_object() || owner.value("controller", Json()) != Json(true)) continue;
    return CleanText(absl::StrCat(TextAt(owner, {"kind"}), "/", TextAt(owner, {"name"})),
                     kMostName);
  }
  return "";
}

}  // namespace

absl::StatusOr<std::vector<JobKind>> ParseJobKinds(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  const Yaml* jobs = yaml.Find("jobs");
  if (jobs == nullptr || jobs->kind != Yaml::Kind::kList || yaml.fields.size() != 1) {
    return YamlError(yaml, file, "is not a list of jobs; begin with \"jobs:\"");
  }
  std::vector<JobKind> kinds;
  for (const Yaml& entry : jobs->items) {
    GALEN_ASSIGN_OR_RETURN(JobKind kind, ParseKind(entry, file));
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

absl::StatusOr<std::vector<JobKind>> LoadJobKinds(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFiles(directories, "kubernetes/jobs.yaml"));
  std::vector<JobKind> kinds;
  for (const KnowledgeFile& file : files) {
    GALEN_ASSIGN_OR_RETURN(std::vector<JobKind> more, ParseJobKinds(file.text, file.path));
    for (JobKind& old : kinds) {
      const bool replaced = std::any_of(more.begin(), more.end(),
                                        [&](const JobKind& one) { return one.name == old.name; });
      if (!replaced) more.push_back(std::move(old));
    }
    kinds = std::move(more);
  }
  return kinds;
}

std::optional<PodContext> ContextOf(const Json& pod, absl::Span<const JobKind> kinds) {
  PodContext context;
  context.pod = CleanText(TextAt(pod, {"metadata", "name"}), kMostName);
  const Json* spec = At(pod, {"spec"});
  if (context.pod.empty() || spec == nullptr || !spec->is_object()) return std::nullopt;
  context.node = CleanText(TextAt(*spec, {"nodeName"}), kMostName);
  context.owner = OwnerOf(pod);
  for (const JobKind& kind : kinds) {
    context.job = Mark(pod, kind.job);
    if (context.job.empty()) continue;
    context.launcher = kind.name;
    context.role = absl::AsciiStrToLower(FirstMark(pod, kind.role));
    int index = 0;
    if (absl::SimpleAtoi(FirstMark(pod, kind.index), &index) && index >= 0) context.index = index;
    break;
  }
  const Json* containers = At(*spec, {"containers"});
  int most = -1;
  if (containers != nullptr && containers->is_array()) {
    for (const Json& container : *containers) {
      const int gpus = GpusOf(container);
      context.gpus = std::min(context.gpus + gpus, kMostGpus);
      if (gpus <= most) continue;
      most = gpus;
      context.image = CleanText(TextAt(container, {"image"}), kMostImage);
    }
  }
  return context;
}

std::vector<std::string> SelectorsOf(absl::string_view job, absl::Span<const JobKind> kinds) {
  const bool good =
      !job.empty() && job.size() <= 63 && std::all_of(job.begin(), job.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_.", c);
      });
  std::vector<std::string> selectors;
  if (!good) return selectors;
  for (const JobKind& kind : kinds) selectors.push_back(absl::StrCat(kind.job, "=", job));
  return selectors;
}

void FillIn(absl::Span<const PodContext> pods, galen::v1::Incident& incident) {
  std::map<std::string, int> gpus;  // by node
  int all = 0;
  const PodContext* telling = nullptr;
  for (const PodContext& pod : pods) {
    if (!pod.node.empty()) gpus[pod.node] += pod.gpus;
    all += pod.gpus;
    if (telling == nullptr || pod.gpus > telling->gpus) telling = &pod;
  }
  if (telling == nullptr) return;
  if (incident.nodes().empty()) {
    for (const auto& [node, count] : gpus) {
      // A launcher that only starts the others says nothing about the job.
      if (all > 0 && count == 0) continue;
      incident.add_nodes(node);
      if (incident.nodes_size() == kMostNodes) break;
    }
  }
  galen::v1::Workload& workload = *incident.mutable_workload();
  if (workload.name().empty()) workload.set_name(telling->job);
  if (workload.launcher().empty()) workload.set_launcher(telling->launcher);
  if (workload.image().empty()) workload.set_image(telling->image);
  if (workload.world_size() == 0) workload.set_world_size(all);
  int most = 0;
  for (const auto& [node, count] : gpus) most = std::max(most, count);
  if (workload.gpus_per_node() == 0) workload.set_gpus_per_node(most);
  constexpr int kMostShown = 100;
  int shown = 0;
  for (const PodContext& pod : pods) {
    if (pod.node.empty() || ++shown > kMostShown) continue;
    std::string where = pod.node;
    if (!pod.role.empty()) absl::StrAppend(&where, " ", pod.role);
    if (pod.index.has_value()) absl::StrAppend(&where, " ", *pod.index);
    (*workload.mutable_attributes())[absl::StrCat("pod ", pod.pod)] = where;
  }
  if (!telling->owner.empty()) (*workload.mutable_attributes())["owner"] = telling->owner;
}

}  // namespace galen::gateway::kubernetes
