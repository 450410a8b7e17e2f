#include "services/cli/advisor/advisor_command.h"

#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "services/cli/advisor/advisor_text.h"
#include "services/cli/advisor/inputs.h"
#include "services/cli/advisor/remote_advisor.h"
#include "services/cli/advisor/runs_file.h"
#include "services/cli/certs/certs_command.h"

namespace galen::cli {
namespace {

namespace api = advisor::v1;

// The answer as JSON on a line, or as `text` says it.
absl::Status Tell(const google::protobuf::Message& message, const std::string& text, bool json,
                  Console& console) {
  if (!json) {
    console.out << text << std::flush;
    return absl::OkStatus();
  }
  std::string line;
  if (!google::protobuf::util::MessageToJsonString(message, &line).ok()) {
    return absl::InternalError("the answer cannot be written as JSON");
  }
  console.out << line << std::endl;
  return absl::OkStatus();
}

absl::StatusOr<api::Signature> SignatureOf(const AdvisorArguments& arguments, Console& console) {
  api::Signature signature;
  if (!arguments.signature.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, ReadInput(arguments.signature, console.in));
    return ReadSignature(text, arguments.signature);
  }
  if (arguments.archetype.empty() || arguments.stack.empty()) {
    return absl::InvalidArgumentError(
        "which workload? --signature names what `galen advisor sign --json` printed, or "
        "--archetype "
        "and --stack say it");
  }
  signature.set_archetype(arguments.archetype);
  signature.set_stack(arguments.stack);
  return signature;
}

absl::StatusOr<api::RegisterJobRequest> RegistrationOf(const AdvisorArguments& arguments,
                                                       Console& console) {
  api::RegisterJobRequest request;
  request.set_parent(arguments.parent);
  GALEN_ASSIGN_OR_RETURN(*request.mutable_signature(), SignatureOf(arguments, console));
  if (!arguments.hardware.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, ReadInput(arguments.hardware, console.in));
    GALEN_RETURN_IF_ERROR(ReadHardware(text, arguments.hardware, request));
  }
  api::Hardware& hardware = *request.mutable_hardware();
  if (!arguments.gpu.empty()) hardware.set_gpu(arguments.gpu);
  if (!arguments.nic.empty()) hardware.set_nic(arguments.nic);
  if (!arguments.driver.empty()) hardware.set_driver(arguments.driver);
  if (arguments.gpus_per_node > 0) hardware.set_gpus_per_node(arguments.gpus_per_node);
  if (arguments.clock_limit > 0) hardware.set_clock_limit(arguments.clock_limit);
  if (arguments.power_limit > 0) hardware.set_power_limit(arguments.power_limit);
  GALEN_ASSIGN_OR_RETURN(const std::vector<Setting> settings,
                         ParseSettingsOf("--setting", arguments.settings));
  for (const Setting& setting : settings) {
    (*hardware.mutable_settings())[setting.name] = setting.value;
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<Setting> components,
                         ParseSettingsOf("--component", arguments.components));
  for (const Setting& component : components) {
    (*request.mutable_versions())[component.name].add_versions(component.value);
  }
  for (const std::string& need : arguments.needs) request.add_needs(need);
  for (const std::string& condition : arguments.conditions) request.add_conditions(condition);
  return request;
}

absl::StatusOr<api::ReportTestRequest::Outcome> OutcomeOf(const std::string& word) {
  if (word == "passed") return api::ReportTestRequest::PASSED;
  if (word == "failed") return api::ReportTestRequest::FAILED;
  if (word == "not-run") return api::ReportTestRequest::NOT_RUN;
  return absl::InvalidArgumentError("outcome: is passed, failed or not-run");
}

absl::StatusOr<ExitCode> Register(const AdvisorArguments& arguments, RemoteAdvisor& advisor,
                                  Console& console) {
  GALEN_ASSIGN_OR_RETURN(const api::RegisterJobRequest request, RegistrationOf(arguments, console));
  GALEN_ASSIGN_OR_RETURN(const api::RegisterJobResponse response, advisor.Register(request));
  GALEN_RETURN_IF_ERROR(
      Tell(response, RegistrationText(response, console.terminal), arguments.json, console));
  return HasError(response) ? kMismatch : kOk;
}

absl::Status Progress(const AdvisorArguments& arguments, RemoteAdvisor& advisor, Console& console) {
  api::ReportProgressRequest request;
  request.set_job(arguments.job);
  GALEN_ASSIGN_OR_RETURN(*request.mutable_signature(), SignatureOf(arguments, console));
  request.set_hours(arguments.hours);
  request.set_horizon_hours(arguments.horizon);
  request.set_context(arguments.context);
  request.set_gpus(arguments.gpus);
  GALEN_RETURN_IF_ERROR(ParseSigns(arguments.signs, request));
  GALEN_ASSIGN_OR_RETURN(const api::ReportProgressResponse response, advisor.Progress(request));
  return Tell(response, ProgressText(response), arguments.json, console);
}

absl::StatusOr<ExitCode> Test(const AdvisorArguments& arguments, RemoteAdvisor& advisor,
                              Console& console) {
  api::ReportTestRequest request;
  request.set_job(arguments.job);
  request.set_check(arguments.check);
  GALEN_ASSIGN_OR_RETURN(const api::ReportTestRequest::Outcome outcome,
                         OutcomeOf(arguments.outcome));
  request.set_outcome(outcome);
  GALEN_ASSIGN_OR_RETURN(const api::ReportTestResponse response, advisor.Test(request));
  const std::string text = response.alarm() ? absl::StrCat("alarm: ", response.reason(), "\n")
                                            : std::string("no alarm\n");
  GALEN_RETURN_IF_ERROR(Tell(response, text, arguments.json, console));
  return response.alarm() ? kMismatch : kOk;
}

absl::Status Runs(const AdvisorArguments& arguments, RemoteAdvisor& advisor, Console& console) {
  std::ifstream file;
  if (arguments.file != "-") file.open(arguments.file, std::ios::binary);
  std::istream& in = arguments.file == "-" ? console.in : file;
  if (!in) return absl::NotFoundError(absl::StrCat(arguments.file, ": cannot be read"));
  ReportedRuns reported;
  GALEN_RETURN_IF_ERROR(ReportRunsOf(
      in, arguments.file, arguments.first, arguments.batch,
      [&](const api::ReportRunsRequest& request) { return advisor.Runs(request); }, reported));
  console.out << "reported " << reported.runs << " runs in " << reported.calls
              << (reported.calls == 1 ? " call" : " calls");
  if (reported.calls > 0) console.out << "; the last one is record " << reported.position;
  console.out << std::endl;
  return absl::OkStatus();
}

std::string InUse(const api::Pattern& pattern) {
  return absl::StrCat(pattern.id(), pattern.has_revoked()
                                        ? ": warns of nothing until it is restored, however "
                                          "often it is learned again\n"
                                    : pattern.kind() == api::Pattern::KIND_UNSPECIFIED
                                        ? ": will be in use when it is learned again\n"
                                        : ": is in use again\n");
}

absl::StatusOr<ExitCode> Run(const CLI::App& command, const AdvisorArguments& arguments,
                             Console& console) {
  if (command.got_subcommand("sign")) {
    GALEN_ASSIGN_OR_RETURN(const Signed workload, SignWorkload(arguments.sign, console.in));
    GALEN_RETURN_IF_ERROR(Tell(workload.signature, SignedText(workload), arguments.json, console));
    return kOk;
  }
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<RemoteAdvisor> advisor,
                         RemoteAdvisor::Connect(arguments.server, arguments.security));
  if (command.got_subcommand("register")) return Register(arguments, *advisor, console);
  if (command.got_subcommand("test")) return Test(arguments, *advisor, console);
  if (command.got_subcommand("progress")) {
    GALEN_RETURN_IF_ERROR(Progress(arguments, *advisor, console));
  } else if (command.got_subcommand("runs")) {
    GALEN_RETURN_IF_ERROR(Runs(arguments, *advisor, console));
  } else if (command.got_subcommand("patterns")) {
    GALEN_ASSIGN_OR_RETURN(const api::PatternSet set, advisor->Patterns());
    GALEN_RETURN_IF_ERROR(Tell(set, PatternsText(set, console.terminal), arguments.json, console));
  } else if (command.got_subcommand("learn")) {
    GALEN_ASSIGN_OR_RETURN(const api::LearnResponse learned, advisor->Learn());
    GALEN_RETURN_IF_ERROR(
        Tell(learned,
             absl::StrCat("version ", learned.version(), " of ", learned.runs(), " runs (",
                          learned.left_out(), " left out for lack of room), ", learned.tested(),
                          " tests\n"),
             arguments.json, console));
  } else if (command.got_subcommand("revoke")) {
    api::RevokePatternRequest request;
    request.set_id(arguments.id);
    request.set_by(arguments.by);
    request.set_why(arguments.why);
    GALEN_ASSIGN_OR_RETURN(const api::Pattern pattern, advisor->Revoke(request));
    GALEN_RETURN_IF_ERROR(Tell(pattern, InUse(pattern), arguments.json, console));
  } else {
    api::RestorePatternRequest request;
    request.set_id(arguments.id);
    request.set_by(arguments.by);
    GALEN_ASSIGN_OR_RETURN(const api::Pattern pattern, advisor->Restore(request));
    GALEN_RETURN_IF_ERROR(Tell(pattern, InUse(pattern), arguments.json, console));
  }
  return kOk;
}

void DeclareSign(CLI::App& sign, SignArguments& arguments) {
  sign.add_option("path", arguments.paths,
                  "Traces of a profiler, as for `galen profile`; repeatable")
      ->type_name("PATH");
  sign.add_option("--job", arguments.job,
                  "Instead of traces: a file of the job, as for `galen model`")
      ->type_name("FILE");
  sign.add_option(
          "--shape", arguments.shape,
          "Instead of traces: the model and its layout: layers=32,hidden=4096,...,gpus=64,tp=8")
      ->type_name("FIELDS");
  sign.add_option("--key-file", arguments.key_file,
                  "The key that all tenants of the fleet share, 16 bytes or more")
      ->required()
      ->type_name("FILE");
  sign.add_option("--gpus", arguments.gpus, "GPUs of the job, if the traces do not say")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000'000}));
  sign.add_option("--component", arguments.components,
                  "A version of public software, nccl=2.19.3; repeatable")
      ->type_name("NAME=VERSION");
  sign.add_flag("--coarse", arguments.coarse,
                "Include less: only which operators, without amounts");
  sign.add_option("--knowledge", arguments.knowledge,
                  "Knowledge directory; repeatable, or separated by commas: later ones overlay "
                  "earlier ones")
      ->delimiter(',')
      ->type_name("DIR");
}

void DeclareSignature(CLI::App& command, AdvisorArguments& arguments) {
  command
      .add_option("--signature", arguments.signature,
                  "Output of `galen advisor sign --json`; -: standard input")
      ->type_name("FILE");
  command.add_option("--archetype", arguments.archetype, "Instead of --signature, with --stack")
      ->type_name("TOKEN");
  command.add_option("--stack", arguments.stack, "Instead of --signature, with --archetype")
      ->type_name("TOKEN");
}

void DeclareRegister(CLI::App& command, AdvisorArguments& arguments) {
  DeclareSignature(command, arguments);
  command.add_option("--parent", arguments.parent, "Tenant of the job: tenants/TENANT")
      ->capture_default_str();
  command
      .add_option("--hardware", arguments.hardware,
                  "Configuration that the job runs on, as YAML or JSON (docs/advisor.md); flags "
                  "override it")
      ->type_name("FILE");
  command.add_option("--gpu", arguments.gpu, "Product name as the driver prints it");
  command.add_option("--nic", arguments.nic, "Model of the network adapters");
  command.add_option("--driver", arguments.driver, "Version of the GPU's driver");
  command.add_option("--gpus-per-node", arguments.gpus_per_node, "GPUs of a machine")
      ->check(CLI::Range(1, 1024));
  command.add_option("--clock-limit", arguments.clock_limit, "Share of the model's own clocks");
  command.add_option("--power-limit", arguments.power_limit, "Share of the model's own power");
  command.add_option("--setting", arguments.settings, "A setting of the GPUs, ecc=on; repeatable")
      ->type_name("NAME=VALUE");
  command
      .add_option("--condition", arguments.conditions,
                  "A condition that the provider names, acs_enabled; repeatable")
      ->type_name("WORD");
  command.add_option("--need", arguments.needs, "A need of the job, fp8; repeatable")
      ->type_name("WORD");
  command
      .add_option("--component", arguments.components,
                  "A version in plain text, nccl=2.19.3; repeatable, also for the same software")
      ->type_name("NAME=VERSION");
}

void DeclareProgress(CLI::App& command, AdvisorArguments& arguments) {
  DeclareSignature(command, arguments);
  command.add_option("job", arguments.job, "tenants/TENANT/jobs/JOB")->required();
  command.add_option("--hours", arguments.hours, "Hours since the start of the job")->required();
  command
      .add_option("--sign", arguments.signs, "A sign and its level, ecc_corrected=2; repeatable")
      ->type_name("NAME=LEVEL");
  command.add_option("--horizon", arguments.horizon, "Hours ahead")->capture_default_str();
  command.add_option("--context", arguments.context, "Name that register printed for the machines");
  command.add_option("--gpus", arguments.gpus, "GPUs of the job")->capture_default_str();
}

}  // namespace

CLI::App* DeclareAdvisor(CLI::App& app, AdvisorArguments& arguments) {
  CLI::App* advisor = app.add_subcommand(
      "advisor", "Warn of combinations that are known or learned to fail (docs/advisor.md)");
  advisor->require_subcommand(1);
  advisor->footer(
      "Exit codes: 5 register: a warning says that the job does not run there or computes "
      "wrongly;\n"
      "test: an alarm. 4 no advisor answered; 2 bad input; 1 Galen itself failed.");
  CLI::App* sign = advisor->add_subcommand(
      "sign", "Make the signature of a workload here; nothing leaves the machine");
  DeclareSign(*sign, arguments.sign);
  CLI::App* job = advisor->add_subcommand("register", "Ask at the start of a job what fails there");
  DeclareRegister(*job, arguments);
  CLI::App* progress =
      advisor->add_subcommand("progress", "Ask while a job runs how likely it fails");
  DeclareProgress(*progress, arguments);
  CLI::App* test =
      advisor->add_subcommand("test", "Report the result of the check that progress requested");
  test->add_option("job", arguments.job, "tenants/TENANT/jobs/JOB")->required();
  test->add_option("check", arguments.check, "The check")->required();
  test->add_option("outcome", arguments.outcome, "passed, failed or not-run")->required();
  CLI::App* runs = advisor->add_subcommand("runs", "Report runs that are over");
  runs->add_option("file", arguments.file, "A Run of advisor.proto as JSON on each line; -: stdin")
      ->required();
  runs->add_option("--first", arguments.first, "Begin at this line")->check(CLI::PositiveNumber);
  runs->add_option("--batch", arguments.batch, "Runs of one call, at most")
      ->check(CLI::Range(1, kMostRunsOfACall))
      ->capture_default_str();
  CLI::App* patterns = advisor->add_subcommand("patterns", "List the learned patterns");
  CLI::App* learn = advisor->add_subcommand("learn", "Learn now from all recorded runs");
  CLI::App* revoke = advisor->add_subcommand("revoke", "Revoke a pattern");
  CLI::App* restore = advisor->add_subcommand("restore", "Restore a revoked pattern");
  for (CLI::App* command : {revoke, restore}) {
    command->add_option("id", arguments.id, "Id of the pattern, from the list")->required();
    command->add_option("--by", arguments.by, "Author, who is recorded")
        ->required()
        ->type_name("NAME");
  }
  revoke->add_option("--why", arguments.why, "Why; it is recorded")->required();
  for (CLI::App* command : {job, progress, test, runs, patterns, learn, revoke, restore}) {
    command->add_option("--server", arguments.server, "galen-advisor")
        ->envname("GALEN_ADVISOR")
        ->type_name("HOST:PORT")
        ->capture_default_str();
    DeclareCertificates(*command, arguments.security);
  }
  for (CLI::App* command : {sign, job, progress, test, patterns, learn, revoke, restore}) {
    command->add_flag("--json", arguments.json, "Print only JSON, on one line");
  }
  return advisor;
}

ExitCode RunAdvisor(const CLI::App& advisor, const AdvisorArguments& arguments, Console& console) {
  const absl::StatusOr<ExitCode> code = Run(advisor, arguments, console);
  if (code.ok()) return *code;
  console.err << "galen: " << code.status().message() << std::endl;
  return ExitCodeOf(code.status());
}

}  // namespace galen::cli
