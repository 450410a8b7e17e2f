#include "services/summarization/look.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/secrets.h"
#include "common/log_analysis/scan/timestamp.h"
#include "common/reasoner/llm/lines.h"
#include "services/summarization/artefacts.h"
#include "services/summarization/line_selector.h"
#include "services/summarization/long_line.h"

namespace galen::summarization {
namespace {

using galen::v1::Citation;
using galen::v1::ToolCall;
using galen::v1::ToolResult;
using reasoner::llm::kMostLine;

constexpr int kMostCalls = 8;
// Limits of one result.
constexpr int kMostLines = 40;
constexpr std::size_t kMostBytes = 3600;
constexpr int kMostMatches = 14;
constexpr int kMostOfOne = 6;          // matches of one artefact when all are searched
constexpr std::size_t kMostNamed = 4;  // artefacts whose name matches
constexpr std::size_t kMostPattern = 200;
constexpr std::int64_t kPatternMemory = 1 << 20;
constexpr std::size_t kMostUnbroken = 1 << 20;  // a longer line is read in pieces
constexpr std::size_t kMostOfPart = 2000;       // of a line that is read by its bytes
// Sizes of an overview.
constexpr std::size_t kOverviewBytes = 2000;
constexpr std::size_t kNamesBytes = 500;
constexpr std::size_t kMostOverviewLine = 300;
constexpr std::int64_t kSmall = 40;      // lines of a file that is shown whole
constexpr std::int64_t kAlikeShown = 3;  // lines that differ in numbers alone
constexpr std::size_t kMostTexts = 64;

// A text without its numbers, to compare lines that differ only in them.
std::string WithoutNumbers(absl::string_view line) {
  std::string text;
  for (const char c : line) {
    const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (!digit) {
      text += c;
    } else if (text.empty() || text.back() != '#') {
      text += '#';
    }
  }
  return text;
}

// A line that may be shown in parts: its secrets are masked while they are whole.
std::string Masked(absl::string_view line) {
  return host::WithoutSecrets(line.substr(0, kMostUnbroken));
}

// The end of a pattern's match in a line; nothing: it does not match.
std::optional<std::size_t> MatchEnd(const RE2& regex, absl::string_view line) {
  re2::StringPiece match;
  const re2::StringPiece text = Piece(line.substr(0, kMostUnbroken));
  if (!regex.Match(text, 0, text.size(), RE2::UNANCHORED, &match, 1)) return std::nullopt;
  return static_cast<std::size_t>(match.end() - text.begin());
}

class Library {
 public:
  Library(const v1::LookRequest& request, const Clock& clock, absl::Time deadline)
      : request_(request), shelf_(request, clock, deadline - (deadline - clock.Now()) / 4) {
    const galen::v1::Incident& incident = request.incident();
    if (incident.has_start_time()) {
      time_.near = absl::FromUnixSeconds(incident.start_time().seconds());
    } else if (incident.has_end_time()) {
      time_.near = absl::FromUnixSeconds(incident.end_time().seconds());
    }
  }

  absl::Status Fill(absl::Span<const std::string> roots) { return shelf_.Fill(roots); }

  ToolResult Answer(const ToolCall& call) {
    switch (call.call_case()) {
      case ToolCall::kListArtefacts:
        return List();
      case ToolCall::kReadLines:
        if (call.read_lines().artefact().empty()) return Overview();
        return call.read_lines().byte() > 0 ? ReadPart(call.read_lines()) : Read(call.read_lines());
      default:
        return Search(call.search());
    }
  }

 private:
  // `pattern`: what the line was found by; null: nothing.
  Citation LineOf(const Artefact& artefact, std::int64_t number, absl::string_view line,
                  const RE2* pattern = nullptr, std::size_t most = kMostLine) const {
    if (line.size() <= most) return Shown(artefact, number, line, CleanText(line, most));
    const std::string masked = Masked(line);
    const std::size_t end = pattern == nullptr ? 0 : MatchEnd(*pattern, masked).value_or(0);
    return Shown(artefact, number, line, Shortened(masked, end, most));
  }

  // `text`: what is shown of the line.
  Citation Shown(const Artefact& artefact, std::int64_t number, absl::string_view line,
                 std::string text) const {
    Citation shown;
    shown.set_artefact(artefact.name);
    shown.set_handle(artefact.handle);
    shown.set_line(number);
    shown.set_node(artefact.node);
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::replace(text.begin(), text.end(), '\t', ' ');
    shown.set_quote(std::move(text));
    if (const auto stamp = log_scan::FindTimeStamp(line); stamp.has_value()) {
      if (const auto time = log_scan::Resolve(*stamp, time_); time.has_value()) {
        shown.mutable_time()->set_seconds(absl::ToUnixSeconds(*time));
      }
    }
    return shown;
  }

  // "#m1.3 = n1: nvidia-smi -q", or the name alone.
  static std::string Named(const Artefact& artefact, absl::string_view name) {
    return artefact.handle.empty() ? std::string(name) : absl::StrCat(artefact.handle, " = ", name);
  }

  // One line of a list, which carries no evidence and cannot be cited.
  static void AddPlain(std::string text, ToolResult& result) {
    result.add_lines()->set_quote(std::move(text));
  }

  ToolResult List() const {
    ToolResult result;
    std::size_t bytes = 0;
    std::size_t left_out = 0;
    for (const Artefact& each : shelf_.all()) {
      if (!each.listed) continue;
      std::string line = Named(each, each.name);
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
    // Copies of files are many and small: naming their owners is enough.
    std::set<std::string> owners;
    for (const Artefact& each : shelf_.all()) {
      if (each.listed || each.path.empty()) continue;
      owners.insert(each.name.substr(0, each.name.find(": ") + 2));
    }
    for (const std::string& owner : owners) {
      AddPlain(absl::StrCat(owner, "PATH  (copies of files: \"", owner,
                            "/proc/meminfo\" where it was captured)"),
               result);
    }
    result.set_text(absl::StrCat("Use show_check to read the results of checks.",
                                 left_out > 0
                                     ? absl::StrCat(" ", left_out,
                                                    " more artefacts are not listed; search "
                                                    "looks through them too.")
                                     : ""));
    return result;
  }

  // Files of a job that show how it was started; those of the system are many.
  bool IsWorthAll(const Artefact& each) const {
    if (each.path.empty()) return false;
    if (!request_.incident().artefacts().empty()) return true;  // pasted text, part by part
    const std::size_t at = each.name.find(" job: /");
    if (at == std::string::npos) return false;
    const absl::string_view path = absl::string_view(each.name).substr(at + 6);
    static constexpr absl::string_view kSystem[] = {"/proc/", "/sys/", "/dev/", "/etc/",
                                                    "/run/",  "/usr/", "/var/", "/lib/"};
    return std::none_of(std::begin(kSystem), std::end(kSystem),
                        [&](absl::string_view folder) { return absl::StartsWith(path, folder); });
  }

  // The names of all artefacts in brief: those of one machine share a line.
  void AddNames(ToolResult& result) const {
    std::vector<std::string> lines;
    std::map<std::string, std::size_t> by_node;
    for (const Artefact& each : shelf_.all()) {
      if (!each.listed && (each.path.empty() || !IsWorthAll(each))) continue;
      if (each.log == Artefact::Log::kNone && !each.path.empty()) {
        const std::size_t cut = each.name.find(": ");
        const auto [place, is_new] = by_node.emplace(each.name.substr(0, cut), lines.size());
        if (is_new) {
          lines.push_back(Named(each, each.name));
        } else {
          absl::StrAppend(&lines[place->second], " | ", Named(each, each.name.substr(cut + 2)));
        }
      } else {
        lines.push_back(Named(each, each.name));
      }
    }
    std::size_t bytes = 0;
    std::size_t left_out = 0;
    for (std::string& line : lines) {
      const std::size_t most = std::max<std::size_t>(kNamesBytes / lines.size(), 160);
      if (bytes > kNamesBytes) {
        ++left_out;
        continue;
      }
      line = CleanText(line, most);
      bytes += line.size();
      AddPlain(std::move(line), result);
    }
    if (left_out > 0) {
      AddPlain(absl::StrCat("and ", left_out, " more; list_artefacts shows them"), result);
    }
  }

  ToolResult Overview() const {
    ToolResult result;
    AddNames(result);
    std::map<std::string, std::set<std::int64_t>> messages;
    for (const galen::v1::Signal& signal : request_.evidence().summary().signals()) {
      messages[signal.source()].insert(signal.first_line());
    }
    std::vector<ReadText> texts;
    std::vector<const Artefact*> read;
    for (const Artefact& each : shelf_.all()) {
      const bool log = each.log != Artefact::Log::kNone;
      if (!log && !IsWorthAll(each)) continue;
      if (texts.size() == kMostTexts || shelf_.OutOfTime()) break;
      LineSelector selector(messages[each.name]);
      shelf_.Each(each, [&](std::int64_t number, absl::string_view line) {
        selector.Add(number, line);
        return log || number <= kSmall;
      });
      if (!log && selector.lines() > kSmall) continue;
      const ReadText::Kind kind =
          each.log == Artefact::Log::kJob           ? ReadText::Kind::kJobLog
          : each.log == Artefact::Log::kMachine     ? ReadText::Kind::kMachineLog
          : request_.incident().artefacts().empty() ? ReadText::Kind::kFile
                                                    : ReadText::Kind::kPasted;
      texts.push_back({kind, std::move(selector)});
      read.push_back(&each);
    }
    const auto before = [&](absl::string_view line) -> std::optional<absl::Duration> {
      const auto stamp = log_scan::FindTimeStamp(line);
      if (!stamp.has_value() || !time_.near.has_value()) return std::nullopt;
      const auto time = log_scan::Resolve(*stamp, time_);
      if (!time.has_value()) return std::nullopt;
      return *time_.near - *time;
    };
    const std::vector<Chosen> chosen = Choose(texts, kOverviewBytes, kMostOverviewLine, before);
    std::map<Place, Citation> long_lines = LongLines(chosen, read);
    for (const Chosen& each : chosen) {
      const auto whole = long_lines.find({each.text, each.line.number});
      *result.add_lines() = whole != long_lines.end()
                                ? std::move(whole->second)
                                : LineOf(*read[each.text], each.line.number, each.line.text,
                                         nullptr, kMostOverviewLine);
    }
    return result;
  }

  // The end of the known message in a long line; 0: it is at the beginning, or not found.
  std::size_t MessageEnd(const Artefact& artefact, std::int64_t number,
                         absl::string_view line) const {
    constexpr std::size_t kBehind = 128;  // what an excerpt shows after a message
    for (const galen::v1::Signal& signal : request_.evidence().summary().signals()) {
      if (signal.first_line() != number || signal.source() != artefact.name) continue;
      absl::string_view text = signal.excerpt();
      if (!absl::ConsumePrefix(&text, "...") || text.size() <= kBehind) continue;
      absl::ConsumeSuffix(&text, "...");
      const std::size_t at = line.find(text);
      if (at != absl::string_view::npos) return at + text.size() - kBehind;
    }
    return 0;
  }

  // The chosen lines that are too long to be shown whole, read again: a selector keeps only their
  // beginnings.
  using Place = std::pair<std::size_t, std::int64_t>;  // text, line
  std::map<Place, Citation> LongLines(const std::vector<Chosen>& chosen,
                                      const std::vector<const Artefact*>& read) const {
    std::map<std::size_t, std::set<std::int64_t>> wanted;
    for (const Chosen& each : chosen) {
      if (each.line.text.size() > kMostOverviewLine) wanted[each.text].insert(each.line.number);
    }
    std::map<Place, Citation> lines;
    for (const auto& each : wanted) {
      const Artefact& artefact = *read[each.first];
      const std::int64_t last = *each.second.rbegin();
      shelf_.Each(artefact, [&](std::int64_t number, absl::string_view line) {
        if (each.second.contains(number)) {
          const std::string masked = Masked(line);
          const std::size_t end = MessageEnd(artefact, number, masked);
          lines[{each.first, number}] =
              Shown(artefact, number, line, Shortened(masked, end, kMostOverviewLine));
        }
        return number < last;
      });
    }
    return lines;
  }

  ToolResult Read(const ToolCall::ReadLines& call) const {
    ToolResult result;
    const Artefact* const artefact = shelf_.Find(call.artefact());
    if (artefact == nullptr) return NoSuch();
    const std::int64_t first = std::max<std::int64_t>(call.line(), 1);
    const int count = call.count() <= 0 ? kMostLines : std::min(call.count(), kMostLines);
    std::size_t bytes = 0;
    std::int64_t last = 0;
    std::int64_t alike = 0;  // lines like the last one that is shown
    std::string shown;
    std::string form;
    bool more = false;
    const bool whole = shelf_.Each(*artefact, [&](std::int64_t number, absl::string_view line) {
      last = number;
      if (number < first) return true;
      std::string own = WithoutNumbers(line.substr(0, kMostLine));
      const bool same = !result.lines().empty() && own == form;
      if (same && (line == shown || alike + 1 >= kAlikeShown)) {
        ++alike;
        return true;
      }
      alike = same ? alike + 1 : 0;
      if (result.lines_size() >= count || bytes > kMostBytes) {
        more = true;
        return false;
      }
      shown = std::string(line);
      form = std::move(own);
      *result.add_lines() = LineOf(*artefact, number, line);
      bytes += result.lines(result.lines_size() - 1).quote().size();
      return true;
    });
    if (!whole) {
      result.set_text("It cannot be read, or not to its end in the time for it.");
    } else if (result.lines().empty()) {
      result.set_text(absl::StrCat("It has ", last, " lines."));
    } else if (more) {
      result.set_text(absl::StrCat("It goes on at line ", last, "."));
    } else if (last > result.lines(result.lines_size() - 1).line()) {
      result.set_text("The other lines to its end are like the last one.");
    }
    return result;
  }

  // A part of one line, from a byte on.
  ToolResult ReadPart(const ToolCall::ReadLines& call) const {
    ToolResult result;
    const Artefact* const artefact = shelf_.Find(call.artefact());
    if (artefact == nullptr) return NoSuch();
    const std::int64_t wanted = std::max<std::int64_t>(call.line(), 1);
    std::int64_t last = 0;
    shelf_.Each(*artefact, [&](std::int64_t number, absl::string_view line) {
      last = number;
      if (number < wanted) return true;
      const std::string masked = Masked(line);
      LinePart part = PartOfLine(masked, static_cast<std::size_t>(call.byte()), kMostOfPart);
      if (part.text.empty()) {
        result.set_text(absl::StrCat("Line ", number, " has ", masked.size(), " bytes."));
        return false;
      }
      *result.add_lines() = Shown(*artefact, number, line, std::move(part.text));
      result.set_text(absl::StrCat("These are bytes ", part.first, "-", part.last, " of the ",
                                   masked.size(), " of line ", number, "."));
      return false;
    });
    if (result.text().empty()) result.set_text(absl::StrCat("It has ", last, " lines."));
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
      // Brackets and the like in words are literal.
      regex = std::make_unique<const RE2>(RE2::QuoteMeta(Piece(pattern)), options);
    }
    if (pattern.empty() || !regex->ok()) {
      result.set_text("The pattern is empty, or one that cannot be searched for.");
      return result;
    }
    // A machine stands for all that is of it.
    const bool machine = !call.artefact().empty() && shelf_.Find(call.artefact()) == nullptr;
    const auto of_machine = [&](const Artefact& artefact) {
      return artefact.node == call.artefact();
    };
    if (machine && std::none_of(shelf_.all().begin(), shelf_.all().end(), of_machine)) {
      return NoSuch();
    }
    const bool all = call.artefact().empty() || machine;
    std::int64_t more = 0;
    bool in_time = true;
    std::vector<std::string> named;
    for (const Artefact& artefact : shelf_.all()) {
      if (machine && !of_machine(artefact)) continue;
      if (all ? !artefact.listed && !artefact.path.empty()
              : !Artefacts::IsCalled(artefact, call.artefact())) {
        continue;
      }
      if (all && named.size() < kMostNamed && MatchEnd(*regex, artefact.name).has_value()) {
        named.push_back(Named(artefact, artefact.name));
      }
      int here = 0;
      in_time &= shelf_.Each(artefact, [&](std::int64_t number, absl::string_view line) {
        if (!MatchEnd(*regex, line).has_value()) return true;
        if (result.lines_size() >= kMostMatches || (all && here >= kMostOfOne)) {
          ++more;
          return more < 10'000;
        }
        ++here;
        *result.add_lines() = LineOf(artefact, number, line, regex.get());
        return true;
      });
      if (shelf_.OutOfTime()) break;
    }
    std::vector<std::string> notes;
    if (result.lines().empty()) notes.emplace_back("No line matches.");
    if (more > 0) notes.push_back(absl::StrCat(more, " more lines match."));
    if (!named.empty()) {
      notes.push_back(absl::StrCat("Artefacts of such a name: ", absl::StrJoin(named, "; "), "."));
    }
    if (!in_time) notes.emplace_back("Not everything could be read, or not in the time for it.");
    result.set_text(absl::StrJoin(notes, " "));
    return result;
  }

  static ToolResult NoSuch() {
    ToolResult result;
    result.set_text("No artefact has that name; list_artefacts names them.");
    return result;
  }

  const v1::LookRequest& request_;
  Artefacts shelf_;
  log_scan::TimeContext time_;
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
