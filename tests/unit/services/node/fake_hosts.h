#ifndef TESTS_UNIT_SERVICES_NODE_FAKE_HOSTS_H_
#define TESTS_UNIT_SERVICES_NODE_FAKE_HOSTS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "services/node/host_source.h"
#include "tests/testing/host/fake_host.h"

namespace galen::node {

// One machine, for any request; "gone" is a bundle that does not exist.
class FakeHosts final : public HostSource {
 public:
  explicit FakeHosts(std::shared_ptr<testing::FakeHost> host) : host_(std::move(host)) {}
  absl::StatusOr<std::shared_ptr<const host::Host>> Open(
      const std::string& bundle, const std::string&,
      std::shared_ptr<const Cancellation>) const override {
    if (bundle == "gone") return absl::NotFoundError("gone: no such bundle");
    return std::shared_ptr<const host::Host>(host_);
  }
  const std::string& name() const override { return host_->name(); }

 private:
  std::shared_ptr<testing::FakeHost> host_;
};

}  // namespace galen::node

#endif  // TESTS_UNIT_SERVICES_NODE_FAKE_HOSTS_H_
