#ifndef BENCH_EVAL_RUNNER_DECLARED_NODES_H_
#define BENCH_EVAL_RUNNER_DECLARED_NODES_H_

#include <map>
#include <memory>
#include <string>

#include "common/base/executor.h"
#include "common/clients/clients.h"
#include "common/knowledge/knowledge.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Answers for the nodes of a case that declares what their checks saw. A check without a
// declaration is SKIPPED, like one that was not captured. Findings are judged by the limits of the
// catalogue, like those of a real node. Thread-safe.
class DeclaredNodes final : public clients::NodeClient {
 public:
  DeclaredNodes(const v1::Case& a_case, std::shared_ptr<const knowledge::Knowledge> knowledge);

  // The client of each node, by node name; empty for a case that declares no nodes.
  std::map<std::string, clients::NodeClient*> ByName();

  clients::Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<galen::v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override;
  void Describe(const node::v1::DescribeRequest& request, absl::Time deadline,
                clients::Done<node::v1::DescribeResponse> done) override;

 private:
  galen::v1::CheckResult ResultOf(const std::string& check, const std::string& node) const;

  const std::shared_ptr<const knowledge::Knowledge> knowledge_;
  // By node, then by check.
  std::map<std::string, std::map<std::string, galen::v1::CheckResult>> declared_;
  ThreadPool pool_;
};

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_DECLARED_NODES_H_
