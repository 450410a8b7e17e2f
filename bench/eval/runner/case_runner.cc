#include "bench/eval/runner/case_runner.h"

#include <cstdint>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/eval/corpus/leave_out.h"
#include "bench/eval/runner/declared_nodes.h"
#include "bench/eval/runner/describe.h"
#include "bench/eval/runner/observe.h"
#include "bench/eval/runner/simulated_customer.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "common/knowledge/files.h"
#include "services/cli/gather.h"
#include "services/cli/local_mesh.h"

namespace galen::eval {
namespace {

// Threads of one mesh; several meshes run side by side.
constexpr int kThreads = 4;

// Size and time of the last change, enough to detect that a file was replaced.
std::string Stamp(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::is_directory(path, error)
                        ? std::uintmax_t{0}
                        : std::filesystem::file_size(path, error);
  const auto time = std::filesystem::last_write_time(path, error).time_since_epoch().count();
  return error ? "none" : absl::StrCat(size, "@", time);
}

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

bool IsAnswered(Mode mode) { return mode == Mode::kAnswered || mode == Mode::kAnsweredAtRandom; }

// Rounds of questions, and questions in each.
constexpr int kRounds = 2;
constexpr int kQuestions = 3;

// Puts the questions of the diagnosis to the customer, as long as nothing is confirmed.
absl::Status Converse(cli::LocalMesh& mesh, const SimulatedCustomer& customer,
                      const knowledge::Knowledge& knowledge, Mode mode,
                      galen::v1::Diagnosis& diagnosis,
                      google::protobuf::RepeatedPtrField<v1::DialogueRound>& rounds) {
  const auto note = [&](v1::DialogueRound round) {
    v1::CaseResult stands = Describe(diagnosis, knowledge);
    if (stands.has_primary()) *round.mutable_primary() = std::move(*stands.mutable_primary());
    round.mutable_others()->Swap(stands.mutable_others());
    *rounds.Add() = std::move(round);
  };
  note({});
  for (int number = 0; number < kRounds; ++number) {
    if (diagnosis.state() != galen::v1::Diagnosis::AWAITING_FEEDBACK) return absl::OkStatus();
    const auto questions =
        mode == Mode::kAnsweredAtRandom
            ? RandomQuestions(diagnosis, knowledge, kQuestions,
                              absl::StrCat(diagnosis.incident().description(), number))
            : diagnosis.report().questions();
    if (questions.empty()) return absl::OkStatus();
    v1::DialogueRound round;
    for (const galen::v1::Question& question : questions) round.add_asked(question.id());
    int answered = 0;
    galen::v1::SubmitFeedbackRequest request = customer.Answer(questions, answered);
    round.set_answered(answered);
    request.set_name(diagnosis.name());
    GALEN_ASSIGN_OR_RETURN(diagnosis, mesh.SubmitFeedback(request));
    GALEN_RETURN_IF_ERROR(mesh.Watch(diagnosis.name(), 0, [](const galen::v1::DiagnosisEvent&) {}));
    GALEN_ASSIGN_OR_RETURN(diagnosis, mesh.Get(diagnosis.name()));
    note(std::move(round));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const CaseRunner>> CaseRunner::Create(
    const std::vector<std::string>& knowledge_directories,
    std::optional<reasoner::llm::Model> model) {
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const knowledge::Knowledge> knowledge,
                         cli::LoadKnowledge(knowledge_directories));
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const log_scan::Scanner> scanner,
                         cli::CompileScanner(*knowledge));
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const intake::Kinds> kinds,
                         intake::Kinds::Compile(knowledge->base()));
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const phrases::OutcomeWords> words,
                         cli::LoadOutcomeWords(knowledge_directories));
  return std::unique_ptr<const CaseRunner>(
      new CaseRunner(knowledge_directories, std::move(knowledge), std::move(scanner),
                     std::move(kinds), std::move(words), model));
}

v1::CaseResult CaseRunner::Run(const v1::Case& a_case, const std::string& strategy,
                               Mode mode) const {
  const absl::Time start = absl::Now();
  absl::StatusOr<v1::CaseResult> outcome = TryRun(a_case, strategy, mode);
  v1::CaseResult result;
  if (outcome.ok()) {
    result = *std::move(outcome);
  } else {
    result.set_error(std::string(outcome.status().message()));
  }
  result.set_id(a_case.id());
  result.set_strategy(strategy);
  result.set_mode(std::string(ModeName(mode)));
  result.set_key(KeyOf(a_case));
  result.set_wall_seconds(absl::ToDoubleSeconds(absl::Now() - start));
  return result;
}

std::string CaseRunner::KeyOf(const v1::Case& a_case) const {
  std::string texts;
  for (const std::string& text : a_case.texts()) absl::StrAppend(&texts, " text=", Stamp(text));
  std::string rates;
  for (const knowledge::v1::BaseRate& rate : a_case.base_rates()) {
    absl::StrAppend(&rates, rate.of(), " ", rate.seen(), "/", rate.asked(), "\n");
  }
  // Includes the answer, which decides what is hidden from the case.
  return absl::StrCat("knowledge=", knowledge_->digest(), " program=", Stamp("/proc/self/exe"),
                      " bundle=", Stamp(a_case.bundle()), texts,
                      rates.empty() ? "" : absl::StrCat(" rates=", knowledge::Sha256(rates)),
                      " source=", a_case.source(), " labels=", absl::StrJoin(a_case.labels(), ","),
                      ";", absl::StrJoin(a_case.labels_acceptable(), ","),
                      model_.has_value() ? absl::StrCat(" model=", model_->client->name(), " ",
                                                        model_->client->SettingsOf("rank").model)
                                         : "");
}

absl::StatusOr<v1::CaseResult> CaseRunner::TryRun(const v1::Case& a_case,
                                                  const std::string& strategy, Mode mode) const {
  galen::v1::Incident incident;
  std::shared_ptr<const host::Bundle> bundle;  // keeps an archive unpacked during the diagnosis
  cli::Gathered gathered;                      // keeps pasted texts during the diagnosis
  std::unique_ptr<const SimulatedCustomer> customer;
  if (!a_case.texts().empty()) {
    cli::DiagnoseArguments pasted;
    pasted.words.assign(a_case.texts().begin(), a_case.texts().end());
    std::istringstream nothing;
    GALEN_ASSIGN_OR_RETURN(const std::vector<intake::Text> texts,
                           cli::GatherTexts(pasted, nothing));
    // The machine that runs the evaluation is not part of any case.
    GALEN_ASSIGN_OR_RETURN(gathered,
                           cli::GatherIncident(pasted, texts, nullptr, *kinds_, /*own_name=*/""));
    incident = gathered.incident;
  } else if (a_case.bundle().empty()) {
    incident = IncidentOf(a_case);
    for (const v1::DeclaredNode& node : a_case.nodes()) incident.add_nodes(node.name());
  } else {
    GALEN_ASSIGN_OR_RETURN(bundle, host::Bundle::Open(a_case.bundle()));
    incident = bundle->incident();
    if (IsAnswered(mode)) {
      GALEN_ASSIGN_OR_RETURN(customer, SimulatedCustomer::Withhold(a_case, *bundle, *knowledge_));
      incident = customer->incident();
    }
  }

  knowledge::v1::KnowledgeBase base = knowledge_->base();
  std::vector<std::string> hide;
  if (mode == Mode::kUnseen || mode == Mode::kOutside) {
    hide.assign(a_case.labels().begin(), a_case.labels().end());
    hide.insert(hide.end(), a_case.labels_acceptable().begin(), a_case.labels_acceptable().end());
  }
  const std::vector<LeftOut> left_out =
      LeaveOut(a_case, incident.description(), hide, *base.mutable_incidents());
  Restrict(mode, a_case, base);
  if (!a_case.base_rates().empty()) *base.mutable_base_rates() = a_case.base_rates();

  cli::LocalMesh::Options options;
  options.threads = kThreads;
  options.knowledge = directories_;
  options.loaded = std::make_shared<const knowledge::Knowledge>(std::move(base));
  options.scanner = scanner_;
  options.words = words_;
  options.model = model_;
  if (mode == Mode::kOutside) {
    // A signal names the labels that it speaks for, and these are fewer now.
    GALEN_ASSIGN_OR_RETURN(options.scanner, cli::CompileScanner(*options.loaded));
  }
  // The machine that runs the evaluation is not part of any case.
  DeclaredNodes declared(a_case, options.loaded);
  options.live_nodes = declared.ByName();
  std::optional<host::TemporaryDirectory> answers;
  if (customer != nullptr) {
    GALEN_ASSIGN_OR_RETURN(answers, host::TemporaryDirectory::Create());
    options.evidence = answers->path();
  }
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
  v1::CaseResult rounds;
  if (customer != nullptr) {
    GALEN_RETURN_IF_ERROR(
        Converse(*mesh, *customer, *options.loaded, mode, diagnosis, *rounds.mutable_rounds()));
  }

  v1::CaseResult result = Describe(diagnosis, *knowledge_);
  result.mutable_rounds()->Swap(rounds.mutable_rounds());
  *result.mutable_reasoner() = std::move(use);
  if (mode == Mode::kMeasured) {
    for (v1::Observed& observed : Observe(diagnosis, *knowledge_)) {
      *result.add_observed() = std::move(observed);
    }
  }
  for (const LeftOut& incident_left_out : left_out) {
    result.add_left_out(absl::StrCat(incident_left_out.id, ": ", incident_left_out.reason));
  }
  return result;
}

}  // namespace galen::eval
