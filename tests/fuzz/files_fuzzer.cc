// Readers of what lies on a disk: archives of bundles, packed logs, and a node of a bundle.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/host/archive.h"
#include "common/host/bundle.h"
#include "common/host/host.h"
#include "common/log_analysis/scan/reader.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

// A directory in memory with the file that is read, for the life of this process.
class Place {
 public:
  Place() : path_(absl::StrCat("/dev/shm/galen-fuzz-", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  // The file, with `text` as its content.
  std::string File(absl::string_view text) const {
    std::string file = absl::StrCat(path_, "/file");
    const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0 || write(descriptor, text.data(), text.size()) < 0) std::abort();
    close(descriptor);
    return file;
  }
  std::string Directory() const { return Below("unpacked"); }
  std::string Below(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

 private:
  std::string path_;
};

const Place& ThePlace() {
  static const Place place;
  return place;
}

// No file appears outside the directory.
void Archive(absl::string_view text) {
  const std::string file = ThePlace().File(text);
  const std::string directory = ThePlace().Directory();
  std::filesystem::create_directory(directory);
  Use(host::Unpack(file, directory, {.files = 100, .bytes = 1 << 20}));
  std::filesystem::remove_all(directory);
}

void Log(absl::string_view text) {
  const auto reader = log_scan::LogReader::Open(ThePlace().File(text), {.max_bytes = 1 << 20});
  if (!reader.ok()) return;
  while (true) {
    const auto chunk = (*reader)->Next();
    if (!chunk.ok() || chunk->empty()) return;
  }
}

void Write(const std::string& path, absl::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || write(file, text.data(), text.size()) < 0) std::abort();
  close(file);
}

// A bundle with one node, next to a file that no bundle may reveal. Each input rewrites its lists.
class BundleOfOne {
 public:
  static constexpr char kSecret[] = "what lies beside the bundle";

  BundleOfOne() : directory_(ThePlace().Below("bundle")), node_(directory_ + "/nodes/a") {
    namespace fs = std::filesystem;
    fs::create_directories(node_ + "/job/rootfs/proc/17");
    fs::create_directories(node_ + "/rootfs/sys/class/net/eth0");
    fs::create_directories(node_ + "/c");
    fs::create_directories(directory_ + "/logs");
    Write(ThePlace().Below("secret"), kSecret);
    Write(directory_ + "/bundle.yaml", "format: galen.bundle/v1\nnodes: [a]\n");
    Write(node_ + "/c/001.txt", "output");
    Write(node_ + "/rootfs/sys/class/net/eth0/mtu", "1500\n");
    Write(node_ + "/job/rootfs/proc/17/status", "Name: python\n");
    Write(directory_ + "/logs/train.log", "step 1\n");
    // One level up is the node, then "nodes", the bundle, and the place that holds it.
    fs::create_symlink("../../../../secret", node_ + "/c/out.txt");
    fs::create_symlink("../../../../secret", node_ + "/rootfs/out");
    fs::create_symlink("../../../..", node_ + "/rootfs/up");
    fs::create_symlink("eth0", node_ + "/rootfs/sys/class/net/eth1");
    fs::create_symlink("../../secret", directory_ + "/logs/out.log");
  }

  const std::string& directory() const { return directory_; }
  const std::string& node() const { return node_; }

 private:
  const std::string directory_;
  const std::string node_;
};

void RequireInside(absl::string_view text) {
  if (absl::StrContains(text, BundleOfOne::kSecret)) __builtin_trap();
}

// The node's commands.yaml, the absent paths, the job's env.yaml, incident.yaml and, one a line,
// the paths to read. Nothing from outside of the bundle is ever returned.
void Node(absl::string_view text) {
  static const BundleOfOne kBundle;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('\x1e', 4));
  const auto part = [&](std::size_t i) { return i < parts.size() ? parts[i] : ""; };
  Write(kBundle.node() + "/commands.yaml", part(0));
  Write(kBundle.node() + "/job/commands.yaml", part(0));
  Write(kBundle.node() + "/rootfs/.absent", part(1));
  Write(kBundle.node() + "/job/env.yaml", part(2));
  Write(kBundle.directory() + "/incident.yaml", part(3));
  const auto bundle = host::Bundle::Open(kBundle.directory());
  if (!bundle.ok()) return;
  const auto node = (*bundle)->OpenNode("a");
  if (!node.ok()) __builtin_trap();
  for (const host::View view : {host::View::kHost, host::View::kJob}) {
    for (const std::vector<std::string>& argv : (*node)->Captured({}, view)) {
      const auto result = (*node)->Run(argv, view);
      if (!result.ok()) continue;
      RequireInside(result->out);
      RequireInside(result->err);
    }
    for (const absl::string_view asked : absl::StrSplit(part(4), '\n')) {
      const auto content = (*node)->ReadFile(asked, view);
      if (content.ok()) RequireInside(*content);
      const auto paths = (*node)->Glob(asked, view);
      if (!paths.ok()) continue;
      if (!std::is_sorted(paths->begin(), paths->end())) __builtin_trap();
      for (const std::string& path : *paths) {
        const auto found = (*node)->ReadFile(path, view);
        if (found.ok()) RequireInside(*found);
      }
    }
  }
  Use((*node)->JobEnvironment());
  const auto logs = (*node)->JobLogs();
  if (!logs.ok()) return;
  for (const host::JobLog& log : *logs) {
    if (!absl::StartsWith(log.path, absl::StrCat((*bundle)->root(), "/"))) __builtin_trap();
  }
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {{"archive", Archive}, {"log", Log}, {"node", Node}};
  return kParsers;
}

}  // namespace galen::fuzz
