#include "common/intake/pasted_evidence_store.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "common/host/edit.h"
#include "common/intake/evidence.h"
#include "common/intake/recognise.h"

namespace galen::intake {

namespace fs = std::filesystem;

namespace {

// A copy that can be changed. Logs are only read, and may be large: they are there under a second
// name, or copied where the file system has no such thing.
absl::Status CopyBelow(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::remove_all(to, error);
  fs::create_directories(to, error);
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    const fs::path target = fs::path(to) / at->path().filename();
    auto how = fs::copy_options::recursive | fs::copy_options::copy_symlinks;
    if (at->path().filename() == "logs") {
      std::error_code linked;
      fs::copy(at->path(), target, how | fs::copy_options::create_hard_links, linked);
      if (!linked) continue;
      fs::remove_all(target, linked);
    }
    fs::copy(at->path(), target, how, error);
    if (error) break;
  }
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(from, ": cannot be copied: ", error.message()));
}

}  // namespace

PastedEvidenceStore::PastedEvidenceStore(std::string directory, std::shared_ptr<const Kinds> kinds,
                                         absl::Duration keep)
    : directory_(std::move(directory)), kinds_(std::move(kinds)), keep_(keep) {}

// The texts of an incident, parsed.
struct PastedEvidenceStore::Given {
  std::vector<Text> texts;
  v1::Incident rest;  // without the texts
  Recognised recognised;
  bool readable = false;  // a bundle can be made of it
};

PastedEvidenceStore::Given PastedEvidenceStore::TextsOf(const v1::Incident& incident) const {
  Given given;
  given.texts.push_back({.name = "description", .content = incident.description()});
  given.rest = incident;
  given.rest.clear_description();
  given.rest.clear_logs();
  for (const v1::LogSource& log : incident.logs()) {
    if (log.content().empty()) {
      *given.rest.add_logs() = log;
      continue;
    }
    const bool prose = absl::EndsWith(log.path(), ".md") || absl::EndsWith(log.path(), ".eml");
    given.texts.push_back({.name = log.path().empty() ? "log" : log.path(),
                           .content = log.content(),
                           .attached = !prose});
  }
  given.recognised = Recognise(*kinds_, given.texts);
  // If the nodes can be asked, a quotation counts as prose. A log file on the machine of
  // summarization does not go into a bundle.
  const bool nothing =
      incident.nodes().empty() ? given.recognised.artefacts.empty() : IsOnlyWords(given.recognised);
  given.readable = !nothing && given.rest.logs().empty();
  return given;
}

absl::StatusOr<v1::Incident> PastedEvidenceStore::Take(const v1::Incident& incident,
                                                       const std::string& id,
                                                       absl::Time now) const {
  if (!incident.bundle().empty()) return incident;
  const Given given = TextsOf(incident);
  if (!given.readable) return incident;
  RemoveOld(now);
  const std::string bundle = absl::StrCat(directory_, "/", id);
  std::error_code ignored;
  fs::remove_all(bundle, ignored);
  const std::vector<std::string> nodes(incident.nodes().begin(), incident.nodes().end());
  GALEN_RETURN_IF_ERROR(host::NewBundle(bundle, "", nodes, now));
  GALEN_ASSIGN_OR_RETURN(v1::Incident made,
                         AddEvidence(bundle, given.recognised, given.texts, given.rest));
  return made;
}

absl::StatusOr<v1::Incident> PastedEvidenceStore::AddTo(const std::string& base,
                                                        const v1::Incident& incident,
                                                        const std::string& id,
                                                        absl::Time now) const {
  Given given = TextsOf(incident);
  if (!given.readable) return incident;
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const host::Bundle> below, host::Bundle::Open(base));
  RemoveOld(now);
  const std::string bundle = absl::StrCat(directory_, "/", id);
  GALEN_RETURN_IF_ERROR(CopyBelow(below->root(), bundle));
  given.rest.clear_bundle();
  *given.rest.mutable_logs() = below->incident().logs();
  GALEN_ASSIGN_OR_RETURN(v1::Incident made,
                         AddEvidence(bundle, given.recognised, given.texts, given.rest));
  auto& logs = *made.mutable_logs();
  logs.erase(logs.begin(), logs.begin() + below->incident().logs_size());
  return made;
}

void PastedEvidenceStore::RemoveOld(absl::Time now) const {
  std::error_code error;
  for (fs::directory_iterator at(directory_, error), end; !error && at != end;
       at.increment(error)) {
    struct stat info = {};
    if (stat(at->path().c_str(), &info) != 0) continue;
    std::error_code ignored;
    if (now - absl::FromTimeT(info.st_mtime) > keep_) fs::remove_all(at->path(), ignored);
  }
}

}  // namespace galen::intake
