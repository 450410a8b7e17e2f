#include "common/curation/proposal_store.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/curation/json.h"
#include "common/knowledge/files.h"
#include "common/knowledge/load.h"
#include "common/knowledge/yaml_document.h"

namespace galen::curation {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBy = 128;
constexpr std::size_t kMaxWhy = 2000;
constexpr std::size_t kMaxDecisionLine = 64 << 10;
constexpr int kMaxReported = 50;

absl::Status CannotWrite(const fs::path& path, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat(path.string(), ": cannot be written: ", why));
}

std::string LastError() { return std::strerror(errno); }

// A file descriptor that closes itself.
class File {
 public:
  File(const fs::path& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool ok() const { return fd_ >= 0; }
  bool Write(absl::string_view data) const {
    while (!data.empty()) {
      const ssize_t written = ::write(fd_, data.data(), data.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      data.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }
  bool Sync() const { return ::fsync(fd_) == 0; }

 private:
  const int fd_;
};

absl::StatusOr<std::string> ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) {
    return absl::NotFoundError(absl::StrCat(path.string(), ": cannot be read: ", LastError()));
  }
  std::string content(kMaxProposalBytes + 1, '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(in.gcount()));
  return content;
}

absl::Status Move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error) fs::rename(from, to, error);
  return error ? CannotWrite(to, error.message()) : absl::OkStatus();
}

absl::StatusOr<std::string> CheckedName(const std::string& by) {
  const std::string name(absl::StripAsciiWhitespace(CleanText(by, kMaxBy)));
  if (name.empty() || absl::StrContains(name, '\n')) {
    return absl::InvalidArgumentError("who decides must be said: --by NAME");
  }
  return name;
}

constexpr absl::string_view kDecided[] = {"accepted", "rejected", "undone"};

// The causes of the past incidents among a proposal's entries.
std::set<std::string> CausesOf(const Proposal& proposal) {
  std::set<std::string> causes;
  std::vector<knowledge::Problem> ignored;
  const auto root = knowledge::ReadYaml(proposal.knowledge, proposal.id, ignored);
  const knowledge::YamlNode* incidents = root.has_value() ? root->Find("incidents") : nullptr;
  if (incidents == nullptr || incidents->kind != knowledge::YamlNode::Kind::kList) return causes;
  for (const knowledge::YamlNode& incident : incidents->items) {
    if (const knowledge::YamlNode* label = incident.Find("label")) causes.insert(label->scalar);
  }
  return causes;
}

std::string Accepted(const std::string& id) { return absl::StrCat("accepted/", id, ".yaml"); }

std::string AcceptedText(const Proposal& proposal, const std::string& by, absl::Time now) {
  absl::string_view entries = proposal.knowledge;
  while (absl::ConsumePrefix(&entries, "\n")) {
  }
  const std::string origin = CleanText(proposal.origin, 500);
  return absl::StrCat("# Accepted by ", by, " on ", TimeText(now), ": proposal ", proposal.id,
                      absl::StrContains(origin, '\n') || origin.empty() ? "" : " from ",
                      absl::StrContains(origin, '\n') ? "" : origin, ".\n", entries);
}

}  // namespace

absl::Status WriteAtomically(const std::string& path, absl::string_view content) {
  const fs::path target(path);
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  // Hidden: nobody takes it for knowledge, even if it is left behind.
  std::string temporary =
      (target.parent_path() / absl::StrCat(".", target.filename().string(), ".XXXXXX")).string();
  const int made = ::mkstemp(temporary.data());
  if (made < 0) return CannotWrite(target, LastError());
  ::fchmod(made, 0644);
  ::close(made);
  bool written = false;
  {
    const File file(temporary, O_WRONLY | O_TRUNC);
    written = file.ok() && file.Write(content) && file.Sync();
  }
  const std::string why = written ? "" : LastError();
  if (written) fs::rename(temporary, target, error);
  if (!written || error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    return CannotWrite(target, written ? error.message() : why);
  }
  const File directory(target.parent_path(), O_RDONLY | O_DIRECTORY);
  if (directory.ok()) directory.Sync();
  return absl::OkStatus();
}

absl::Status LintCandidate(const std::vector<std::string>& directories, const std::string& name,
                           const std::string& content) {
  std::vector<std::string> existing = directories;
  std::error_code error;
  if (!fs::is_directory(existing.back(), error)) {
    fs::create_directories(existing.back(), error);
    if (error) return CannotWrite(existing.back(), error.message());
  }
  std::vector<knowledge::Problem> problems;
  GALEN_ASSIGN_OR_RETURN(const knowledge::v1::KnowledgeBase base,
                         knowledge::ParseWith(existing, {name, content}, problems));
  for (knowledge::Problem& problem : knowledge::Lint(base)) problems.push_back(std::move(problem));
  std::vector<std::string> errors;
  for (const knowledge::Problem& problem : problems) {
    if (problem.severity != knowledge::Problem::Severity::kError) continue;
    if (errors.size() == kMaxReported) {
      errors.push_back("...");
      break;
    }
    errors.push_back(knowledge::ToString(problem));
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
}

ProposalStore::ProposalStore(std::vector<std::string> directories)
    : directories_(std::move(directories)) {}

std::string ProposalStore::PathOf(const std::string& id) const {
  return absl::StrCat(site(), "/", knowledge::kProposalsFolder, "/", id, ".yaml");
}

absl::StatusOr<std::vector<Proposal>> ProposalStore::Pending() const {
  std::vector<std::string> ids;
  std::error_code error;
  const fs::path folder = fs::path(PathOf("x")).parent_path();
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() == ".yaml" && IsProposalId(path.stem().string())) {
      ids.push_back(path.stem().string());
    }
  }
  std::sort(ids.begin(), ids.end());
  std::vector<Proposal> pending;
  for (const std::string& id : ids) {
    GALEN_ASSIGN_OR_RETURN(Proposal proposal, Find(id));
    pending.push_back(std::move(proposal));
  }
  return pending;
}

absl::StatusOr<Proposal> ProposalStore::Find(const std::string& id) const {
  if (!IsProposalId(id)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "proposal \"", CleanText(id, 80), "\": this is not an id; `galen kb review --list`"));
  }
  const absl::StatusOr<std::string> text = ReadAll(PathOf(id));
  if (!text.ok()) {
    return absl::NotFoundError(absl::StrCat("proposal ", id, ": none waits in ", site(), "/",
                                            knowledge::kProposalsFolder,
                                            "; `galen kb review --list` shows what does"));
  }
  GALEN_ASSIGN_OR_RETURN(Proposal proposal, ProposalFromText(PathOf(id), *text));
  if (proposal.id != id) {
    return absl::InvalidArgumentError(absl::StrCat(PathOf(id), ": says that its id is ",
                                                   proposal.id, "; rename the file or the id"));
  }
  return proposal;
}

absl::StatusOr<bool> ProposalStore::Propose(const Proposal& proposal) const {
  if (!IsProposalId(proposal.id)) {
    return absl::InvalidArgumentError(absl::StrCat("proposal \"", proposal.id, "\": no id"));
  }
  std::error_code ignored;
  const fs::path pending = PathOf(proposal.id);
  for (const absl::string_view decided : kDecided) {
    if (fs::exists(pending.parent_path() / std::string(decided) / pending.filename(), ignored)) {
      return false;
    }
  }
  if (!proposal.subject.empty() && DecidedAlike(proposal)) return false;
  GALEN_RETURN_IF_ERROR(WriteAtomically(pending.string(), ToText(proposal)));
  if (!proposal.subject.empty()) GALEN_RETURN_IF_ERROR(DropOthersOf(proposal));
  return true;
}

bool ProposalStore::DecidedAlike(const Proposal& proposal) const {
  const fs::path pending = PathOf(proposal.subject);
  for (const absl::string_view decided : kDecided) {
    const fs::path path = pending.parent_path() / std::string(decided) / pending.filename();
    const absl::StatusOr<std::string> text = ReadAll(path);
    if (!text.ok()) continue;
    const absl::StatusOr<Proposal> before = ProposalFromText(path.string(), *text);
    if (before.ok() && CausesOf(*before) == CausesOf(proposal)) return true;
  }
  return false;
}

absl::Status ProposalStore::DropOthersOf(const Proposal& proposal) const {
  std::error_code error;
  std::vector<fs::path> others;
  for (fs::directory_iterator it(fs::path(PathOf("x")).parent_path(), error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string id = it->path().stem().string();
    if (it->path().extension() != ".yaml" || id == proposal.id ||
        (id != proposal.subject && !absl::StartsWith(id, absl::StrCat(proposal.subject, "-")))) {
      continue;
    }
    const absl::StatusOr<Proposal> other = Find(id);
    if (other.ok() && other->origin == proposal.origin) others.push_back(it->path());
  }
  for (const fs::path& other : others) {
    if (!fs::remove(other, error) && error) return CannotWrite(other, error.message());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ProposalStore::Accept(const std::string& id, const std::string& by,
                                                  absl::Time now) const {
  GALEN_ASSIGN_OR_RETURN(const std::string name, CheckedName(by));
  GALEN_ASSIGN_OR_RETURN(const Proposal proposal, Find(id));
  // The unchanged proposal first, so that a mistake is reported with the lines of the file that
  // people edit.
  absl::Status sound = LintCandidate(directories_, PathOf(id), proposal.knowledge);
  const std::string text = AcceptedText(proposal, name, now);
  if (sound.ok()) sound = LintCandidate(directories_, Accepted(id), text);
  GALEN_RETURN_IF_ERROR(sound);
  const std::string path = absl::StrCat(site(), "/", Accepted(id));
  GALEN_RETURN_IF_ERROR(WriteAtomically(path, text));
  GALEN_RETURN_IF_ERROR(Record({id, "accepted", name, now, ""}, text));
  const fs::path pending = PathOf(id);
  GALEN_RETURN_IF_ERROR(Move(pending, pending.parent_path() / "accepted" / pending.filename()));
  return path;
}

absl::Status ProposalStore::Reject(const std::string& id, const std::string& by,
                                   const std::string& why, absl::Time now) const {
  GALEN_ASSIGN_OR_RETURN(const std::string name, CheckedName(by));
  GALEN_ASSIGN_OR_RETURN(const Proposal proposal, Find(id));
  GALEN_RETURN_IF_ERROR(
      Record({id, "rejected", name, now, CleanText(why, kMaxWhy)}, proposal.knowledge));
  const fs::path pending = PathOf(id);
  return Move(pending, pending.parent_path() / "rejected" / pending.filename());
}

absl::Status ProposalStore::Undo(const std::string& id, const std::string& by,
                                 const std::string& why, absl::Time now) const {
  GALEN_ASSIGN_OR_RETURN(const std::string name, CheckedName(by));
  if (!IsProposalId(id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("proposal \"", CleanText(id, 80), "\": this is not an id"));
  }
  const fs::path entry = fs::path(site()) / Accepted(id);
  const absl::StatusOr<std::string> text = ReadAll(entry);
  if (!text.ok()) {
    return absl::NotFoundError(absl::StrCat("proposal ", id, ": none is accepted in ",
                                            entry.parent_path().string(),
                                            "; `galen kb review --decisions` shows what was"));
  }
  const absl::Status sound = LintCandidate(directories_, Accepted(id), "");
  if (!sound.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("proposal ", id, ": other knowledge rests on it:\n", sound.message()));
  }
  GALEN_RETURN_IF_ERROR(Record({id, "undone", name, now, CleanText(why, kMaxWhy)}, *text));
  // The knowledge last: while it exists, this can be repeated.
  const fs::path pending = PathOf(id);
  const fs::path decided = pending.parent_path() / "accepted" / pending.filename();
  std::error_code error;
  if (fs::exists(decided, error)) {
    GALEN_RETURN_IF_ERROR(Move(decided, pending.parent_path() / "undone" / pending.filename()));
  }
  if (!fs::remove(entry, error) && error) return CannotWrite(entry, error.message());
  return absl::OkStatus();
}

absl::Status ProposalStore::Replace(const std::string& id, const std::string& text) const {
  GALEN_ASSIGN_OR_RETURN(const Proposal proposal, ProposalFromText(PathOf(id), text));
  if (proposal.id != id) {
    return absl::InvalidArgumentError(
        absl::StrCat(PathOf(id), ": the id ", id, " became ", proposal.id, "; leave it as it was"));
  }
  return WriteAtomically(PathOf(id), text);
}

absl::Status ProposalStore::Record(const Decision& decision, absl::string_view knowledge) const {
  const fs::path path = fs::path(PathOf("x")).parent_path() / "decisions.jsonl";
  const std::string line =
      JsonObject()
          .Add("time", absl::FormatTime(absl::RFC3339_sec, decision.time, absl::UTCTimeZone()))
          .Add("id", decision.id)
          .Add("decision", decision.decision)
          .Add("by", decision.by)
          .Add("why", decision.why)
          .Add("sha256", knowledge::Sha256(knowledge))
          .Text() +
      "\n";
  const File file(path, O_WRONLY | O_APPEND | O_CREAT);
  if (!file.ok() || !file.Write(line) || !file.Sync()) return CannotWrite(path, LastError());
  return absl::OkStatus();
}

std::vector<Decision> ProposalStore::Decisions() const {
  std::ifstream in(fs::path(PathOf("x")).parent_path() / "decisions.jsonl", std::ios::binary);
  std::vector<Decision> decisions;
  for (std::string line; std::getline(in, line);) {
    google::protobuf::Struct object;
    if (line.size() > kMaxDecisionLine ||
        !google::protobuf::util::JsonStringToMessage(line, &object).ok()) {
      continue;
    }
    const auto text = [&](const char* name) {
      const auto it = object.fields().find(name);
      return it == object.fields().end() ? std::string() : it->second.string_value();
    };
    Decision decision{text("id"), text("decision"), text("by"), absl::InfinitePast(), text("why")};
    std::string ignored;
    if (absl::ParseTime(absl::RFC3339_full, text("time"), &decision.time, &ignored)) {
      decisions.push_back(std::move(decision));
    }
  }
  return decisions;
}

}  // namespace galen::curation
