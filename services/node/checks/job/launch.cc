#include "services/node/checks/job/launch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

// The first number, or the first word, that one of the patterns takes out of a line.
template <typename Value>
std::optional<Value> FirstOf(const std::vector<CheckData::Pattern>& patterns,
                             absl::string_view line) {
  Value value{};
  for (const CheckData::Pattern& pattern : patterns) {
    if (pattern.compiled->NumberOfCapturingGroups() == 1 &&
        RE2::PartialMatch(Piece(line), *pattern.compiled, &value)) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

LaunchReports::LaunchReports(const CheckData& data)
    : rank_and_size_(data.Patterns("rank_and_size")),
      of_a_group_(data.Patterns("rank_of_a_group")),
      node_rank_(data.Patterns("node_rank")),
      node_count_(data.Patterns("node_count")),
      started_(data.Patterns("ranks_per_node")),
      marked_(data.Patterns("rank_mark")),
      dynamic_(data.Patterns("dynamic_rendezvous")),
      shard_(data.Patterns("shard")),
      model_parallel_(data.Patterns("model_parallel")),
      data_parallel_(data.Patterns("data_parallel")) {}

void LaunchReports::Add(int log, absl::string_view node, absl::string_view line) {
  if (const auto started = FirstOf<std::int64_t>(started_, line);
      started.has_value() && ranks_per_node_.size() < 16) {
    ranks_per_node_.insert(*started);
  }
  if (const auto marked = FirstOf<std::int64_t>(marked_, line)) {
    greatest_rank_ = std::max(greatest_rank_.value_or(0), *marked);
  }
  const bool rank = absl::StrContains(line, "ank") || absl::StrContains(line, "RANK");
  const bool parallel = absl::StrContains(line, "arallel") || absl::StrContains(line, "ddp");
  const bool loads = absl::StrContains(line, "oading");
  if (!rank && !parallel && !loads) return;
  const auto place = logs_.find(log);
  if (place == logs_.end() && logs_.size() >= kMaxLogs) return;
  Log& entry = logs_[log];
  entry.node = std::string(node);
  if (rank) {
    for (const CheckData::Pattern& pattern : rank_and_size_) {
      re2::StringPiece found[3];
      if (pattern.compiled->NumberOfCapturingGroups() != 2 ||
          !pattern.compiled->Match(Piece(line), 0, line.size(), RE2::UNANCHORED, found, 3)) {
        continue;
      }
      // "local rank", "DP rank": a place in a group of ranks.
      const absl::string_view before =
          absl::StripTrailingAsciiWhitespace(line.substr(0, found[0].data() - line.data()));
      if (!CheckData::FirstMatch(of_a_group_, before).empty()) continue;
      std::int64_t number = 0;
      std::int64_t size = 0;
      if (!absl::SimpleAtoi(absl::string_view(found[1].data(), found[1].size()), &number) ||
          !absl::SimpleAtoi(absl::string_view(found[2].data(), found[2].size()), &size)) {
        continue;
      }
      if (ranks_ < kMaxRanks && entry.ranks.insert(number).second) ++ranks_;
      if (entry.sizes.size() < 16) entry.sizes.insert(size);
      break;
    }
    if (const auto number = FirstOf<std::int64_t>(node_rank_, line);
        number.has_value() && entry.node_ranks.size() < 16) {
      entry.node_ranks.insert(*number);
    }
    if (const auto number = FirstOf<std::int64_t>(node_count_, line);
        number.has_value() && entry.node_counts.size() < 16) {
      entry.node_counts.insert(*number);
    }
    entry.dynamic |= !CheckData::FirstMatch(dynamic_, line).empty();
  }
  if (parallel) {
    if (const auto size = FirstOf<std::int64_t>(model_parallel_, line))
      entry.model_parallel = *size;
    if (const auto size = FirstOf<std::int64_t>(data_parallel_, line)) entry.data_parallel = *size;
  }
  if (loads && entry.shards.size() < 64) {
    if (const auto shard = FirstOf<std::string>(shard_, line)) {
      entry.shards.insert(CleanText(*shard, 64));
    }
  }
}

std::optional<std::int64_t> LaunchReports::RanksPerNode() const {
  return ranks_per_node_.size() == 1 ? std::optional(*ranks_per_node_.begin()) : std::nullopt;
}

std::optional<std::int64_t> LaunchReports::GreatestRank() const { return greatest_rank_; }

std::optional<std::int64_t> LaunchReports::WorldSize() const {
  std::set<std::int64_t> sizes;
  for (const auto& [number, log] : logs_) sizes.insert(log.sizes.begin(), log.sizes.end());
  return sizes.size() == 1 ? std::optional(*sizes.begin()) : std::nullopt;
}

bool LaunchReports::SizeDiffers() const {
  std::map<std::string, std::set<std::int64_t>> of_node;
  for (const auto& [number, log] : logs_) {
    if (!log.node.empty()) of_node[log.node].insert(log.sizes.begin(), log.sizes.end());
  }
  std::set<std::int64_t> sizes;
  for (const auto& [node, said] : of_node) {
    // A node that ran twice reports two jobs.
    if (said.size() == 1) sizes.insert(*said.begin());
  }
  return sizes.size() > 1;
}

std::int64_t LaunchReports::Processes() const {
  std::map<std::string, std::set<std::int64_t>> of_node;
  for (const auto& [number, log] : logs_) {
    of_node[log.node].insert(log.ranks.begin(), log.ranks.end());
  }
  std::int64_t processes = 0;
  for (const auto& [node, ranks] : of_node) processes += static_cast<std::int64_t>(ranks.size());
  return processes;
}

std::optional<bool> LaunchReports::DuplicateRank() const {
  // Nodes count where the command line gives them their numbers.
  std::map<std::string, std::set<std::int64_t>> number_of;
  std::set<std::int64_t> counts;
  for (const auto& [number, log] : logs_) {
    if (log.node.empty() || log.dynamic || log.node_ranks.empty()) continue;
    number_of[log.node].insert(log.node_ranks.begin(), log.node_ranks.end());
    counts.insert(log.node_counts.begin(), log.node_counts.end());
  }
  std::set<std::int64_t> numbers;
  std::size_t given = 0;
  for (const auto& [node, said] : number_of) {
    if (said.size() != 1) continue;
    numbers.insert(*said.begin());
    ++given;
  }
  if (counts.size() == 1 && given > 1 && static_cast<std::int64_t>(given) >= *counts.begin() &&
      numbers.size() < given) {
    return true;
  }
  const auto size = WorldSize();
  if (!size.has_value() || Processes() < *size) return std::nullopt;
  const auto missing = Missing();
  return missing.has_value() && *missing != "none";
}

std::optional<std::string> LaunchReports::Missing() const {
  const auto size = WorldSize();
  if (!size.has_value() || *size <= 0 || *size > static_cast<std::int64_t>(kMaxRanks)) {
    return std::nullopt;
  }
  std::set<std::int64_t> there;
  std::set<std::string> nodes;
  for (const auto& [number, log] : logs_) {
    there.insert(log.ranks.begin(), log.ranks.end());
    if (!log.ranks.empty()) nodes.insert(log.node);
  }
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < *size; ++rank) {
    if (!there.contains(rank)) missing.push_back(rank);
  }
  if (missing.empty()) return "none";
  // A rank whose log is unavailable is not missing, unless other processes took the places.
  if (Processes() < *size || nodes.size() < 2 || nodes.contains("")) return std::nullopt;
  const bool more = missing.size() > 16;
  if (more) missing.resize(16);
  return absl::StrCat(absl::StrJoin(missing, ", "), more ? ", ..." : "");
}

std::optional<bool> LaunchReports::SameShard() const {
  const auto size = WorldSize();
  std::map<std::string, std::set<std::int64_t>> ranks_of_shard;
  bool divided = false;
  for (const auto& [number, log] : logs_) {
    // In a log of several ranks it is unknown which rank reads which shard.
    if (log.ranks.size() != 1 || log.shards.size() != 1 || log.model_parallel < 2) continue;
    // With copies of the model, as many ranks as there are copies share a part.
    if (log.data_parallel != 1 && size != log.model_parallel) continue;
    divided = true;
    ranks_of_shard[*log.shards.begin()].insert(*log.ranks.begin());
  }
  std::size_t ranks = 0;
  bool same = false;
  for (const auto& [shard, readers] : ranks_of_shard) {
    ranks += readers.size();
    same |= readers.size() > 1;
  }
  if (!divided || ranks < 2) return std::nullopt;
  return same;
}

namespace {

class LaunchFold final : public LogFold {
 public:
  explicit LaunchFold(const CheckData& data) : reports_(data) {}
  void Add(const LogLine& line) override {
    const int next = static_cast<int>(numbers_.size());
    reports_.Add(numbers_.try_emplace(line.log, next).first->second, line.log->node, line.text);
  }
  const LaunchReports& reports() const { return reports_; }

 private:
  LaunchReports reports_;
  std::map<const host::JobLog*, int> numbers_;
};

}  // namespace

const LogWant kLaunchWant = {
    .name = "launch",
    .expressions =
        [](const knowledge::Knowledge& knowledge) {
          std::vector<std::string> wanted;
          for (const CheckData::Pattern& pattern : PatternsOf(knowledge, "user.launch")) {
            // Matched against parts of the lines that the other patterns find.
            if (pattern.name != "rank_of_a_group") wanted.push_back(pattern.text);
          }
          return wanted;
        },
    .fold = [](const FoldBasis& basis) -> std::unique_ptr<LogFold> {
      const auto data = CheckData::Of(basis.knowledge, "user.launch");
      return data.ok() ? std::make_unique<LaunchFold>(*data) : nullptr;
    }};

std::shared_ptr<const LaunchReports> ReadLaunch(const CheckContext& context) {
  const auto folded = FoldLogs(context, kLaunchWant);
  if (!folded.ok()) return nullptr;
  std::shared_ptr<const LaunchFold> fold = FoldAs<LaunchFold>(*folded);
  return fold == nullptr ? nullptr : std::shared_ptr<const LaunchReports>(fold, &fold->reports());
}

absl::StatusOr<CheckOutput> CheckUserLaunch(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "user.launch"));
  const auto environment = host.JobEnvironment();
  const std::shared_ptr<const LaunchReports> read = ReadLaunch(context);
  if (!environment.ok() && read == nullptr) return environment.status();
  const LaunchReports none(data);
  const LaunchReports& reports = read != nullptr ? *read : none;
  CheckOutput output;
  const auto number = [&](absl::string_view finding, const char* name,
                          std::optional<std::int64_t> value) {
    if (environment.ok()) {
      const auto it = environment->find(name);
      std::int64_t set = 0;
      if (it != environment->end() && absl::SimpleAtoi(it->second, &set)) value = set;
    }
    output.findings.push_back(value.has_value() ? IntFinding(finding, node, "", *value)
                                                : UnknownFinding(finding, node, ""));
    absl::StrAppend(&output.message, output.message.empty() ? "" : ", ", name, " ",
                    value.has_value() ? absl::StrCat(*value) : "not set");
  };
  const auto flag = [&](absl::string_view finding, std::optional<bool> value) {
    output.findings.push_back(value.has_value() ? BoolFinding(finding, node, "", *value)
                                                : UnknownFinding(finding, node, ""));
  };
  number("world_size", "WORLD_SIZE", reports.WorldSize());
  number("nproc_per_node", "LOCAL_WORLD_SIZE", reports.RanksPerNode());
  const std::int64_t processes = reports.Processes();
  output.findings.push_back(processes > 0 ? IntFinding("ranks_started", node, "", processes)
                                          : UnknownFinding("ranks_started", node, ""));
  const auto missing = reports.Missing();
  output.findings.push_back(missing.has_value() ? TextFinding("ranks_missing", node, "", *missing)
                                                : UnknownFinding("ranks_missing", node, ""));
  flag("duplicate_rank", reports.DuplicateRank());
  flag("world_size_differs", processes > 0 ? std::optional(reports.SizeDiffers()) : std::nullopt);
  flag("same_shard_on_ranks", reports.SameShard());
  if (processes > 0) absl::StrAppend(&output.message, ", ", processes, " processes state a rank");
  if (missing.has_value() && *missing != "none") {
    absl::StrAppend(&output.message, ", none of them ", *missing);
  }
  if (reports.DuplicateRank().value_or(false)) {
    absl::StrAppend(&output.message, "; a rank is given twice");
  }
  if (reports.SameShard().value_or(false)) {
    absl::StrAppend(&output.message, "; ranks of one divided model read the same part of it");
  }
  return output;
}

}  // namespace galen::node
