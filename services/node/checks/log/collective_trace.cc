#include "services/node/checks/log/collective_trace.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/log_analysis/scan/reader.h"
#include "common/log_analysis/triage/process_end.h"
#include "common/profile/hangs/flight_record.h"
#include "common/profile/hangs/nccl_ras.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

using hangs::FlightRecord;
using hangs::ParseFlightRecord;
using hangs::TraceVerdict;

constexpr std::int64_t kMaxDump = std::int64_t{32} << 20;
constexpr std::size_t kMaxTimeouts = 65'536;
constexpr std::size_t kMaxFingerprints = 1024;

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
      log_scan::LogReader::Options options;
      options.max_bytes = kMaxDump;
      auto reader = log_scan::LogReader::Open(file.path, options);
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

// Answers of NCCL's RAS service that were attached as logs, as what they say of processes and ranks
// that it does not reach. Nothing where there is no answer. That ranks of a job count differently
// says nothing: in one that runs they do at any moment.
std::optional<std::vector<std::string>> UnreachableOfRas(const host::Host& host) {
  constexpr std::int64_t kMaxAnswer = std::int64_t{16} << 20;
  std::optional<std::vector<std::string>> found;
  const auto files = host.JobLogs();
  if (!files.ok()) return found;
  for (const host::JobLog& file : *files) {
    // By the name first, so that not every log is opened for it.
    if (!absl::StrContains(absl::AsciiStrToLower(BaseName(file.name)), "ras")) continue;
    log_scan::LogReader::Options options;
    options.max_bytes = kMaxAnswer;
    auto reader = log_scan::LogReader::Open(file.path, options);
    if (!reader.ok()) continue;
    std::string text;
    while (true) {
      const auto chunk = (*reader)->Next();
      if (!chunk.ok() || chunk->empty()) break;
      text.append(chunk->data(), chunk->size());
      if (!hangs::LooksLikeRas(text)) break;
    }
    if (!hangs::LooksLikeRas(text)) continue;
    const auto report = hangs::ParseRas(text);
    if (!report.ok()) continue;
    if (!found.has_value()) found.emplace();
    for (const hangs::RasProcess& process : report->processes) {
      if (found->size() >= 32) break;
      found->push_back(CleanText(
          absl::StrCat("process ", process.pid, " on ", process.node, " (GPU ", process.gpus, ")"),
          160));
    }
    for (const hangs::RasCommunicator& communicator : report->communicators) {
      if (communicator.missing.empty() || found->size() >= 32) continue;
      std::vector<int> ranks(communicator.missing.begin(), communicator.missing.end());
      if (ranks.size() > 32) ranks.resize(32);
      found->push_back(CleanText(
          absl::StrCat("ranks ", absl::StrJoin(ranks, ","), " of communicator ", communicator.name),
          200));
    }
  }
  return found;
}

}  // namespace

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
  TraceVerdict verdict = hangs::JudgeTraces(ranks, {names.begin(), names.end()});

  // The messages of PyTorch itself: its detailed checks, and the watchdogs of the ranks.
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
          re2::StringPiece left = Piece(line.text);
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
  const auto unreachable = UnreachableOfRas(host);
  if (ranks.empty() && timeouts.empty() && !said_any && !unreachable.has_value()) {
    return absl::UnavailableError(
        "no trace of collectives: neither a dump of the flight recorder nor a word of the "
        "watchdog nor an answer of NCCL's RAS");
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
  output.findings.push_back(
      unreachable.has_value()
          ? TextFinding("ras_unreachable", node, "",
                        unreachable->empty() ? "none" : absl::StrJoin(*unreachable, "; "))
          : UnknownFinding("ras_unreachable", node, ""));
  output.message =
      verdict.reasons.empty()
          ? absl::StrCat(ranks.size(), " dumps and ", timeouts.size(),
                         " timed out collectives agree")
          : absl::StrCat(verdict.missing.empty()
                             ? ""
                             : absl::StrCat("ranks ", absl::StrJoin(verdict.missing, ","),
                                            " did not come to what others wait for; "),
                         verdict.reasons.front());
  if (unreachable.has_value()) {
    const std::string words =
        unreachable->empty()
            ? "NCCL's RAS reaches all that it knows of"
            : absl::StrCat("NCCL's RAS does not reach ", absl::StrJoin(*unreachable, "; "));
    const bool alone = ranks.empty() && timeouts.empty() && !said_any;
    output.message = alone ? words : absl::StrCat(output.message, "; ", words);
  }
  output.excerpt = absl::StrJoin(verdict.reasons, "\n");
  return output;
}

}  // namespace galen::node
