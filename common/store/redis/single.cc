// One server.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/store/redis/topology.h"

namespace galen::store::redis {
namespace {

class Single final : public Topology {
 public:
  explicit Single(const Config& config)
      : link_(std::make_shared<Link>(config.addresses.front(), DataLink(config))) {}

  absl::StatusOr<std::shared_ptr<Link>> LinkOf(int) override { return link_; }
  absl::StatusOr<std::shared_ptr<Link>> LinkTo(const Address& address) override {
    return absl::FailedPreconditionError(
        absl::StrCat(ToString(link_->address()), ": is a node of a cluster and points to ",
                     ToString(address), ": name it with redis+cluster://"));
  }
  void Moved(int, const Address&) override {}
  void Suspect(const Link&) override {}

 private:
  const std::shared_ptr<Link> link_;
};

}  // namespace

std::unique_ptr<Topology> MakeSingle(const Config& config) {
  return std::make_unique<Single>(config);
}

Link::Options DataLink(const Config& config) {
  Link::Options options;
  options.user = config.user;
  options.password = config.password;
  options.database = config.database;
  options.replicas = config.replicas;
  options.answer = config.answer;
  options.limits = config.limits;
  return options;
}

absl::StatusOr<Address> ParseRedirection(absl::string_view text, const Address& asked) {
  const std::size_t colon = text.rfind(':');
  Address address;
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &address.port) || address.port < 1 ||
      address.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(asked), ": Redis names a server without a port"));
  }
  address.host = colon == 0 ? asked.host : std::string(text.substr(0, colon));
  return address;
}

}  // namespace galen::store::redis
