#include "services/cli/kb/ingest_command.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/curation/ingest.h"
#include "common/curation/json.h"
#include "common/curation/proposal_store.h"
#include "common/knowledge/load.h"
#include "common/reasoner/llm/open_model.h"
#include "services/cli/kb/model_labeller.h"
#include "services/cli/kb/site.h"
#include "services/cli/kb/table.h"

namespace galen::cli {
namespace {

// On a terminal, the tickets of a large file are not listed one by one.
constexpr std::size_t kMaxRows = 200;

std::string HowName(curation::Labelling::How how) {
  switch (how) {
    case curation::Labelling::How::kNamed:
      return "named";
    case curation::Labelling::How::kJudged:
      return "judged";
    case curation::Labelling::How::kNew:
      return "new";
    case curation::Labelling::How::kKnown:
      return "known";
  }
  return "";
}

struct Counts {
  int written = 0;
  int decided = 0;  // before
  std::map<std::string, int> how;
};

void TellTickets(const std::vector<curation::Ticket>& tickets, const curation::Ingested& ingested,
                 bool json, Counts& counts, Console& console) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const curation::Labelling& labelling = ingested.labellings[i];
    ++counts.how[HowName(labelling.how)];
    if (json) {
      console.out << curation::JsonObject()
                         .Add("ticket", tickets[i].id)
                         .Add("line", tickets[i].line)
                         .Add("how", HowName(labelling.how))
                         .Add("label", labelling.label)
                         .AddRaw("confidence", absl::StrFormat("%.4f", labelling.confidence))
                         .Add("reason", labelling.reason)
                         .Text()
                  << '\n';
    } else if (rows.size() < kMaxRows) {
      rows.push_back({Shorten(tickets[i].id, 24), HowName(labelling.how), labelling.label,
                      absl::StrFormat("%.0f %%", 100 * labelling.confidence),
                      Shorten(tickets[i].title, 60)});
    }
  }
  if (json) return;
  console.out << Table({"ticket", "how", "label", ">share", "title"}, rows, console.terminal);
  if (tickets.size() > kMaxRows) {
    console.out << "… and " << tickets.size() - kMaxRows << " more; --json gives all\n";
  }
}

absl::Status IngestFile(const std::string& file, const std::vector<std::string>& directories,
                        const knowledge::Knowledge& knowledge, const curation::Labeller& labeller,
                        const IngestArguments& arguments, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const curation::Tickets read, curation::ReadTickets(file));
  for (const std::string& problem : read.problems) console.err << problem << '\n';
  curation::IngestOptions options;
  options.file = std::filesystem::path(file).filename().string();
  options.today = Today();
  GALEN_ASSIGN_OR_RETURN(const curation::Ingested ingested,
                         curation::Ingest(read.tickets, knowledge, labeller, options));
  for (const std::string& remark : ingested.remarks) console.err << file << ": " << remark << '\n';
  Counts counts;
  TellTickets(read.tickets, ingested, arguments.json, counts, console);
  const curation::ProposalStore store(directories);
  for (const curation::Proposal& proposal : ingested.proposals) {
    if (arguments.dry_run) continue;
    GALEN_ASSIGN_OR_RETURN(const bool written, store.Propose(proposal));
    ++(written ? counts.written : counts.decided);
  }
  (arguments.json ? console.err : console.out)
      << file << ": " << read.tickets.size() << " tickets: " << counts.how["named"] << " named, "
      << counts.how["judged"] << " judged, " << counts.how["new"] << " new, " << counts.how["known"]
      << " known; " << ingested.proposals.size() << " proposals"
      << (arguments.dry_run ? std::string(", none written")
                            : absl::StrCat(", ", counts.written, " wait in ", store.site(), "/",
                                           knowledge::kProposalsFolder, ", ", counts.decided,
                                           " were decided before"))
      << std::endl;
  return absl::OkStatus();
}

absl::Status IngestAll(const IngestArguments& arguments, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         WithSite(arguments.knowledge, arguments.site));
  std::vector<std::string> existing = directories;
  std::error_code ignored;
  if (!std::filesystem::is_directory(existing.back(), ignored)) existing.pop_back();
  GALEN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const knowledge::Knowledge> knowledge,
      knowledge::Load(existing, {.cache_directory = knowledge::DefaultCacheDirectory()}));
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<const curation::Labeller> labeller,
                         curation::MakeBuiltinLabeller(*knowledge));
  GALEN_ASSIGN_OR_RETURN(
      const std::unique_ptr<reasoner::llm::OpenedModel> opened,
      reasoner::llm::OpenedModel::Open(arguments.llm, arguments.llm_cache, existing));
  std::optional<ModelLabeller> with_model;
  if (opened != nullptr) with_model.emplace(*knowledge, *labeller, opened->model());
  const curation::Labeller& asked =
      with_model.has_value() ? static_cast<const curation::Labeller&>(*with_model) : *labeller;
  for (const std::string& file : arguments.files) {
    GALEN_RETURN_IF_ERROR(IngestFile(file, directories, *knowledge, asked, arguments, console));
  }
  if (with_model.has_value()) {
    if (const std::string told = with_model->Told(); !told.empty()) console.err << told << '\n';
  }
  return absl::OkStatus();
}

}  // namespace

ExitCode IngestTickets(const IngestArguments& arguments, Console& console) {
  const absl::Status status = IngestAll(arguments, console);
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
