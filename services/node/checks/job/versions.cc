#include "services/node/checks/job/versions.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/version_order.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

using Versions = std::map<std::string, std::string>;

std::string VersionOf(const Versions& versions, const std::string& name) {
  const auto it = versions.find(name);
  return it == versions.end() ? std::string() : it->second;
}

v1::Finding TextOrUnknown(absl::string_view name, const std::string& node,
                          const std::string& value) {
  return value.empty() ? UnknownFinding(name, node, "") : TextFinding(name, node, "", value);
}

// The highest CUDA that the driver runs, as nvidia-smi states it.
std::string DriverCuda(const host::Host& host) {
  static const RE2 version(R"(<cuda_version>([0-9.]+)</cuda_version>)");
  std::string found;
  if (const auto xml = Output(host, {"nvidia-smi", "-q", "-x"}); xml.ok()) {
    RE2::PartialMatch(*xml, version, &found);
  }
  return found;
}

// "12.1" of a wheel's version "2.3.1+cu121"; empty: it does not say.
std::string CudaOfWheel(absl::string_view version) {
  static const RE2 local(R"(\+cu(\d{2})(\d)\b)");
  std::string major;
  std::string minor;
  if (!RE2::PartialMatch(re2::StringPiece(version.data(), version.size()), local, &major, &minor)) {
    return "";
  }
  return absl::StrCat(major, ".", minor);
}

constexpr char kNcclCuda[] = R"(NCCL version \d[\w.]*\+cuda(\d+\.\d+))";

// The CUDA that the NCCL in use was built with, as its first line states it: "NCCL version
// 2.26.2+cuda12.2".
std::string NcclCuda(const CheckContext& context) {
  static const RE2 version(kNcclCuda);
  std::string found;
  const auto read =
      ForEachWantedLine(context, LogsOf::kThisNode, kVersionsWant, [&](const LogLine& line) {
        if (found.empty()) {
          RE2::PartialMatch(re2::StringPiece(line.text.data(), line.text.size()), version, &found);
        }
      });
  return read.ok() ? found : std::string();
}

// The product names of the node's GPUs, a line each.
std::string GpuNames(const host::Host& host) {
  static const RE2 product("<product_name>([^<]*)</product_name>");
  std::string names;
  const auto xml = Output(host, {"nvidia-smi", "-q", "-x"});
  if (!xml.ok()) return names;
  re2::StringPiece rest(xml->data(), xml->size());
  std::string name;
  while (names.size() < 4096 && RE2::FindAndConsume(&rest, product, &name)) {
    absl::StrAppend(&names, name, "\n");
  }
  return names;
}

Versions Pip(const host::Host& host) {
  const auto text =
      Output(host, {"python3", "-m", "pip", "list", "--format=json"}, host::View::kJob);
  return text.ok() ? ParsePipList(*text) : Versions();
}

// Complaints of libraries that do not fit the GPU or one another. They log nothing if they fit, so
// a missing complaint leaves the value unknown.
struct Complaints {
  std::string architecture;       // "sm_120", of a GPU that the build has no code for
  std::optional<bool> old_cudnn;  // cuDNN is older than the one the framework was built with
};

Complaints ReadComplaints(const CheckContext& context) {
  Complaints found;
  const auto patterns = PatternsOf(context.knowledge, "framework.versions");
  const auto read =
      ForEachWantedLine(context, LogsOf::kThisNode, kVersionsWant, [&](const LogLine& line) {
        const re2::StringPiece text(line.text.data(), line.text.size());
        for (const CheckData::Pattern& pattern : patterns) {
          std::string first;
          std::string second;
          if (pattern.name == "arch_missing") {
            if (found.architecture.empty() && RE2::PartialMatch(text, *pattern.compiled, &first)) {
              found.architecture = first;
            }
          } else if (!found.old_cudnn.has_value() &&
                     RE2::PartialMatch(text, *pattern.compiled, &first, &second)) {
            // "8, 9, 2" where a framework prints a tuple.
            first = absl::StrReplaceAll(first, {{", ", "."}});
            second = absl::StrReplaceAll(second, {{", ", "."}});
            const int order = OrderVersions(first, second);
            found.old_cudnn = pattern.name == "cudnn_loaded_then_built" ? order < 0 : order > 0;
          }
        }
      });
  static_cast<void>(read);  // no log: no complaint
  return found;
}

// Packages that say in their version for which PyTorch they were built ("2.7.4+cu12torch2.5",
// "2.1.2+pt23cu121"), and it is another one; or for which CUDA, of another major release, which
// those of `same_cuda` refuse.
std::string OtherBuilds(const Versions& packages, absl::string_view torch,
                        const std::vector<std::string>& same_cuda) {
  static const RE2 release(R"(^(\d+\.\d+))");
  static const RE2 named(R"(\+.*torch(\d+\.\d+))");
  static const RE2 short_named(R"(\+pt(\d)(\d{1,2})cu)");
  static const RE2 cuda(R"(\+cu(\d{2})\d*)");
  std::string own;
  std::string own_cuda;
  const std::string torch_text(torch);
  if (!RE2::PartialMatch(torch_text, release, &own)) return "";
  RE2::PartialMatch(torch_text, cuda, &own_cuda);
  std::vector<std::string> others;
  for (const auto& [name, version] : packages) {
    std::string major;
    std::string built_for;
    if (RE2::PartialMatch(version, short_named, &major, &built_for)) {
      built_for = absl::StrCat(major, ".", built_for);
    } else {
      RE2::PartialMatch(version, named, &built_for);
    }
    std::string with;
    const bool same = std::find(same_cuda.begin(), same_cuda.end(), name) != same_cuda.end();
    const bool other_cuda =
        same && !own_cuda.empty() && RE2::PartialMatch(version, cuda, &with) && with != own_cuda;
    if (((!built_for.empty() && built_for != own) || other_cuda) && others.size() < 16) {
      others.push_back(CleanText(absl::StrCat(name, " ", version), 128));
    }
  }
  return absl::StrJoin(others, ", ");
}

}  // namespace

const LogWant kVersionsWant = {
    .name = "versions", .expressions = [](const knowledge::Knowledge& knowledge) {
      std::vector<std::string> wanted = TextsOf(PatternsOf(knowledge, "framework.versions"));
      wanted.emplace_back(kNcclCuda);
      return wanted;
    }};

std::map<std::string, std::string> ParsePipList(absl::string_view json) {
  Versions versions;
  const nlohmann::json list = ParseJson(json);
  if (!list.is_array()) return versions;
  for (const auto& entry : list) {
    if (!entry.is_object()) continue;
    const auto name = entry.find("name");
    const auto version = entry.find("version");
    if (name == entry.end() || version == entry.end() || !name->is_string() ||
        !version->is_string()) {
      continue;
    }
    versions[name->get<std::string>()] = version->get<std::string>();
  }
  return versions;
}

std::map<std::string, std::string> ParseCollectEnv(absl::string_view text) {
  Versions values;
  for (const absl::string_view line : Lines(text)) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    if (value.empty() || value == "N/A" || absl::StartsWith(value, "Could not collect")) continue;
    values.try_emplace(std::string(field.first), value);
  }
  return values;
}

bool IsNewer(absl::string_view a, absl::string_view b) {
  const auto parts = [](absl::string_view text) {
    std::pair<int, int> parsed = {0, 0};
    const std::vector<absl::string_view> pieces = absl::StrSplit(text, '.');
    if (!absl::SimpleAtoi(pieces[0], &parsed.first)) return parsed;
    if (pieces.size() > 1 && !absl::SimpleAtoi(pieces[1], &parsed.second)) parsed.second = 0;
    return parsed;
  };
  return parts(a) > parts(b);
}

absl::StatusOr<CheckOutput> CheckFrameworkVersions(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const Versions packages = Pip(host);
  const auto collected =
      Output(host, {"python3", "-m", "torch.utils.collect_env"}, host::View::kJob);
  const Versions environment = collected.ok() ? ParseCollectEnv(*collected) : Versions();
  const auto compiler = Output(host, {"nvcc", "--version"}, host::View::kJob);
  const Complaints complaints = ReadComplaints(context);
  const bool complained = !complaints.architecture.empty() || complaints.old_cudnn.has_value();
  if (packages.empty() && !collected.ok() && !compiler.ok() && !complained) {
    return absl::UnavailableError("no versions of the job's packages are known");
  }
  std::string torch = VersionOf(environment, "PyTorch version");
  if (torch.empty()) torch = VersionOf(packages, "torch");
  // The runtime that the framework carries is what has to fit the driver.
  std::string cuda = VersionOf(environment, "CUDA used to build PyTorch");
  for (const char* name :
       {"nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu11"}) {
    if (cuda.empty()) cuda = VersionOf(packages, name);
  }
  if (cuda.empty()) cuda = CudaOfWheel(torch);
  if (cuda.empty() && compiler.ok()) {
    static const RE2 release(R"(release (\d+\.\d+))");
    RE2::PartialMatch(*compiler, release, &cuda);
  }
  // Images that build on NVIDIA's say which toolkit they hold.
  if (cuda.empty()) {
    const auto variables = host.JobEnvironment();
    if (variables.ok()) cuda = VersionOf(*variables, "CUDA_VERSION");
  }
  const std::string highest = DriverCuda(host);
  std::optional<bool> too_new;
  std::optional<bool> above;
  if (!cuda.empty() && !highest.empty()) {
    above = IsNewer(cuda, highest);
    // Within one major release, since 11, a runtime runs on every driver of that release.
    const auto major = [](const std::string& text) { return LeadingInt(text).value_or(0); };
    too_new = major(cuda) >= 11 && major(highest) >= 11 ? major(cuda) > major(highest)
                                                        : IsNewer(cuda, highest);
  }
  // A version that runs is not too new, whichever compatibility library makes it run.
  if (VersionOf(environment, "Is CUDA available") == "True") too_new = false;
  CheckOutput output;
  output.findings.push_back(TextOrUnknown("torch", node, torch));
  output.findings.push_back(TextOrUnknown("cuda_runtime", node, cuda));
  v1::Finding fits = too_new.has_value() ? BoolFinding("cuda_runtime_gt_driver", node, "", *too_new)
                                         : UnknownFinding("cuda_runtime_gt_driver", node, "");
  fits.set_expected("false");
  output.findings.push_back(std::move(fits));
  output.findings.push_back(above.has_value() ? BoolFinding("cuda_above_driver", node, "", *above)
                                              : UnknownFinding("cuda_above_driver", node, ""));
  output.findings.push_back(
      complaints.old_cudnn.has_value()
          ? BoolFinding("cudnn_runtime_lt_build", node, "", *complaints.old_cudnn)
          : UnknownFinding("cudnn_runtime_lt_build", node, ""));
  std::string engine;
  if (!packages.empty()) {
    engine = packages.contains("deepspeed") ? "deepspeed" : "none";
  }
  output.findings.push_back(TextOrUnknown("sharding_engine", node, engine));
  std::vector<std::string> same_cuda;
  if (const auto data = CheckData::Of(context.knowledge, "framework.versions"); data.ok()) {
    same_cuda = data->Texts("same_cuda_as_torch");
  }
  // pip knows the wheel by its full version, where collect_env may cut it.
  const std::string wheel = VersionOf(packages, "torch");
  const std::string others = OtherBuilds(packages, wheel.empty() ? torch : wheel, same_cuda);
  output.findings.push_back(TextOrUnknown("abi_mismatch", node, others));
  output.findings.push_back(TextOrUnknown("arch_missing", node, complaints.architecture));
  output.message =
      absl::StrCat(torch.empty() ? "PyTorch unknown" : absl::StrCat("PyTorch ", torch), ", CUDA ",
                   cuda.empty() ? "unknown" : cuda, "; the driver runs CUDA up to ",
                   highest.empty() ? "an unknown release" : highest);
  if (!others.empty()) absl::StrAppend(&output.message, "; built for another PyTorch: ", others);
  if (!complaints.architecture.empty()) {
    absl::StrAppend(&output.message, "; this build has no code for ", complaints.architecture);
  }
  if (collected.ok()) output.excerpt = collected->substr(0, 2048);
  return output;
}

absl::StatusOr<CheckOutput> CheckNcclVersions(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "nccl.versions"));
  const Versions packages = Pip(host);
  const std::string built_with = NcclCuda(context);
  if (packages.empty() && built_with.empty()) {
    return absl::UnavailableError("neither the job's packages nor NCCL's own line are known");
  }
  std::string version;
  for (const char* name : {"nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-nccl-cu11"}) {
    if (version.empty()) version = VersionOf(packages, name);
  }
  CheckOutput output;
  output.findings.push_back(TextOrUnknown("version", node, version));
  output.findings.push_back(UnknownFinding("differs_between_nodes", node, ""));
  const std::string needs = CheckData::FirstMatch(data.Patterns(), GpuNames(host));
  output.findings.push_back(
      built_with.empty() || needs.empty()
          ? UnknownFinding("supports_gpu", node, "")
          : BoolFinding("supports_gpu", node, "", !IsNewer(needs, built_with)));
  output.message = version.empty() ? "the version of NCCL is not among the packages"
                                   : absl::StrCat("NCCL ", version);
  if (!built_with.empty()) absl::StrAppend(&output.message, ", built with CUDA ", built_with);
  if (!needs.empty()) absl::StrAppend(&output.message, "; these GPUs need ", needs, " or newer");
  return output;
}

}  // namespace galen::node
