#include "services/node/checks/system/kernel_events.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/kernel_line.h"
#include "services/node/checks/system/kernel_patterns.h"

namespace galen::node {
namespace {

// Links that a follower remembers: a machine has fewer, a hostile log may name more.
constexpr std::size_t kMostLinks = 4096;

// A scan of the log; earlier lines decide how later ones are read.
class Scan {
 public:
  // `patterns` must outlive this.
  Scan(const KernelPatterns& patterns, const KernelWindow& window)
      : patterns_(patterns), window_(window) {}

  void Line(absl::string_view raw) {
    const KernelLine line = ParseKernelLine(raw);
    patterns_.Match(line.message, &matches_);
    std::optional<absl::Time> time = line.time;
    if (!time.has_value() && line.uptime_s.has_value() && window_.boot.has_value()) {
      time = *window_.boot + absl::Seconds(*line.uptime_s);
    }
    if (time.has_value() && !first_time_.has_value()) first_time_ = time;
    if (matches_.empty()) return;
    KernelEvent event;
    event.time = time;
    event.uptime_s = line.uptime_s;
    event.text = std::string(line.message);
    Classify(matches_.front(), line, std::move(event));
  }

  std::vector<KernelEvent> Finish() && {
    AddLostXids();
    return std::move(events_);
  }

  // Returns the events since the last call; later lines are not merged with them.
  std::vector<KernelEvent> Take() {
    index_.clear();
    if (links_.size() > kMostLinks) links_.clear();
    return std::exchange(events_, {});
  }

 private:
  // Seconds since the log, or the machine, began; nothing when no line says.
  std::optional<double> Age(const KernelEvent& event) const {
    if (event.uptime_s.has_value()) return event.uptime_s;
    if (event.time.has_value() && first_time_.has_value()) {
      return absl::ToDoubleSeconds(*event.time - *first_time_);
    }
    return std::nullopt;
  }

  void Classify(int index, const KernelLine& line, KernelEvent event) {
    const knowledge::v1::KernelLine& form = patterns_.form(index);
    const KernelGroups groups = patterns_.Extract(index, line.message);
    event.family = form.family();
    event.code = form.code().empty() ? std::string(groups.code) : form.code();
    event.platform = IsPlatform(form, event.code);
    event.pci = NormalPci(groups.pci);
    event.subject = std::string(groups.subject);
    switch (event.family) {
      case EventFamily::KERNEL_SXID:
        absl::AsciiStrToLower(&event.code);
        break;
      case EventFamily::KERNEL_NVRM:
        // The driver spreads "The NVIDIA GPU 0000:0f:00.0 ... has fallen off the bus" over lines.
        if (form.code() == "installed_gpu") {
          named_gpu_ = event.pci;
          return;
        }
        if (form.code() == "fallen_off_bus" && event.pci.empty()) event.pci = named_gpu_;
        break;
      case EventFamily::KERNEL_NIC:
        if (!KeepLink(form, event)) return;
        break;
      case EventFamily::KERNEL_OOM_KILL:
        if (!NameKill(form.code(), groups, &event)) return;
        break;
      default:
        break;
    }
    Add(std::move(event));
  }

  // A link that comes up at boot is not an event, nor is a port that never had a cable.
  bool KeepLink(const knowledge::v1::KernelLine& form, const KernelEvent& event) {
    const std::string& code = form.code();
    if (code != "link_down" && code != "link_up") return true;
    LinkState& link = links_[event.subject];
    const bool settled = Age(event).value_or(0) > form.settle_s();
    if (code == "link_down") {
      const bool keep = settled && (link.was_up || !link.was_seen);
      link.was_seen = true;
      link.went_down |= keep;
      return keep;
    }
    link.was_seen = true;
    link.was_up = true;
    return std::exchange(link.went_down, false);
  }

  // "memcg:python3" or "global:python3"; the line before the kill has the group, and the scope if
  // the kill lacks it. It applies to all kills up to the next such line: a group may die as a
  // whole.
  bool NameKill(absl::string_view kind, const KernelGroups& groups, KernelEvent* event) {
    if (kind == "constraint") {
      memcg_kill_ = groups.code == "CONSTRAINT_MEMCG";
      limited_group_ = memcg_kill_ ? std::string(groups.subject) : std::string();
      return false;
    }
    if (kind == "limit_of") {
      memcg_kill_ = true;
      limited_group_ = std::string(groups.subject);
      return false;
    }
    if (kind == "killed") {
      // Old kernels print the choice ("Kill process") and the kill; it is one kill.
      if (event->subject == last_killed_) return false;
      kind = memcg_kill_ ? "memcg" : "global";
    }
    last_killed_ = event->subject;
    event->code = absl::StrCat(kind, ":", groups.code);
    if (kind == "memcg") event->group = limited_group_;
    return true;
  }

  void Add(KernelEvent event) {
    event.order = order_++;
    event.last = event.order;
    if (event.time.has_value() && (*event.time < window_.from || *event.time > window_.to)) return;
    event.count = 1;
    // The text distinguishes switch errors; their code is only the severity.
    std::string kind = event.code;
    if (event.family == EventFamily::KERNEL_SXID) {
      static const RE2 number(R"(SXid \([^)]*\): (\d+))");
      std::string digits;
      if (RE2::PartialMatch(event.text, number, &digits)) absl::StrAppend(&kind, "/", digits);
    }
    const auto [at, added] =
        index_.try_emplace({event.family, kind, event.pci, event.subject}, events_.size());
    if (added) {
      events_.push_back(std::move(event));
    } else {
      ++events_[at->second].count;
      events_[at->second].last = event.last;
    }
  }

  // A GPU that fell off the bus is what Xid 79 says; not every driver prints both.
  void AddLostXids() {
    std::vector<KernelEvent> lost;
    for (const KernelEvent& event : events_) {
      if (event.family != EventFamily::KERNEL_NVRM || event.code != "fallen_off_bus") continue;
      if (index_.contains({EventFamily::KERNEL_XID, "79", event.pci, ""})) continue;
      KernelEvent xid = event;
      xid.family = EventFamily::KERNEL_XID;
      xid.code = "79";
      lost.push_back(std::move(xid));
    }
    for (KernelEvent& event : lost) events_.push_back(std::move(event));
  }

  struct LinkState {
    bool was_seen = false;
    bool was_up = false;
    bool went_down = false;
  };

  const KernelPatterns& patterns_;
  const KernelWindow window_;
  std::vector<KernelEvent> events_;
  std::map<std::tuple<EventFamily, std::string, std::string, std::string>, std::size_t> index_;
  std::map<std::string, LinkState> links_;
  std::optional<absl::Time> first_time_;
  std::string named_gpu_;
  std::string last_killed_;
  bool memcg_kill_ = false;
  std::string limited_group_;
  std::int64_t order_ = 0;
  std::vector<int> matches_;
};

}  // namespace

class KernelLogFollower::Scan : public node::Scan {
  using node::Scan::Scan;
};

KernelLogFollower::KernelLogFollower(std::shared_ptr<const KernelPatterns> patterns,
                                     std::optional<absl::Time> boot)
    : patterns_(std::move(patterns)),
      scan_(std::make_unique<Scan>(*patterns_, KernelWindow{.boot = boot})) {}
KernelLogFollower::~KernelLogFollower() = default;

std::vector<KernelEvent> KernelLogFollower::Next(absl::string_view line) {
  // No line of a kernel is longer; capture.h cuts those of a log alike.
  constexpr std::size_t kLongest = 4096;
  scan_->Line(line.substr(0, kLongest));
  return scan_->Take();
}

std::vector<KernelEvent> ScanKernelLog(absl::string_view log, const KernelPatterns& patterns,
                                       const KernelWindow& window) {
  Scan scan(patterns, window);
  for (const absl::string_view line : Lines(log)) scan.Line(line);
  return std::move(scan).Finish();
}

std::string NormalPci(absl::string_view address) {
  static const RE2 form(
      R"((?:([0-9A-Fa-f]{4,8}):)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})(?:\.([0-7]))?)");
  std::string domain;
  std::string bus;
  std::string device;
  std::string function;
  if (!RE2::FullMatch(re2::StringPiece(address.data(), address.size()), form, &domain, &bus,
                      &device, &function)) {
    return "";
  }
  if (domain.empty()) domain = "0000";
  // Tools pad the domain to eight digits; sysfs does not.
  while (domain.size() > 4 && domain[0] == '0') domain.erase(0, 1);
  if (function.empty()) function = "0";
  return absl::AsciiStrToLower(absl::StrCat(domain, ":", bus, ":", device, ".", function));
}

}  // namespace galen::node
