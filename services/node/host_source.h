#ifndef SERVICES_NODE_HOST_SOURCE_H_
#define SERVICES_NODE_HOST_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/host/host.h"
#include "common/host/stuck_reads.h"
#include "services/node/bundle_cache.h"

namespace galen::node {

// Provides the machine that checks inspect. Thread-safe.
class HostSource {
 public:
  virtual ~HostSource() = default;
  // A host for one run of checks: `node` of the bundle at path `bundle`, or this machine when
  // `bundle` is empty. Commands that run on this machine are killed once `cancelled` is cancelled;
  // nullptr: never.
  virtual absl::StatusOr<std::shared_ptr<const host::Host>> Open(
      const std::string& bundle, const std::string& node,
      std::shared_ptr<const Cancellation> cancelled) const = 0;
  // The name of this machine.
  virtual const std::string& name() const = 0;
};

// This machine, and the bundles below some directories.
class LocalHosts final : public HostSource {
 public:
  struct Options {
    // Name of this machine; empty: its own.
    std::string name;
    // Bundles must be below one of these directories.
    std::vector<std::string> bundle_roots;
    // Without roots: whether a bundle may be anywhere, or none is opened at all.
    bool bundles_anywhere = true;
    // A file that holds the number of a process of the job on this machine, as a scheduler's prolog
    // writes it. Read for each run of checks; while it is absent or empty no job is known. Empty:
    // none ever is.
    std::string job_pid_file;
    // Files that are the logs of the job on this machine; empty: what its process writes to.
    std::vector<std::string> job_logs;
    // The time limit of one read of this machine.
    absl::Duration read_time = absl::Seconds(5);
    // Reads that may be stuck, over all hosts of this machine (host::StuckReads).
    int max_stuck_reads = 64;
  };

  explicit LocalHosts(Options options);

  // NOT_FOUND there is no such bundle or node, or a node other than this machine is requested;
  // PERMISSION_DENIED the bundle is outside of the roots; else the errors of Bundle::Open.
  // INVALID_ARGUMENT the file of the job holds no process number. A bundle is kept open, a few at a
  // time, until one of the files that it was read from changes.
  absl::StatusOr<std::shared_ptr<const host::Host>> Open(
      const std::string& bundle, const std::string& node,
      std::shared_ptr<const Cancellation> cancelled) const override;
  // A bundle, which is kept open as above. Errors of Open.
  absl::StatusOr<std::shared_ptr<const host::Bundle>> OpenBundle(const std::string& bundle) const;
  const std::string& name() const override { return options_.name; }

 private:
  Options options_;
  mutable BundleCache bundles_;
  // A call makes a host of its own, and what it leaves behind stuck is this machine's.
  std::shared_ptr<host::StuckReads> stuck_reads_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_HOST_SOURCE_H_
