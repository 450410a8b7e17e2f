// Many masters, each with some of the 16384 slots
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/text.h"
#include "common/store/redis/slot.h"
#include "common/store/redis/topology.h"

namespace galen::store::redis {
namespace {

// How often the map of the slots is asked for at most, by all threads together.
constexpr absl::Duration kAskAgain = absl::Milliseconds(100);
// Redis Cluster goes to about 1000 nodes; what a hostile node names beyond that is not connected
// to.
constexpr std::size_t kMaxLinks = 2000;

class Cluster final : public Topology {
 public:
  explicit Cluster(const Config& config) : config_(config) { owners_.fill(nullptr); }

  absl::StatusOr<std::shared_ptr<Link>> LinkOf(int slot) override {
    MutexLock lock(mu_);
    absl::Status problem = absl::OkStatus();
    if (stale_ && absl::Now() >= next_ask_) {
      problem = Refresh();
      next_ask_ = absl::Now() + kAskAgain;
    }
    const std::shared_ptr<Link>& owner = owners_[static_cast<std::size_t>(slot) % kSlots];
    if (owner != nullptr) return owner;
    stale_ = true;
    if (!problem.ok()) return problem;
    return absl::UnavailableError(
        absl::StrCat("Redis Cluster: no node is known to have slot ", slot));
  }

  absl::StatusOr<std::shared_ptr<Link>> LinkTo(const Address& address) override {
    MutexLock lock(mu_);
    return Find(address);
  }

  void Moved(int slot, const Address& address) override {
    MutexLock lock(mu_);
    if (absl::StatusOr<std::shared_ptr<Link>> link = Find(address); link.ok()) {
      owners_[static_cast<std::size_t>(slot) % kSlots] = *std::move(link);
    }
    stale_ = true;  // where one went, others did
  }

  void Suspect(const Link&) override {
    MutexLock lock(mu_);
    stale_ = true;
  }

 private:
  absl::StatusOr<std::shared_ptr<Link>> Find(const Address& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::shared_ptr<Link>& link = links_[ToString(address)];
    if (link == nullptr) {
      if (links_.size() > kMaxLinks) {
        links_.erase(ToString(address));
        return absl::ResourceExhaustedError("Redis Cluster: names more nodes than a cluster has");
      }
      link = std::make_shared<Link>(address, DataLink(config_));
    }
    return link;
  }

  // Asks the nodes that are known, then those of the URL, until one answers.
  absl::Status Refresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<std::shared_ptr<Link>> known;
    for (const auto& [name, link] : links_) known.push_back(link);
    for (const Address& address : config_.addresses) {
      if (absl::StatusOr<std::shared_ptr<Link>> link = Find(address); link.ok()) {
        known.push_back(*std::move(link));
      }
    }
    absl::Status last = absl::UnavailableError("Redis Cluster: no node can be asked");
    for (const std::shared_ptr<Link>& link : known) {
      const absl::StatusOr<Reply> reply = link->Ask({{"CLUSTER", "SLOTS"}});
      last = reply.ok() ? TakeOver(*reply, link->address()) : reply.status();
      if (last.ok()) {
        stale_ = false;
        return last;
      }
    }
    return last;
  }

  absl::Status TakeOver(const Reply& reply, const Address& asked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!reply.IsArray() || reply.elements.empty()) {
      return absl::UnavailableError(
          absl::StrCat(ToString(asked), ": has no map of a cluster: ", CleanText(reply.text, 200)));
    }
    std::array<std::shared_ptr<Link>, kSlots> owners;
    std::map<std::string, std::shared_ptr<Link>> used;
    for (const Reply& range : reply.elements) {
      if (!range.IsArray() || range.elements.size() < 3 || !range.elements[0].IsInteger() ||
          !range.elements[1].IsInteger() || !range.elements[2].IsArray() ||
          range.elements[2].elements.size() < 2 || !range.elements[2].elements[1].IsInteger()) {
        return absl::UnavailableError(
            absl::StrCat(ToString(asked), ": sent an invalid map of the cluster"));
      }
      const std::int64_t first = range.elements[0].integer;
      const std::int64_t last = range.elements[1].integer;
      const Reply& master = range.elements[2];
      const std::int64_t port = master.elements[1].integer;
      if (first < 0 || last < first || last >= kSlots || port < 1 || port > 65535) continue;
      const std::string& host = master.elements[0].text;  // empty: the one that was asked
      const Address address{host.empty() ? asked.host : host, static_cast<int>(port)};
      absl::StatusOr<std::shared_ptr<Link>> link = Find(address);
      if (!link.ok()) return link.status();
      used[ToString(address)] = *link;
      for (std::int64_t slot = first; slot <= last; ++slot) {
        owners[static_cast<std::size_t>(slot)] = *link;
      }
    }
    owners_ = std::move(owners);
    links_ = std::move(used);  // nodes that left are let go
    return absl::OkStatus();
  }

  const Config config_;
  Mutex mu_;
  std::array<std::shared_ptr<Link>, kSlots> owners_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<Link>> links_ ABSL_GUARDED_BY(mu_);  // by address
  bool stale_ ABSL_GUARDED_BY(mu_) = true;
  absl::Time next_ask_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace

std::unique_ptr<Topology> MakeCluster(const Config& config) {
  return std::make_unique<Cluster>(config);
}

}  // namespace galen::store::redis
