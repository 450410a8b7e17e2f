#ifndef TESTS_INTEGRATION_DIALOGUE_WORLD_H_
#define TESTS_INTEGRATION_DIALOGUE_WORLD_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/clients/clients.h"
#include "common/knowledge/knowledge.h"
#include "services/cli/local_mesh.h"

namespace galen {

// Live machines whose state a test sets, also between two rounds. A check without a state is
// SKIPPED. Thread-safe.
class Machines final : public clients::NodeClient {
 public:
  explicit Machines(std::shared_ptr<const knowledge::Knowledge> knowledge);

  // Findings as text protos: "name: 'used_pct' subject { device: 'mount:/' } double_value: 100".
  void Set(const std::string& node, const std::string& check,
           const std::vector<std::string>& findings, const std::string& message);
  void Forget(const std::string& node, const std::string& check);
  std::map<std::string, clients::NodeClient*> ByName(const std::vector<std::string>& nodes);

  // "check@node" of every check that was to run, with how often; and of those that were asked with
  // leave to load a device.
  std::map<std::string, int> runs();
  std::set<std::string> allowed();

  clients::Cancel RunChecks(const node::v1::RunChecksRequest& request, absl::Time deadline,
                            clients::OnMessage<v1::CheckResult> on_result,
                            absl::AnyInvocable<void(absl::Status) &&> done) override;
  void Describe(const node::v1::DescribeRequest& request, absl::Time deadline,
                clients::Done<node::v1::DescribeResponse> done) override;

 private:
  v1::CheckResult ResultOf(const std::string& check, const std::string& node, bool allowed);

  const std::shared_ptr<const knowledge::Knowledge> knowledge_;
  Mutex mu_;
  std::map<std::string, v1::CheckResult> state_ ABSL_GUARDED_BY(mu_);  // by "check@node"
  std::map<std::string, int> runs_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> allowed_ ABSL_GUARDED_BY(mu_);
  ThreadPool pool_;
};

// A mesh in this process over those machines, with the knowledge that ships.
class DialogueTest : public ::testing::Test {
 protected:
  DialogueTest();
  ~DialogueTest() override;

  // The knowledge is loaded once for all tests.
  static const cli::LocalMesh::Options& Loaded();

  void Start(const std::vector<std::string>& live_nodes);
  // Gives the diagnosis once it is over or waits.
  v1::Diagnosis Diagnose(const v1::Incident& incident);
  v1::Diagnosis Answer(v1::SubmitFeedbackRequest request);
  v1::Diagnosis AnswerWith(const std::string& text);
  v1::Diagnosis Rest();

  // A bundle of a node, with what commands printed.
  std::string Bundle(const std::string& node, const std::map<std::string, std::string>& commands);

  static std::string Labels(const v1::Diagnosis& diagnosis);  // confirmed ones, with a space
  static v1::Hypothesis::Status StatusOf(const v1::Diagnosis& diagnosis, const std::string& label);
  static bool Says(const v1::Diagnosis& diagnosis, v1::Change::Kind kind, const std::string& text);

  std::string root_;
  std::unique_ptr<Machines> machines_;
  std::unique_ptr<cli::LocalMesh> mesh_;
  std::string name_;
};

}  // namespace galen

#endif  // TESTS_INTEGRATION_DIALOGUE_WORLD_H_
