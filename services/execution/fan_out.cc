#include "services/execution/fan_out.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"
#include "common/knowledge/clean_result.h"
#include "services/execution/comparison.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;

constexpr std::size_t kMaxResultBytes = 4 << 20;
// Length of a node-supplied name in an error about it, in bytes.
constexpr std::size_t kMaxToldBytes = 100;

// The fault of a node's result, whatever the question was; "" when it is sound. A node may lie or
// be broken; it must not speak for others, nor flood us.
std::string Unsound(const CheckResult& result, absl::string_view node) {
  if (result.node() != node) {
    return absl::StrCat("it answered for node ", CleanText(result.node(), kMaxToldBytes));
  }
  absl::string_view id = result.id();
  if (!absl::ConsumePrefix(&id, result.check()) || !absl::ConsumePrefix(&id, "@") || id != node) {
    return "its evidence id is malformed";
  }
  if (result.status() < CheckResult::PASS || result.status() > CheckResult::RUNNING) {
    return "its status is not one of PASS, FAIL, SKIPPED, ERROR, RUNNING";
  }
  if (result.findings_size() > knowledge::kMaxFindings || result.ByteSizeLong() > kMaxResultBytes) {
    return "it sent more than 10,000 findings or 4 MiB";
  }
  for (const galen::v1::Finding& finding : result.findings()) {
    if (!finding.subject().node().empty() && finding.subject().node() != node) {
      return absl::StrCat("a finding is about node ",
                          CleanText(finding.subject().node(), kMaxToldBytes));
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
  result.set_message(CleanText(message, knowledge::kMaxMessageBytes));
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

FanOut::Part* FanOut::Find(const std::string& node, const std::string& part) {
  const auto at = parts_.find(node);
  if (at == parts_.end()) return nullptr;
  for (Part& one : at->second) {
    if (one.name == part) return &one;
  }
  return nullptr;
}

int FanOut::PlaceOf(const std::string& check) const {
  const auto at = std::find(names_.begin(), names_.end(), check);
  return at == names_.end() ? -1 : static_cast<int>(at - names_.begin());
}

void FanOut::Add(const std::string& node, const std::set<std::string>& checks,
                 const std::string& part, bool compared) {
  MutexLock lock(mu_);
  Part& asked = parts_[node].emplace_back();
  asked.name = part;
  asked.compared = compared;
  for (const std::string& check : checks) {
    int place = PlaceOf(check);
    if (place < 0) {
      place = static_cast<int>(names_.size());
      names_.push_back(check);
    }
    asked.wanted.push_back(place);
  }
  ++open_;
}

void FanOut::OnResult(const std::string& node, CheckResult result, const std::string& part) {
  std::string fault = Unsound(result, node);
  // As an honest node has done already.
  if (fault.empty()) knowledge::CleanResult(result);
  {
    MutexLock lock(mu_);
    Part* const asked = Find(node, part);
    if (asked == nullptr) return;
    const auto wanted =
        std::find(asked->wanted.begin(), asked->wanted.end(), PlaceOf(result.check()));
    if (wanted == asked->wanted.end() && result.node() == node) {
      fault = absl::StrCat("it answered check ", CleanText(result.check(), kMaxToldBytes),
                           ", which was not asked or came twice");
    }
    if (!fault.empty()) {
      asked->fault = std::move(fault);
      return;
    }
    if (result.status() == CheckResult::RUNNING) {
      outbox_.push_back(std::move(result));
    } else {
      asked->wanted.erase(wanted);
      if (tap_) tap_(result);
      Emit(*asked, std::move(result));
    }
  }
  Deliver();
}

void FanOut::OnNodeDone(const std::string& node, const absl::Status& status,
                        const std::string& part) {
  {
    MutexLock lock(mu_);
    Part* const asked = Find(node, part);
    if (asked != nullptr && !asked->wanted.empty()) {
      std::string why;
      if (!status.ok()) {
        why = absl::StrCat("node executor of ", node, ": ", status.message(),
                           "; see that galen-node runs there and can be reached");
      } else {
        why = absl::StrCat("node executor of ", node, " gave no sound answer",
                           asked->fault.empty() ? "" : ": ", asked->fault);
      }
      for (const int check : asked->wanted) {
        Emit(*asked, ErrorResult(names_[static_cast<std::size_t>(check)], node, why));
      }
      asked->wanted.clear();
    }
    Close();
  }
  Deliver();
}

void FanOut::OnLate(const std::string& node, absl::Duration after, const std::string& part) {
  {
    MutexLock lock(mu_);
    const Part* const asked = Find(node, part);
    if (asked == nullptr) return;
    for (const int check : asked->wanted) {
      CheckResult late =
          ErrorResult(names_[static_cast<std::size_t>(check)], node,
                      absl::StrCat("late: no answer for ", absl::FormatDuration(after),
                                   "; the other nodes do not wait for it"));
      late.set_status(CheckResult::RUNNING);
      outbox_.push_back(std::move(late));
    }
  }
  Deliver();
}

std::set<std::string> FanOut::Owed(const std::string& node, const std::string& part) {
  MutexLock lock(mu_);
  const Part* const asked = Find(node, part);
  std::set<std::string> owed;
  if (asked == nullptr) return owed;
  for (const int check : asked->wanted) owed.insert(names_[static_cast<std::size_t>(check)]);
  return owed;
}

void FanOut::OnNobodyThere(const std::string& node, absl::Status status, const std::string& part) {
  {
    MutexLock lock(mu_);
    if (Part* const asked = Find(node, part)) asked->wanted.clear();
    status_.Update(std::move(status));
    Close();
  }
  Deliver();
}

void FanOut::Close() {
  if (--open_ != 0) return;
  if (status_.ok()) EmitHeld();
  over_ = true;
}

void FanOut::Deliver() {
  std::vector<CheckResult> results;
  absl::Status end;
  {
    MutexLock lock(mu_);
    if (delivering_) return;
    delivering_ = true;
  }
  while (true) {
    {
      MutexLock lock(mu_);
      results.swap(outbox_);
      if (results.empty()) {
        delivering_ = false;
        if (!over_) return;
        over_ = false;  // done_ is called once
        end = status_;
        break;
      }
    }
    for (CheckResult& result : results) on_result_(std::move(result));
    results.clear();
  }
  std::move(done_)(end);
}

void FanOut::Emit(const Part& part, CheckResult result) {
  const knowledge::v1::Check* spec =
      compare_ && !part.compared ? knowledge_->FindCheck(result.check()) : nullptr;
  if (spec != nullptr && !spec->comparisons().empty()) {
    held_[result.check()].push_back(std::move(result));
  } else {
    outbox_.push_back(std::move(result));
  }
}

void FanOut::AddPeer(CheckResult result) {
  MutexLock lock(mu_);
  peers_[result.check()].push_back(std::move(result));
}

void FanOut::EmitHeld() {
  for (auto& [check, results] : held_) {
    // In the order of their names, so that the same nodes always read the same.
    std::sort(results.begin(), results.end(),
              [](const CheckResult& a, const CheckResult& b) { return a.node() < b.node(); });
    std::vector<CheckResult*> pointers;
    for (CheckResult& result : results) pointers.push_back(&result);
    for (CheckResult& peer : peers_[check]) pointers.push_back(&peer);
    std::sort(pointers.begin(), pointers.end(),
              [](const CheckResult* a, const CheckResult* b) { return a->node() < b->node(); });
    CompareNodes(*knowledge_->FindCheck(check), pointers);
    for (CheckResult& result : results) outbox_.push_back(std::move(result));
  }
  held_.clear();
}

}  // namespace galen::execution
