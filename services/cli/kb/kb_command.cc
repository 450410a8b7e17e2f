#include "services/cli/kb/kb_command.h"

#include <CLI/CLI.hpp>

#include "services/cli/kb/lint.h"

namespace galen::cli {
namespace {

void WithKnowledge(CLI::App* command, KbArguments& arguments) {
  command
      ->add_option("--knowledge", arguments.knowledge,
                   "Knowledge directory; repeatable, or separated by commas: later ones overlay "
                   "earlier ones")
      ->delimiter(',')
      ->type_name("DIR");
}

void AddSiteOption(CLI::App* command, KbArguments& arguments) {
  WithKnowledge(command, arguments);
  command
      ->add_option("--site", arguments.site,
                   "The site's own knowledge directory; default: the last of --knowledge")
      ->type_name("DIR");
}

void WithJson(CLI::App* command, KbArguments& arguments, const char* what) {
  command->add_flag("--json", arguments.json, what);
}

void DeclareReview(CLI::App* kb, KbArguments& arguments) {
  ReviewArguments& review = arguments.review;
  CLI::App* command = kb->add_subcommand("review", "Accept, edit or reject what was proposed");
  command->add_option("--accept", review.accept, "Accept this proposal; repeatable; all: every one")
      ->type_name("ID");
  command->add_option("--reject", review.reject, "Reject this one; again")->type_name("ID");
  command->add_option("--undo", review.undo, "Remove this accepted proposal from the knowledge")
      ->type_name("ID");
  command->add_option("--why", review.why, "Reason for the rejection or removal");
  command->add_option("--by", review.by, "Person who decides, who is recorded")->type_name("NAME");
  command->add_flag("--list", review.list, "List the waiting proposals");
  command->add_option("--show", review.show, "One in full")->type_name("ID");
  command->add_flag("--decisions", review.decisions, "List the decisions: what, by whom and when");
  WithJson(command, arguments,
           "With --list, --show and --decisions: print one JSON object per line");
  AddSiteOption(command, arguments);
}

void DeclareAddLabel(CLI::App* kb, KbArguments& arguments) {
  AddLabelArguments& add = arguments.add_label;
  CLI::App* command = kb->add_subcommand(
      "add-label", "Add a cause with its rules and its check; asks for missing answers");
  command->add_option("--label", add.label, "MAIN.SUB.DETAIL");
  command->add_option("--title", add.title, "A few words");
  command->add_option("--description", add.description, "A few sentences");
  command->add_option("--symptom", add.symptoms, "A symptom that a customer sees; repeatable");
  command->add_option("--signal", add.signals, "A known message; again")
      ->type_name("\"WHERE STRENGTH PATTERN\"");
  command
      ->add_option("--defining", add.defining,
                   "A rule that sees the fault itself and confirms it alone; repeatable")
      ->type_name("\"CHECK FINDING OP VALUE\"");
  command->add_option("--confirm", add.confirm, "A rule that supports the cause; repeatable")
      ->type_name("\"CHECK FINDING OP VALUE\"");
  command->add_option("--refute", add.refute, "A rule that refutes the cause; repeatable")
      ->type_name("\"CHECK FINDING OP VALUE\"");
  command->add_option("--owner", add.owner, "customer, provider or either");
  command->add_option("--severity", add.severity, "low, medium, high or critical");
  command->add_option("--prior", add.prior, "Frequency of the cause: low, medium or high");
  command->add_option("--mitigation", add.mitigation, "A step that resolves the cause");
  command->add_option("--check", add.check, "A check of the site's own")->type_name("AREA.NAME");
  command->add_option("--file", add.file, "File that the check reads")->type_name("PATH");
  command->add_option("--command", add.command, "Command that the check runs, without a shell");
  command->add_option("--cost", add.cost, "Duration of the check")->capture_default_str();
  command->add_option("--finding", add.findings, "A finding of the check; repeatable")
      ->type_name("\"NAME TYPE SUBJECT PATTERN\"");
  command->add_flag("--replace", add.replace, "Replace the label of that name");
  WithJson(command, arguments, "Print label and file as JSON and ask nothing");
  AddSiteOption(command, arguments);
}

void DeclareHistory(CLI::App* kb, KbArguments& arguments) {
  CLI::App* history =
      kb->add_subcommand("history", "Manage the site's own past incidents, in any number");
  history->require_subcommand(1);
  CLI::App* add = history->add_subcommand("add", "Add tickets whose cause is established");
  HistoryAddArguments& added = arguments.history_add;
  add->add_option("directory", added.directory,
                  "Directory of the history; created if it is missing")
      ->required()
      ->type_name("DIR");
  add->add_option("files", added.files, "JSON lines, or CSV with a head line")
      ->required()
      ->type_name("FILE");
  WithJson(add, arguments, "Print one JSON object per file and line");
  WithKnowledge(add, arguments);
  CLI::App* search =
      history->add_subcommand("search", "Find those that are most similar to a text");
  HistorySearchArguments& sought = arguments.history_search;
  search->add_option("directory", sought.directory, "Directory of the history")
      ->required()
      ->type_name("DIR");
  search->add_option("words", sought.words, "Description of the incident")->required();
  search->add_option("--limit", sought.limit, "Incidents at most")->capture_default_str();
  WithJson(search, arguments, "Print one JSON object per line");
}

}  // namespace

CLI::App* DeclareKb(CLI::App& app, KbArguments& arguments) {
  CLI::App* kb = app.add_subcommand("kb", "Search, check and extend the knowledge");
  kb->require_subcommand(1);

  CLI::App* lint = kb->add_subcommand("lint", "Check the knowledge for mistakes");
  lint->add_option("directories", arguments.knowledge,
                   "Knowledge directories; none: the one that came with the program");
  WithJson(lint, arguments, "Print one JSON object per line");
  WithKnowledge(lint, arguments);

  CLI::App* search =
      kb->add_subcommand("search", "Search labels, signals, checks and incidents by words");
  search->add_option("words", arguments.search.words, "Words to search for")->required();
  search->add_option("--kind", arguments.search.kind, "label, check, signal or incident")
      ->check(CLI::IsMember({"label", "check", "signal", "incident"}));
  search->add_option("--limit", arguments.search.limit, "Entries at most")->capture_default_str();
  WithJson(search, arguments, "Print one JSON object per line");
  WithKnowledge(search, arguments);

  CLI::App* stats =
      kb->add_subcommand("stats", "Print recurrence by category and new labels by month");
  WithJson(stats, arguments, "Print a JSON object");
  WithKnowledge(stats, arguments);

  CLI::App* diff = kb->add_subcommand("diff", "Print the differences between two versions");
  diff->add_option("before", arguments.diff.before,
                   "Directories separated by commas, or the digest in a report")
      ->required();
  diff->add_option("after", arguments.diff.after, "Likewise")->required();
  WithJson(diff, arguments, "Print a JSON object");

  CLI::App* ingest = kb->add_subcommand("ingest", "Make proposals from past tickets");
  ingest->add_option("files", arguments.ingest.files, "JSON lines, or CSV with a head line")
      ->required()
      ->type_name("FILE");
  ingest->add_flag("--dry-run", arguments.ingest.dry_run, "Write nothing");
  ingest
      ->add_option("--llm", arguments.ingest.llm, "Endpoint file of a language model (docs/llm.md)")
      ->type_name("FILE");
  ingest
      ->add_option("--llm-cache", arguments.ingest.llm_cache,
                   "Keep the model's answers in this file or Redis")
      ->type_name("FILE|URL");
  WithJson(ingest, arguments, "Print one JSON object per ticket and line");
  AddSiteOption(ingest, arguments);

  DeclareHistory(kb, arguments);
  DeclareReview(kb, arguments);
  DeclareAddLabel(kb, arguments);
  return kb;
}

ExitCode RunKb(const CLI::App& kb, KbArguments& arguments, Console& console) {
  const auto called = [&](const char* name) { return kb.got_subcommand(name); };
  if (called("search")) {
    arguments.search.knowledge = arguments.knowledge;
    arguments.search.json = arguments.json;
    return SearchKnowledge(arguments.search, console);
  }
  if (called("stats")) return TellStatistics(arguments.knowledge, arguments.json, console);
  if (called("diff")) {
    arguments.diff.json = arguments.json;
    return DiffKnowledge(arguments.diff, console);
  }
  if (called("ingest")) {
    arguments.ingest.knowledge = arguments.knowledge;
    arguments.ingest.site = arguments.site;
    arguments.ingest.json = arguments.json;
    return IngestTickets(arguments.ingest, console);
  }
  if (called("history")) {
    if (kb.get_subcommand("history")->got_subcommand("search")) {
      arguments.history_search.json = arguments.json;
      return SearchHistory(arguments.history_search, console);
    }
    arguments.history_add.knowledge = arguments.knowledge;
    arguments.history_add.json = arguments.json;
    return AddToHistory(arguments.history_add, console);
  }
  if (called("review")) {
    arguments.review.knowledge = arguments.knowledge;
    arguments.review.site = arguments.site;
    arguments.review.json = arguments.json;
    return ReviewProposals(arguments.review, &EditInTerminal, console);
  }
  if (called("add-label")) {
    arguments.add_label.knowledge = arguments.knowledge;
    arguments.add_label.site = arguments.site;
    arguments.add_label.json = arguments.json;
    return AddLabel(arguments.add_label, console);
  }
  return LintKnowledge(arguments.knowledge, arguments.json, console);
}

}  // namespace galen::cli
