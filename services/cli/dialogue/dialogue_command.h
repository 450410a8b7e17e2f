#ifndef SERVICES_CLI_DIALOGUE_DIALOGUE_COMMAND_H_
#define SERVICES_CLI_DIALOGUE_DIALOGUE_COMMAND_H_

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "common/rpc/security.h"
#include "services/cli/diagnose.h"
#include "services/cli/diagnosis_api.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// One of these commands as it was called; each looks at its own part.
struct DialogueArguments {
  std::string name;    // tenants/T/diagnoses/D, or D alone of the default tenant
  std::string server;  // "": the store of this machine
  std::string store;   // "": where `galen up` keeps them
  std::vector<std::string> knowledge;
  rpc::SecurityOptions security;
  bool json = false;
  bool verbose = false;

  // feedback, reopen
  std::vector<std::string> words;  // sentences, pasted text, files, folders, "-"
  std::string text;                // words as well; with a confirmation what was seen and done
  std::vector<std::string> nodes;
  std::string bundle;
  std::vector<std::string> allow;  // ids of tests
  std::string confirm;             // label of the cause that a person established
  std::string by;
  std::string site;  // where a confirmed diagnosis becomes a proposal
  std::string request_id;
  bool no_wait = false;

  // show
  std::string ticket;  // "customer", "provider" or "attachment": that text alone; "": the report

  // list
  std::string tenant = "default";
  int count = 20;

  // escalate
  std::string reason;
};

CLI::App* DeclareFeedback(CLI::App& app, DialogueArguments& arguments);
CLI::App* DeclareReopen(CLI::App& app, DialogueArguments& arguments);
CLI::App* DeclareList(CLI::App& app, DialogueArguments& arguments);
CLI::App* DeclareShow(CLI::App& app, DialogueArguments& arguments);
CLI::App* DeclareEscalate(CLI::App& app, DialogueArguments& arguments);

ExitCode RunFeedback(const DialogueArguments& arguments, Console& console);
ExitCode RunReopen(const DialogueArguments& arguments, Console& console);
ExitCode RunList(const DialogueArguments& arguments, Console& console);
ExitCode RunShow(const DialogueArguments& arguments, Console& console);
ExitCode RunEscalate(const DialogueArguments& arguments, Console& console);

// The commands over any API. `request` names the diagnosis and holds words and files.
ExitCode Answer(DiagnosisApi& api, const v1::SubmitFeedbackRequest& request,
                const DialogueArguments& arguments, Console& console);
ExitCode List(DiagnosisApi& api, const DialogueArguments& arguments, Console& console);
ExitCode Show(DiagnosisApi& api, const DialogueArguments& arguments, Console& console);
ExitCode Escalate(DiagnosisApi& api, const DialogueArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_DIALOGUE_DIALOGUE_COMMAND_H_
