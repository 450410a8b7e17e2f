#include "common/log_analysis/triage/process_end.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/base/re2_piece.h"
#include "common/log_analysis/scan/line_facts.h"
#include "re2/re2.h"

namespace galen::triage {
namespace {

// Splits an exit code of a shell or a launcher into code and signal.
void SetCode(int code, ExitReport* report) {
  if (code < 0 && code > -65) {
    report->signal = -code;
  } else if (code > 128 && code < 128 + 65) {
    report->exit_code = code;
    report->signal = code - 128;
  } else {
    report->exit_code = code;
    report->signal = 0;
  }
}

}  // namespace

std::optional<ExitReport> FindExit(absl::string_view line) {
  // torchrun's summary, srun, mpirun, the launcher of torch.distributed, bash.
  static const RE2 elastic(R"(exitcode\s*: (-?\d{1,4}) \(pid: \d+\))");
  static const RE2 elastic_line(R"(failed \(exitcode: (-?\d{1,4})\) local_rank: (\d{1,6}))");
  static const RE2 srun(R"(task (\d{1,7}): Exited with exit code (\d{1,3}))");
  static const RE2 srun_signal(
      R"(task (\d{1,7}): (Killed|Segmentation fault|Aborted|Bus error|Terminated|Floating point exception))");
  static const RE2 mpirun(
      R"(process rank (\d{1,7}) with PID \d+ on node \S+ exited on signal (\d{1,2}))");
  static const RE2 elastic_signal(R"(Signal (\d{1,2}) \(SIG[A-Z]+\) received by PID)");
  static const RE2 plain(
      R"((?:exited with (?:exit )?(?:code|status)|exit code:?|Exit Code:?) (-?\d{1,3})\b)");
  static const RE2 shell(
      R"(^(?:\S+: line \d+: +)?(?:\d+ )?(Killed|Segmentation fault|Aborted|Bus error)(?: \(core dumped\))?(?:\s|$))");
  const auto number = [](absl::string_view name) {
    if (name == "Killed") return 9;
    if (name == "Segmentation fault") return 11;
    if (name == "Aborted") return 6;
    if (name == "Bus error") return 7;
    if (name == "Terminated") return 15;
    return 8;
  };
  ExitReport report;
  int a = 0;
  int b = 0;
  std::string word;
  if (RE2::PartialMatch(Piece(line), elastic_line, &a, &b)) {
    report.rank = b;
    SetCode(a, &report);
  } else if (RE2::PartialMatch(Piece(line), elastic, &a)) {
    SetCode(a, &report);
  } else if (RE2::PartialMatch(Piece(line), srun, &a, &b)) {
    report.rank = a;
    SetCode(b, &report);
  } else if (RE2::PartialMatch(Piece(line), srun_signal, &a, &word)) {
    report.rank = a;
    report.signal = number(word);
  } else if (RE2::PartialMatch(Piece(line), mpirun, &a, &b)) {
    report.rank = a;
    report.signal = b;
  } else if (RE2::PartialMatch(Piece(line), elastic_signal, &a)) {
    report.signal = a;
  } else if (RE2::PartialMatch(Piece(line), plain, &a)) {
    SetCode(a, &report);
  } else if (RE2::PartialMatch(Piece(line), shell, &word)) {
    report.signal = number(word);
  } else {
    return std::nullopt;
  }
  return report;
}

std::optional<WatchdogTimeout> FindWatchdogTimeout(absl::string_view line) {
  static const RE2 form(
      R"(WorkNCCL\(SeqNum=(\d{1,12}), OpType=(\w+)(?:, NumelIn=(\d{1,15}))?.*?Timeout\(ms\)=(\d{1,12})\) ran for (\d{1,12}) milliseconds)");
  if (!absl::StrContains(line, "WorkNCCL(")) return std::nullopt;
  WatchdogTimeout timeout;
  std::string numel;
  if (!RE2::PartialMatch(Piece(line), form, &timeout.sequence, &timeout.op, &numel,
                         &timeout.timeout_ms, &timeout.ran_ms)) {
    return std::nullopt;
  }
  if (!numel.empty() && !absl::SimpleAtoi(numel, &timeout.numel_in)) timeout.numel_in = -1;
  static const RE2 group(R"(\[PG (?:ID )?(\w+))");
  RE2::PartialMatch(Piece(line), group, &timeout.group);
  timeout.rank = log_scan::FindRank(line);
  return timeout;
}

std::vector<std::string> ProcessEndExpressions() {
  return {R"(exitcode)",
          R"(: Exited with exit code )",
          R"(exited on signal)",
          R"(received by PID)",
          R"(exited with (?:exit )?(?:code|status))",
          R"((?i)exit code)",
          R"(Killed|Segmentation fault|Aborted|Bus error|Terminated|Floating point exception)",
          R"(WorkNCCL\()"};
}

}  // namespace galen::triage
