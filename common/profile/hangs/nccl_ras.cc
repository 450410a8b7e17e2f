#include "common/profile/hangs/nccl_ras.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/json_access.h"
#include "common/base/re2_piece.h"
#include "common/base/text.h"
#include "re2/re2.h"

namespace galen::hangs {
namespace {

constexpr std::size_t kMost = 65'536;
constexpr std::size_t kMostText = std::size_t{16} << 20;

// Reads the text form line by line. The lines are those of src/ras/client_support.cc of NCCL 2.24
// to 2.31, and of its user guide.
class TextReader {
 public:
  void Add(absl::string_view raw) {
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty()) return;
    if (Row(line) || Process(line) || Head(line) || Body(line)) known_ = true;
  }

  bool known() const { return known_; }
  RasReport Take() {
    report_.communicators_read = 0;
    for (const RasRow& row : report_.rows) report_.communicators_read += row.communicators;
    return std::move(report_);
  }

 private:
  // "0  1  4  1-2  32  32  FINALIZE  MISMATCH": numbers may be ranges.
  bool Row(absl::string_view line) {
    static const RE2 row(
        R"((\d+)\s+(\d+)\s+[\d-]+\s+[\d-]+\s+[\d-]+\s+(\d+)\s+([A-Z][A-Z,|]*)\s+([A-Z][A-Z,|]*))");
    RasRow found;
    if (!RE2::FullMatch(Piece(line), row, &found.group, &found.communicators, &found.ranks,
                        &found.status, &found.errors)) {
      return false;
    }
    if (report_.rows.size() < kMost) report_.rows.push_back(std::move(found));
    return true;
  }

  bool Process(absl::string_view line) {
    static const RE2 process(
        R"((?:\[[^\]]*\] (\w+): )?Process (\d+) on node (\S+) managing GPUs? ([\d, -]+))");
    RasProcess found;
    std::string event;
    if (!RE2::FullMatch(Piece(line), process, &event, &found.pid, &found.node, &found.gpus)) {
      return false;
    }
    if (!event.empty() && event != "PEER_DEAD") return true;  // it joined, or is back
    found.dead = event == "PEER_DEAD" || section_ == "DEAD";
    AddProcess(std::move(found));
    return true;
  }

  void AddProcess(RasProcess found) {
    for (RasProcess& known : report_.processes) {
      if (known.pid == found.pid && known.node == found.node) {
        known.dead = known.dead || found.dead;
        return;
      }
    }
    if (report_.processes.size() < kMost) report_.processes.push_back(std::move(found));
  }

  bool Head(absl::string_view line) {
    static const RE2 head(R"((#\d+-\d+) \(([0-9a-fA-F]+)\) ([A-Z][A-Z,| ]*))");
    RasCommunicator found;
    if (RE2::FullMatch(Piece(line), head, &found.name, &found.hash, &found.error)) {
      section_.clear();
      ranks_ = nullptr;
      kind_ = "collective";
      if (report_.communicators.size() < kMost) {
        report_.communicators.push_back(std::move(found));
        communicator_ = &report_.communicators.back();
      }
      return true;
    }
    if (line == "DEAD" || line == "INCOMPLETE" || line == "TIMEOUT" || line == "UNRESPONSIVE") {
      section_ = std::string(line);
      communicator_ = nullptr;
      ranks_ = nullptr;
      return true;
    }
    static const RE2 timeouts(R"(Encountered (\d+) communication timeouts?.*)");
    return RE2::FullMatch(Piece(line), timeouts, &report_.timeouts) ||
           line == "RAS Monitor Mode - watching for peer changes (Ctrl+C to exit)...";
  }

  // Reads a line below the head of a communicator.
  bool Body(absl::string_view line) {
    if (communicator_ == nullptr) return false;
    static const RE2 missing(R"(The missing ranks?: ([\d, ]+))");
    static const RE2 kind(R"(Communicator ranks have different (.*) operation counts)");
    static const RE2 launched(R"((\d+) ranks? (?:has|have) launched up to operation (\d+))");
    static const RE2 nothing(R"((\d+) ranks? (?:has|have) not launched any operations)");
    static const RE2 one(R"(Rank (\d+) has launched up to operation (\d+)\b.*)");
    static const RE2 none(R"(Rank (\d+) has not launched any operations\b.*)");
    static const RE2 status(R"((\d+) ranks? (?:has|have) status (\w+))");
    static const RE2 one_status(R"(Rank (\d+) has status (\w+)\b.*)");
    static const RE2 rank(R"(Rank (\d+) -- GPU .*)");
    std::string text;
    std::int64_t count = 0;
    std::int64_t at = 0;
    int number = 0;
    if (RE2::FullMatch(Piece(line), missing, &text)) {
      for (const absl::string_view part : absl::StrSplit(text, ',')) {
        if (absl::SimpleAtoi(part, &number)) communicator_->missing.insert(number);
      }
    } else if (RE2::FullMatch(Piece(line), kind, &kind_)) {
      ranks_ = nullptr;
    } else if (RE2::FullMatch(Piece(line), launched, &count, &at)) {
      Begin(absl::StrCat(kind_, " operation ", at), at, count);
    } else if (RE2::FullMatch(Piece(line), nothing, &count)) {
      Begin(absl::StrCat("no ", kind_, " operation"), 0, count);
    } else if (RE2::FullMatch(Piece(line), one, &number, &at)) {
      Begin(absl::StrCat(kind_, " operation ", at), at, 1);
      AddRank(number);
    } else if (RE2::FullMatch(Piece(line), none, &number)) {
      Begin(absl::StrCat("no ", kind_, " operation"), 0, 1);
      AddRank(number);
    } else if (RE2::FullMatch(Piece(line), status, &count, &text)) {
      Begin(absl::StrCat("status ", text), -1, count);
    } else if (RE2::FullMatch(Piece(line), one_status, &number, &text)) {
      Begin(absl::StrCat("status ", text), -1, 1);
      AddRank(number);
    } else if (RE2::FullMatch(Piece(line), rank, &number)) {
      AddRank(number);
    } else {
      return false;
    }
    return true;
  }

  void Begin(std::string what, std::int64_t at, std::int64_t count) {
    ranks_ = nullptr;
    if (communicator_->groups.size() >= kMost) return;
    communicator_->groups.push_back({std::move(what), at, count, {}});
    ranks_ = &communicator_->groups.back();
  }

  void AddRank(int rank) {
    if (ranks_ != nullptr && ranks_->ranks.size() < kMost) ranks_->ranks.insert(rank);
  }

  RasReport report_;
  std::string section_;
  std::string kind_ = "collective";
  RasCommunicator* communicator_ = nullptr;
  RasRanks* ranks_ = nullptr;
  bool known_ = false;
};

std::string Numbers(const nlohmann::json* value) {
  std::vector<std::string> numbers;
  if (value != nullptr && value->is_array()) {
    for (const nlohmann::json& one : *value) {
      if (one.is_number_integer() && numbers.size() < 64) {
        numbers.push_back(absl::StrCat(one.get<std::int64_t>()));
      }
    }
  }
  return absl::StrJoin(numbers, ",");
}

// An event of the monitor.
void FromEvent(const nlohmann::json& tree, RasReport& report) {
  if (TextAt(tree, {"event"}) != "PEER_DEAD") return;
  report.processes.push_back({IntAt(tree, {"peer", "pid"}).value_or(0),
                              CleanText(TextAt(tree, {"peer", "host"}), 256),
                              Numbers(At(tree, {"peer", "cuda_devs"})), true});
}

// One communicator of `ncclras -f json`: all of its ranks, and what each counted.
void FromCommunicator(const nlohmann::json& tree, RasReport& report) {
  RasCommunicator found;
  found.hash = CleanText(TextAt(tree, {"hash"}), 64);
  found.name = found.hash;
  if (const nlohmann::json* missing = At(tree, {"missing_ranks"});
      missing != nullptr && missing->is_array()) {
    for (const nlohmann::json& rank : *missing) {
      const auto number = IntAt(rank, {"rank"});
      if (!number.has_value() || found.missing.size() >= kMost) continue;
      found.missing.insert(static_cast<int>(*number));
      const bool dead = BoolAt(rank, {"status", "considered_dead"}).value_or(false);
      if ((dead || BoolAt(rank, {"status", "unresponsive"}).value_or(false)) &&
          report.processes.size() < kMost) {
        report.processes.push_back({IntAt(rank, {"pid"}).value_or(0),
                                    CleanText(TextAt(rank, {"host"}), 256),
                                    absl::StrCat(IntAt(rank, {"cuda_dev"}).value_or(-1)), dead});
      }
    }
  }
  std::map<std::string, std::map<std::int64_t, std::set<int>>> counted;  // by operation
  std::map<std::string, std::set<int>> states;
  if (const nlohmann::json* ranks = At(tree, {"ranks"}); ranks != nullptr && ranks->is_array()) {
    std::size_t read = 0;
    for (const nlohmann::json& rank : *ranks) {
      if (++read > kMost) break;
      const auto number = static_cast<int>(IntAt(rank, {"rank"}).value_or(-1));
      if (const nlohmann::json* counts = At(rank, {"collective_counts"});
          counts != nullptr && counts->is_object()) {
        for (const auto& [name, value] : counts->items()) {
          if (value.is_number_integer() && counted.size() < 64) {
            counted[CleanText(name, 64)][value.get<std::int64_t>()].insert(number);
          }
        }
      }
      if (const auto error = IntAt(rank, {"status", "async_error"}); error.value_or(0) != 0) {
        states[absl::StrCat("asynchronous error ", *error)].insert(number);
      }
      if (BoolAt(rank, {"status", "abort_flag"}).value_or(false)) {
        states["status ABORT"].insert(number);
      }
    }
  }
  for (const auto& [operation, by_count] : counted) {
    if (by_count.size() < 2) continue;
    for (const auto& [count, ranks] : by_count) {
      found.groups.push_back({absl::StrCat(operation, " operation ", count), count,
                              static_cast<std::int64_t>(ranks.size()), ranks});
    }
  }
  for (const auto& [state, ranks] : states) {
    found.groups.push_back({state, -1, static_cast<std::int64_t>(ranks.size()), ranks});
  }
  if (found.missing.empty() && found.groups.empty()) return;
  found.error = found.missing.empty() ? "MISMATCH" : "INCOMPLETE";
  report.communicators.push_back(std::move(found));
}

absl::StatusOr<RasReport> RasFromJson(absl::string_view text) {
  const nlohmann::json tree = ParseJson(text);
  RasReport report;
  if (At(tree, {"event"}) != nullptr && At(tree, {"peer"}) != nullptr) {
    FromEvent(tree, report);
    return report;
  }
  const nlohmann::json* communicators = At(tree, {"communicators"});
  if (communicators == nullptr || !communicators->is_array()) {
    return absl::DataLossError("no answer of NCCL's RAS");
  }
  for (const nlohmann::json& communicator : *communicators) {
    if (report.communicators.size() >= kMost) break;
    ++report.communicators_read;
    FromCommunicator(communicator, report);
  }
  report.timeouts = IntAt(tree, {"ras", "timeouts_count"}).value_or(0);
  return report;
}

// "rank 3", "ranks 3,4 and 24 more".
std::string RanksText(const std::set<int>& ranks, std::int64_t count) {
  const auto more = count - static_cast<std::int64_t>(ranks.size());
  if (ranks.empty()) return absl::StrCat(count, count == 1 ? " rank" : " ranks");
  std::vector<int> first(ranks.begin(), ranks.end());
  if (first.size() > 32) first.resize(32);
  const auto left =
      std::max<std::int64_t>(more, 0) + static_cast<std::int64_t>(ranks.size() - first.size());
  return absl::StrCat(ranks.size() == 1 && left == 0 ? "rank " : "ranks ",
                      absl::StrJoin(first, ","),
                      left > 0 ? absl::StrCat(" and ", left, " more") : "");
}

// For groups that count one operation: the last one that all of the others reached.
const RasRanks* Furthest(const RasCommunicator& communicator) {
  const RasRanks* furthest = nullptr;
  for (const RasRanks& group : communicator.groups) {
    if (group.at >= 0 && (furthest == nullptr || group.at > furthest->at)) furthest = &group;
  }
  return furthest;
}

}  // namespace

std::vector<std::string> RasReport::Sentences() const {
  std::vector<std::string> sentences;
  for (const RasProcess& process : processes) {
    sentences.push_back(absl::StrCat("process ", process.pid, " on node ", process.node, " (GPU ",
                                     process.gpus,
                                     process.dead ? ") is dead" : ") does not answer"));
  }
  std::set<std::string> told;
  for (const RasCommunicator& communicator : communicators) {
    told.insert(std::string(
        absl::StripPrefix(communicator.name, "#").substr(0, communicator.name.find('-') - 1)));
    if (!communicator.missing.empty()) {
      sentences.push_back(absl::StrCat(
          "communicator ", communicator.name, ": nothing was heard of ",
          RanksText(communicator.missing, static_cast<std::int64_t>(communicator.missing.size()))));
    }
    std::vector<std::string> parts;
    const RasRanks* furthest = Furthest(communicator);
    for (const RasRanks& group : communicator.groups) {
      parts.push_back(absl::StrCat(RanksText(group.ranks, group.count),
                                   group.at < 0    ? ": "
                                   : group.at == 0 ? " launched "
                                                   : " came to ",
                                   group.what));
    }
    if (!parts.empty()) {
      sentences.push_back(absl::StrCat(
          "communicator ", communicator.name, ": ", absl::StrJoin(parts, "; "),
          furthest != nullptr ? " (of a job that runs, ask again: only what stays behind is behind)"
                              : ""));
    }
    if (communicator.missing.empty() && parts.empty()) {
      sentences.push_back(
          absl::StrCat("communicator ", communicator.name, ": ", communicator.error));
    }
  }
  for (const RasRow& row : rows) {
    if (row.errors == "OK" || told.contains(row.group)) continue;
    sentences.push_back(absl::StrCat("group ", row.group, " of communicators (", row.ranks,
                                     " ranks): ", row.errors,
                                     "; which ranks, this part of the answer does not say"));
  }
  if (timeouts > 0) sentences.push_back(absl::StrCat(timeouts, " time-outs while asking"));
  return sentences;
}

std::set<int> RasReport::Suspects() const {
  std::set<int> suspects;
  for (const RasCommunicator& communicator : communicators) {
    suspects.insert(communicator.missing.begin(), communicator.missing.end());
    const RasRanks* furthest = Furthest(communicator);
    for (const RasRanks& group : communicator.groups) {
      if (furthest != nullptr && group.at >= 0 && group.at < furthest->at) {
        suspects.insert(group.ranks.begin(), group.ranks.end());
      }
    }
  }
  return suspects;
}

bool LooksLikeRas(absl::string_view text) {
  static const RE2 mark(
      R"((?m)^\s*(?:Communicators\.\.\. |#\d+-\d+ \([0-9a-f]+\) |Group +Comms +Nodes|DEAD$|INCOMPLETE$|\[[^\]]*\] PEER_\w+: Process |RAS Monitor Mode)|"communicators_count"|"event": *"PEER_)");
  const absl::string_view head = text.substr(0, 8192);
  return RE2::PartialMatch(Piece(head), mark);
}

absl::StatusOr<RasReport> ParseRas(absl::string_view text) {
  if (text.size() > kMostText) {
    return absl::DataLossError("more than 16 MiB, which is not an answer of NCCL's RAS");
  }
  const absl::string_view begin = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(begin, "{")) return RasFromJson(begin);
  TextReader reader;
  const std::string clean = CleanText(text, kMostText);
  for (const absl::string_view line : absl::StrSplit(clean, '\n')) reader.Add(line);
  if (!reader.known()) return absl::DataLossError("no answer of NCCL's RAS");
  return reader.Take();
}

}  // namespace galen::hangs
