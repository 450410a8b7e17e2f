#include "services/cli/eval/runner/case_runner.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "services/cli/eval/corpus/leave_out.h"
#include "services/cli/eval/runner/describe.h"
#include "services/cli/local_mesh.h"

namespace galen::eval {
namespace {

// The incident of a case without a bundle, from its record.
galen::v1::Incident IncidentOf(const v1::Case& a_case) {
  galen::v1::Incident incident;
  incident.set_description(absl::StrCat(a_case.title(), "\n", a_case.description()));
  if (!a_case.logs().empty()) {
    galen::v1::LogSource& log = *incident.add_logs();
    log.set_path("job.log");
    log.set_kind(galen::v1::LogSource::JOB);
    log.set_content(absl::StrCat(absl::StrJoin(a_case.logs(), "\n"), "\n"));
  }
  galen::v1::Environment& environment = *incident.mutable_environment();
  for (const auto& [name, value] : a_case.environment()) {
    if (name == "gpu") {
      environment.set_gpu(value);
    } else if (name == "driver") {
      environment.set_driver(value);
    } else if (name == "cuda") {
      environment.set_cuda(value);
    } else if (name == "os") {
      environment.set_os(value);
    } else if (name == "nic") {
      environment.set_nic(value);
    } else {
      (*environment.mutable_attributes())[name] = value;
    }
  }
  return incident;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const CaseRunner>> CaseRunner::Create(Settings settings) {
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const knowledge::Knowledge> knowledge,
                         cli::LoadKnowledge(settings.knowledge));
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const logs::Scanner> scanner,
                         cli::CompileScanner(*knowledge));
  return std::unique_ptr<const CaseRunner>(
      new CaseRunner(std::move(settings), std::move(knowledge), std::move(scanner)));
}

v1::CaseResult CaseRunner::Run(const v1::Case& a_case, const std::string& strategy) const {
  const absl::Time start = absl::Now();
  absl::StatusOr<v1::CaseResult> outcome = TryRun(a_case, strategy);
  v1::CaseResult result;
  if (outcome.ok()) {
    result = *std::move(outcome);
  } else {
    result.set_error(std::string(outcome.status().message()));
  }
  result.set_id(a_case.id());
  result.set_strategy(strategy);
  result.set_wall_seconds(absl::ToDoubleSeconds(absl::Now() - start));
  return result;
}

absl::StatusOr<v1::CaseResult> CaseRunner::TryRun(const v1::Case& a_case,
                                                  const std::string& strategy) const {
  galen::v1::Incident incident;
  std::shared_ptr<const host::Bundle> bundle;  // keeps an archive unpacked meanwhile
  if (a_case.bundle().empty()) {
    incident = IncidentOf(a_case);
  } else {
    GALEN_ASSIGN_OR_RETURN(bundle, host::Bundle::Open(a_case.bundle()));
    incident = bundle->incident();
  }

  knowledge::v1::KnowledgeBase base = knowledge_->base();
  std::vector<std::string> hide;
  if (settings_.hide_labels) hide.assign(a_case.labels().begin(), a_case.labels().end());
  const std::vector<LeftOut> left_out =
      LeaveOut(a_case, incident.description(), hide, *base.mutable_incidents());

  cli::LocalMesh::Options options;
  options.loaded = std::make_shared<const knowledge::Knowledge>(std::move(base));
  options.scanner = scanner_;
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<cli::LocalMesh> mesh,
                         cli::LocalMesh::Start(options));
  galen::v1::CreateDiagnosisRequest request;
  request.set_parent("tenants/eval");
  *request.mutable_diagnosis()->mutable_incident() = std::move(incident);
  request.mutable_diagnosis()->set_strategy(strategy);
  GALEN_ASSIGN_OR_RETURN(galen::v1::Diagnosis diagnosis, mesh->Create(request));
  v1::ReasonerUse use;
  GALEN_RETURN_IF_ERROR(
      mesh->Watch(diagnosis.name(), 0,
                  [&](const galen::v1::DiagnosisEvent& event) { CountReasonerUse(event, use); }));
  GALEN_ASSIGN_OR_RETURN(diagnosis, mesh->Get(diagnosis.name()));

  v1::CaseResult result = Describe(diagnosis, *knowledge_);
  *result.mutable_reasoner() = std::move(use);
  for (const LeftOut& incident_left_out : left_out) {
    result.add_left_out(absl::StrCat(incident_left_out.id, ": ", incident_left_out.reason));
  }
  return result;
}

}  // namespace galen::eval
