#ifndef TESTS_UNIT_SERVICES_GATEWAY_KUBERNETES_WORLD_H_
#define TESTS_UNIT_SERVICES_GATEWAY_KUBERNETES_WORLD_H_

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/upstream.h"
#include "tests/testing/kube/scripted_cluster.h"

// A cluster with Diagnosis objects and an orchestrator, as far as a controller sees them.
namespace galen::gateway::kubernetes {

using kube::Json;

inline Json AnObject(const std::string& name, Json spec = {{"description", "it is slow"}}) {
  return {{"apiVersion", "galen.io/v1alpha1"},
          {"kind", "Diagnosis"},
          {"metadata",
           {{"name", name},
            {"namespace", "team-a"},
            {"uid", "uid-" + name},
            {"generation", 1},
            {"resourceVersion", "1"}}},
          {"spec", std::move(spec)}};
}

// Makes diagnoses, each once, however often it is asked. Thread-safe.
class FakeOrchestrator final : public Upstream {
 public:
  clients::Cancel Ask(Call call, clients::Done<Answer> done) override {
    std::move(done)(Do(call));
    return clients::NoCancel();
  }
  std::shared_ptr<Feed> Follow(Call /*call*/,
                               absl::AnyInvocable<void(const google::protobuf::Message&)> /*each*/,
                               absl::AnyInvocable<void(absl::Status) &&> /*done*/) override {
    return nullptr;
  }

  // Changes a diagnosis.
  void Become(const std::string& name, const std::function<void(galen::v1::Diagnosis&)>& change) {
    const std::lock_guard lock(mu_);
    change(diagnoses_[name]);
  }
  void FailWith(absl::Status status) {
    const std::lock_guard lock(mu_);
    failure_ = std::move(status);
  }
  std::map<std::string, galen::v1::Diagnosis> diagnoses() const {
    const std::lock_guard lock(mu_);
    return diagnoses_;
  }
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mu_);
    return calls_;
  }

 private:
  absl::StatusOr<Answer> Do(const Call& call) {
    const std::lock_guard lock(mu_);
    calls_.push_back(absl::StrCat(call.method->name(), " ", call.resource));
    // A separate copy of the status: TSan does not see that the library's reference count orders
    // its users.
    if (!failure_.ok()) return absl::Status(failure_.code(), failure_.message());
    std::string name = call.resource;
    if (call.method->name() == "CreateDiagnosis") {
      const auto& request = static_cast<const galen::v1::CreateDiagnosisRequest&>(*call.request);
      name = absl::StrCat(request.parent(), "/diagnoses/", request.diagnosis_id());
      const auto [at, made] = diagnoses_.try_emplace(name, request.diagnosis());
      if (made) {
        at->second.set_name(name);
        at->second.set_state(galen::v1::Diagnosis::PENDING);
      }
    }
    const auto found = diagnoses_.find(name);
    if (found == diagnoses_.end())
      return absl::NotFoundError(absl::StrCat(name, ": there is none"));
    if (call.method->name() == "CancelDiagnosis") {
      found->second.set_state(galen::v1::Diagnosis::CANCELLED);
    }
    return std::make_unique<galen::v1::Diagnosis>(found->second);
  }

  mutable std::mutex mu_;
  absl::Status failure_;
  std::map<std::string, galen::v1::Diagnosis> diagnoses_;
  std::vector<std::string> calls_;
};

// Lets everything through, or nothing. Thread-safe; `wait` is set before and `taken` read after
// what calls it.
class FakeRates final : public RateLimiter {
 public:
  void Take(const std::string& tenant, bool starts,
            absl::AnyInvocable<void(absl::StatusOr<Allowance>) &&> done) override {
    {
      const std::lock_guard lock(mu_);
      taken.push_back(absl::StrCat(tenant, starts ? " starts" : ""));
    }
    Allowance allowance;
    allowance.wait = wait;
    std::move(done)(allowance);
  }
  absl::Duration wait;
  std::vector<std::string> taken;

 private:
  std::mutex mu_;
};

// An API server with namespaces, pods and Diagnosis objects. Thread-safe.
class FakeCluster {
 public:
  FakeCluster()
      : api([this](const kube::HttpRequest& request, int /*number*/) { return Do(request); }) {
    spaces["team-a"] = {{"galen.io/tenant", "acme"}};
  }

  void Put(Json object) {
    const std::lock_guard lock(mu_);
    const std::string name = TextAt(object, {"metadata", "name"});
    object["metadata"]["resourceVersion"] = absl::StrCat(++version_);
    const bool known = objects_.count(name) > 0;
    objects_[name] = object;
    Tell(known ? "MODIFIED" : "ADDED", object);
  }
  void Remove(const std::string& name) {
    const std::lock_guard lock(mu_);
    Json object = objects_[name];
    object["metadata"]["resourceVersion"] = absl::StrCat(++version_);
    objects_.erase(name);
    Tell("DELETED", object);
  }
  Json Get(const std::string& name) const {
    const std::lock_guard lock(mu_);
    const auto found = objects_.find(name);
    return found == objects_.end() ? Json() : found->second;
  }
  int patches() const {
    const std::lock_guard lock(mu_);
    return patches_;
  }
  // Waits until an object's state is this one.
  void Await(const std::string& name, const std::string& state) {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] {
      const auto found = objects_.find(name);
      return found != objects_.end() && TextAt(found->second, {"status", "state"}) == state;
    });
  }

  // Before it is used:
  std::map<std::string, Json> spaces;  // labels, by name
  std::vector<Json> pods;
  galen::testing::ScriptedCluster api;

 private:
  void Tell(const std::string& type, const Json& object) {
    log_.emplace_back(version_, Json{{"type", type}, {"object", object}}.dump() + "\n");
    changed_.notify_all();
  }

  absl::StatusOr<kube::HttpReply> Do(const kube::HttpRequest& request) {
    using galen::testing::Refused;
    using galen::testing::Replied;
    std::unique_lock lock(mu_);
    const std::string path = request.target.substr(0, request.target.find('?'));
    const std::string name = path.substr(path.rfind('/') + 1);
    if (absl::StartsWith(path, "/api/v1/namespaces/") && name == "pods") {
      return Replied({{"metadata", {{"resourceVersion", "1"}}}, {"items", Chosen(request.target)}});
    }
    if (absl::StartsWith(path, "/api/v1/namespaces/")) {
      const auto space = spaces.find(name);
      if (space == spaces.end()) return Refused(404, "NotFound");
      return Replied({{"metadata", {{"name", name}, {"labels", space->second}}}});
    }
    if (request.on_bytes) return Watch(request, lock);
    if (request.method == "GET") {
      Json items = Json::array();
      for (const auto& [key, object] : objects_) items.push_back(object);
      return Replied(
          {{"metadata", {{"resourceVersion", absl::StrCat(version_)}}}, {"items", items}});
    }
    const std::vector<std::string> parts = absl::StrSplit(path, '/');
    const auto found = objects_.find(parts[parts.size() - 2]);
    if (found == objects_.end()) return Refused(404, "NotFound");
    Json patch = Json::parse(request.body);
    if (patch["metadata"]["resourceVersion"] != found->second["metadata"]["resourceVersion"]) {
      return Refused(409, "Conflict");
    }
    ++patches_;
    patch.erase("metadata");
    found->second.merge_patch(patch);
    found->second["metadata"]["resourceVersion"] = absl::StrCat(++version_);
    Tell("MODIFIED", found->second);
    return Replied(found->second);
  }

  // Those that a selector "label=value" of the request chooses.
  Json Chosen(const std::string& target) const {
    Json chosen = Json::array();
    for (const Json& pod : pods) {
      for (const auto& [label, value] : pod["metadata"]["labels"].items()) {
        const std::string wanted =
            kube::QueryText({{"labelSelector", label + "=" + value.get<std::string>()}}).substr(1);
        if (absl::EndsWith(target, wanted)) chosen.push_back(pod);
      }
    }
    return chosen;
  }

  absl::StatusOr<kube::HttpReply> Watch(const kube::HttpRequest& request,
                                        std::unique_lock<std::mutex>& lock) {
    const std::size_t at = request.target.find("resourceVersion=") + 16;
    int from = std::stoi(request.target.substr(at));
    while (!request.cancellation->cancelled()) {
      std::string bytes;
      for (const auto& [version, line] : log_) {
        if (version > from) bytes += line;
      }
      from = version_;
      if (!bytes.empty()) {
        lock.unlock();
        if (absl::Status status = request.on_bytes(bytes); !status.ok()) return status;
        lock.lock();
        continue;
      }
      // (A cancellation does not wake it.)
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    return absl::CancelledError("stopped");
  }

  mutable std::mutex mu_;
  std::condition_variable changed_;
  int version_ = 10;
  int patches_ = 0;
  std::map<std::string, Json> objects_;
  std::vector<std::pair<int, std::string>> log_;
};

}  // namespace galen::gateway::kubernetes

#endif  // TESTS_UNIT_SERVICES_GATEWAY_KUBERNETES_WORLD_H_
