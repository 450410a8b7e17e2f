#include "common/observability/metrics/calls.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/observability/metrics/registry.h"

namespace galen::metrics {
namespace {

constexpr int kUnknown = 2;
constexpr std::size_t kProbes = 8;

// As gRPC names them (https://grpc.io/docs/guides/status-codes/).
std::string CodeName(std::size_t code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

std::size_t SlotOf(const char* place) {
  // The addresses of literals are a few bytes apart.
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  return static_cast<std::size_t>((address * 0x9E3779B97F4A7C15u) >> 40);
}

struct Path {
  absl::string_view service;
  absl::string_view method;
};
Path Split(absl::string_view path) {
  absl::ConsumePrefix(&path, "/");
  const std::size_t cut = path.rfind('/');
  if (cut == absl::string_view::npos) return {path, ""};
  return {path.substr(0, cut), path.substr(cut + 1)};
}

}  // namespace

Calls::Method::Shard& Calls::Method::Own() {
  static std::atomic<std::size_t> threads = 0;
  thread_local const std::size_t own = threads.fetch_add(1, std::memory_order_relaxed) % kShards;
  return shards_[own];
}

void Calls::Method::Begin() { Own().begun.fetch_add(1, std::memory_order_relaxed); }

void Calls::Method::End(int code, absl::Duration took) {
  if (code < 0 || static_cast<std::size_t>(code) >= kCodes) code = kUnknown;
  Shard& shard = Own();
  shard.ended[static_cast<std::size_t>(code)].fetch_add(1, std::memory_order_relaxed);
  shard.times.Add(took);
}

Calls::Method& Calls::Of(const char* path) {
  const std::size_t first = SlotOf(path);
  for (std::size_t i = 0; i < kProbes; ++i) {
    std::atomic<const Place*>& slot = slots_[(first + i) % kSlots];
    const Place* known = slot.load(std::memory_order_acquire);
    if (known == nullptr) break;
    // The same place may hold another text by now.
    if (known->place == path && known->method->path() == path) return *known->method;
  }
  return Find(path);
}

Calls::Method* Calls::Known(absl::string_view path) const {
  const auto it = std::find_if(methods_.begin(), methods_.end(),
                               [path](const auto& method) { return method->path() == path; });
  return it == methods_.end() ? nullptr : it->get();
}

Calls::Method& Calls::Find(const char* path) {
  const MutexLock lock(mu_);
  Method* method = Known(path);
  if (method == nullptr && methods_.size() >= kMostMethods) method = Known(kOther);
  if (method == nullptr) {
    methods_.push_back(std::make_unique<Method>(
        methods_.size() >= kMostMethods ? std::string(kOther) : std::string(path)));
    method = methods_.back().get();
  }
  if (method->path() != path || places_.size() >= kSlots / 2) return *method;
  places_.push_back(std::make_unique<const Place>(Place{path, method}));
  const std::size_t first = SlotOf(path);
  for (std::size_t i = 0; i < kProbes; ++i) {
    const Place* empty = nullptr;
    if (slots_[(first + i) % kSlots].compare_exchange_strong(empty, places_.back().get(),
                                                             std::memory_order_release)) {
      break;
    }
  }
  return *method;
}

std::vector<prometheus::MetricFamily> Calls::Collect() const {
  prometheus::MetricFamily total = FamilyOf(names_.total);
  prometheus::MetricFamily in_flight = FamilyOf(names_.in_flight);
  prometheus::MetricFamily seconds = FamilyOf(names_.seconds);
  const MutexLock lock(mu_);
  for (const auto& method : methods_) {
    const Path path = Split(method->path());
    const Labels labels = {{"rpc_service", path.service}, {"rpc_method", path.method}};
    std::uint64_t ended_in_all = 0;
    for (std::size_t code = 0; code < Method::kCodes; ++code) {
      std::uint64_t ended = 0;
      for (const Method::Shard& shard : method->shards_) {
        ended += shard.ended[code].load(std::memory_order_relaxed);
      }
      ended_in_all += ended;
      if (ended == 0 && code != 0) continue;
      const std::string name = CodeName(code);
      Labels with_code = labels;
      with_code.emplace_back("code", name);
      AddTo(total, with_code, static_cast<double>(ended));
    }
    std::uint64_t begun = 0;
    Distribution times;
    for (const Method::Shard& shard : method->shards_) {
      begun += shard.begun.load(std::memory_order_relaxed);
      shard.times.AddTo(times);
    }
    AddTo(in_flight, labels, static_cast<double>(begun > ended_in_all ? begun - ended_in_all : 0));
    AddTo(seconds, labels, times);
  }
  return {std::move(total), std::move(in_flight), std::move(seconds)};
}

const std::shared_ptr<Calls>& ServerCalls() {
  static const auto& calls = *new std::shared_ptr<Calls>(
      std::make_shared<Calls>(Calls::Names{kServerCalls, kServerInFlight, kServerSeconds}));
  return calls;
}

const std::shared_ptr<Calls>& ClientCalls() {
  static const auto& calls = *new std::shared_ptr<Calls>(
      std::make_shared<Calls>(Calls::Names{kClientCalls, kClientInFlight, kClientSeconds}));
  return calls;
}

LocalCall::LocalCall(const char* path) : method_(&ServerCalls()->Of(path)), begun_(absl::Now()) {
  method_->Begin();
}

LocalCall::LocalCall(LocalCall&& other) noexcept
    : method_(std::exchange(other.method_, nullptr)), begun_(other.begun_) {}

LocalCall::~LocalCall() {
  if (method_ != nullptr) End(absl::CancelledError());
}

void LocalCall::End(const absl::Status& status) {
  if (Calls::Method* method = std::exchange(method_, nullptr)) {
    method->End(static_cast<int>(status.code()), absl::Now() - begun_);
  }
}

}  // namespace galen::metrics
