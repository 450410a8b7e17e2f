// One master with replicas, and sentinels that say who the master is
// (https://redis.io/docs/latest/develop/reference/sentinel-clients/).
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/text.h"
#include "common/store/redis/topology.h"

namespace galen::store::redis {
namespace {

// How often sentinels are asked at most, by all threads together.
constexpr absl::Duration kAskSentinelAgain = absl::Milliseconds(100);

class Sentinel final : public Topology {
 public:
  explicit Sentinel(const Config& config) : config_(config) {
    Link::Options options;
    options.user = config.sentinel_user;
    options.password = config.sentinel_password;
    options.answer = config.answer;
    options.limits = {1 << 20, 10'000};
    for (const Address& address : config.addresses) {
      sentinels_.push_back(std::make_unique<Link>(address, options));
    }
  }

  absl::StatusOr<std::shared_ptr<Link>> LinkOf(int) override {
    MutexLock lock(mu_);
    if (!suspected_ && master_ != nullptr) return master_;
    if (absl::Now() < next_ask_) {
      return absl::UnavailableError(absl::StrCat(config_.master, ": sentinels were just asked"));
    }
    absl::Status last = absl::UnavailableError("no sentinel is named");
    for (std::unique_ptr<Link>& sentinel : sentinels_) {
      absl::StatusOr<Address> found = Ask(*sentinel);
      if (!found.ok()) {
        last = found.status();
        continue;
      }
      std::swap(sentinel, sentinels_.front());  // the one that answered is asked first again
      if (master_ == nullptr || !(master_->address() == *found)) {
        Link::Options options = DataLink(config_);
        options.must_be_master = true;
        master_ = std::make_shared<Link>(*found, std::move(options));
      }
      suspected_ = false;
      next_ask_ = absl::Now() + kAskSentinelAgain;
      return master_;
    }
    next_ask_ = absl::Now() + kAskSentinelAgain;
    return last;
  }

  absl::StatusOr<std::shared_ptr<Link>> LinkTo(const Address& address) override {
    return absl::FailedPreconditionError(
        absl::StrCat(config_.master, ": is a cluster and points to ", ToString(address),
                     ": name it with redis+cluster://"));
  }
  void Moved(int, const Address&) override {}
  void Suspect(const Link& link) override {
    MutexLock lock(mu_);
    if (master_ != nullptr && master_.get() == &link) suspected_ = true;
  }

 private:
  absl::StatusOr<Address> Ask(Link& sentinel) {
    absl::StatusOr<Reply> reply =
        sentinel.Ask({{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", config_.master}});
    if (!reply.ok()) return reply.status();
    const std::string name = ToString(sentinel.address());
    if (reply->IsNil()) {
      return absl::FailedPreconditionError(absl::StrCat(
          name, ": this sentinel does not have a master \"", config_.master, "\": check --store"));
    }
    Address address;
    if (!reply->HasTexts(2) || !absl::SimpleAtoi(reply->elements[1].text, &address.port) ||
        address.port < 1 || address.port > 65535) {
      return absl::UnavailableError(absl::StrCat(
          name, ": this sentinel does not name the master: ", CleanText(reply->text, 200)));
    }
    address.host = reply->elements[0].text;
    return address;
  }

  const Config config_;
  Mutex mu_;
  std::vector<std::unique_ptr<Link>> sentinels_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<Link> master_ ABSL_GUARDED_BY(mu_);
  bool suspected_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time next_ask_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace

std::unique_ptr<Topology> MakeSentinel(const Config& config) {
  return std::make_unique<Sentinel>(config);
}

}  // namespace galen::store::redis
