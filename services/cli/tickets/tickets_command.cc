#include "services/cli/tickets/tickets_command.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/knowledge/load.h"
#include "common/store/store.h"
#include "services/cli/kb/table.h"
#include "services/gateway/tickets/delivery_planner.h"
#include "services/gateway/tickets/site.h"
#include "services/gateway/tickets/ticket_store.h"

namespace galen::cli {
namespace {

using gateway::tickets::TicketStore;

constexpr int kPage = 500;

std::string Minute(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M", ToTime(time), absl::UTCTimeZone());
}

absl::Status List(TicketStore& ticket_store, const std::string& target, Console& console) {
  std::vector<std::vector<std::string>> rows;
  std::string after;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<gateway::v1::Ticket> page,
                           ticket_store.ListTickets(after, kPage));
    for (const gateway::v1::Ticket& ticket : page) {
      after = absl::StrCat(ticket.target(), "/", ticket.diagnosis());
      if (!target.empty() && ticket.target() != target) continue;
      const std::string closed = ticket.has_close_time()
                                     ? absl::StrCat("closed by ", ticket.closed_by())
                                 : ticket.resolved() ? "closed by Galen"
                                                     : "open";
      rows.push_back({ticket.target(), ticket.diagnosis(),
                      ticket.key().empty() ? ticket.id() : ticket.key(), Minute(ticket.open_time()),
                      closed, ticket.url()});
    }
    if (page.size() < static_cast<std::size_t>(kPage)) break;
  }
  console.out << Table({"TARGET", "DIAGNOSIS", "TICKET", "OPENED (UTC)", "STATE", "LINK"}, rows,
                       console.terminal);
  return absl::OkStatus();
}

std::vector<std::string> RowOf(const std::string& target, const gateway::v1::TicketDue& due,
                               const google::protobuf::Timestamp& since) {
  return {target, due.diagnosis(), absl::StrCat(due.attempts()), Minute(since),
          CleanText(due.last_error(), 200)};
}

absl::Status Due(TicketStore& ticket_store, const std::string& target, Console& console) {
  std::vector<std::vector<std::string>> rows;
  std::string after;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<TicketStore::Due> page,
                           ticket_store.ListDue(target, after, kPage));
    for (const TicketStore::Due& due : page) {
      after = due.value.diagnosis();
      rows.push_back(RowOf(target, due.value, due.value.first_due()));
    }
    if (page.size() < static_cast<std::size_t>(kPage)) break;
  }
  console.out << Table({"TARGET", "DIAGNOSIS", "FAILURES", "SINCE (UTC)", "LAST ERROR"}, rows,
                       console.terminal);
  return absl::OkStatus();
}

absl::Status Dead(TicketStore& ticket_store, const std::string& target, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<TicketStore::DeadLetter> letters,
                         ticket_store.ListDead(target));
  std::vector<std::vector<std::string>> rows;
  for (const TicketStore::DeadLetter& letter : letters) {
    rows.push_back(RowOf(letter.target, letter.due, letter.due.dead_time()));
  }
  console.out << Table({"TARGET", "DIAGNOSIS", "FAILURES", "DEAD SINCE (UTC)", "WHY"}, rows,
                       console.terminal);
  return absl::OkStatus();
}

absl::Status Replay(TicketStore& ticket_store, const TicketsArguments& arguments,
                    Console& console) {
  if (arguments.all == !arguments.diagnosis.empty()) {
    return absl::InvalidArgumentError("name one diagnosis, or --all");
  }
  std::int64_t count = 0;
  GALEN_ASSIGN_OR_RETURN(const std::vector<TicketStore::DeadLetter> letters,
                         ticket_store.ListDead(arguments.target));
  for (const TicketStore::DeadLetter& letter : letters) {
    if (!arguments.all && letter.due.diagnosis() != arguments.diagnosis) continue;
    GALEN_RETURN_IF_ERROR(ticket_store.Replay(letter.target, letter.due.diagnosis(), absl::Now()));
    ++count;
  }
  if (count == 0)
    return absl::NotFoundError("there is no such dead letter; see galen tickets dead");
  console.out << count << (count == 1 ? " ticket is" : " tickets are")
              << " due again; a gateway with this target tries it within a second or two"
              << std::endl;
  return absl::OkStatus();
}

absl::Status Check(const TicketsArguments& arguments, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> knowledge, knowledge::FindDirectories({}));
  GALEN_ASSIGN_OR_RETURN(const gateway::tickets::Site site,
                         gateway::tickets::LoadSite(arguments.config, knowledge));
  for (const gateway::tickets::Target& target : site.targets) {
    console.out << target.name << ": " << target.system.title << std::endl;
  }
  return absl::OkStatus();
}

absl::Status Run(const CLI::App& tickets, const TicketsArguments& arguments, Console& console) {
  if (tickets.got_subcommand("check")) return Check(arguments, console);
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store,
                         store::OpenStore(arguments.store));
  TicketStore ticket_store(store->records());
  if (tickets.got_subcommand("due")) return Due(ticket_store, arguments.target, console);
  if (tickets.got_subcommand("dead")) return Dead(ticket_store, arguments.target, console);
  if (tickets.got_subcommand("replay")) return Replay(ticket_store, arguments, console);
  return List(ticket_store, arguments.target, console);
}

}  // namespace

CLI::App* DeclareTickets(CLI::App& app, TicketsArguments& arguments) {
  CLI::App* tickets =
      app.add_subcommand("tickets", "Tickets that the gateway files (docs/tickets.md)");
  tickets->require_subcommand(1);
  CLI::App* list = tickets->add_subcommand("list", "List all tickets");
  CLI::App* due = tickets->add_subcommand("due", "List deliveries that are due");
  CLI::App* dead = tickets->add_subcommand(
      "dead",
      "List dead letters: deliveries that a ticket system refused, or that failed for too long");
  CLI::App* replay = tickets->add_subcommand("replay", "Deliver dead letters again");
  for (CLI::App* command : {list, due, dead, replay}) {
    command
        ->add_option("--store", arguments.store,
                     "The store of the gateway: an SQLite file or a Redis URL (docs/store.md)")
        ->required();
    CLI::Option* target =
        command->add_option("--target", arguments.target, "Only this target, by name");
    if (command == due) target->required();
  }
  replay->add_option("diagnosis", arguments.diagnosis, "tenants/TENANT/diagnoses/DIAGNOSIS");
  replay->add_flag("--all", arguments.all, "All dead letters, or all of the target");
  CLI::App* check = tickets->add_subcommand("check", "Check a file for galen-gateway --tickets");
  check->add_option("file", arguments.config, "The file")->required();
  return tickets;
}

ExitCode RunTickets(const CLI::App& tickets, const TicketsArguments& arguments, Console& console) {
  const absl::Status status = Run(tickets, arguments, console);
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
