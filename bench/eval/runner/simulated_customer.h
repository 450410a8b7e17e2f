#ifndef BENCH_EVAL_RUNNER_SIMULATED_CUSTOMER_H_
#define BENCH_EVAL_RUNNER_SIMULATED_CUSTOMER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host/archive.h"
#include "common/host/bundle.h"
#include "common/knowledge/knowledge.h"
#include "galen/eval/v1/eval.pb.h"
#include "galen/v1/diagnosis_service.pb.h"

namespace galen::eval {

// A customer who reports an incident without its decisive part, and then answers questions: runs
// the commands that a question names on the machine that it names, and pastes their output as
// people do. The answers come from the whole bundle of the case.
class SimulatedCustomer {
 public:
  // Copies the bundle without the inputs of the true labels' confirm rules: the outputs and files
  // of their checks, and the logs of the job if these read logs. The errors of the file system.
  static absl::StatusOr<std::unique_ptr<SimulatedCustomer>> Withhold(
      const v1::Case& a_case, const host::Bundle& bundle, const knowledge::Knowledge& knowledge);

  // The incident as the customer reports it.
  const galen::v1::Incident& incident() const { return incident_; }

  // The answer to these questions, without the name of the diagnosis. `answered`: how many of them
  // it could answer. Never empty: it says which evidence is unavailable.
  galen::v1::SubmitFeedbackRequest Answer(
      const google::protobuf::RepeatedPtrField<galen::v1::Question>& questions,
      int& answered) const;

 private:
  struct Piece {
    std::string typed;  // "nvidia-smi -q -x", "cat /proc/meminfo"
    std::string path;   // of a file; "" for a command
    std::string content;
  };

  explicit SimulatedCustomer(std::string id) : id_(std::move(id)) {}
  // Includes one node, and removes from the copy everything that one of `reads` reads.
  absl::Status TakeNode(const std::string& node, const std::string& directory,
                        const std::set<std::string>& reads);
  absl::Status TakeLogs(const host::Bundle& bundle, bool withhold);
  bool AnswerOne(const galen::v1::Question& question, std::string& text) const;
  bool Paste(const std::string& node, const std::string& command, std::string& text) const;

  const std::string id_;
  std::unique_ptr<host::TemporaryDirectory> owned_;  // the copy
  galen::v1::Incident incident_;
  std::map<std::string, std::vector<Piece>> pieces_;  // by node
  std::vector<galen::v1::LogSource> logs_;            // with their content, those of the job
};

// A random choice of the same number of other possible questions: the baseline. Questions that were
// asked before are excluded. `seed` and the case determine the choice.
google::protobuf::RepeatedPtrField<galen::v1::Question> RandomQuestions(
    const galen::v1::Diagnosis& diagnosis, const knowledge::Knowledge& knowledge, int count,
    const std::string& seed);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_SIMULATED_CUSTOMER_H_
