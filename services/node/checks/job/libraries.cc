#include "services/node/checks/job/libraries.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/job_processes.h"

namespace galen::node {
namespace {

// The sources for one library: the job's processes and their loader.
struct Sources {
  std::vector<CachedLibrary> cache;
  bool cache_known = false;
  std::vector<std::string> mapped;  // of all processes that were read
  std::vector<std::string> search;  // LD_LIBRARY_PATH, in order
  bool search_known = false;
};

Sources ReadSources(const CheckContext& context) {
  const host::Host& host = context.host;
  Sources sources;
  if (const auto text = Output(host, {"ldconfig", "-p"}, host::View::kJob); text.ok()) {
    sources.cache = ParseLdconfig(*text);
    sources.cache_known = true;
  }
  if (const auto environment = host.JobEnvironment(); environment.ok()) {
    sources.search_known = true;
    const auto it = environment->find("LD_LIBRARY_PATH");
    if (it != environment->end()) {
      sources.search = absl::StrSplit(it->second, ':', absl::SkipEmpty());
    }
  }
  std::vector<std::string> paths;
  host::View view = host::View::kJob;
  if (host.live()) {
    const JobProcesses job = FindJobProcesses(context);
    view = job.view;
    for (const std::int64_t pid : job.pids) paths.push_back(absl::StrCat("/proc/", pid, "/maps"));
  } else if (auto captured = host.Glob("/proc/*/maps", view); captured.ok()) {
    paths = *std::move(captured);
  }
  std::set<std::string> mapped;
  for (const std::string& path : paths) {
    const auto maps = host.ReadFile(path, view);
    if (!maps.ok()) continue;
    for (std::string& library : MappedLibraries(*maps)) mapped.insert(std::move(library));
  }
  sources.mapped.assign(mapped.begin(), mapped.end());
  return sources;
}

bool IsLibrary(absl::string_view path, absl::string_view stem) {
  absl::string_view name = BaseName(path);
  return absl::ConsumePrefix(&name, stem) && absl::StartsWith(name, ".so");
}

bool InDirectory(absl::string_view path, absl::string_view part) {
  for (const absl::string_view piece : absl::StrSplit(path, '/')) {
    if (piece == part) return true;
  }
  return false;
}

bool IsCompat(absl::string_view path) {
  return InDirectory(path, "compat") || absl::StrContains(path, "cuda-compat");
}

// The path of libcuda: a mapped one is certain; else the loader's order, LD_LIBRARY_PATH before the
// cache. A directory of the path is trusted to hold it only when its name says so.
std::string LibcudaPath(const Sources& sources) {
  for (const std::string& path : sources.mapped) {
    if (IsLibrary(path, "libcuda")) return path;
  }
  for (const std::string& folder : sources.search) {
    if (!InDirectory(folder, "stubs") && !InDirectory(folder, "compat")) continue;
    return absl::StrCat(absl::StripSuffix(folder, "/"),
                        InDirectory(folder, "stubs") ? "/libcuda.so" : "/libcuda.so.1");
  }
  const CachedLibrary* best = nullptr;
  for (const CachedLibrary& library : sources.cache) {
    if (!IsLibrary(library.path, "libcuda") && !absl::StartsWith(library.name, "libcuda.so")) {
      continue;
    }
    // The loader asks for libcuda.so.1.
    if (best == nullptr || (library.name == "libcuda.so.1" && best->name != "libcuda.so.1")) {
      best = &library;
    }
  }
  return best == nullptr ? std::string() : best->path;
}

// The version of the libcuda in use, from the file name of it or of one beside it.
std::string LibcudaVersion(const Sources& sources, const std::string& path) {
  if (std::string version = DriverVersionOf(path); !version.empty()) return version;
  const absl::string_view folder = absl::string_view(path).substr(0, path.rfind('/'));
  for (const CachedLibrary& library : sources.cache) {
    // libnvidia-ml, libnvidia-ptxjitcompiler and libcuda in the same directory are of one release.
    const bool driver = absl::StartsWith(library.name, "libcuda.so") ||
                        absl::StartsWith(library.name, "libnvidia-");
    const absl::string_view other = library.path;
    if (!driver || other.substr(0, other.rfind('/')) != folder) continue;
    if (std::string version = DriverVersionOf(library.path); !version.empty()) return version;
    if (std::string version = DriverVersionOf(library.name); !version.empty()) return version;
  }
  return "";
}

// CUDA libraries that one process set takes from more than one place: "libcudnn: a, b".
std::optional<std::string> MixedLibraries(const Sources& sources) {
  if (sources.mapped.empty() && !sources.search_known) return std::nullopt;
  std::map<std::string, std::set<std::string>> origins;
  for (const std::string& path : sources.mapped) {
    for (const char* stem : {"libcudart", "libcublas", "libcublasLt", "libcudnn", "libnccl",
                             "libcusparse", "libcufft", "libcusolver", "libnvrtc"}) {
      if (IsLibrary(path, stem)) origins[stem].insert(path.substr(0, path.rfind('/')));
    }
  }
  std::vector<std::string> mixed;
  for (const auto& [stem, folders] : origins) {
    if (folders.size() > 1) mixed.push_back(absl::StrCat(stem, ": ", absl::StrJoin(folders, ", ")));
  }
  if (!mixed.empty()) return absl::StrJoin(mixed, "; ");
  // Without a look into a process nothing says which copy it took.
  if (sources.mapped.empty()) return std::nullopt;
  return "none";
}

}  // namespace

std::vector<CachedLibrary> ParseLdconfig(absl::string_view text) {
  std::vector<CachedLibrary> libraries;
  for (const absl::string_view line : Lines(text)) {
    const std::size_t arrow = line.find(" => ");
    if (arrow == absl::string_view::npos) continue;
    const absl::string_view left = absl::StripAsciiWhitespace(line.substr(0, arrow));
    libraries.push_back({std::string(left.substr(0, left.find(' '))),
                         std::string(absl::StripAsciiWhitespace(line.substr(arrow + 4)))});
  }
  return libraries;
}

std::vector<std::string> MappedLibraries(absl::string_view maps) {
  std::set<std::string> paths;
  for (const absl::string_view line : Lines(maps)) {
    const std::size_t slash = line.find('/');
    if (slash == absl::string_view::npos) continue;
    const absl::string_view path = absl::StripSuffix(line.substr(slash), " (deleted)");
    if (absl::StrContains(BaseName(path), ".so")) paths.emplace(path);
  }
  return {paths.begin(), paths.end()};
}

std::string DriverVersionOf(absl::string_view path) {
  static const RE2 version(R"(\.so\.(\d{3}\.\d+(?:\.\d+)?)$)");
  std::string found;
  const absl::string_view name = BaseName(path);
  RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), version, &found);
  return found;
}

std::string KernelModuleVersion(absl::string_view text) {
  static const RE2 version(R"(NVRM version:.*?Kernel Module.*?\s(\d{3}\.\d+(?:\.\d+)?)\s)");
  std::string found;
  const absl::string_view head = text.substr(0, 4096);
  RE2::PartialMatch(re2::StringPiece(head.data(), head.size()), version, &found);
  return found;
}

absl::StatusOr<CheckOutput> CheckContainerLibraries(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const Sources sources = ReadSources(context);
  if (!sources.cache_known && sources.mapped.empty()) {
    return absl::UnavailableError("neither the loader's cache nor the maps of the job are known");
  }
  const auto module = host.ReadFile("/proc/driver/nvidia/version");
  const std::string kernel = module.ok() ? KernelModuleVersion(*module) : "";
  const std::string path = LibcudaPath(sources);
  const std::string version = path.empty() ? "" : LibcudaVersion(sources, path);
  const bool stub = InDirectory(path, "stubs");
  const bool compat = IsCompat(path);

  CheckOutput output;
  const auto text = [&](absl::string_view name, const std::string& value) {
    output.findings.push_back(value.empty() ? UnknownFinding(name, node, "")
                                            : TextFinding(name, node, "", CleanText(value, 512)));
  };
  const auto flag = [&](absl::string_view name, std::optional<bool> value) {
    output.findings.push_back(value.has_value() ? BoolFinding(name, node, "", *value)
                                                : UnknownFinding(name, node, ""));
  };
  text("libcuda_path", path);
  text("libcuda_version", version);
  // Unknown if there is no library.
  flag("libcuda_is_stub", path.empty() ? std::nullopt : std::optional<bool>(stub));
  flag("libcuda_is_compat", path.empty() ? std::nullopt : std::optional<bool>(compat));
  // On a machine without an NVIDIA driver its library is not missed.
  const bool nvidia = !kernel.empty();
  flag("libcuda_missing", nvidia ? std::optional<bool>(path.empty()) : std::nullopt);
  // A compat library is of another release on purpose.
  const bool comparable = nvidia && !version.empty() && !compat && !stub;
  std::optional<bool> skew;
  if (comparable) skew = version != kernel;
  flag("driver_skew", skew);
  if (skew.has_value()) output.findings.back().set_expected("false");

  std::optional<bool> no_verbs;
  // On a machine without RDMA devices the library is not missed.
  if (sources.cache_known && host.Glob("/sys/class/infiniband/*/ports/*/state").ok()) {
    no_verbs =
        std::none_of(sources.cache.begin(), sources.cache.end(), [](const CachedLibrary& library) {
          return absl::StartsWith(library.name, "libibverbs.so");
        });
    for (const std::string& library : sources.mapped) {
      if (IsLibrary(library, "libibverbs")) no_verbs = false;
    }
  }
  flag("libibverbs_missing", no_verbs);
  text("mixed_cuda_libs", MixedLibraries(sources).value_or(""));

  if (path.empty()) {
    output.message = nvidia ? "the job resolves no libcuda although the host's driver is loaded"
                            : "the job resolves no libcuda";
  } else {
    output.message = absl::StrCat("the job resolves libcuda to ", path);
    if (!version.empty()) absl::StrAppend(&output.message, " of release ", version);
    if (skew.value_or(false)) {
      absl::StrAppend(&output.message, ", the host's kernel module is ", kernel);
    } else if (stub) {
      absl::StrAppend(&output.message, ", a stub for linking only");
    } else if (compat) {
      absl::StrAppend(&output.message, ", of the compatibility package");
    }
  }
  if (no_verbs.value_or(false)) absl::StrAppend(&output.message, "; there is no libibverbs");
  output.message = CleanText(output.message, 1024);
  for (const CachedLibrary& library : sources.cache) {
    if (absl::StrContains(library.name, "libcuda.so") ||
        absl::StrContains(library.name, "libnvidia-ml") ||
        absl::StrContains(library.name, "libibverbs")) {
      absl::StrAppend(&output.excerpt, library.name, " => ", library.path, "\n");
    }
  }
  return output;
}

}  // namespace galen::node
