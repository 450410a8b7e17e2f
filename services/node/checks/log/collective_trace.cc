#include "services/node/checks/log/collective_trace.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/logs/reader.h"
#include "common/triage/process_end.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/log/pickle.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/json_access.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

constexpr std::int64_t kMaxDump = std::int64_t{32} << 20;
constexpr std::size_t kMaxCollectives = 200'000;
constexpr std::size_t kMaxRanksOfGroup = 262'144;
constexpr std::size_t kMaxTimeouts = 65'536;
constexpr std::size_t kMaxFingerprints = 1024;

// "[0, 4, 8]" as text.
std::set<int> RanksOf(absl::string_view text) {
  static const RE2 number(R"((\d{1,7}))");
  std::set<int> ranks;
  re2::StringPiece rest(text.data(), text.size());
  int rank = 0;
  while (ranks.size() < kMaxRanksOfGroup && RE2::FindAndConsume(&rest, number, &rank)) {
    ranks.insert(rank);
  }
  return ranks;
}

std::string SizesOf(const Pickle::Value* value) {
  if (value == nullptr || value->kind != Pickle::Value::Kind::kList) return "";
  std::string text = "[";
  for (const Pickle::Value* tensor : value->items) {
    if (text.size() > 512) break;
    absl::StrAppend(&text, text.size() > 1 ? ",[" : "[");
    for (std::size_t i = 0; i < std::min<std::size_t>(tensor->items.size(), 16); ++i) {
      absl::StrAppend(&text, i > 0 ? "," : "", tensor->items[i]->Int(-1));
    }
    text += "]";
  }
  return text + "]";
}

std::string TextOf(const Pickle::Value* value) {
  return value != nullptr && value->kind == Pickle::Value::Kind::kText ? CleanText(value->text, 256)
                                                                       : std::string();
}

absl::StatusOr<FlightRecord> FromPickle(absl::string_view bytes) {
  GALEN_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(bytes));
  FlightRecord record;
  record.version = TextOf(pickle.root().Find("version"));
  const Pickle::Value* entries = pickle.root().Find("entries");
  if (entries == nullptr) return absl::DataLossError("not a dump of the flight recorder");
  if (const Pickle::Value* groups = pickle.root().Find("pg_config"); groups != nullptr) {
    for (const auto& [name, group] : groups->fields) {
      const Pickle::Value* ranks = group->Find("ranks");
      if (name->kind == Pickle::Value::Kind::kText && ranks != nullptr) {
        record.groups[CleanText(name->text, 128)] = RanksOf(ranks->text);
      }
    }
  }
  for (const Pickle::Value* entry : entries->items) {
    if (record.collectives.size() >= kMaxCollectives) break;
    const Pickle::Value* p2p = entry->Find("is_p2p");
    if (p2p != nullptr && p2p->Int(0) != 0) continue;
    TracedCollective collective;
    if (const Pickle::Value* group = entry->Find("process_group");
        group != nullptr && !group->items.empty()) {
      collective.group = TextOf(group->items[0]);
      if (group->items.size() > 1) collective.description = TextOf(group->items[1]);
    }
    if (const Pickle::Value* sequence = entry->Find("collective_seq_id"); sequence != nullptr) {
      collective.sequence = sequence->Int(0);
    }
    collective.op = TextOf(entry->Find("profiling_name"));
    collective.sizes = SizesOf(entry->Find("input_sizes"));
    collective.completed = TextOf(entry->Find("state")) == "completed";
    record.collectives.push_back(std::move(collective));
  }
  return record;
}

absl::StatusOr<FlightRecord> FromJson(absl::string_view bytes) {
  const nlohmann::json tree = ParseJson(bytes);
  const nlohmann::json* entries = At(tree, {"entries"});
  if (entries == nullptr || !entries->is_array()) {
    return absl::DataLossError("not a dump of the flight recorder");
  }
  FlightRecord record;
  record.version = CleanText(TextAt(tree, {"version"}), 32);
  if (const nlohmann::json* groups = At(tree, {"pg_config"});
      groups != nullptr && groups->is_object()) {
    for (const auto& [name, group] : groups->items()) {
      record.groups[CleanText(name, 128)] = RanksOf(TextAt(group, {"ranks"}));
    }
  }
  for (const nlohmann::json& entry : *entries) {
    if (record.collectives.size() >= kMaxCollectives) break;
    if (BoolAt(entry, {"is_p2p"}).value_or(false)) continue;
    TracedCollective collective;
    if (const nlohmann::json* group = At(entry, {"process_group"});
        group != nullptr && group->is_array() && !group->empty() && (*group)[0].is_string()) {
      collective.group = CleanText((*group)[0].get<std::string>(), 128);
    }
    collective.sequence = IntAt(entry, {"collective_seq_id"}).value_or(0);
    collective.op = CleanText(TextAt(entry, {"profiling_name"}), 256);
    if (const nlohmann::json* sizes = At(entry, {"input_sizes"}); sizes != nullptr) {
      collective.sizes =
          CleanText(sizes->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 512);
    }
    collective.completed = TextAt(entry, {"state"}) == "completed";
    record.collectives.push_back(std::move(collective));
  }
  return record;
}

bool LooksLikeDump(absl::string_view name) {
  return absl::StrContains(name, "nccl_trace") || absl::StrContains(name, "_dump_") ||
         absl::StrContains(name, "flight");
}

// "nccl_trace_rank_3", "_dump_3", "rank3.json".
std::optional<int> RankOfName(absl::string_view name) {
  static const RE2 last(R"((\d{1,7})(?:\.(?:json|pkl|pickle))?$)");
  int rank = 0;
  if (!RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), last, &rank)) {
    return std::nullopt;
  }
  return rank;
}

std::map<int, FlightRecord> ReadDumps(const host::Host& host) {
  std::map<int, FlightRecord> ranks;
  const auto take = [&](std::optional<int> rank, absl::string_view bytes) {
    if (!rank.has_value()) return;
    if (auto record = ParseFlightRecord(bytes); record.ok()) ranks[*rank] = *std::move(record);
  };
  if (const auto files = host.JobLogs(); files.ok()) {
    for (const host::JobLog& file : *files) {
      if (!LooksLikeDump(file.name)) continue;
      logs::LogReader::Options options;
      options.max_bytes = kMaxDump;
      auto reader = logs::LogReader::Open(file.path, options);
      if (!reader.ok()) continue;
      std::string bytes;
      while (true) {
        const auto chunk = (*reader)->Next();
        if (!chunk.ok() || chunk->empty()) break;
        bytes.append(chunk->data(), chunk->size());
      }
      take(file.rank.has_value() ? file.rank : RankOfName(file.name), bytes);
    }
  }
  std::string prefix = "/tmp/nccl_trace_rank_";
  if (const auto environment = host.JobEnvironment(); environment.ok()) {
    const auto set = environment->find("TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    // A pattern within the name would match more than it names.
    if (set != environment->end() && absl::StartsWith(set->second, "/") &&
        set->second.find_first_of("*?[") == std::string::npos) {
      prefix = set->second;
    }
  }
  if (const auto paths = host.Glob(absl::StrCat(prefix, "*"), host::View::kJob); paths.ok()) {
    for (const std::string& path : *paths) {
      const auto bytes = host.ReadFile(path, host::View::kJob);
      if (bytes.ok()) take(RankOfName(path), *bytes);
    }
  }
  return ranks;
}

}  // namespace

absl::StatusOr<FlightRecord> ParseFlightRecord(absl::string_view bytes) {
  if (!bytes.empty() && bytes[0] == '\x80') return FromPickle(bytes);
  return FromJson(bytes);
}

TraceVerdict JudgeTraces(const std::map<int, FlightRecord>& ranks,
                         const std::set<std::string>& equal_sizes) {
  TraceVerdict verdict;
  // Of each group: how far each rank came, and what is the first that some rank waits for.
  struct Group {
    std::string description;
    std::set<int> members;
    std::map<int, std::int64_t> last;             // by rank
    std::map<std::int64_t, std::string> waiting;  // sequence to operation
    std::map<std::int64_t, std::map<int, const TracedCollective*>> at;
  };
  std::map<std::string, Group> groups;
  for (const auto& [rank, record] : ranks) {
    for (const auto& [name, members] : record.groups) {
      groups[name].members.insert(members.begin(), members.end());
    }
    for (const TracedCollective& collective : record.collectives) {
      Group& group = groups[collective.group];
      if (!collective.description.empty()) group.description = collective.description;
      std::int64_t& last = group.last[rank];
      last = std::max(last, collective.sequence);
      if (!collective.completed) group.waiting.emplace(collective.sequence, collective.op);
      group.at[collective.sequence][rank] = &collective;
    }
  }
  for (const auto& [name, group] : groups) {
    if (group.waiting.empty()) continue;
    const std::int64_t furthest =
        std::max_element(group.last.begin(), group.last.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->second;
    std::set<int> behind;
    for (const int member : group.members) {
      // A rank without a dump may be dead, or merely not asked.
      if (!ranks.contains(member)) continue;
      const auto last = group.last.find(member);
      const std::int64_t reached = last == group.last.end() ? 0 : last->second;
      // Behind: others wait in something that this one has not come to.
      const auto first_not_reached = group.waiting.upper_bound(reached);
      if (reached < furthest && first_not_reached != group.waiting.end()) behind.insert(member);
    }
    if (!behind.empty() && behind.size() < group.members.size()) {
      verdict.missing.insert(behind.begin(), behind.end());
      if (verdict.reasons.size() < 8) {
        verdict.reasons.push_back(absl::StrCat(
            "group ", name, group.description.empty() ? "" : " ", group.description, ": ",
            group.waiting.begin()->second, " waits for ranks ", absl::StrJoin(behind, ",")));
      }
    }
    for (const auto& [sequence, at] : group.at) {
      const TracedCollective* first = at.begin()->second;
      for (const auto& [rank, collective] : at) {
        if (collective->op != first->op) {
          verdict.sequence_mismatch = true;
        } else if (collective->sizes != first->sizes && equal_sizes.contains(first->op)) {
          verdict.shape_mismatch = true;
        } else {
          continue;
        }
        if (verdict.reasons.size() < 8) {
          verdict.reasons.push_back(absl::StrCat(
              "group ", name, " sequence ", sequence, ": rank ", at.begin()->first, " ", first->op,
              " ", first->sizes, ", rank ", rank, " ", collective->op, " ", collective->sizes));
        }
        break;
      }
    }
  }
  return verdict;
}

const LogWant kCollectiveTraceWant = {
    .name = "collectives", .expressions = [](const knowledge::Knowledge& knowledge) {
      std::vector<std::string> wanted = TextsOf(PatternsOf(knowledge, "job.collective_trace"));
      wanted.emplace_back(R"(WorkNCCL\()");
      return wanted;
    }};

absl::StatusOr<CheckOutput> CheckCollectiveTrace(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "job.collective_trace"));
  const std::map<int, FlightRecord> ranks = ReadDumps(host);
  const std::vector<std::string> names = data.Texts("equal_sizes");
  TraceVerdict verdict = JudgeTraces(ranks, {names.begin(), names.end()});

  // What PyTorch itself says of it: its detailed checks, and the watchdogs of the ranks.
  const auto fingerprints = data.Patterns("fingerprint");
  std::vector<CheckData::Pattern> said = data.Patterns("shape_mismatch");
  for (CheckData::Pattern& pattern : data.Patterns("sequence_mismatch")) {
    said.push_back(std::move(pattern));
  }
  std::set<std::string> operations;
  std::set<std::string> shapes;
  std::map<std::pair<std::string, std::int64_t>, std::map<int, triage::WatchdogTimeout>> timeouts;
  std::size_t count = 0;
  bool said_any = false;
  const auto lines =
      ForEachWantedLine(context, LogsOf::kAllNodes, kCollectiveTraceWant, [&](const LogLine& line) {
        if (LooksLikeDump(line.log->name)) return;
        for (const CheckData::Pattern& fingerprint : fingerprints) {
          re2::StringPiece left(line.text.data(), line.text.size());
          std::string operation;
          std::string shape;
          while (operations.size() + shapes.size() < kMaxFingerprints &&
                 RE2::FindAndConsume(&left, *fingerprint.compiled, &operation, &shape)) {
            said_any = true;
            operations.insert(operation);
            shapes.insert(absl::StrCat(operation, " ", shape));
          }
        }
        const std::string match = CheckData::FirstMatch(said, line.text);
        if (!match.empty()) {
          said_any = true;
          (match == "shape_mismatch" ? verdict.shape_mismatch : verdict.sequence_mismatch) = true;
          if (verdict.reasons.size() < 8) verdict.reasons.push_back(CleanText(line.text, 300));
        }
        auto timeout = triage::FindWatchdogTimeout(line.text);
        if (!timeout.has_value() || ++count > kMaxTimeouts) return;
        const int rank = timeout->rank.value_or(line.log->rank.value_or(-1));
        auto& at = timeouts[{timeout->group, timeout->sequence}];
        at.emplace(rank, *std::move(timeout));
      });
  static_cast<void>(lines);
  if (operations.size() > 1) verdict.sequence_mismatch = true;
  if (operations.size() == 1 && shapes.size() > 1) verdict.shape_mismatch = true;
  if (shapes.size() > 1 && verdict.reasons.size() < 8) {
    verdict.reasons.push_back(
        CleanText(absl::StrCat("ranks run ", absl::StrJoin(shapes, ", ")), 300));
  }
  for (const auto& [key, at] : timeouts) {
    const triage::WatchdogTimeout& first = at.begin()->second;
    for (const auto& [rank, timeout] : at) {
      if (timeout.op != first.op) {
        verdict.sequence_mismatch = true;
      } else if (timeout.numel_in >= 0 && timeout.numel_in != first.numel_in &&
                 absl::StrContains(first.op, "REDUCE")) {
        verdict.shape_mismatch = true;
      } else {
        continue;
      }
      if (verdict.reasons.size() < 8) {
        verdict.reasons.push_back(absl::StrCat(
            "sequence ", key.second, ": rank ", at.begin()->first, " ", first.op, " of ",
            first.numel_in, ", rank ", rank, " ", timeout.op, " of ", timeout.numel_in));
      }
      break;
    }
  }
  if (ranks.empty() && timeouts.empty() && !said_any) {
    return absl::UnavailableError(
        "no trace of collectives: neither a dump of the flight recorder nor a word of the "
        "watchdog");
  }
  CheckOutput output;
  output.findings.push_back(
      ranks.size() > 1
          ? TextFinding("missing_ranks", node, "",
                        verdict.missing.empty() ? "none" : absl::StrJoin(verdict.missing, ","))
          : UnknownFinding("missing_ranks", node, ""));
  // One watchdog's word proves no difference, and no equality either.
  bool several = ranks.size() > 1;
  for (const auto& [key, at] : timeouts) several = several || at.size() > 1;
  const auto flag = [&](const char* name, bool value) {
    output.findings.push_back(several || value ? BoolFinding(name, node, "", value)
                                               : UnknownFinding(name, node, ""));
  };
  flag("sequence_mismatch", verdict.sequence_mismatch);
  flag("shape_mismatch", verdict.shape_mismatch);
  output.message =
      verdict.reasons.empty()
          ? absl::StrCat(ranks.size(), " dumps and ", timeouts.size(),
                         " timed out collectives agree")
          : absl::StrCat(verdict.missing.empty()
                             ? ""
                             : absl::StrCat("ranks ", absl::StrJoin(verdict.missing, ","),
                                            " did not come to what others wait for; "),
                         verdict.reasons.front());
  output.excerpt = absl::StrJoin(verdict.reasons, "\n");
  return output;
}

}  // namespace galen::node
