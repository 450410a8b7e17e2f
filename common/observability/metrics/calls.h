#ifndef COMMON_OBSERVABILITY_METRICS_CALLS_H_
#define COMMON_OBSERVABILITY_METRICS_CALLS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/observability/metrics/catalogue.h"
#include "common/observability/metrics/numbers.h"
#include "prometheus/collectable.h"

namespace galen::metrics {

// The calls that a process answers, or makes: how many by method and status code, how many are
// under way, how long they took. A call costs four additions to memory that its thread mostly has
// to itself. Thread-safe.
class Calls final : public prometheus::Collectable {
 public:
  struct Names {
    Description total;
    Description in_flight;
    Description seconds;
  };
  explicit Calls(Names names) : names_(names) {}

  // The numbers of one method.
  class Method {
   public:
    explicit Method(std::string path) : path_(std::move(path)) {}
    void Begin();
    // `code`: a status code of gRPC, 0 to 16; any other counts as UNKNOWN.
    void End(int code, absl::Duration took);
    const std::string& path() const { return path_; }

   private:
    friend class Calls;
    static constexpr std::array<double, 16> kBounds = {
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120};
    static constexpr std::size_t kCodes = 17;
    static constexpr std::size_t kShards = 8;
    struct alignas(64) Shard {
      std::atomic<std::uint64_t> begun = 0;
      std::array<std::atomic<std::uint64_t>, kCodes> ended{};
      Times<kBounds.size()> times{kBounds};
    };
    Shard& Own();

    const std::string path_;
    std::array<Shard, kShards> shards_;
  };

  // The method of a path as gRPC writes it, "/package.Service/Method". The same text at the same
  // address is found at once, without a search; the text is not copied. The first 256 methods have
  // numbers of their own.
  Method& Of(const char* path);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Place {
    const char* place;  // the address of the path
    Method* method;
  };
  static constexpr std::size_t kSlots = 1024;  // a power of two, well above the methods there are
  static constexpr std::size_t kMostMethods = 256;

  Method& Find(const char* path);
  Method* Known(absl::string_view path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Names names_;
  std::array<std::atomic<const Place*>, kSlots> slots_{};
  mutable Mutex mu_;
  std::vector<std::unique_ptr<Method>> methods_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<const Place>> places_ ABSL_GUARDED_BY(mu_);
};

// Those of this process. They live as long as it does.
const std::shared_ptr<Calls>& ServerCalls();
const std::shared_ptr<Calls>& ClientCalls();

// One call within the process, counted among those that it answers. Ends as CANCELLED unless End()
// says how. Not thread-safe.
class LocalCall {
 public:
  explicit LocalCall(const char* path);
  ~LocalCall();
  LocalCall(LocalCall&& other) noexcept;
  LocalCall& operator=(LocalCall&&) = delete;
  void End(const absl::Status& status);

 private:
  Calls::Method* method_;  // null once it has ended
  absl::Time begun_;
};

}  // namespace galen::metrics

#endif  // COMMON_OBSERVABILITY_METRICS_CALLS_H_
