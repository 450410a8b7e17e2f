#ifndef SERVICES_NODE_HOST_SOURCE_H_
#define SERVICES_NODE_HOST_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host/host.h"

namespace galen::node {

// Where the machine comes from that checks look at. Thread-safe.
class HostSource {
 public:
  virtual ~HostSource() = default;
  // A host for one run of checks: `node` of the bundle at path `bundle`, or this machine when
  // `bundle` is empty.
  virtual absl::StatusOr<std::shared_ptr<const host::Host>> Open(const std::string& bundle,
                                                                 const std::string& node) const = 0;
  // The name of this machine.
  virtual const std::string& name() const = 0;
};

// This machine, and the bundles below some directories.
class LocalHosts final : public HostSource {
 public:
  struct Options {
    // Name of this machine; empty: its own.
    std::string name;
    // Directories that a bundle must lie below.
    std::vector<std::string> bundle_roots;
    // Without roots: whether a bundle may lie anywhere, or none is opened at all.
    bool bundles_anywhere = true;
  };

  explicit LocalHosts(Options options);

  // NOT_FOUND there is no such bundle or node, or another node than this machine is asked for;
  // PERMISSION_DENIED the bundle lies outside of the roots; else what Bundle::Open says.
  absl::StatusOr<std::shared_ptr<const host::Host>> Open(const std::string& bundle,
                                                         const std::string& node) const override;
  const std::string& name() const override { return options_.name; }

 private:
  Options options_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_HOST_SOURCE_H_
