#include "services/cli/checks_command.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "services/cli/answer.h"
#include "services/cli/checks.h"
#include "services/cli/checks_doc.h"
#include "services/cli/local_mesh.h"
#include "services/cli/remote_checks.h"
#include "services/cli/settings.h"
#include "services/cli/show_check.h"

namespace galen::cli {
namespace {

// On the nodes of a mesh.
absl::StatusOr<std::vector<v1::CheckResult>> RunOnMesh(
    const ChecksArguments& arguments, const std::vector<std::string>& checks,
    const std::vector<v1::CheckParameters>& parameters) {
  // Longer than any node is given for one call.
  constexpr absl::Duration kTimeLimit = absl::Minutes(30);
  execution::v1::RunChecksRequest request;
  for (const std::string& check : checks) request.add_checks(check);
  for (const std::string& node : arguments.nodes) request.add_nodes(node);
  for (const v1::CheckParameters& check : parameters) *request.add_parameters() = check;
  request.set_bundle(arguments.bundle);
  request.set_allow_intrusive(arguments.allow_intrusive);
  request.set_allow_busy(arguments.allow_busy);
  return RunChecksAt(arguments.server, arguments.security, request, kTimeLimit);
}

// On this machine, or on the nodes of a bundle.
absl::StatusOr<std::vector<v1::CheckResult>> RunHere(
    const ChecksArguments& arguments, const std::vector<std::string>& checks,
    const std::vector<v1::CheckParameters>& parameters, const LocalNode& local, Console& console) {
  node::v1::RunChecksRequest request;
  for (const std::string& check : checks) request.add_checks(check);
  for (const v1::CheckParameters& check : parameters) *request.add_parameters() = check;
  request.set_allow_intrusive(arguments.allow_intrusive);
  request.set_allow_busy(arguments.allow_busy);
  request.set_progress(console.terminal.interactive && isatty(STDERR_FILENO) == 1);
  std::vector<std::string> nodes = {local.hosts.name()};
  std::shared_ptr<const host::Bundle> bundle;
  if (!arguments.bundle.empty()) {
    GALEN_ASSIGN_OR_RETURN(bundle, host::Bundle::Open(arguments.bundle));
    nodes = arguments.nodes.empty() ? bundle->nodes() : arguments.nodes;
    request.set_bundle(bundle->root());
  }
  std::vector<v1::CheckResult> results;
  for (const std::string& node : nodes) {
    request.set_node(node);
    CheckProgress progress(console, request.progress());
    const absl::Status status =
        local.executor.RunChecks(request, absl::InfiniteFuture(), [&](v1::CheckResult result) {
          progress.Take(result);
          if (result.status() != v1::CheckResult::RUNNING) results.push_back(std::move(result));
        });
    progress.Clear();
    if (!status.ok()) return status;
  }
  return results;
}

// `galen checks run`. Without names it runs the checks that are `available`.
absl::StatusOr<ExitCode> RunAndTell(const ChecksArguments& arguments,
                                    const knowledge::Knowledge& knowledge,
                                    const std::vector<std::string>& available,
                                    const LocalNode& local, Console& console) {
  for (const std::string& check : arguments.checks) {
    if (knowledge.FindCheck(check) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("check \"", check,
                       "\": not in the catalogue; run `galen checks list` to see the checks"));
    }
  }
  const std::vector<std::string>& checks = arguments.checks.empty() ? available : arguments.checks;
  GALEN_ASSIGN_OR_RETURN(const std::vector<v1::CheckParameters> parameters,
                         ParseSettings(arguments.settings));
  GALEN_ASSIGN_OR_RETURN(std::vector<v1::CheckResult> results,
                         arguments.server.empty()
                             ? RunHere(arguments, checks, parameters, local, console)
                             : RunOnMesh(arguments, checks, parameters));
  std::sort(results.begin(), results.end(),
            [](const auto& a, const auto& b) { return a.id() < b.id(); });
  return TellResults(results, arguments.json, console);
}

}  // namespace

CLI::App* DeclareChecks(CLI::App& app, ChecksArguments& arguments) {
  CLI::App* checks = app.add_subcommand("checks", "List, show and run checks");
  checks->require_subcommand(1);
  CLI::App* list = checks->add_subcommand("list", "List all checks");
  list->add_flag("--json", arguments.json, "Print one JSON object per line");
  DeclareKnowledge(*list, arguments.knowledge);
  CLI::App* show = checks->add_subcommand("show", "Show one check in full");
  show->add_option("check", arguments.check, "Its name")->required();
  show->add_flag("--json", arguments.json, "Print a JSON object");
  DeclareKnowledge(*show, arguments.knowledge);
  CLI::App* doc = checks->add_subcommand("doc", "Print the full catalogue as Markdown");
  DeclareKnowledge(*doc, arguments.knowledge);
  CLI::App* run = checks->add_subcommand("run", "Run checks on this machine or on a bundle");
  run->add_option("checks", arguments.checks, "Names of checks; none: all");
  run->add_option("--bundle", arguments.bundle, "Run on the nodes of this bundle")
      ->type_name("PATH");
  run->add_option("--node", arguments.nodes, "Only this node of the bundle or mesh; repeatable")
      ->type_name("HOST");
  run->add_option("--server", arguments.server,
                  "Run on the nodes of a mesh: the address of its galen-execution")
      ->type_name("HOST:PORT");
  run->add_flag("--allow-intrusive", arguments.allow_intrusive,
                "Also run checks that load a device or the network");
  run->add_flag("--allow-busy", arguments.allow_busy,
                "Load a device even if another process uses it");
  run->add_option("--set", arguments.settings, "A parameter of a check; repeatable")
      ->type_name("CHECK.NAME=VALUE");
  run->add_flag("--json", arguments.json, "Print one JSON object per line");
  DeclareKnowledge(*run, arguments.knowledge);
  return checks;
}

ExitCode RunChecks(const CLI::App& checks, const ChecksArguments& arguments, Console& console) {
  const auto knowledge = LoadKnowledge(arguments.knowledge);
  if (!knowledge.ok()) return ExitWith(knowledge.status(), console);
  const LocalNode local(*knowledge, {});
  const node::v1::DescribeResponse description = local.executor.Describe();
  const std::vector<std::string> available(description.checks().begin(),
                                           description.checks().end());
  if (checks.got_subcommand("list")) {
    return ListChecks(**knowledge, available, arguments.json, console);
  }
  if (checks.got_subcommand("show")) {
    return ShowCheck(**knowledge, arguments.check, arguments.json, console);
  }
  if (checks.got_subcommand("doc")) {
    console.out << ChecksDocument(**knowledge, {available.begin(), available.end()});
    return kOk;
  }
  const absl::StatusOr<ExitCode> code =
      RunAndTell(arguments, **knowledge, available, local, console);
  return code.ok() ? *code : ExitWith(code.status(), console);
}

}  // namespace galen::cli
