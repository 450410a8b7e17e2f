#include "services/cli/tool_commands.h"

#include <memory>

#include "common/rpc/serve.h"
#include "services/cli/advisor/advisor_command.h"
#include "services/cli/certs/certs_command.h"
#include "services/cli/dialogue/dialogue_command.h"
#include "services/cli/kb/kb_command.h"
#include "services/cli/keys/keys_command.h"
#include "services/cli/llm/llm_command.h"
#include "services/cli/llm/preview.h"
#include "services/cli/perfmodel/model_command.h"
#include "services/cli/profile/profile_command.h"
#include "services/cli/repairs/repairs_command.h"
#include "services/cli/retention/retention_command.h"
#include "services/cli/tickets/tickets_command.h"
#include "services/cli/top/top_command.h"
#include "services/cli/triage/triage_command.h"

namespace galen::cli {

template <typename Arguments, typename Declare, typename RunIt>
void ToolCommands::Add(CLI::App& app, Declare declare, RunIt run) {
  const auto arguments = std::make_shared<Arguments>();
  const CLI::App* const command = declare(app, *arguments);
  commands_.push_back({command, [command, arguments, run](Console& console) {
                         return run(*command, *arguments, console);
                       }});
}

ToolCommands::ToolCommands(CLI::App& app) {
  // One that is run whatever of it was called.
  const auto plain = [](auto run) {
    return [run](const CLI::App&, auto& arguments, Console& console) {
      return run(arguments, console);
    };
  };
  Add<AdvisorArguments>(app, &DeclareAdvisor, &RunAdvisor);
  Add<CertsArguments>(app, &DeclareCerts, &RunCerts);
  Add<DialogueArguments>(app, &DeclareFeedback, plain(&RunFeedback));
  Add<DialogueArguments>(app, &DeclareReopen, plain(&RunReopen));
  Add<DialogueArguments>(app, &DeclareList, plain(&RunList));
  Add<DialogueArguments>(app, &DeclareShow, plain(&RunShow));
  Add<DialogueArguments>(app, &DeclareEscalate, plain(&RunEscalate));
  Add<RetentionArguments>(app, &DeclareRetention, plain(&RunRetention));
  Add<RetentionArguments>(app, &DeclareDelete, plain(&RunDelete));
  Add<KeysArguments>(app, &DeclareKeys, &RunKeys);
  Add<TicketsArguments>(app, &DeclareTickets, &RunTickets);
  Add<RepairsArguments>(app, &DeclareRepairs, &RunRepairs);
  Add<top::TopArguments>(app, &top::DeclareTop,
                         plain([](const top::TopArguments& arguments, Console& console) {
                           rpc::BlockTerminationSignals();
                           return top::RunTop(arguments, console);
                         }));
  Add<TriageArguments>(app, &DeclareTriage, plain(&RunTriage));
  Add<ModelArguments>(app, &DeclareModel, &RunModel);
  Add<ProfileArguments>(app, &DeclareProfile, plain(&RunProfile));
  Add<KbArguments>(app, &DeclareKb, &RunKb);
  Add<LlmArguments>(app, &DeclareLlm,
                    [](const CLI::App& command, const LlmArguments& arguments, Console& console) {
                      return command.got_subcommand("preview") ? PreviewLlm(arguments, console)
                                                               : CheckLlm(arguments, console);
                    });
}

std::optional<ExitCode> ToolCommands::Run(Console& console) const {
  for (const Command& command : commands_) {
    if (*command.app) return command.run(console);
  }
  return std::nullopt;
}

}  // namespace galen::cli
