#include "services/summarization/look.h"

#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/bundle_files.h"
#include "common/host/commands.h"
#include "common/logs/line_text.h"
#include "common/logs/reader.h"
#include "common/logs/timestamp.h"
#include "common/reasoner/llm/lines.h"
#include "services/summarization/log_path.h"

namespace galen::summarization {
namespace {

using galen::v1::Citation;
using galen::v1::ToolCall;
using galen::v1::ToolResult;
using reasoner::llm::kMostLine;

constexpr int kMostCalls = 8;
// What one result shows.
constexpr int kMostLines = 40;
constexpr std::size_t kMostBytes = 3600;
constexpr int kMostMatches = 14;
constexpr int kMostOfOne = 6;  // matches of one artefact when all are searched
constexpr std::size_t kMostPattern = 200;
constexpr std::int64_t kPatternMemory = 1 << 20;
constexpr std::size_t kMostFiles = 4000;  // of one machine
constexpr std::size_t kMostCommands = 400;
constexpr std::size_t kMostYaml = std::size_t{4} << 20;
constexpr std::size_t kMostUnbroken = 1 << 20;  // a longer line is read in pieces

// Something that can be read: a text at hand, or a file that was resolved.
struct Artefact {
  std::string name;
  std::string node;
  std::string what;  // for the list
  std::optional<std::vector<std::string>> lines;
  std::string path;
  bool listed = true;  // by its own line
};

// Gives each line its number, from 1. False ends the reading.
using OnLine = std::function<bool(std::int64_t number, absl::string_view line)>;

class Library {
 public:
  Library(const v1::LookRequest& request, const Clock& clock, absl::Time deadline)
      : request_(request), clock_(clock), read_until_(deadline - (deadline - clock.Now()) / 4) {
    const galen::v1::Incident& incident = request.incident();
    if (incident.has_start_time()) {
      time_.near = absl::FromUnixSeconds(incident.start_time().seconds());
    } else if (incident.has_end_time()) {
      time_.near = absl::FromUnixSeconds(incident.end_time().seconds());
    }
  }

  absl::Status Fill(absl::Span<const std::string> roots) {
    const galen::v1::Incident& incident = request_.incident();
    AddText(std::string(reasoner::llm::kReport), "", "the words of the report",
            reasoner::llm::LinesOfText(incident.description()));
    for (int i = 0; i < request_.evidence().feedback_size(); ++i) {
      AddText(reasoner::llm::FeedbackName(i + 1), "", "said later",
              reasoner::llm::LinesOfText(request_.evidence().feedback(i)));
    }
    std::string bundle;
    if (!incident.bundle().empty()) {
      GALEN_ASSIGN_OR_RETURN(bundle, ResolveBundle(incident.bundle(), roots));
    }
    std::set<std::string> names = {"description"};
    for (const galen::v1::LogSource& log : incident.logs()) {
      // As signals of it are called.
      const std::string path = CleanText(log.path().empty() ? "log" : log.path(), 512);
      std::string name = path;
      for (int n = 2; !names.insert(name).second; ++n) name = absl::StrCat(path, "#", n);
      if (!log.content().empty()) {
        AddText(name, log.node(), "a log", reasoner::llm::LinesOfText(log.content()));
        continue;
      }
      const absl::StatusOr<std::string> resolved = ResolveLog(log.path(), bundle, roots);
      if (resolved.ok()) Add({name, log.node(), "a log", std::nullopt, *resolved, true});
    }
    if (!bundle.empty()) AddMachines(bundle);
    for (const galen::v1::CheckResult& result : request_.evidence().results()) {
      if (result.status() != galen::v1::CheckResult::PASS &&
          result.status() != galen::v1::CheckResult::FAIL) {
        continue;
      }
      AddText(result.id(), result.node(), "", reasoner::llm::LinesOfResult(result));
      artefacts_.back().listed = false;
    }
    return absl::OkStatus();
  }

  ToolResult Answer(const ToolCall& call) {
    switch (call.call_case()) {
      case ToolCall::kListArtefacts:
        return List();
      case ToolCall::kReadLines:
        return Read(call.read_lines());
      default:
        return Search(call.search());
    }
  }

 private:
  void Add(Artefact artefact) { artefacts_.push_back(std::move(artefact)); }
  void AddText(std::string name, std::string node, std::string what,
               std::vector<std::string> lines) {
    Add({std::move(name), std::move(node), std::move(what), std::move(lines), "", true});
  }

  // What was captured of each machine: outputs of commands, and copies of files.
  void AddMachines(const std::string& bundle) {
    const absl::StatusOr<host::BundleFiles> files = host::BundleFiles::Open(bundle);
    if (!files.ok()) return;
    for (const std::string& node : NodesOfBundle(bundle)) {
      for (const bool of_job : {false, true}) {
        const std::string folder = absl::StrCat("nodes/", node, of_job ? "/job/" : "/");
        const std::string owner = absl::StrCat(node, of_job ? " job: " : ": ");
        AddCommands(*files, folder, owner, node);
        AddFiles(*files, folder, owner, node);
      }
    }
  }

  void AddCommands(const host::BundleFiles& files, const std::string& folder,
                   const std::string& owner, const std::string& node) {
    const absl::StatusOr<std::string> listed =
        files.Read(absl::StrCat(folder, "commands.yaml"), kMostYaml);
    if (!listed.ok()) return;
    const auto commands = host::ParseCommands(*listed, "commands.yaml");
    if (!commands.ok()) return;
    std::size_t count = 0;
    for (const host::CapturedCommand& command : *commands) {
      if (command.stdout_file.empty() || ++count > kMostCommands) continue;
      const absl::StatusOr<std::string> path =
          files.Resolve(absl::StrCat(folder, command.stdout_file));
      if (!path.ok()) continue;
      Add({CleanText(absl::StrCat(owner, absl::StrJoin(command.argv, " ")), 256),
           node,
           "",
           {},
           *path,
           true});
    }
  }

  void AddFiles(const host::BundleFiles& files, const std::string& folder, const std::string& owner,
                const std::string& node) {
    const absl::StatusOr<std::string> root = files.Resolve(absl::StrCat(folder, "rootfs"));
    if (!root.ok()) return;
    std::vector<std::string> paths;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator at(*root, error), end;
         !error && at != end && paths.size() < kMostFiles; at.increment(error)) {
      std::error_code ignored;
      if (at->is_symlink(ignored) || !at->is_regular_file(ignored)) continue;
      paths.push_back(at->path().string());
    }
    std::sort(paths.begin(), paths.end());
    for (std::string& path : paths) {
      Add({CleanText(absl::StrCat(owner, path.substr(root->size())), 256),
           node,
           "",
           {},
           std::move(path),
           false});
    }
  }

  const Artefact* Find(const std::string& name) const {
    const auto found = std::find_if(artefacts_.begin(), artefacts_.end(),
                                    [&](const Artefact& each) { return each.name == name; });
    return found == artefacts_.end() ? nullptr : &*found;
  }

  bool OutOfTime() const { return clock_.Now() >= read_until_; }

  // False when it cannot be read, or not to its end in time.
  bool Each(const Artefact& artefact, const OnLine& on_line) const {
    std::int64_t number = 0;
    if (artefact.lines.has_value()) {
      for (const std::string& line : *artefact.lines) {
        if (!on_line(++number, line)) break;
      }
      return true;
    }
    absl::StatusOr<std::unique_ptr<logs::LogReader>> reader =
        logs::LogReader::Open(artefact.path, {});
    if (!reader.ok() || (*reader)->real_path() != artefact.path) return false;
    std::string rest;
    for (;;) {
      if (OutOfTime()) return false;
      const absl::StatusOr<absl::string_view> chunk = (*reader)->Next();
      if (!chunk.ok()) return false;
      if (chunk->empty()) break;
      rest.append(chunk->data(), chunk->size());
      std::size_t begin = 0;
      for (std::size_t end = rest.find('\n'); end != std::string::npos;
           end = rest.find('\n', begin)) {
        if (!on_line(++number, absl::string_view(rest).substr(begin, end - begin))) return true;
        begin = end + 1;
      }
      rest.erase(0, begin);
      if (rest.size() > kMostUnbroken) {
        if (!on_line(++number, rest)) return true;
        rest.clear();
      }
    }
    if (!rest.empty()) on_line(number + 1, rest);
    return true;
  }

  Citation LineOf(const Artefact& artefact, std::int64_t number, absl::string_view line,
                  std::size_t match_end) const {
    Citation shown;
    shown.set_artefact(artefact.name);
    shown.set_line(number);
    shown.set_node(artefact.node);
    std::string text = line.size() > kMostLine ? logs::Excerpt(line, match_end, kMostLine)
                                               : CleanText(line, kMostLine);
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::replace(text.begin(), text.end(), '\t', ' ');
    shown.set_quote(std::move(text));
    if (const auto stamp = logs::FindTimeStamp(line); stamp.has_value()) {
      if (const auto time = logs::Resolve(*stamp, time_); time.has_value()) {
        shown.mutable_time()->set_seconds(absl::ToUnixSeconds(*time));
      }
    }
    return shown;
  }

  // One line of a list, which says nothing of the incident and cannot be cited.
  static void AddPlain(std::string text, ToolResult& result) {
    result.add_lines()->set_quote(std::move(text));
  }

  ToolResult List() const {
    ToolResult result;
    std::size_t bytes = 0;
    std::size_t left_out = 0;
    for (const Artefact& each : artefacts_) {
      if (!each.listed) continue;
      std::string line = each.name;
      if (!each.what.empty()) absl::StrAppend(&line, "  (", each.what, ")");
      if (!each.node.empty() && !absl::StartsWith(each.name, each.node)) {
        absl::StrAppend(&line, "  of ", each.node);
      }
      if (bytes + line.size() > kMostBytes) {
        ++left_out;
        continue;
      }
      bytes += line.size();
      AddPlain(std::move(line), result);
    }
    // Copies of files are many and small: where there are some is enough.
    std::set<std::string> owners;
    for (const Artefact& each : artefacts_) {
      if (each.listed || each.path.empty()) continue;
      owners.insert(each.name.substr(0, each.name.find(": ") + 2));
    }
    for (const std::string& owner : owners) {
      AddPlain(absl::StrCat(owner, "PATH  (copies of files: \"", owner,
                            "/proc/meminfo\" where it was captured)"),
               result);
    }
    result.set_text(absl::StrCat("What checks said is read with show_check.",
                                 left_out > 0
                                     ? absl::StrCat(" ", left_out,
                                                    " more artefacts are not listed; search "
                                                    "looks through them too.")
                                     : ""));
    return result;
  }

  ToolResult Read(const ToolCall::ReadLines& call) const {
    ToolResult result;
    const Artefact* const artefact = Find(call.artefact());
    if (artefact == nullptr) return NoSuch();
    const std::int64_t first = std::max<std::int64_t>(call.line(), 1);
    const int count = call.count() <= 0 ? kMostLines : std::min(call.count(), kMostLines);
    std::size_t bytes = 0;
    std::int64_t last = 0;
    const bool whole = Each(*artefact, [&](std::int64_t number, absl::string_view line) {
      last = number;
      if (number < first) return true;
      if (number >= first + count || bytes > kMostBytes) return false;
      *result.add_lines() = LineOf(*artefact, number, line, 0);
      bytes += result.lines(result.lines_size() - 1).quote().size();
      return true;
    });
    if (result.lines().empty()) {
      result.set_text(whole ? absl::StrCat("It has ", last, " lines.")
                            : "It cannot be read, or not in the time for it.");
    }
    return result;
  }

  ToolResult Search(const ToolCall::Search& call) const {
    ToolResult result;
    const absl::string_view pattern = absl::string_view(call.pattern()).substr(0, kMostPattern);
    RE2::Options options;
    options.set_case_sensitive(false);
    options.set_log_errors(false);
    options.set_max_mem(kPatternMemory);
    auto regex = std::make_unique<const RE2>(Piece(pattern), options);
    if (!regex->ok()) {
      // Words with brackets and the like mean themselves.
      regex = std::make_unique<const RE2>(RE2::QuoteMeta(Piece(pattern)), options);
    }
    if (pattern.empty() || !regex->ok()) {
      result.set_text("The pattern is empty, or one that cannot be searched for.");
      return result;
    }
    const bool all = call.artefact().empty();
    if (!all && Find(call.artefact()) == nullptr) return NoSuch();
    std::int64_t more = 0;
    bool in_time = true;
    for (const Artefact& artefact : artefacts_) {
      if (all ? !artefact.listed && !artefact.path.empty() : artefact.name != call.artefact()) {
        continue;
      }
      int here = 0;
      in_time &= Each(artefact, [&](std::int64_t number, absl::string_view line) {
        re2::StringPiece match;
        const re2::StringPiece text = Piece(line.substr(0, kMostUnbroken));
        if (!regex->Match(text, 0, text.size(), RE2::UNANCHORED, &match, 1)) return true;
        if (result.lines_size() >= kMostMatches || (all && here >= kMostOfOne)) {
          ++more;
          return more < 10'000;
        }
        ++here;
        *result.add_lines() =
            LineOf(artefact, number, line, static_cast<std::size_t>(match.end() - text.begin()));
        return true;
      });
      if (OutOfTime()) break;
    }
    std::vector<std::string> notes;
    if (result.lines().empty()) notes.emplace_back("No line matches.");
    if (more > 0) notes.push_back(absl::StrCat(more, " more lines match."));
    if (!in_time) notes.emplace_back("Not everything could be read, or not in the time for it.");
    result.set_text(absl::StrJoin(notes, " "));
    return result;
  }

  static ToolResult NoSuch() {
    ToolResult result;
    result.set_text("There is no artefact of that name; list_artefacts says which there are.");
    return result;
  }

  const v1::LookRequest& request_;
  const Clock& clock_;
  const absl::Time read_until_;
  logs::TimeContext time_;
  std::vector<Artefact> artefacts_;
};

}  // namespace

absl::StatusOr<v1::LookResponse> Look(const v1::LookRequest& request,
                                      absl::Span<const std::string> roots, const Clock& clock,
                                      absl::Time deadline) {
  if (clock.Now() >= deadline) return absl::DeadlineExceededError("look: no time left");
  if (request.calls_size() > kMostCalls) {
    return absl::InvalidArgumentError(
        absl::StrCat("calls: has ", request.calls_size(), ", at most ", kMostCalls, " are taken"));
  }
  for (const ToolCall& call : request.calls()) {
    if (!call.has_list_artefacts() && !call.has_read_lines() && !call.has_search()) {
      return absl::InvalidArgumentError("calls: one of them does not read artefacts");
    }
  }
  Library library(request, clock, deadline);
  GALEN_RETURN_IF_ERROR(library.Fill(roots));
  v1::LookResponse response;
  for (const ToolCall& call : request.calls()) *response.add_results() = library.Answer(call);
  return response;
}

}  // namespace galen::summarization
