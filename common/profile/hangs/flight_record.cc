#include "common/profile/hangs/flight_record.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/json_access.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/profile/hangs/pickle.h"
#include "re2/re2.h"

namespace galen::hangs {
namespace {

constexpr std::size_t kMaxCollectives = 200'000;
constexpr std::size_t kMaxRanksOfGroup = 262'144;
constexpr std::size_t kMaxReasons = 8;

// "[0, 4, 8]" as text.
std::set<int> RanksOf(absl::string_view text) {
  static const RE2 number(R"((\d{1,7}))");
  std::set<int> ranks;
  re2::StringPiece rest = Piece(text);
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
    if (const Pickle::Value* created = entry->Find("time_created_ns"); created != nullptr) {
      collective.created = created->Int(0);
    }
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
    if (const nlohmann::json* created = At(entry, {"time_created_ns"});
        created != nullptr && created->is_number_integer()) {
      collective.created = created->get<std::int64_t>();
    }
    record.collectives.push_back(std::move(collective));
  }
  return record;
}

}  // namespace

absl::StatusOr<FlightRecord> ParseFlightRecord(absl::string_view bytes) {
  if (!bytes.empty() && bytes[0] == '\x80') return FromPickle(bytes);
  return FromJson(bytes);
}

TraceVerdict JudgeTraces(const std::map<int, FlightRecord>& ranks,
                         const std::set<std::string>& equal_sizes) {
  TraceVerdict verdict;
  // State of one group: how far each rank came, and the first operation that some rank waits for.
  struct Group {
    std::string description;
    std::set<int> members;
    std::map<int, std::int64_t> last;                         // by rank
    std::map<std::int64_t, const TracedCollective*> waiting;  // by sequence
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
      if (!collective.completed) group.waiting.emplace(collective.sequence, &collective);
      group.at[collective.sequence][rank] = &collective;
    }
  }
  for (const auto& [name, group] : groups) {
    if (group.waiting.empty()) continue;
    const std::int64_t furthest =
        std::max_element(group.last.begin(), group.last.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->second;
    MissedCollective missed;
    missed.group = name;
    missed.description = group.description;
    const TracedCollective* first = nullptr;
    for (const int member : group.members) {
      // A rank without a dump may be dead, or merely not asked.
      if (!ranks.contains(member)) {
        verdict.without_dump.insert(member);
        continue;
      }
      const auto last = group.last.find(member);
      const std::int64_t reached = last == group.last.end() ? 0 : last->second;
      // Behind: others wait in a collective that this rank is missing from.
      const auto not_reached = group.waiting.upper_bound(reached);
      if (reached >= furthest || not_reached == group.waiting.end()) continue;
      missed.missing.insert(member);
      if (first == nullptr || not_reached->first < first->sequence) first = not_reached->second;
    }
    if (first != nullptr && missed.missing.size() < group.members.size()) {
      verdict.missing.insert(missed.missing.begin(), missed.missing.end());
      missed.sequence = first->sequence;
      missed.op = first->op;
      missed.sizes = first->sizes;
      missed.created = first->created;
      for (const auto& [rank, collective] : group.at.at(first->sequence)) {
        if (!collective->completed) missed.waiting.insert(rank);
        missed.created = std::min(missed.created, collective->created);
      }
      verdict.missed.push_back(std::move(missed));
    }
    for (const auto& [sequence, at] : group.at) {
      const TracedCollective* one = at.begin()->second;
      for (const auto& [rank, collective] : at) {
        if (collective->op != one->op) {
          verdict.sequence_mismatch = true;
        } else if (collective->sizes != one->sizes && equal_sizes.contains(one->op)) {
          verdict.shape_mismatch = true;
        } else {
          continue;
        }
        if (verdict.reasons.size() < kMaxReasons) {
          verdict.reasons.push_back(absl::StrCat(
              "group ", name, " sequence ", sequence, ": rank ", at.begin()->first, " ", one->op,
              " ", one->sizes, ", rank ", rank, " ", collective->op, " ", collective->sizes));
        }
        break;
      }
    }
  }
  std::stable_sort(
      verdict.missed.begin(), verdict.missed.end(),
      [](const MissedCollective& a, const MissedCollective& b) { return a.created < b.created; });
  std::set<int> told;
  std::vector<std::string> reasons;
  for (MissedCollective& missed : verdict.missed) {
    for (const int rank : missed.missing) missed.first = told.insert(rank).second || missed.first;
    if (!missed.first || reasons.size() >= kMaxReasons) continue;
    reasons.push_back(absl::StrCat("group ", missed.group, missed.description.empty() ? "" : " ",
                                   missed.description, ": ", missed.op, " waits for ranks ",
                                   absl::StrJoin(missed.missing, ",")));
  }
  verdict.reasons.insert(verdict.reasons.begin(), reasons.begin(), reasons.end());
  return verdict;
}

}  // namespace galen::hangs
