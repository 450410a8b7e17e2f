#include "services/node/announcer.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"

namespace galen::node {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(250);
constexpr absl::Duration kLongestPause = absl::Seconds(15);
// Bounds of the pause that execution asks for: an absurd one neither makes the node call in a loop
// nor lets execution forget it.
constexpr absl::Duration kSoonest = absl::Milliseconds(100);
constexpr absl::Duration kLatest = absl::Minutes(10);

// The answer of a call that is made by `start`, which calls back.
template <typename Response, typename Start>
absl::StatusOr<Response> Wait(Start start) {
  const auto answer = std::make_shared<std::promise<absl::StatusOr<Response>>>();
  start([answer](absl::StatusOr<Response> response) { answer->set_value(std::move(response)); });
  return answer->get_future().get();
}

}  // namespace

absl::Duration NextAnnouncement(const absl::StatusOr<absl::Duration>& again, int failures,
                                double random) {
  if (again.ok()) return std::clamp(*again, kSoonest, kLatest) * (0.75 + 0.25 * random);
  absl::Duration pause = kFirstPause;
  for (int i = 1; i < failures && pause < kLongestPause; ++i) pause *= 2;
  return std::min(pause, kLongestPause) * (0.5 + 0.5 * random);
}

Announcer::Announcer(std::vector<clients::RegistrationClient*> replicas, Options options)
    : replicas_(std::move(replicas)), options_(std::move(options)) {}

Announcer::~Announcer() { Stop(); }

void Announcer::Start(std::string address) {
  address_ = std::move(address);
  task_.emplace([this] { return Turn(); });
}

void Announcer::Stop() {
  if (!task_.has_value()) return;
  task_.reset();
  if (!registered_) return;
  execution::v1::WithdrawNodeRequest request;
  request.set_node(options_.node);
  request.set_address(address_);
  const auto gone = Wait<execution::v1::WithdrawNodeResponse>([&](auto done) {
    replicas_[replica_]->WithdrawNode(
        request, absl::Now() + std::min(options_.call_timeout, absl::Seconds(2)), std::move(done));
  });
  if (!gone.ok()) {
    options_.tell(
        absl::StrCat("execution was not told that this node goes: ", gone.status().message()));
  }
}

absl::Duration Announcer::Turn() {
  const absl::StatusOr<absl::Duration> again = Announce();
  if (again.ok()) {
    if (!std::exchange(registered_, true) || failures_ > 0) {
      options_.tell(absl::StrCat("registered with execution as ", options_.node, " at ", address_));
    }
    failures_ = 0;
  } else {
    if (failures_++ == 0) {
      options_.tell(absl::StrCat("execution does not take the registration of ", options_.node,
                                 ", it is tried again: ", again.status().message()));
    }
    replica_ = (replica_ + 1) % replicas_.size();
  }
  return NextAnnouncement(again, failures_, std::uniform_real_distribution<double>(0, 1)(random_));
}

absl::StatusOr<absl::Duration> Announcer::Announce() {
  execution::v1::RegisterNodeRequest request;
  request.set_node(options_.node);
  request.set_address(address_);
  *request.mutable_ttl() = ToProtoDuration(options_.ttl);
  const auto answer = Wait<execution::v1::RegisterNodeResponse>([&](auto done) {
    replicas_[replica_]->RegisterNode(request, absl::Now() + options_.call_timeout,
                                      std::move(done));
  });
  if (!answer.ok()) return answer.status();
  return ToDuration(answer->again_in());
}

}  // namespace galen::node
