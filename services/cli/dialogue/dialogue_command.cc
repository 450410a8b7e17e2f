#include "services/cli/dialogue/dialogue_command.h"

#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/cause_in_words.h"
#include "common/host/bundle.h"
#include "services/cli/certs/certs_command.h"
#include "services/cli/gather.h"
#include "services/cli/local_mesh.h"
#include "services/cli/report_text.h"

namespace galen::cli {
namespace {

ExitCode Refuse(const absl::Status& status, Console& console) {
  console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

std::string FullName(const std::string& name) {
  return absl::StrContains(name, '/') ? name : absl::StrCat("tenants/default/diagnoses/", name);
}

// The mesh at the server, or one in this process over the store.
absl::StatusOr<std::unique_ptr<DiagnosisApi>> Open(const DialogueArguments& arguments) {
  if (!arguments.server.empty()) return ConnectTo(arguments.server, arguments.security);
  LocalMesh::Options options;
  options.knowledge = arguments.knowledge;
  options.store = arguments.store.empty() ? DefaultStore() : arguments.store;
  options.evidence = EvidenceBeside(options.store);
  // Not that of a `galen up` on that store, which keeps what it runs.
  options.owner = OwnerIn(options.store, "galen feedback", absl::StrCat(getpid()));
  options.site = arguments.site;
  absl::StatusOr<std::unique_ptr<LocalMesh>> mesh = LocalMesh::Start(options);
  if (!mesh.ok()) return mesh.status();
  return std::unique_ptr<DiagnosisApi>(*std::move(mesh));
}

template <typename Run>
ExitCode With(const DialogueArguments& arguments, Console& console, Run run) {
  const auto api = Open(arguments);
  return api.ok() ? run(**api) : Refuse(api.status(), console);
}

ExitCode PrintJson(const google::protobuf::Message& message, Console& console) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) {
    console.err << "galen: the answer cannot be written as JSON" << std::endl;
    return kBroken;
  }
  console.out << json << std::flush;
  return kOk;
}

void DeclareWhere(CLI::App& command, DialogueArguments& arguments) {
  command.add_option("--server", arguments.server, "Mesh that has the diagnosis")
      ->type_name("HOST:PORT");
  command
      .add_option("--store", arguments.store,
                  "SQLite file or Redis that has the diagnosis (docs/store.md)")
      ->type_name("FILE|URL");
  command
      .add_option("--knowledge", arguments.knowledge,
                  "Knowledge directory; repeatable, or separated by commas: later ones overlay "
                  "earlier ones")
      ->delimiter(',')
      ->type_name("DIR");
  command.add_flag("--json", arguments.json, "Print only JSON");
  DeclareCertificates(command, arguments.security);
}

void DeclareName(CLI::App& command, DialogueArguments& arguments) {
  command.add_option("diagnosis", arguments.name, "Name of the diagnosis, or its last part")
      ->required();
}

// The request with the words and files of an answer.
absl::StatusOr<v1::SubmitFeedbackRequest> RequestOf(const DialogueArguments& arguments,
                                                    std::istream& standard_input) {
  v1::SubmitFeedbackRequest request;
  request.set_name(FullName(arguments.name));
  request.set_request_id(arguments.request_id);
  request.set_confirmed_label(arguments.confirm);
  if (arguments.confirm.empty()) {
    request.set_by(arguments.by);
  } else {
    request.set_confirmed_by(arguments.by);
  }
  request.mutable_allowed_tests()->Assign(arguments.allow.begin(), arguments.allow.end());
  DiagnoseArguments given;
  given.words = arguments.words;
  if (!arguments.text.empty()) request.set_text(arguments.text);
  if (!given.words.empty()) {
    const absl::StatusOr<std::vector<intake::Text>> texts = GatherTexts(given, standard_input);
    if (!texts.ok()) return texts.status();
    absl::StatusOr<v1::Incident> incident = IncidentForServer(given, *texts, nullptr);
    if (!incident.ok()) return incident.status();
    if (!incident->description().empty()) {
      absl::StrAppend(request.mutable_text(), request.text().empty() ? "" : "\n",
                      incident->description());
    }
    *request.mutable_evidence()->mutable_logs() = std::move(*incident->mutable_logs());
  }
  for (const std::string& node : arguments.nodes) request.mutable_evidence()->add_nodes(node);
  if (!arguments.bundle.empty()) {
    // It is read again in a later round, so it has to stay where it is.
    std::error_code ignored;
    if (!std::filesystem::is_directory(arguments.bundle, ignored)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--bundle ", arguments.bundle, ": is not a directory; unpack it, and leave it there"));
    }
    const auto bundle = host::Bundle::Open(arguments.bundle);
    if (!bundle.ok()) return bundle.status();
    request.mutable_evidence()->set_bundle((*bundle)->root());
    *request.mutable_evidence()->mutable_logs() = (*bundle)->incident().logs();
  }
  return request;
}

}  // namespace

CLI::App* DeclareFeedback(CLI::App& app, DialogueArguments& arguments) {
  CLI::App* feedback =
      app.add_subcommand("feedback", "Answer the questions of a diagnosis (docs/dialogue.md)");
  DeclareName(*feedback, arguments);
  feedback->add_option("answer", arguments.words,
                       "Sentences, pasted text, files, folders, or - for standard input");
  feedback->add_option("--text", arguments.text,
                       "The answer as text: what is new, or what was seen and done");
  feedback
      ->add_option(
          "--node", arguments.nodes,
          "Node that the answer is about, also one that is new to the diagnosis; repeatable")
      ->type_name("HOST");
  feedback
      ->add_option(
          "--bundle", arguments.bundle,
          "Support bundle made after the report: an unpacked directory, which must stay in place")
      ->type_name("DIR");
  feedback
      ->add_option("--allow", arguments.allow, "Allow this proposed test to run now; repeatable")
      ->type_name("TEST");
  feedback
      ->add_option("--confirm", arguments.confirm,
                   "Root cause that a person established, or IN_WORDS: the cause that the report "
                   "states in words; starts no round")
      ->type_name("LABEL");
  feedback->add_option("--by", arguments.by, "Author of the answer")->type_name("NAME");
  feedback->add_option("--request-id", arguments.request_id,
                       "Idempotency key: an answer that is sent twice counts once");
  feedback->add_flag("--no-wait", arguments.no_wait, "Do not wait for the new report");
  feedback->add_flag("--verbose", arguments.verbose, "Print the full report");
  feedback
      ->add_option(
          "--site", arguments.site,
          "The site's knowledge directory: a confirmed cause is proposed there as a past incident")
      ->type_name("DIR");
  DeclareWhere(*feedback, arguments);
  return feedback;
}

CLI::App* DeclareReopen(CLI::App& app, DialogueArguments& arguments) {
  CLI::App* reopen =
      app.add_subcommand("reopen", "Run the checks of a diagnosis again, without new information");
  DeclareName(*reopen, arguments);
  reopen->add_option("--text", arguments.text, "Why");
  reopen->add_option("--by", arguments.by, "Author of the request")->type_name("NAME");
  reopen->add_flag("--no-wait", arguments.no_wait, "Do not wait for the new report");
  reopen->add_flag("--verbose", arguments.verbose, "Print the full report");
  DeclareWhere(*reopen, arguments);
  return reopen;
}

CLI::App* DeclareList(CLI::App& app, DialogueArguments& arguments) {
  CLI::App* list = app.add_subcommand("list", "List diagnoses, the newest first");
  list->add_option("--tenant", arguments.tenant, "Tenant of the diagnoses")->capture_default_str();
  list->add_option("--count", arguments.count, "Number of diagnoses at most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  DeclareWhere(*list, arguments);
  return list;
}

CLI::App* DeclareShow(CLI::App& app, DialogueArguments& arguments) {
  CLI::App* show =
      app.add_subcommand("show", "Print the report of a diagnosis, with its dialogue, or a ticket");
  DeclareName(*show, arguments);
  show->add_option(
          "--ticket", arguments.ticket,
          "Print only a ticket, as Markdown: customer, provider, or the attachment of both")
      ->check(CLI::IsMember({"customer", "provider", "attachment"}))
      ->type_name("WHICH");
  show->add_flag("--verbose", arguments.verbose, "Print the full report");
  DeclareWhere(*show, arguments);
  return show;
}

CLI::App* DeclareEscalate(CLI::App& app, DialogueArguments& arguments) {
  CLI::App* escalate =
      app.add_subcommand("escalate", "Hand a diagnosis over to a person and print the ticket");
  DeclareName(*escalate, arguments);
  escalate->add_option("--reason", arguments.reason, "Why")->required();
  DeclareWhere(*escalate, arguments);
  return escalate;
}

ExitCode RunFeedback(const DialogueArguments& arguments, Console& console) {
  const absl::StatusOr<v1::SubmitFeedbackRequest> request = RequestOf(arguments, console.in);
  if (!request.ok()) return Refuse(request.status(), console);
  return With(arguments, console,
              [&](DiagnosisApi& api) { return Answer(api, *request, arguments, console); });
}

ExitCode RunReopen(const DialogueArguments& arguments, Console& console) {
  v1::SubmitFeedbackRequest request;
  request.set_name(FullName(arguments.name));
  request.set_text(arguments.text);
  request.set_by(arguments.by);
  request.set_look_again(true);
  return With(arguments, console,
              [&](DiagnosisApi& api) { return Answer(api, request, arguments, console); });
}

ExitCode RunList(const DialogueArguments& arguments, Console& console) {
  return With(arguments, console, [&](DiagnosisApi& api) { return List(api, arguments, console); });
}

ExitCode RunShow(const DialogueArguments& arguments, Console& console) {
  return With(arguments, console, [&](DiagnosisApi& api) { return Show(api, arguments, console); });
}

ExitCode RunEscalate(const DialogueArguments& arguments, Console& console) {
  return With(arguments, console,
              [&](DiagnosisApi& api) { return Escalate(api, arguments, console); });
}

ExitCode Answer(DiagnosisApi& api, const v1::SubmitFeedbackRequest& request,
                const DialogueArguments& arguments, Console& console) {
  absl::StatusOr<v1::Diagnosis> diagnosis = api.SubmitFeedback(request);
  if (!diagnosis.ok()) return Refuse(diagnosis.status(), console);
  if (!request.confirmed_label().empty()) {
    console.out << diagnosis->name() << " is " << v1::Diagnosis::State_Name(diagnosis->state())
                << "; its cause is " << ConfirmedCause(*diagnosis) << ", says "
                << diagnosis->confirmation().by();
    if (arguments.server.empty() && !arguments.site.empty()) {
      console.out << (request.confirmed_label() == kCauseInWords
                          ? "\nit is proposed as a label: galen kb review --site "
                          : "\nit is proposed as a past incident: galen kb review --site ")
                  << arguments.site;
    } else if (arguments.server.empty()) {
      console.out << "\nno --site is named, so it is not proposed as a past incident";
    }
    console.out << std::endl;
    return kOk;
  }
  if (arguments.no_wait) {
    if (arguments.json) return PrintJson(*diagnosis, console);
    console.out << diagnosis->name() << " is " << v1::Diagnosis::State_Name(diagnosis->state())
                << "; galen show " << diagnosis->name() << " tells what it changed" << std::endl;
    return kOk;
  }
  diagnosis =
      FollowDiagnosis(api, diagnosis->name(), diagnosis->last_sequence(), arguments.json, console);
  if (!diagnosis.ok()) return Refuse(diagnosis.status(), console);
  if (arguments.json) {
    const ExitCode printed = PrintJson(*diagnosis, console);
    return printed == kOk ? ExitCodeOf(*diagnosis) : printed;
  }
  console.out << '\n' << ReportText(*diagnosis, arguments.verbose, console.terminal) << std::flush;
  return ExitCodeOf(*diagnosis);
}

ExitCode List(DiagnosisApi& api, const DialogueArguments& arguments, Console& console) {
  v1::ListDiagnosesRequest request;
  request.set_parent(absl::StrCat("tenants/", arguments.tenant));
  request.set_page_size(arguments.count);
  const absl::StatusOr<v1::ListDiagnosesResponse> listed = api.List(request);
  if (!listed.ok()) return Refuse(listed.status(), console);
  if (arguments.json) return PrintJson(*listed, console);
  const std::string prefix = absl::StrCat(request.parent(), "/diagnoses/");
  for (const v1::Diagnosis& diagnosis : listed->diagnoses()) {
    const std::string& name = diagnosis.name();
    const std::string when =
        absl::FormatTime("%Y-%m-%d %H:%M", absl::FromUnixSeconds(diagnosis.create_time().seconds()),
                         absl::UTCTimeZone());
    const std::string said = diagnosis.report().headline().empty()
                                 ? diagnosis.incident().description()
                                 : diagnosis.report().headline();
    console.out << Pad(absl::StartsWith(name, prefix) ? name.substr(prefix.size()) : name, 18)
                << Pad(when, 18) << Pad(v1::Diagnosis::State_Name(diagnosis.state()), 19)
                << Shorten(said.substr(0, said.find('\n')),
                           static_cast<std::size_t>(std::max(console.terminal.width - 55, 20)))
                << '\n';
  }
  if (listed->diagnoses().empty()) {
    console.out << "no diagnoses of " << request.parent() << '\n';
  }
  console.out << std::flush;
  return kOk;
}

ExitCode Show(DiagnosisApi& api, const DialogueArguments& arguments, Console& console) {
  const absl::StatusOr<v1::Diagnosis> diagnosis = api.Get(FullName(arguments.name));
  if (!diagnosis.ok()) return Refuse(diagnosis.status(), console);
  if (arguments.json) return PrintJson(*diagnosis, console);
  const v1::Report& report = diagnosis->report();
  if (!arguments.ticket.empty()) {
    const std::string& text = arguments.ticket == "customer"   ? report.ticket()
                              : arguments.ticket == "provider" ? report.provider_ticket()
                                                               : report.attachment();
    if (text.empty()) {
      return Refuse(absl::FailedPreconditionError(absl::StrCat(
                        diagnosis->name(), ": is ", v1::Diagnosis::State_Name(diagnosis->state()),
                        ", its ticket is written with the report")),
                    console);
    }
    console.out << text << std::flush;
    return kOk;
  }
  console.out << diagnosis->name() << " is " << v1::Diagnosis::State_Name(diagnosis->state())
              << "\n\n";
  for (const v1::Exchange& exchange : diagnosis->dialogue()) {
    for (const v1::Question& question : exchange.questions()) {
      console.out << "Asked     " << question.text() << '\n';
    }
    console.out << "Answered  " << (exchange.by().empty() ? "" : absl::StrCat(exchange.by(), ": "))
                << (exchange.text().empty() ? absl::StrCat(exchange.artefacts_size(), " outputs")
                                            : exchange.text())
                << "\n\n";
  }
  if (diagnosis->state() == v1::Diagnosis::FAILED) {
    console.out << diagnosis->error().message() << std::endl;
    return ExitCodeOf(*diagnosis);
  }
  if (report.ByteSizeLong() > 0) {
    console.out << ReportText(*diagnosis, arguments.verbose, console.terminal);
  }
  console.out << std::flush;
  return ExitCodeOf(*diagnosis);
}

ExitCode Escalate(DiagnosisApi& api, const DialogueArguments& arguments, Console& console) {
  v1::EscalateDiagnosisRequest request;
  request.set_name(FullName(arguments.name));
  request.set_reason(arguments.reason);
  absl::StatusOr<v1::Diagnosis> diagnosis = api.Escalate(request);
  if (!diagnosis.ok()) return Refuse(diagnosis.status(), console);
  diagnosis =
      FollowDiagnosis(api, diagnosis->name(), diagnosis->last_sequence(), /*silent=*/true, console);
  if (!diagnosis.ok()) return Refuse(diagnosis.status(), console);
  if (arguments.json) return PrintJson(*diagnosis, console);
  console.out << diagnosis->report().ticket() << std::flush;
  return kOk;
}

}  // namespace galen::cli
