#include "services/node/checks/system/network_fs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxMounts = 10'000;
// No queue of requests is longer; "inf" and "nan" are not numbers of requests.
constexpr double kMostBacklog = 1e9;

std::int64_t WordAt(const std::vector<absl::string_view>& words, std::size_t index) {
  std::int64_t value = 0;
  if (index >= words.size() || !absl::SimpleAtoi(words[index], &value)) return 0;
  return std::max<std::int64_t>(value, 0);
}

// "xprt: tcp 875 1 5 0 0 4709 4708 0 8371 0 2 2 4703": port, bind count, connects, connect time,
// idle time, sends, receives, bad ids, request slots in use, backlog, and from version 1.1 on the
// most slots, sending, pending. UDP lacks connects, connect time and idle time.
void AddTransport(const std::vector<absl::string_view>& words, NfsMount* mount) {
  if (words.size() < 2) return;
  const std::size_t sends = words[1] == "udp" ? 4 : 7;
  mount->sends += WordAt(words, sends);
  mount->backlog += WordAt(words, sends + 4);
  mount->max_slots += WordAt(words, sends + 5);
}

// Whether a server exports "10.0.0.1:/d", or "[2001:db8::1]:/d".
bool IsOf(absl::string_view source, absl::string_view server) {
  return absl::StartsWith(source, absl::StrCat(server, ":")) ||
         absl::StartsWith(source, absl::StrCat("[", server, "]:"));
}

struct Mounted {
  std::string source;
  std::string target;
  std::string type;
};

std::vector<Mounted> NetworkMounts(absl::string_view mounts,
                                   const std::vector<std::string>& types) {
  std::vector<Mounted> found;
  for (const absl::string_view line : Lines(mounts)) {
    const std::vector<absl::string_view> words = Words(line);
    if (words.size() < 3 || found.size() >= kMaxMounts) continue;
    const bool network = absl::c_any_of(types, [&](const std::string& type) {
      return words[2] == type || absl::StartsWith(words[2], absl::StrCat(type, "."));
    });
    if (network) {
      found.push_back({std::string(words[0]), std::string(words[1]), std::string(words[2])});
    }
  }
  return found;
}

// The second reading less the first; a mount that is new starts at zero.
std::vector<NfsMount> Between(const std::vector<NfsMount>& first,
                              const std::vector<NfsMount>& second) {
  std::vector<NfsMount> deltas;
  for (NfsMount mount : second) {
    for (const NfsMount& old : first) {
      if (old.target != mount.target || old.sends > mount.sends) continue;
      mount.sends -= old.sends;
      mount.backlog -= std::min(mount.backlog, old.backlog);
      mount.read_bytes -= std::min(mount.read_bytes, old.read_bytes);
      mount.retransmissions -= std::min(mount.retransmissions, old.retransmissions);
    }
    deltas.push_back(std::move(mount));
  }
  return deltas;
}

// The queues that nfsiostat printed, with whatever options it was captured.
std::map<std::string, double> CapturedBacklogs(const host::Host& host) {
  std::map<std::string, double> backlogs;
  const std::vector<std::string> program = {"nfsiostat"};
  for (const std::vector<std::string>& argv : host.Captured(program)) {
    const auto printed = host.Run(argv);
    if (!printed.ok() || printed->exit_code != 0) continue;
    for (auto& [target, backlog] : ParseNfsiostat(printed->out)) backlogs[target] = backlog;
  }
  return backlogs;
}

}  // namespace

std::map<std::string, double> ParseNfsiostat(absl::string_view text) {
  std::map<std::string, double> backlogs;
  std::string target;
  bool named = false;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    if (words.size() == 4 && words[1] == "mounted" && words[2] == "on") {
      target = std::string(absl::StripSuffix(words[3], ":"));
      named = false;
    } else if (absl::StrContains(line, "rpc bklog")) {
      named = true;
    } else if (named && !words.empty()) {
      double backlog = 0;
      if (words.size() == 2 && !target.empty() && absl::SimpleAtod(words[1], &backlog) &&
          backlog >= 0 && backlog <= kMostBacklog && backlogs.size() < kMaxMounts) {
        backlogs[target] = backlog;
      }
      named = false;
    }
  }
  return backlogs;
}

std::vector<NfsMount> ParseMountStats(absl::string_view text) {
  std::vector<NfsMount> mounts;
  bool within = false;
  bool operations = false;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    if (words.empty()) continue;
    if (words[0] == "device") {
      // device SOURCE mounted on TARGET with fstype TYPE statvers=1.1
      within = words.size() >= 8 && words[2] == "mounted" && absl::StartsWith(words[7], "nfs") &&
               words[7] != "nfsd" && mounts.size() < kMaxMounts;
      operations = false;
      if (!within) continue;
      NfsMount mount;
      mount.source = std::string(words[1]);
      mount.target = std::string(words[4]);
      mounts.push_back(std::move(mount));
      continue;
    }
    if (!within) continue;
    NfsMount& mount = mounts.back();
    if (words[0] == "age:") mount.age_s = WordAt(words, 1);
    // normal read, normal write, direct read, direct write, from the server, to the server, ...
    if (words[0] == "bytes:") mount.read_bytes = WordAt(words, 5);
    if (words[0] == "xprt:") AddTransport(words, &mount);
    if (words[0] == "per-op") operations = true;
    if (operations && absl::EndsWith(words[0], ":") && words.size() >= 3) {
      // operations, transmissions, ...
      mount.retransmissions += std::max<std::int64_t>(0, WordAt(words, 2) - WordAt(words, 1));
    }
  }
  return mounts;
}

absl::StatusOr<std::int64_t> ParseRpcRetransmissions(absl::string_view text) {
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    std::int64_t count = 0;
    if (words.size() >= 3 && words[0] == "rpc" && absl::SimpleAtoi(words[2], &count)) return count;
  }
  return absl::DataLossError("/proc/net/rpc/nfs: has no line rpc");
}

absl::StatusOr<CheckOutput> CheckNetworkFs(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "system.network_fs"));
  const std::map<std::string, double> printed = CapturedBacklogs(host);
  const auto mounts = host.ReadFile("/proc/mounts");
  if (!mounts.ok() && printed.empty()) return mounts.status();
  const std::vector<Mounted> mounted =
      NetworkMounts(mounts.value_or(std::string()), data.Texts("types"));
  if (mounted.empty() && printed.empty()) {
    return absl::NotFoundError("the node mounts no network file system");
  }
  CheckOutput output;
  std::vector<std::string> remarks;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };

  // A server is silent from its last "not responding" to its next "OK". How often each was printed
  // says nothing: the kernel leaves out what it would print too often.
  const auto events = KernelEvents(context);
  std::map<std::string, std::int64_t> silent;
  if (events.ok()) {
    std::map<std::string, std::int64_t> answered;
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_NFS) continue;
      if (event.code == "ok") answered.try_emplace(event.subject, event.last);
      if (event.code == "not_responding") silent.try_emplace(event.subject, event.last);
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
    std::erase_if(silent, [&](const auto& server) {
      const auto answer = answered.find(server.first);
      return answer != answered.end() && answer->second > server.second;
    });
  }
  std::size_t nfs_mounts = 0;
  for (const Mounted& mount : mounted) {
    const std::string device = absl::StrCat("mount:", mount.target);
    // Only the NFS client logs this: its silence about another file system proves nothing.
    const bool nfs = mount.type == "nfs" || mount.type == "nfs4";
    nfs_mounts += nfs ? 1 : 0;
    if (!events.ok() || !nfs) {
      add(UnknownFinding("server_not_responding", node, device));
      continue;
    }
    const bool stalled = absl::c_any_of(
        silent, [&](const auto& server) { return IsOf(mount.source, server.first); });
    if (stalled) remarks.push_back(absl::StrCat(mount.target, ": its server does not respond"));
    add(BoolFinding("server_not_responding", node, device, stalled));
  }

  const auto waiting = [&](absl::string_view target, double mean, absl::string_view since) {
    remarks.push_back(absl::StrCat(target, ": ", std::llround(mean),
                                   " requests wait for a slot on average", since));
  };
  for (const auto& [target, backlog] : printed) {
    add(IntFinding("rpc_backlog", node, absl::StrCat("mount:", target),
                   std::llround(std::ceil(backlog))));
    if (backlog >= 1) waiting(target, backlog, "");
  }
  GALEN_ASSIGN_OR_RETURN(const double mean_backlog, data.Number("mean_backlog"));
  const auto statistics = host.ReadFile("/proc/self/mountstats");
  bool rates = false;
  if (statistics.ok()) {
    std::vector<NfsMount> stats = ParseMountStats(*statistics);
    double seconds = 0;
    if (host.live() && !stats.empty()) {
      // Counters since the mount mean little: what counts is what happens now.
      GALEN_ASSIGN_OR_RETURN(const double interval, data.Number("interval_s"));
      const absl::Time start = SteadyNow();
      if (context.cancelled.SleepFor(absl::Seconds(interval))) {
        return absl::CancelledError("system.network_fs was cancelled");
      }
      if (const auto again = host.ReadFile("/proc/self/mountstats"); again.ok()) {
        stats = Between(stats, ParseMountStats(*again));
        seconds = absl::ToDoubleSeconds(SteadyNow() - start);
        rates = true;
      }
    }
    for (const NfsMount& mount : stats) {
      const std::string device = absl::StrCat("mount:", mount.target);
      const double mean =
          mount.sends > 0 ? static_cast<double>(mount.backlog) / static_cast<double>(mount.sends)
                          : 0;
      if (rates) {
        add(IntFinding("rpc_backlog", node, device, std::llround(std::ceil(mean))));
        add(FloatFinding("read_mb_s", node, device,
                         seconds > 0 ? static_cast<double>(mount.read_bytes) / 1e6 / seconds : 0));
      } else {
        if (!printed.contains(mount.target)) {
          add(mean >= mean_backlog
                  ? IntFinding("rpc_backlog", node, device, std::llround(std::ceil(mean)))
                  : UnknownFinding("rpc_backlog", node, device));
        }
        add(UnknownFinding("read_mb_s", node, device));
      }
      add(mount.max_slots > 0 ? IntFinding("slots_in_use", node, device, mount.max_slots)
                              : UnknownFinding("slots_in_use", node, device));
      add(IntFinding("retransmissions", node, device, mount.retransmissions));
      if (mean >= 1) waiting(mount.target, mean, rates ? "" : " since it was mounted");
    }
  } else {
    if (printed.empty()) add(UnknownFinding("rpc_backlog", node, ""));
    if (const auto rpc = host.ReadFile("/proc/net/rpc/nfs"); rpc.ok()) {
      const auto count = ParseRpcRetransmissions(*rpc);
      add(count.ok() ? IntFinding("retransmissions", node, "", *count)
                     : UnknownFinding("retransmissions", node, ""));
    }
  }
  if (remarks.empty()) {
    output.message = absl::StrCat(mounted.size(), " network file systems");
    if (events.ok() && nfs_mounts > 0) {
      absl::StrAppend(&output.message, ", none of the ", nfs_mounts, " NFS mounts is stalled");
    }
  } else {
    output.message = absl::StrJoin(remarks, "; ");
  }
  return output;
}

}  // namespace galen::node
