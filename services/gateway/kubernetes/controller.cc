#include "services/gateway/kubernetes/controller.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "services/gateway/kubernetes/diagnosis_object.h"

namespace galen::gateway::kubernetes {
namespace {

using kube::Json;

constexpr absl::Duration kLongestSleep = absl::Seconds(1);
// A deleted object is not retried forever.
constexpr int kMostProblemsOfDeleted = 10;

}  // namespace

Controller::Controller(kube::Client& client, Reconciler& reconciler, Options options,
                       std::function<void(const std::string&)> tell)
    : reconciler_(reconciler), options_(options), tell_(std::move(tell)) {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Loop(); });
  kube::Watcher watcher;
  watcher.on_change = [this](const kube::Change& change) {
    deaf_ = false;
    Heard(change);
  };
  watcher.on_synced = [this] { deaf_ = false; };
  watcher.on_trouble = [this](const absl::Status& status) {
    // (An expired version is not an error: the watch lists again.)
    if (absl::IsOutOfRange(status) || std::exchange(deaf_, true)) return;
    tell_(absl::StrCat("Diagnosis objects cannot be watched: ", status.message()));
  };
  watch_ = std::make_unique<kube::Watch>(client, kube::Selection{Diagnoses(), "", "", ""},
                                         std::move(watcher));
}

Controller::~Controller() {
  watch_.reset();
  cancellation_.Cancel();
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Controller::Counts Controller::counts() const {
  const MutexLock lock(mu_);
  Counts counts = counts_;
  counts.followed = items_.size();
  return counts;
}

void Controller::Heard(const kube::Change& change) {
  const Key key(TextAt(change.object, {"metadata", "namespace"}),
                TextAt(change.object, {"metadata", "uid"}));
  const MutexLock lock(mu_);
  const auto found = items_.find(key);
  const bool deleted = change.kind == kube::Change::Kind::kDeleted;
  if (found == items_.end()) {
    // (Nothing is left to do for a diagnosis that is over, or for an object deleted before it was
    // seen.)
    if (deleted || IsOver(change.object)) return;
    Item item;
    item.object = change.object;
    item.due = SteadyNow();
    items_.emplace(key, std::move(item));
  } else {
    Item& item = found->second;
    item.deleted = deleted;
    // (Only the name came if the object was missing from a list.)
    if (!deleted) item.object = change.object;
    // A change caused by our own write is not a reason for another step.
    if (deleted || item.problems > 0) item.due = SteadyNow();
    if (item.busy) item.changed = true;
  }
  changed_.notify_all();
}

bool Controller::Take(Key& key, Json& object, bool& deleted) {
  const MutexLock lock(mu_);
  while (!stopping_) {
    const absl::Time now = SteadyNow();
    absl::Time next = now + kLongestSleep;
    auto chosen = items_.end();
    for (auto it = items_.begin(); it != items_.end(); ++it) {
      if (it->second.busy || it->second.due > next) continue;
      next = it->second.due;
      chosen = it;
    }
    if (chosen == items_.end() || next > now) {
      mu_.WaitFor(changed_, next - now);
      continue;
    }
    Item& item = chosen->second;
    item.busy = true;
    item.changed = false;
    key = chosen->first;
    object = item.object;
    deleted = item.deleted;
    return true;
  }
  return false;
}

void Controller::Loop() {
  Key key;
  Json object;
  bool deleted = false;
  while (Take(key, object, deleted)) {
    Reconciler::Outcome outcome = deleted ? reconciler_.Deleted(object, cancellation_)
                                          : reconciler_.Step(object, cancellation_);
    Made(key, object, std::move(outcome));
  }
}

void Controller::Made(const Key& key, const Json& object, Reconciler::Outcome outcome) {
  std::string news;
  {
    const MutexLock lock(mu_);
    if (stopping_) return;
    ++counts_.steps;
    const auto found = items_.find(key);
    if (found == items_.end()) return;
    Item& item = found->second;
    item.busy = false;
    if (!outcome.problem.ok()) {
      ++counts_.problems;
      ++item.problems;
      if (!std::exchange(failing_, true)) {
        news = absl::StrCat("Diagnosis ", NameOf(object),
                            ": delayed, will be retried: ", outcome.problem.message());
      }
    } else {
      item.problems = 0;
      failing_ = false;
    }
    const bool given_up = item.deleted && item.problems >= kMostProblemsOfDeleted;
    // (Deleted during a step of its life: the next step handles the deletion.)
    if (given_up || (outcome.done && !(item.changed && item.deleted))) {
      items_.erase(found);
    } else {
      // A change received meanwhile is newer than the object we wrote.
      if (outcome.object.has_value() && !item.changed) item.object = *std::move(outcome.object);
      absl::Duration wait = outcome.wait;
      for (int i = 1; i < item.problems && wait < options_.longest_pause; ++i) wait *= 2;
      item.due = SteadyNow() + (item.changed && item.deleted ? absl::ZeroDuration() : wait);
    }
  }
  changed_.notify_all();
  if (!news.empty()) tell_(news);
}

}  // namespace galen::gateway::kubernetes
