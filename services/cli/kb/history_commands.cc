#include "services/cli/kb/history_commands.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/curation/json.h"
#include "common/curation/past_incident.h"
#include "common/curation/tickets.h"
#include "common/knowledge/load.h"
#include "common/reasoner/retrieve.h"
#include "common/reasoner/site_history.h"
#include "services/cli/kb/refuse.h"
#include "services/cli/kb/table.h"

namespace galen::cli {
namespace {

// How many of the tickets left out are listed one by one.
constexpr std::size_t kMaxTold = 20;

absl::StatusOr<std::size_t> AddFile(const std::string& file, const std::string& directory,
                                    const knowledge::Knowledge& knowledge, bool json,
                                    Console& console) {
  GALEN_ASSIGN_OR_RETURN(const curation::Tickets read, curation::ReadTickets(file));
  for (const std::string& problem : read.problems) console.err << problem << '\n';
  const curation::Established established = curation::EstablishedOf(read.tickets, knowledge);
  const std::vector<std::string>& left_out = established.left_out;
  for (std::size_t i = 0; i < left_out.size() && i < kMaxTold; ++i) {
    console.err << file << ": " << left_out[i] << '\n';
  }
  if (left_out.size() > kMaxTold) {
    console.err << file << ": … and " << left_out.size() - kMaxTold << " more left out\n";
  }
  reasoner::SiteHistory::Added added;
  if (!established.incidents.empty()) {
    GALEN_ASSIGN_OR_RETURN(added, reasoner::SiteHistory::Add(directory, established.incidents));
  }
  if (json) {
    console.out << curation::JsonObject()
                       .Add("file", file)
                       .AddRaw("tickets", absl::StrCat(read.tickets.size()))
                       .AddRaw("added", absl::StrCat(added.added))
                       .AddRaw("known", absl::StrCat(added.known))
                       .AddRaw("left_out", absl::StrCat(left_out.size()))
                       .Text()
                << std::endl;
  } else {
    console.out << file << ": " << read.tickets.size() << " tickets: " << added.added << " added, "
                << added.known << " there already, " << left_out.size() << " left out" << std::endl;
  }
  return added.added;
}

absl::StatusOr<std::size_t> AddAll(const HistoryAddArguments& arguments, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const knowledge::Knowledge> knowledge,
      knowledge::Load(directories, {.cache_directory = knowledge::DefaultCacheDirectory()}));
  std::size_t added = 0;
  for (const std::string& file : arguments.files) {
    GALEN_ASSIGN_OR_RETURN(const std::size_t of_file,
                           AddFile(file, arguments.directory, *knowledge, arguments.json, console));
    added += of_file;
  }
  return added;
}

}  // namespace

ExitCode AddToHistory(const HistoryAddArguments& arguments, Console& console) {
  const absl::StatusOr<std::size_t> added = AddAll(arguments, console);
  if (!added.ok()) return Refuse(added.status(), console);
  return *added > 0 ? kOk : kNoCause;
}

ExitCode SearchHistory(const HistorySearchArguments& arguments, Console& console) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(arguments.directory, ignored)) {
    return Refuse(
        absl::NotFoundError(absl::StrCat(
            arguments.directory, ": there is no history; `galen kb history add` makes one")),
        console);
  }
  const auto history = reasoner::SiteHistory::Open(arguments.directory);
  if (!history.ok()) return Refuse(history.status(), console);
  incident_history::Answer answer = reasoner::SearchConfirmed(
      (*history)->store(), absl::StrJoin(arguments.words, " "), arguments.limit);
  if (!answer.failed.empty()) return Refuse(answer.failed.front(), console);
  std::vector<incident_history::Hit>& hits = answer.hits;
  // Vectors bring what shares no word with the text.
  std::erase_if(hits, [](const incident_history::Hit& hit) { return hit.similarity <= 0; });
  std::vector<std::vector<std::string>> rows;
  for (const incident_history::Hit& hit : hits) {
    const knowledge::v1::PastIncident incident = reasoner::IncidentOf(hit.document);
    if (arguments.json) {
      console.out << curation::JsonObject()
                         .Add("id", hit.document.id)
                         .Add("label", hit.document.label)
                         .Add("title", incident.title())
                         .Add("date", incident.date())
                         .Add("reference", incident.reference())
                         .AddRaw("likeness", absl::StrFormat("%.4f", hit.similarity))
                         .Text()
                  << '\n';
      continue;
    }
    rows.push_back({hit.document.id, hit.document.label, absl::StrFormat("%.2f", hit.similarity),
                    incident.date(), incident.title()});
  }
  if (!arguments.json) {
    if (!rows.empty()) {
      console.out << Table({"id", "label", ">likeness", "date", "title"}, rows, console.terminal);
    }
    console.out << rows.size() << " of " << (*history)->store().documents() << " past incidents"
                << std::endl;
  }
  return hits.empty() ? kNoCause : kOk;
}

}  // namespace galen::cli
