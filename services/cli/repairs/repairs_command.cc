#include "services/cli/repairs/repairs_command.h"

#include <google/protobuf/util/json_util.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/curation/json.h"
#include "common/remediation/repair_outcome_store.h"
#include "common/store/store.h"
#include "services/cli/kb/table.h"

namespace galen::cli {
namespace {

using Outcomes = gateway::v1::RepairOutcomes;

std::string Minute(std::int64_t seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M", absl::FromUnixSeconds(seconds), absl::UTCTimeZone());
}

std::string Word(const Outcomes::Outcome& outcome) {
  if (!outcome.struck_by().empty()) {
    return absl::StrCat("struck by ", outcome.struck_by(), ": ", outcome.struck_why());
  }
  return outcome.helped() ? "helped" : "did not help";
}

absl::Status List(const remediation::RepairOutcomeStore& outcome_store, bool json,
                  Console& console) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<Outcomes> all, outcome_store.List());
  if (all.empty() && !json) console.out << "nothing was carried out yet" << std::endl;
  for (const Outcomes& outcomes : all) {
    const galen::v1::TrackRecord record = remediation::TrackRecordOf(outcomes);
    std::vector<std::vector<std::string>> rows;
    for (const Outcomes::Outcome& outcome : outcomes.outcomes()) {
      if (json) {
        console.out << curation::JsonObject()
                           .Add("label", outcomes.label())
                           .Add("run", outcomes.run())
                           .Add("action", outcome.action())
                           .Add("node", outcome.node())
                           .Add("time", Minute(outcome.begin_s()))
                           .Add("outcome", Word(outcome))
                           .Add("text", outcome.text())
                           .Add("approved_by", outcome.approved_by())
                           .Text()
                    << '\n';
        continue;
      }
      rows.push_back({Minute(outcome.begin_s()), CleanText(outcome.node(), 100), Word(outcome),
                      outcome.approved_by(), outcome.action()});
    }
    if (json) continue;
    console.out << outcomes.run() << " for " << outcomes.label() << ": helped " << record.helped()
                << " of " << record.carried_out() << '\n'
                << Table({"BEGUN (UTC)", "NODE", "OUTCOME", "APPROVED BY", "ACTION"}, rows,
                         console.terminal);
  }
  console.out.flush();
  return absl::OkStatus();
}

absl::Status TryDry(const RepairsArguments& arguments, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const galen::v1::DryRun dry_run,
                         AskForDryRun(arguments.dry_run, arguments.action));
  if (!arguments.json) {
    console.out << DryRunText(dry_run, console.terminal) << std::flush;
    return absl::OkStatus();
  }
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;  // that it would not run is said, too
  if (!google::protobuf::util::MessageToJsonString(dry_run, &json, options).ok()) {
    return absl::DataLossError("the gateway's answer cannot be printed as JSON");
  }
  console.out << json << std::endl;
  return absl::OkStatus();
}

absl::Status Run(const CLI::App& repairs, const RepairsArguments& arguments, Console& console) {
  if (repairs.got_subcommand("dry-run")) return TryDry(arguments, console);
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store,
                         store::OpenStore(arguments.store));
  remediation::RepairOutcomeStore outcome_store(store->records());
  if (!repairs.got_subcommand("strike")) return List(outcome_store, arguments.json, console);
  GALEN_RETURN_IF_ERROR(outcome_store.Strike(arguments.action, arguments.by, arguments.why));
  console.out << arguments.action << ": no longer counts; it stays on record" << std::endl;
  return absl::OkStatus();
}

}  // namespace

CLI::App* DeclareRepairs(CLI::App& app, RepairsArguments& arguments) {
  CLI::App* repairs = app.add_subcommand(
      "repairs", "Try repairs without effect, and list their outcomes (docs/repair.md)");
  repairs->require_subcommand(1);
  CLI::App* dry_run = repairs->add_subcommand(
      "dry-run", "Ask a machine what an action would do to it now; nothing is changed");
  dry_run->add_option("action", arguments.action, "tenants/.../actions/..., as the API lists it")
      ->required();
  dry_run
      ->add_option("--gateway", arguments.dry_run.gateway,
                   "Address of galen-gateway: https://HOST:PORT")
      ->required()
      ->type_name("URL");
  dry_run
      ->add_option("--key-file", arguments.dry_run.key_file,
                   "File with an API key of an operator or approver")
      ->required()
      ->type_name("FILE");
  dry_run
      ->add_option("--ca", arguments.dry_run.ca_file,
                   "PEM file of the trusted authorities; default: those of the system")
      ->type_name("FILE");
  dry_run->add_flag("--json", arguments.json, "The answer as JSON");
  CLI::App* list =
      repairs->add_subcommand("list", "List by action and cause how often a repair helped");
  list->add_flag("--json", arguments.json, "Print one JSON object per outcome and line");
  CLI::App* strike =
      repairs->add_subcommand("strike", "Exclude a misleading outcome from the statistics");
  strike->add_option("action", arguments.action, "tenants/.../actions/..., from the list")
      ->required();
  strike->add_option("--by", arguments.by, "Author, who is recorded")
      ->required()
      ->type_name("NAME");
  strike->add_option("--why", arguments.why, "Why; it is recorded")->required();
  for (CLI::App* command : {list, strike}) {
    command
        ->add_option("--store", arguments.store,
                     "The store of the gateway: an SQLite file or a Redis URL (docs/store.md)")
        ->required();
  }
  return repairs;
}

ExitCode RunRepairs(const CLI::App& repairs, const RepairsArguments& arguments, Console& console) {
  const absl::Status status = Run(repairs, arguments, console);
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
