#include "services/node/checks/log/stacks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/job_processes.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxThreads = 10'000;
constexpr std::size_t kMaxFrames = 256;
constexpr std::size_t kMaxProcesses = 1024;
constexpr int kMaxBlocked = 64;

struct RankStack {
  std::int64_t pid = 0;
  std::vector<ThreadStack> threads;
  // For the main thread: the collective it waits in, "" for none, and the frames below it.
  std::string collective;
  std::string below;
};

const ThreadStack* MainThread(const RankStack& rank) {
  for (const ThreadStack& thread : rank.threads) {
    if (thread.id == rank.pid && !thread.frames.empty()) return &thread;
  }
  for (const ThreadStack& thread : rank.threads) {
    if (thread.name == "MainThread" && !thread.frames.empty()) return &thread;
  }
  return nullptr;
}

// The activity of ranks that are not in the collective: the one word that fits all of them, else
// "other".
std::string WhatTheyDo(const CheckData& data, const std::vector<const ThreadStack*>& outside) {
  std::set<std::string> words;
  for (const ThreadStack* main : outside) {
    const std::string stack = main == nullptr ? "" : absl::StrJoin(main->frames, " < ");
    std::string word = "other";
    for (const char* each :
         {"data_loading", "checkpoint", "evaluation", "training_step", "finished"}) {
      if (CheckData::FirstMatch(data.Patterns(absl::StrCat("outside_", each)), stack).empty()) {
        continue;
      }
      word = each;
      break;
    }
    words.insert(word);
  }
  return words.size() == 1 ? *words.begin() : "other";
}

// The outermost frame of the library's collectives, which is the one that the program called.
void FindCollective(const std::vector<CheckData::Pattern>& collectives, RankStack* rank) {
  const ThreadStack* main = MainThread(*rank);
  if (main == nullptr) return;
  std::optional<std::size_t> outermost;
  // Only the innermost frames count; the frames further out are the program's own.
  for (std::size_t i = 0; i < std::min<std::size_t>(main->frames.size(), 8); ++i) {
    if (!CheckData::FirstMatch(collectives, main->frames[i]).empty()) outermost = i;
  }
  if (!outermost.has_value()) return;
  const std::string& frame = main->frames[*outermost];
  rank->collective = frame.substr(0, frame.find(' '));
  rank->below = absl::StrJoin(main->frames.begin() + static_cast<std::ptrdiff_t>(*outermost),
                              main->frames.end(), "\n");
}

std::vector<RankStack> ReadRanks(const CheckContext& context, absl::Status* why) {
  const host::Host& host = context.host;
  std::vector<std::vector<std::string>> commands =
      host.Captured({"py-spy", "dump", "--pid"}, host::View::kJob);
  host::View view = host::View::kJob;
  if (host.live()) {
    const JobProcesses job = FindJobProcesses(context);
    view = job.view;
    for (const std::int64_t pid : job.pids) {
      commands.push_back({"py-spy", "dump", "--pid", absl::StrCat(pid)});
    }
  }
  std::vector<RankStack> ranks;
  *why = absl::UnavailableError("no stack of the job's processes was captured");
  // A dump stops its process, so one that fails counts as well.
  if (commands.size() > kMaxProcesses) commands.resize(kMaxProcesses);
  for (const std::vector<std::string>& command : commands) {
    if (context.cancelled.cancelled()) {
      *why = absl::CancelledError("job.stacks was cancelled");
      return {};
    }
    const auto text = Output(host, command, view);
    if (!text.ok()) {
      *why = text.status();
      continue;
    }
    auto threads = ParsePySpy(*text);
    if (!threads.ok()) continue;
    RankStack rank;
    if (command.size() > 3 && !absl::SimpleAtoi(command[3], &rank.pid)) rank.pid = 0;
    rank.threads = *std::move(threads);
    ranks.push_back(std::move(rank));
  }
  // Processes of a node are started in the order of their ranks.
  std::sort(ranks.begin(), ranks.end(),
            [](const RankStack& a, const RankStack& b) { return a.pid < b.pid; });
  return ranks;
}

// The heading of a thread in a debugger's backtrace.
constexpr char kHeading[] = R"re(^\s*Thread (\d+) \()re";

// Backtraces of a debugger among the logs of this node, as people attach them.
std::vector<ThreadStack> ReadBacktraces(const CheckContext& context) {
  BacktraceReader reader;
  const host::JobLog* of = nullptr;
  const auto lines =
      ForEachWantedLine(context, LogsOf::kThisNode, kStacksWant, [&](const LogLine& line) {
        if (line.log != of) reader.EndThread();
        of = line.log;
        reader.Add(line.text);
      });
  // Without logs there are none.
  if (!lines.ok()) return {};
  return std::move(reader).Threads();
}

}  // namespace

const LogWant kStacksWant = {
    .name = "backtraces",
    .expressions = [](const knowledge::Knowledge&) -> std::vector<std::string> {
      return {R"(^\s*#\d{1,4}\s+\S)", kHeading};
    }};

void BacktraceReader::Add(absl::string_view line) {
  static const RE2 frame(R"re(^\s*#(\d{1,4})\s+(?:0x[0-9a-f]+ in )?(\S.*)$)re");
  static const RE2 heading(kHeading);
  std::string number;
  std::string text;
  if (RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), frame, &number, &text)) {
    // Within one thread the numbers never fall.
    std::int64_t place = 0;
    if (!absl::SimpleAtoi(number, &place)) return;
    if (!open_ || place < last_) {
      EndThread();
      if (threads_.size() >= kMaxThreads) return;
      threads_.emplace_back();
      open_ = true;
    }
    last_ = place;
    if (threads_.back().frames.size() < kMaxFrames) {
      threads_.back().frames.push_back(CleanText(text, 256));
    }
    return;
  }
  if (RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), heading)) EndThread();
}

void BacktraceReader::EndThread() {
  open_ = false;
  last_ = 0;
}

absl::StatusOr<std::vector<ThreadStack>> ParsePySpy(absl::string_view text) {
  static const RE2 heading(R"re(^Thread (?:0x)?([0-9A-Fa-f]+)(?: \(([^)]*)\))?(?:: "(.*)")?)re");
  std::vector<ThreadStack> threads;
  bool open = false;
  for (const absl::string_view line : Lines(text)) {
    if (!absl::StartsWith(line, " ") && !absl::StartsWith(line, "\t")) {
      std::string id;
      ThreadStack thread;
      open = threads.size() < kMaxThreads &&
             RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), heading, &id,
                               &thread.state, &thread.name);
      if (!open) continue;
      if (!absl::SimpleAtoi(id, &thread.id)) thread.id = 0;
      thread.name = CleanText(thread.name, 128);
      threads.push_back(std::move(thread));
      continue;
    }
    const absl::string_view frame = absl::StripAsciiWhitespace(line);
    if (!open || frame.empty() || threads.back().frames.size() >= kMaxFrames) continue;
    threads.back().frames.push_back(CleanText(frame, 256));
  }
  if (threads.empty()) return absl::DataLossError("not a dump of py-spy: it has no thread");
  return threads;
}

absl::StatusOr<CheckOutput> CheckStacks(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "job.stacks"));
  absl::Status why;
  std::vector<RankStack> ranks = ReadRanks(context, &why);
  const std::vector<ThreadStack> backtraces = ReadBacktraces(context);
  if (ranks.empty() && backtraces.empty()) return why;
  const auto collectives = data.Patterns("collective");
  const auto helpers = data.Patterns("helper");
  const auto is_helper = [&](const RankStack& rank) {
    const ThreadStack* main = MainThread(rank);
    return main != nullptr &&
           !CheckData::FirstMatch(helpers, absl::StrJoin(main->frames, " < ")).empty();
  };
  std::map<std::string, int> votes;
  for (RankStack& rank : ranks) {
    FindCollective(collectives, &rank);
    if (!rank.collective.empty()) ++votes[rank.collective];
  }
  // The collective that most wait in; of two with as many, none is the one.
  auto most = std::max_element(votes.begin(), votes.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> as_many;
  for (const auto& [collective, count] : votes) {
    if (count == most->second) as_many.push_back(collective);
  }
  const bool tie = as_many.size() > 1;
  if (tie) most = votes.end();
  CheckOutput output;
  std::vector<std::string> outside;
  std::vector<const ThreadStack*> their_stacks;
  std::set<std::string> places;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankStack& rank = ranks[i];
    const ThreadStack* main = MainThread(rank);
    const std::string top = main == nullptr ? "no Python frame" : main->frames.front();
    if (most != votes.end() && rank.collective != most->first && !is_helper(rank)) {
      outside.push_back(absl::StrCat("process:", rank.pid, " in ", top));
      their_stacks.push_back(main);
    }
    if (most != votes.end() && rank.collective == most->first) places.insert(rank.below);
    absl::StrAppend(
        &output.excerpt, i, " pid ", rank.pid, ": ",
        main == nullptr
            ? top
            : absl::StrJoin(
                  main->frames.begin(),
                  main->frames.begin() +
                      std::min<std::ptrdiff_t>(4, static_cast<std::ptrdiff_t>(main->frames.size())),
                  " < "),
        "\n");
  }
  const auto helpers_seen = std::count_if(ranks.begin(), ranks.end(), is_helper);
  const bool compared =
      static_cast<std::ptrdiff_t>(ranks.size()) - helpers_seen > 1 && most != votes.end();
  output.findings.push_back(
      compared
          ? TextFinding("ranks_outside_collective", node, "",
                        outside.empty() ? "none" : CleanText(absl::StrJoin(outside, "; "), 900))
          : UnknownFinding("ranks_outside_collective", node, ""));
  if (compared && !outside.empty()) {
    output.findings.push_back(TextFinding("outside_in", node, "", WhatTheyDo(data, their_stacks)));
  }
  // In a tie it is unknown which ranks are right, but they certainly wait for different
  // collectives.
  output.findings.push_back(
      tie || (compared && most->second > 1)
          ? BoolFinding("collective_differs", node, "", tie || places.size() > 1)
          : UnknownFinding("collective_differs", node, ""));
  output.findings.push_back(
      tie || compared
          ? TextFinding("split_between", node, "", tie ? absl::StrJoin(as_many, ",") : "none")
          : UnknownFinding("split_between", node, ""));
  // A thread that waits for something that no peer will provide.
  const auto blocks = data.Patterns("blocked_in");
  int blocked = 0;
  const auto look = [&](const ThreadStack& thread, const std::string& where) {
    const std::string stack = absl::StrJoin(thread.frames, " < ");
    if (thread.frames.empty() || CheckData::FirstMatch(blocks, stack).empty()) return;
    if (++blocked > kMaxBlocked) return;
    output.findings.push_back(TextFinding("blocked_in", node, where, CleanText(stack, 600)));
  };
  for (const RankStack& rank : ranks) {
    for (const ThreadStack& thread : rank.threads) look(thread, absl::StrCat("process:", rank.pid));
  }
  for (const ThreadStack& thread : backtraces) look(thread, "");
  if (blocked == 0) output.findings.push_back(TextFinding("blocked_in", node, "", "none"));
  output.message = absl::StrCat(
      ranks.size(), " processes",
      tie ? absl::StrCat(", as many of them in each of ", absl::StrJoin(as_many, " and "))
      : most == votes.end() ? ", none of them in a collective"
                            : absl::StrCat(", ", most->second, " of them in ", most->first),
      outside.empty() || !compared ? "" : absl::StrCat("; outside: ", absl::StrJoin(outside, "; ")),
      blocked == 0 ? "" : absl::StrCat("; ", blocked, " threads wait for a lock or the host"));
  return output;
}

}  // namespace galen::node
