#include "services/execution/fan_out.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/execution/comparison.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;

constexpr int kMaxFindings = 10000;
constexpr std::size_t kMaxResultBytes = 4 << 20;

// What is wrong with a result that a node sent for one of `wanted`, "" when it is sound. A node
// may lie or be broken; it must not speak for others, nor flood us.
std::string Unsound(const CheckResult& result, absl::string_view node,
                    const std::set<std::string>& wanted) {
  if (result.node() != node) return absl::StrCat("it answered for node ", result.node());
  if (wanted.count(result.check()) == 0) {
    return absl::StrCat("it answered check ", result.check(),
                        ", which was not asked or came twice");
  }
  if (result.id() != absl::StrCat(result.check(), "@", node)) return "its evidence id is malformed";
  if (result.status() < CheckResult::PASS || result.status() > CheckResult::RUNNING) {
    return "its status is not one of PASS, FAIL, SKIPPED, ERROR, RUNNING";
  }
  if (result.findings_size() > kMaxFindings || result.ByteSizeLong() > kMaxResultBytes) {
    return "it sent more than 10,000 findings or 4 MiB";
  }
  for (const galen::v1::Finding& finding : result.findings()) {
    if (!finding.subject().node().empty() && finding.subject().node() != node) {
      return absl::StrCat("a finding is about node ", finding.subject().node());
    }
  }
  return "";
}

}  // namespace

CheckResult ErrorResult(absl::string_view check, absl::string_view node,
                        absl::string_view message) {
  CheckResult result;
  result.set_id(absl::StrCat(check, "@", node));
  result.set_check(std::string(check));
  result.set_node(std::string(node));
  result.set_status(CheckResult::ERROR);
  result.set_message(std::string(message));
  return result;
}

FanOut::FanOut(std::shared_ptr<const knowledge::Knowledge> knowledge,
               clients::OnMessage<CheckResult> on_result,
               absl::AnyInvocable<void(absl::Status) &&> done, Tap tap, bool compare)
    : knowledge_(std::move(knowledge)),
      compare_(compare),
      on_result_(std::move(on_result)),
      done_(std::move(done)),
      tap_(std::move(tap)) {}

void FanOut::Add(const std::string& node, std::set<std::string> checks, const std::string& part) {
  MutexLock lock(mu_);
  wanted_[{node, part}] = std::move(checks);
  ++open_;
}

void FanOut::OnResult(const std::string& node, CheckResult result, const std::string& part) {
  MutexLock lock(mu_);
  std::set<std::string>& wanted = wanted_[{node, part}];
  const std::string fault = Unsound(result, node, wanted);
  if (!fault.empty()) {
    faults_[{node, part}] = fault;
    return;
  }
  if (result.status() == CheckResult::RUNNING) {
    on_result_(std::move(result));
    return;
  }
  wanted.erase(result.check());
  if (tap_) tap_(result);
  Emit(std::move(result));
}

void FanOut::OnNodeDone(const std::string& node, const absl::Status& status,
                        const std::string& part) {
  MutexLock lock(mu_);
  std::string why;
  if (!status.ok()) {
    why = absl::StrCat("node executor of ", node, ": ", status.message(),
                       "; see that galen-node runs there and can be reached");
  } else {
    why = absl::StrCat("node executor of ", node, " gave no sound answer");
    const auto fault = faults_.find({node, part});
    if (fault != faults_.end()) absl::StrAppend(&why, ": ", fault->second);
  }
  std::set<std::string>& wanted = wanted_[{node, part}];
  for (const std::string& check : wanted) Emit(ErrorResult(check, node, why));
  wanted.clear();
  Close();
}

void FanOut::OnLate(const std::string& node, absl::Duration after, const std::string& part) {
  MutexLock lock(mu_);
  const auto wanted = wanted_.find({node, part});
  if (wanted == wanted_.end()) return;
  for (const std::string& check : wanted->second) {
    CheckResult late = ErrorResult(check, node,
                                   absl::StrCat("late: no answer for ", absl::FormatDuration(after),
                                                "; the other nodes do not wait for it"));
    late.set_status(CheckResult::RUNNING);
    on_result_(std::move(late));
  }
}

std::set<std::string> FanOut::Owed(const std::string& node, const std::string& part) {
  MutexLock lock(mu_);
  return wanted_[{node, part}];
}

void FanOut::OnNobodyThere(const std::string& node, absl::Status status, const std::string& part) {
  MutexLock lock(mu_);
  wanted_[{node, part}].clear();
  status_.Update(std::move(status));
  Close();
}

void FanOut::Close() {
  if (--open_ != 0) return;
  if (status_.ok()) EmitHeld();
  std::move(done_)(status_);
}

void FanOut::Emit(CheckResult result) {
  const knowledge::v1::Check* spec = compare_ ? knowledge_->FindCheck(result.check()) : nullptr;
  if (spec != nullptr && !spec->comparisons().empty()) {
    held_[result.check()].push_back(std::move(result));
  } else {
    on_result_(std::move(result));
  }
}

void FanOut::EmitHeld() {
  for (auto& [check, results] : held_) {
    // In the order of their names, so that the same nodes always read the same.
    std::sort(results.begin(), results.end(),
              [](const CheckResult& a, const CheckResult& b) { return a.node() < b.node(); });
    std::vector<CheckResult*> pointers;
    for (CheckResult& result : results) pointers.push_back(&result);
    CompareNodes(*knowledge_->FindCheck(check), pointers);
    for (CheckResult& result : results) on_result_(std::move(result));
  }
  held_.clear();
}

}  // namespace galen::execution
