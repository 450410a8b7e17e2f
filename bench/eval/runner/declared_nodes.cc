#include "bench/eval/runner/declared_nodes.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/knowledge/make_result.h"

namespace galen::eval {
namespace {

using galen::v1::CheckResult;

constexpr std::size_t kMaxQueued = 1000;

}  // namespace

DeclaredNodes::DeclaredNodes(const v1::Case& a_case,
                             std::shared_ptr<const knowledge::Knowledge> knowledge)
    : knowledge_(std::move(knowledge)), pool_(1, kMaxQueued) {
  for (const v1::DeclaredNode& node : a_case.nodes()) {
    auto& results = declared_[node.name()];
    for (const CheckResult& result : node.results()) results[result.check()] = result;
  }
}

std::map<std::string, clients::NodeClient*> DeclaredNodes::ByName() {
  std::map<std::string, clients::NodeClient*> nodes;
  for (const auto& [name, results] : declared_) nodes[name] = this;
  return nodes;
}

CheckResult DeclaredNodes::ResultOf(const std::string& check, const std::string& node) const {
  const auto results = declared_.find(node);
  const knowledge::v1::Check* spec = knowledge_->FindCheck(check);
  const CheckResult* declared = nullptr;
  if (results != declared_.end()) {
    const auto found = results->second.find(check);
    if (found != results->second.end()) declared = &found->second;
  }
  if (declared == nullptr || spec == nullptr || spec->off()) {
    return knowledge::ResultWithoutFindings(
        check, node, CheckResult::SKIPPED,
        spec != nullptr && spec->off() ? absl::StrCat(check, " is switched off")
                                       : absl::StrCat(node, ": the case does not declare ", check));
  }
  if (declared->status() == CheckResult::SKIPPED || declared->status() == CheckResult::ERROR) {
    return knowledge::ResultWithoutFindings(check, node, declared->status(), declared->message());
  }
  knowledge::CheckOutput output;
  output.findings.assign(declared->findings().begin(), declared->findings().end());
  output.message = declared->message();
  output.excerpt = declared->excerpt();
  for (galen::v1::Finding& finding : output.findings) {
    finding.mutable_subject()->set_node(node);
  }
  return knowledge::MakeResult(*spec, node, std::move(output));
}

clients::Cancel DeclaredNodes::RunChecks(const node::v1::RunChecksRequest& request, absl::Time,
                                         clients::OnMessage<CheckResult> on_result,
                                         absl::AnyInvocable<void(absl::Status) &&> done) {
  // The queue takes a task or leaves it: both ends share the callback.
  auto ended = std::make_shared<absl::AnyInvocable<void(absl::Status) &&>>(std::move(done));
  const bool taken =
      pool_.TrySchedule([this, request, on_result = std::move(on_result), ended]() mutable {
        for (const std::string& check : request.checks()) {
          on_result(ResultOf(check, request.node()));
        }
        std::move (*ended)(absl::OkStatus());
      });
  if (!taken) std::move (*ended)(absl::ResourceExhaustedError("too many calls at the same time"));
  return clients::NoCancel();
}

void DeclaredNodes::Describe(const node::v1::DescribeRequest&, absl::Time,
                             clients::Done<node::v1::DescribeResponse> done) {
  node::v1::DescribeResponse response;
  for (const auto& check : knowledge_->base().checks()) response.add_checks(check.name());
  response.set_knowledge_digest(knowledge_->digest());
  std::move(done)(std::move(response));
}

}  // namespace galen::eval
