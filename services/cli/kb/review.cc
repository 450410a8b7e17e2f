#include "services/cli/kb/review.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/curation/json.h"
#include "common/curation/proposal_store.h"
#include "services/cli/kb/site.h"
#include "services/cli/kb/table.h"

extern char** environ;

namespace galen::cli {
namespace {

using curation::Proposal;
using curation::ProposalStore;

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", time, absl::UTCTimeZone());
}

void TellList(const std::vector<Proposal>& pending, bool json, Console& console) {
  std::vector<std::vector<std::string>> rows;
  for (const Proposal& proposal : pending) {
    if (json) {
      console.out << curation::JsonObject()
                         .Add("id", proposal.id)
                         .Add("kind", proposal.kind)
                         .Add("made", proposal.made)
                         .Add("origin", proposal.origin)
                         .Add("reason", proposal.reason)
                         .Add("verification", proposal.verification)
                         .Add("knowledge",
                              std::string(absl::StripLeadingAsciiWhitespace(proposal.knowledge)))
                         .Text()
                  << '\n';
    }
    rows.push_back({proposal.id, proposal.kind, proposal.made, proposal.origin, proposal.reason});
  }
  if (json) return;
  if (!rows.empty()) {
    console.out << Table({"id", "kind", "made", "from", "why"}, rows, console.terminal);
  }
  console.out << rows.size() << (rows.size() == 1 ? " proposal waits" : " proposals wait")
              << std::endl;
}

void TellDecisions(const ProposalStore& store, bool json, Console& console) {
  std::vector<std::vector<std::string>> rows;
  for (const curation::Decision& decision : store.Decisions()) {
    if (json) {
      console.out << curation::JsonObject()
                         .Add("time", TimeText(decision.time))
                         .Add("id", decision.id)
                         .Add("decision", decision.decision)
                         .Add("by", decision.by)
                         .Add("why", decision.why)
                         .Text()
                  << '\n';
    }
    rows.push_back(
        {TimeText(decision.time), decision.decision, decision.id, decision.by, decision.why});
  }
  if (!json) {
    console.out << Table({"when (UTC)", "decision", "proposal", "by", "why"}, rows,
                         console.terminal);
  }
  console.out.flush();
}

// The part of a proposal that others than its author see.
std::string SharedWith(const Proposal& proposal) {
  return absl::StrContains(proposal.knowledge, "\n    tenant_texts:")
             ? "this, except the texts under tenant_texts, which only its tenant sees"
             : "this, word for word";
}

void ShowProposal(const ProposalStore& store, const Proposal& proposal, Console& console) {
  const Terminal& terminal = console.terminal;
  console.out << Paint(terminal, Colour::kBold, absl::StrCat(proposal.kind, " ", proposal.id))
              << "  " << proposal.origin << ", " << proposal.made << '\n'
              << proposal.reason << '\n';
  for (const std::string& step : proposal.verification) {
    console.out << Paint(terminal, Colour::kDim, absl::StrCat("  verified by: ", step)) << '\n';
  }
  console.out << Paint(terminal, Colour::kYellow,
                       absl::StrCat("Once accepted, all tenants see ", SharedWith(proposal), "."))
              << '\n';
  // Tickets are foreign text, and this goes to a terminal.
  console.out << '\n'
              << CleanText(absl::StripLeadingAsciiWhitespace(proposal.knowledge),
                           curation::kMaxProposalBytes);
  const absl::Status sound =
      curation::LintCandidate(store.directories(), store.PathOf(proposal.id), proposal.knowledge);
  if (!sound.ok()) {
    console.out << Paint(terminal, Colour::kYellow,
                         absl::StrCat("not yet fit to be accepted:\n", sound.message()))
                << '\n';
  }
  console.out.flush();
}

absl::Status TellAccepted(const ProposalStore& store, const std::string& id, const std::string& by,
                          Console& console) {
  const absl::StatusOr<Proposal> proposal = store.Find(id);
  const absl::StatusOr<std::string> path = store.Accept(id, by, absl::Now());
  if (!path.ok()) {
    return absl::Status(path.status().code(), absl::StrCat("proposal ", id, " is not accepted:\n",
                                                           path.status().message()));
  }
  console.out << "accepted " << id << ": " << *path << std::endl;
  if (proposal.ok()) {
    console.out << "all tenants see " << SharedWith(*proposal) << std::endl;
  }
  return absl::OkStatus();
}

absl::Status TellRejected(const ProposalStore& store, const std::string& id,
                          const ReviewArguments& arguments, const std::string& why,
                          Console& console) {
  GALEN_RETURN_IF_ERROR(store.Reject(id, arguments.by, why, absl::Now()));
  console.out << "rejected " << id << std::endl;
  return absl::OkStatus();
}

absl::StatusOr<std::string> Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) return absl::UnavailableError(absl::StrCat(path, ": cannot be read"));
  std::string text(curation::kMaxProposalBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

// On a copy, so that what a person leaves half done does not harm the proposal.
absl::Status EditProposal(const ProposalStore& store, const std::string& id, const Editor& edit) {
  GALEN_ASSIGN_OR_RETURN(const std::string before, Content(store.PathOf(id)));
  std::error_code ignored;
  std::string folder =
      (std::filesystem::temp_directory_path(ignored) / "galen-review-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat(folder, ": cannot be made"));
  }
  const std::string path = absl::StrCat(folder, "/", id, ".yaml");
  { std::ofstream(path, std::ios::binary) << before; }
  absl::Status status = edit(path);
  if (status.ok()) {
    const absl::StatusOr<std::string> after = Content(path);
    status = after.status();
    if (status.ok() && *after != before) status = store.Replace(id, *after);
  }
  std::filesystem::remove_all(folder, ignored);
  return status;
}

std::optional<std::string> Ask(const std::string& question, Console& console) {
  console.out << question << std::flush;
  std::string answer;
  if (!std::getline(console.in, answer)) return std::nullopt;
  return std::string(absl::StripAsciiWhitespace(answer));
}

// One proposal, until it is decided or left. False: the person stops.
bool AskAbout(const ProposalStore& store, const std::string& id, const ReviewArguments& arguments,
              const Editor& edit, Console& console) {
  for (bool show = true;;) {
    const absl::StatusOr<Proposal> proposal = store.Find(id);
    if (!proposal.ok()) {
      console.out << proposal.status().message() << '\n';
    } else if (show) {
      ShowProposal(store, *proposal, console);
    }
    show = false;
    const std::optional<std::string> answer =
        Ask("\n[a]ccept, [e]dit, [r]eject, [s]kip, [q]uit? ", console);
    if (!answer.has_value()) return false;
    absl::Status status;
    if (*answer == "a") {
      status = TellAccepted(store, id, arguments.by, console);
      if (status.ok()) return true;
    } else if (*answer == "e") {
      status = EditProposal(store, id, edit);
      show = status.ok();
    } else if (*answer == "r") {
      const std::optional<std::string> why = Ask("Why? ", console);
      if (!why.has_value()) return false;
      status = TellRejected(store, id, arguments, *why, console);
      if (status.ok()) return true;
    } else if (*answer == "s") {
      return true;
    } else if (*answer == "q") {
      return false;
    }
    if (!status.ok()) console.out << status.message() << std::endl;
  }
}

absl::Status DecideByOptions(const ProposalStore& store, const ReviewArguments& arguments,
                             Console& console) {
  std::vector<std::string> accept = arguments.accept;
  if (accept.size() == 1 && accept[0] == "all") {
    accept.clear();
    GALEN_ASSIGN_OR_RETURN(const std::vector<Proposal> pending, store.Pending());
    for (const Proposal& proposal : pending) accept.push_back(proposal.id);
  }
  // Each by itself: a mistake in one does not keep the others waiting.
  absl::Status first;
  const auto note = [&](const absl::Status& status) {
    if (!status.ok()) {
      if (!first.ok()) console.err << "galen: " << status.message() << std::endl;
      first.Update(status);
    }
  };
  for (const std::string& id : accept) note(TellAccepted(store, id, arguments.by, console));
  for (const std::string& id : arguments.reject) {
    note(TellRejected(store, id, arguments, arguments.why, console));
  }
  for (const std::string& id : arguments.undo) {
    const absl::Status undone = store.Undo(id, arguments.by, arguments.why, absl::Now());
    if (undone.ok())
      console.out << "undone " << id << ": the knowledge does not contain it any more" << std::endl;
    note(undone);
  }
  return first;
}

absl::Status Review(ReviewArguments arguments, const Editor& edit, Console& console) {
  GALEN_ASSIGN_OR_RETURN(std::vector<std::string> directories,
                         WithSite(arguments.knowledge, arguments.site));
  const ProposalStore store(std::move(directories));
  if (arguments.decisions) {
    TellDecisions(store, arguments.json, console);
    return absl::OkStatus();
  }
  if (!arguments.show.empty()) {
    GALEN_ASSIGN_OR_RETURN(const Proposal proposal, store.Find(arguments.show));
    if (arguments.json) {
      TellList({proposal}, true, console);
    } else {
      ShowProposal(store, proposal, console);
    }
    return absl::OkStatus();
  }
  if (!arguments.accept.empty() || !arguments.reject.empty() || !arguments.undo.empty()) {
    return DecideByOptions(store, arguments, console);
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<Proposal> pending, store.Pending());
  if (arguments.list || arguments.json || !console.may_ask || pending.empty()) {
    TellList(pending, arguments.json, console);
    return absl::OkStatus();
  }
  if (arguments.by.empty()) {
    const char* user = std::getenv("USER");
    arguments.by = user == nullptr ? "" : user;
  }
  while (arguments.by.empty()) {
    const std::optional<std::string> name = Ask("Who are you? ", console);
    if (!name.has_value()) return absl::OkStatus();
    arguments.by = *name;
  }
  for (const Proposal& proposal : pending) {
    if (!AskAbout(store, proposal.id, arguments, edit, console)) break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EditInTerminal(const std::string& path) {
  std::string command;
  for (const char* name : {"VISUAL", "EDITOR"}) {
    const char* value = std::getenv(name);
    if (command.empty() && value != nullptr) command = value;
  }
  if (command.empty()) command = "vi";
  std::vector<std::string> parts = absl::StrSplit(command, ' ', absl::SkipEmpty());
  parts.push_back(path);
  std::vector<char*> argv;
  for (std::string& part : parts) argv.push_back(part.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ);
      error != 0) {
    return absl::UnavailableError(absl::StrCat(command, ": cannot be run: ", std::strerror(error),
                                               "; set EDITOR to a program that edits files"));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(command, ": ended with an error; nothing is changed"));
}

ExitCode ReviewProposals(const ReviewArguments& arguments, const Editor& edit, Console& console) {
  const absl::Status status = Review(arguments, edit, console);
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
