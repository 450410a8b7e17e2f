#include "services/watch/kubernetes/node_reporter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/watch/kubernetes/findings.h"

namespace galen::watch::kubernetes {
namespace {

using kube::Json;

constexpr absl::Duration kCall = absl::Seconds(20);
constexpr std::size_t kMostTold = 100'000;
constexpr std::size_t kMostShown = 20;

const kube::Resource kNodes{"", "v1", "nodes"};
const kube::Resource kEvents{"", "v1", "events"};

// The parts of a node that are read: a cluster has thousands, each with lists of its images.
Json Lean(const Json& node) {
  Json lean = {{"metadata", Json::object()}, {"status", Json::object()}};
  for (const char* field : {"name", "labels"}) {
    const auto metadata = node.find("metadata");
    if (metadata != node.end() && metadata->is_object() && metadata->contains(field)) {
      lean["metadata"][field] = (*metadata)[field];
    }
  }
  for (const char* field : {"conditions", "capacity"}) {
    const auto status = node.find("status");
    if (status != node.end() && status->is_object() && status->contains(field)) {
      lean["status"][field] = (*status)[field];
    }
  }
  return lean;
}

}  // namespace

NodeReporter::NodeReporter(kube::Client& client, store::Store& store, NodeRules rules,
                           const Clock& clock, Options options,
                           std::function<void(const std::string&)> tell)
    : client_(client),
      store_(store),
      rules_(std::move(rules)),
      clock_(clock),
      options_(options),
      tell_(std::move(tell)),
      began_(clock.Now()),
      conclusions_(store.events(), clock, options.hold, options.own) {
  kube::Watcher watcher;
  watcher.on_change = [this](const kube::Change& change) { Heard(change); };
  watcher.on_synced = [this] {
    deaf_ = false;
    const MutexLock lock(mu_);
    synced_ = true;
  };
  watcher.on_trouble = [this](const absl::Status& status) {
    if (absl::IsOutOfRange(status) || std::exchange(deaf_, true)) return;
    tell_(absl::StrCat("nodes of the cluster are not heard of: ", status.message()));
  };
  watch_ = std::make_unique<kube::Watch>(client_, kube::Selection{kNodes, "", "", ""},
                                         std::move(watcher));
  thread_ = std::thread([this] { Loop(); });
}

NodeReporter::~NodeReporter() {
  cancellation_.Cancel();
  watch_.reset();
  thread_.join();
}

void NodeReporter::Heard(const kube::Change& change) {
  const std::string name = TextAt(change.object, {"metadata", "name"});
  const MutexLock lock(mu_);
  if (change.kind == kube::Change::Kind::kDeleted) {
    nodes_.erase(name);
  } else {
    nodes_[name] = Lean(change.object);
  }
}

void NodeReporter::Loop() {
  bool failing = false;
  do {
    const absl::Status status = Round();
    if (cancellation_.cancelled()) return;
    if (!status.ok() && !std::exchange(failing, true)) {
      tell_(absl::StrCat("what was concluded is not said on the cluster's nodes: ",
                         status.message()));
    } else if (status.ok() && std::exchange(failing, false)) {
      tell_("what was concluded is said on the cluster's nodes again");
    }
  } while (!cancellation_.SleepFor(options_.every));
}

absl::Status NodeReporter::Round() {
  GALEN_RETURN_IF_ERROR(conclusions_.Scan());
  std::vector<std::string> names;
  {
    const MutexLock lock(mu_);
    if (!synced_) return absl::OkStatus();  // the cluster is still unknown
    for (const auto& [name, node] : nodes_) names.push_back(name);
  }
  const std::vector<Conclusion> conclusions = conclusions_.All();
  const Problems problems = ProblemsOf(conclusions, rules_, options_.hold, clock_.Now());
  static const std::map<std::string, Problem> kNone;
  absl::Status failed;
  for (const std::string& name : names) {
    const auto found = problems.find(name);
    const absl::Status status = Report(name, found == problems.end() ? kNone : found->second);
    // A node that cannot be written does not block the others.
    if (!status.ok()) failed = status;
    if (cancellation_.cancelled()) return absl::OkStatus();
  }
  GALEN_RETURN_IF_ERROR(failed);
  GALEN_RETURN_IF_ERROR(TellEvents(conclusions));
  return LookForExecutors();
}

absl::Status NodeReporter::Report(const std::string& node,
                                  const std::map<std::string, Problem>& problems) {
  Json now;
  {
    const MutexLock lock(mu_);
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) return absl::OkStatus();
    now = found->second;
  }
  std::optional<Json> content = PatchOf(now, problems, rules_, clock_.Now());
  if (!content.has_value()) return absl::OkStatus();
  kube::Patch patch;
  patch.kind = kube::Patch::Kind::kStrategic;
  patch.content = *std::move(content);
  patch.subresource = "status";
  const absl::StatusOr<Json> written =
      client_.Apply(kNodes, {"", node}, patch, {.timeout = kCall, .cancellation = &cancellation_});
  if (absl::IsNotFound(written.status())) return absl::OkStatus();  // it went
  GALEN_RETURN_IF_ERROR(written.status());
  const MutexLock lock(mu_);
  if (const auto found = nodes_.find(node); found != nodes_.end()) found->second = Lean(*written);
  return absl::OkStatus();
}

absl::Status NodeReporter::TellEvents(const std::vector<Conclusion>& conclusions) {
  for (const Conclusion& conclusion : conclusions) {
    if (clock_.Now() - conclusion.time > options_.events_of) continue;
    for (const Fault& fault : conclusion.faults) {
      {
        const MutexLock lock(mu_);
        if (nodes_.count(fault.node) == 0) continue;
      }
      const Json event = EventOf(conclusion, fault);
      const std::string name = TextAt(event, {"metadata", "name"});
      if (told_.count(name) > 0) continue;
      absl::Status made =
          client_
              .Create(kEvents, "default", event, {.timeout = kCall, .cancellation = &cancellation_})
              .status();
      // (It exists already: another reporter made it, or this one before a restart.)
      if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
      if (told_.size() >= kMostTold) told_.clear();
      told_.insert(name);
    }
  }
  return absl::OkStatus();
}

absl::Status NodeReporter::LookForExecutors() {
  // Executors and pods start in any order.
  if (clock_.Now() - began_ < options_.settle) return absl::OkStatus();
  GALEN_ASSIGN_OR_RETURN(const std::vector<store::NodeEntry> entries,
                         store_.nodes().List(clock_.Now()));
  std::set<std::string> executors;
  for (const store::NodeEntry& entry : entries) executors.insert(entry.name);
  std::set<std::string> missing;
  {
    const MutexLock lock(mu_);
    for (const auto& [name, node] : nodes_) {
      if (HasGpu(node, rules_) && executors.count(name) == 0) missing.insert(name);
    }
  }
  if (missing == missing_) return absl::OkStatus();
  missing_ = missing;
  if (missing.empty()) {
    tell_("every node of the cluster with GPUs has a node executor now");
    return absl::OkStatus();
  }
  std::vector<std::string> shown(missing.begin(), missing.end());
  shown.resize(std::min(shown.size(), kMostShown));
  tell_(absl::StrCat(missing.size(), " nodes of the cluster with GPUs have no node executor: ",
                     absl::StrJoin(shown, ", "), missing.size() > kMostShown ? " and more" : "",
                     "; see whether the DaemonSet tolerates their taints and selects them"));
  return absl::OkStatus();
}

}  // namespace galen::watch::kubernetes
