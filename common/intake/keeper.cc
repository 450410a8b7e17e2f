#include "common/intake/keeper.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/host/edit.h"
#include "common/intake/evidence.h"
#include "common/intake/recognise.h"

namespace galen::intake {

namespace fs = std::filesystem;

Keeper::Keeper(std::string directory, std::shared_ptr<const Kinds> kinds, absl::Duration keep)
    : directory_(std::move(directory)), kinds_(std::move(kinds)), keep_(keep) {}

absl::StatusOr<v1::Incident> Keeper::Take(const v1::Incident& incident, const std::string& id,
                                          absl::Time now) const {
  if (!incident.bundle().empty()) return incident;
  std::vector<Text> texts;
  texts.push_back({.name = "description", .content = incident.description()});
  v1::Incident rest = incident;
  rest.clear_description();
  rest.clear_logs();
  for (const v1::LogSource& log : incident.logs()) {
    if (log.content().empty()) {
      *rest.add_logs() = log;
      continue;
    }
    const bool prose = absl::EndsWith(log.path(), ".md") || absl::EndsWith(log.path(), ".eml");
    texts.push_back({.name = log.path().empty() ? "log" : log.path(),
                     .content = log.content(),
                     .attached = !prose});
  }
  const Recognised recognised = Recognise(*kinds_, texts);
  // Beside live nodes a quotation is no more than words. A log that lies on the machine of
  // summarization belongs to no bundle.
  const bool nothing =
      incident.nodes().empty() ? recognised.artefacts.empty() : IsOnlyWords(recognised);
  if (nothing || !rest.logs().empty()) return incident;
  RemoveOld(now);
  const std::string bundle = absl::StrCat(directory_, "/", id);
  std::error_code ignored;
  fs::remove_all(bundle, ignored);
  const std::vector<std::string> nodes(incident.nodes().begin(), incident.nodes().end());
  GALEN_RETURN_IF_ERROR(host::NewBundle(bundle, "", nodes, now));
  GALEN_ASSIGN_OR_RETURN(v1::Incident made, AddEvidence(bundle, recognised, texts, rest));
  return made;
}

void Keeper::RemoveOld(absl::Time now) const {
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
