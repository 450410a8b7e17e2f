#include "services/node/bundle_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostBundles = 4;

// A file that was written this shortly before it was read may be written again without a newer
// time: the clock of a file system is coarse.
constexpr absl::Duration kSettled = absl::Seconds(2);

// Identity of a bundle's files, from stat() alone.
struct Stamp {
  std::string text;  // changes when one of the files is written
  absl::Time newest = absl::InfinitePast();

  void Add(const std::string& path) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) {
      absl::StrAppend(&text, "-;");
      return;
    }
    absl::StrAppend(&text, info.st_dev, ".", info.st_ino, ".", info.st_size, ".",
                    info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, ";");
    newest = std::max(newest, absl::TimeFromTimespec(info.st_mtim));
  }
};

// Covers all files that opening the bundle reads. Contents that hosts read later are cached only
// briefly.
Stamp StampOf(const std::string& path, const host::Bundle& bundle) {
  Stamp stamp;
  stamp.Add(path);
  struct stat info;
  // An archive is one file; its unpacked copy is our own.
  if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) return stamp;
  for (const char* const file : {"bundle.yaml", "incident.yaml", "nodes"}) {
    stamp.Add(absl::StrCat(path, "/", file));
  }
  for (const std::string& node : bundle.nodes()) {
    for (const char* const file : {"", "/commands.yaml", "/rootfs/.absent", "/job",
                                   "/job/commands.yaml", "/job/rootfs/.absent", "/job/env.yaml"}) {
      stamp.Add(absl::StrCat(path, "/nodes/", node, file));
    }
  }
  return stamp;
}

}  // namespace

BundleCache::Entry BundleCache::Find(const std::string& path) {
  const MutexLock lock(mu_);
  for (const Entry& entry : entries_) {
    if (entry.path == path) return entry;
  }
  return {};
}

absl::StatusOr<std::shared_ptr<const host::Bundle>> BundleCache::Open(const std::string& path) {
  // Neither looking at files nor reading them happens under the lock, as both may take long.
  if (const Entry known = Find(path); known.bundle != nullptr) {
    const bool changed = known.stamp != StampOf(path, *known.bundle).text;
    const MutexLock lock(mu_);
    const auto it = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return entry.bundle == known.bundle; });
    // Another thread may have replaced it meanwhile.
    if (it != entries_.end() && changed) entries_.erase(it);
    if (it != entries_.end() && !changed) entries_.splice(entries_.begin(), entries_, it);
    if (!changed) return known.bundle;
  }
  // Two calls at once read it twice.
  const absl::Time begun = SteadyNow();
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const host::Bundle> bundle,
                         host::Bundle::Open(path, /*remember=*/true));
  Stamp stamp = StampOf(path, *bundle);
  if (stamp.newest > begun - kSettled) return bundle;
  const MutexLock lock(mu_);
  entries_.push_front({path, std::move(stamp.text), bundle});
  if (entries_.size() > kMostBundles) entries_.pop_back();
  return bundle;
}

}  // namespace galen::node
