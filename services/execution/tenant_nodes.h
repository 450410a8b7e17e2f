#ifndef SERVICES_EXECUTION_TENANT_NODES_H_
#define SERVICES_EXECUTION_TENANT_NODES_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace galen::execution {

// The machines of each tenant, as YAML:
//
//   tenants:
//     acme: [trn-a01, trn-b*]     # host names; * is any text, ? any one character
//     operations: ["*"]
//
// Only tenants with the node in their list see it; a tenant without a list sees none. A node of
// several tenants is seen by each of them.
class TenantNodes {
 public:
  // INVALID_ARGUMENT with file and line.
  static absl::StatusOr<TenantNodes> Parse(absl::string_view text, absl::string_view file);

  bool Has(absl::string_view tenant, absl::string_view node) const;

 private:
  struct Nodes {
    absl::flat_hash_set<std::string> named;
    std::vector<std::string> patterns;
  };
  std::map<std::string, Nodes, std::less<>> tenants_;
};

// The same from a file that is reloaded when it changes: examined on use, at most once a second.
// While it is unreadable or invalid, the last valid version applies, and `tell` gets a sentence.
// Thread-safe.
class TenantNodesFile {
 public:
  // The file's error. `clock` must outlive it.
  static absl::StatusOr<std::unique_ptr<TenantNodesFile>> Open(
      const std::string& path, const Clock& clock,
      std::function<void(const std::string& news)> tell);

  std::shared_ptr<const TenantNodes> Get();

 private:
  TenantNodesFile(std::string path, const Clock& clock,
                  std::function<void(const std::string& news)> tell)
      : path_(std::move(path)), clock_(clock), tell_(std::move(tell)) {}

  const std::string path_;
  const Clock& clock_;
  const std::function<void(const std::string& news)> tell_;
  Mutex mu_;
  std::shared_ptr<const TenantNodes> nodes_ ABSL_GUARDED_BY(mu_);
  std::string read_ ABSL_GUARDED_BY(mu_);  // the text that nodes_ is made of, or that was refused
  absl::Time looked_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

// Whether the diagnosis is shown a live node, by the current version of the file. Null, or without
// a diagnosis: every node is shown.
std::function<bool(const std::string& node)> NodesSeenBy(TenantNodesFile* file,
                                                         const std::string& diagnosis);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_TENANT_NODES_H_
