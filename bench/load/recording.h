#ifndef BENCH_LOAD_RECORDING_H_
#define BENCH_LOAD_RECORDING_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/executor.h"
#include "common/clients/clients.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/evidence.pb.h"
#include "galen/v1/incident.pb.h"

namespace galen::load {

// An incident on live nodes whose checks take no time: results of a bundle, recorded once, are
// replayed. Immutable, hence thread-safe.
class Recording {
 public:
  // Runs all checks on the nodes of the bundle at `path`. The incident names those nodes, carries
  // its logs and has no bundle.
  static absl::StatusOr<Recording> Make(const std::string& path,
                                        std::shared_ptr<const knowledge::Knowledge> knowledge);

  const galen::v1::Incident& incident() const { return incident_; }
  // The result of the check; SKIPPED if it was not recorded.
  galen::v1::CheckResult ResultOf(const std::string& check, const std::string& node) const;

 private:
  galen::v1::Incident incident_;
  std::map<std::string, std::map<std::string, galen::v1::CheckResult>> results_;  // by node, check
};

// Node executor of each of its nodes, in this process. Thread-safe.
class RecordedNodes final : public clients::NodeClient {
 public:
  explicit RecordedNodes(const Recording& recording) : recording_(recording), pool_(1, 10'000) {}

  std::map<std::string, clients::NodeClient*> ByName();

  clients::Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override;
  void Describe(const node::v1::DescribeRequest& request, absl::Time deadline,
                clients::Done<node::v1::DescribeResponse> done) override;

 private:
  const Recording& recording_;
  ThreadPool pool_;
};

}  // namespace galen::load

#endif  // BENCH_LOAD_RECORDING_H_
