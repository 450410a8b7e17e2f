#include "services/cli/llm/llm_command.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/llm/endpoint.h"
#include "common/llm/probe.h"
#include "services/cli/kb/table.h"

namespace galen::cli {
namespace {

absl::string_view NameOf(llm::Probed::State state) {
  switch (state) {
    case llm::Probed::State::kYes:
      return "yes";
    case llm::Probed::State::kNo:
      return "no";
    case llm::Probed::State::kFailed:
      return "failed";
    case llm::Probed::State::kNotAsked:
      return "not asked";
  }
  return "";
}

std::int64_t Milliseconds(absl::Duration duration) { return absl::ToInt64Milliseconds(duration); }

// The change to make, in one sentence; "" when none is needed.
std::string Advice(const llm::Endpoint& endpoint, const llm::ProbeReport& report) {
  if (!report.chat.ok()) return "";  // its row says what to do
  if (!report.best.has_value()) {
    return "no way of structured answers works; this model cannot be used";
  }
  if (*report.best == endpoint.structured) return "";
  return absl::StrCat(
      report.usable ? "it would hold answers more with structured: " : "set structured: ",
      llm::NameOf(*report.best));
}

void TellJson(const llm::Endpoint& endpoint, const llm::ProbeReport& report, Console& console) {
  using Json = nlohmann::ordered_json;
  Json abilities = Json::array();
  for (const llm::Probed& probed : report.abilities) {
    Json one = {{"ability", probed.ability},
                {"state", std::string(NameOf(probed.state))},
                {"detail", probed.detail},
                {"latency_ms", Milliseconds(probed.latency)}};
    if (probed.usage.reported) {
      one["prompt_tokens"] = probed.usage.prompt_tokens;
      one["cached_tokens"] = probed.usage.cached_tokens;
      one["completion_tokens"] = probed.usage.completion_tokens;
    }
    abilities.push_back(std::move(one));
  }
  const Json all = {
      {"url", endpoint.url},
      {"model", endpoint.model},
      {"structured", std::string(llm::NameOf(endpoint.structured))},
      {"best_structured",
       report.best.has_value() ? Json(std::string(llm::NameOf(*report.best))) : Json(nullptr)},
      {"usable", report.usable},
      {"advice", Advice(endpoint, report)},
      {"abilities", abilities}};
  console.out << all.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

void TellTable(const llm::Endpoint& endpoint, const llm::ProbeReport& report, Console& console) {
  console.out << endpoint.url << ", model " << endpoint.model << "\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const llm::Probed& probed : report.abilities) {
    const bool answered = probed.latency > absl::ZeroDuration();
    rows.push_back({probed.ability, std::string(NameOf(probed.state)),
                    answered ? absl::StrCat(Milliseconds(probed.latency)) : "",
                    probed.usage.reported ? absl::StrCat(probed.usage.prompt_tokens) : "",
                    probed.usage.reported ? absl::StrCat(probed.usage.completion_tokens) : "",
                    probed.detail});
  }
  console.out << Table({"ABILITY", "STATE", ">MS", ">TOKENS IN", ">OUT", "DETAIL"}, rows,
                       console.terminal);
  const std::string advice = Advice(endpoint, report);
  if (report.usable) console.out << "\nusable as it is configured\n";
  if (!advice.empty()) console.out << (report.usable ? "" : "\n") << advice << '\n';
}

}  // namespace

CLI::App* DeclareLlm(CLI::App& app, LlmArguments& arguments) {
  CLI::App* llm = app.add_subcommand(
      "llm", "Check a language model's endpoint, or show its requests (docs/llm.md)");
  llm->require_subcommand(1);
  CLI::App* check = llm->add_subcommand("check", "Test what an endpoint supports");
  check
      ->add_option("--llm", arguments.file,
                   "The endpoint's file (docs/llm.md); it gets about a dozen short questions")
      ->envname("GALEN_LLM")
      ->type_name("FILE");
  check->add_flag("--json", arguments.json, "Print a JSON object");
  CLI::App* preview =
      llm->add_subcommand("preview", "Print the requests for an incident; nothing is sent");
  preview->add_option("description", arguments.words,
                      "Sentences, pasted text, files, folders, or - for standard input");
  preview->add_option("--log", arguments.logs, "A file to read, or -; repeatable")
      ->type_name("FILE");
  preview->add_option("--bundle", arguments.bundle, "Support bundle: directory or archive")
      ->type_name("PATH");
  preview
      ->add_option("--knowledge", arguments.knowledge,
                   "Knowledge directory; repeatable, or separated by commas: later ones overlay "
                   "earlier ones")
      ->delimiter(',')
      ->type_name("DIR");
  preview->add_option("--llm", arguments.file, "The endpoint's file (docs/llm.md)")
      ->envname("GALEN_LLM")
      ->type_name("FILE");
  preview->add_flag("--json", arguments.json, "Print only the bodies, one per line");
  return llm;
}

ExitCode CheckLlm(const LlmArguments& arguments, Console& console) {
  if (arguments.file.empty()) {
    console.err << "galen: no endpoint is named; write --llm FILE, as docs/llm.md describes it"
                << std::endl;
    return kBadInput;
  }
  const absl::StatusOr<llm::Endpoint> endpoint = llm::LoadEndpoint(arguments.file);
  if (!endpoint.ok()) {
    console.err << "galen: " << endpoint.status().message() << std::endl;
    return ExitCodeOf(endpoint.status());
  }
  const absl::StatusOr<llm::ProbeReport> report = llm::Probe(*endpoint);
  if (!report.ok()) {
    console.err << "galen: " << report.status().message() << std::endl;
    return ExitCodeOf(report.status());
  }
  if (arguments.json) {
    TellJson(*endpoint, *report, console);
  } else {
    TellTable(*endpoint, *report, console);
  }
  if (!report->chat.ok()) return ExitCodeOf(report->chat);
  return report->usable ? kOk : kBadInput;
}

}  // namespace galen::cli
