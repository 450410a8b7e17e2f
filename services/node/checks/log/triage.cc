#include "services/node/checks/log/triage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/logs/line_facts.h"
#include "common/logs/timestamp.h"
#include "re2/re2.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

re2::StringPiece Piece(absl::string_view text) { return {text.data(), text.size()}; }

// An exit code as a shell or a launcher gives it, made into code and signal.
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

v1::LogEvent EventOf(const Triage::Failure& failure, absl::string_view code, std::int64_t count) {
  v1::LogEvent event;
  event.set_code(std::string(code));
  event.set_text(CleanText(failure.text, 512));
  event.set_count(std::max<std::int64_t>(1, count));
  if (failure.time.has_value()) {
    event.mutable_time()->set_seconds(absl::ToUnixSeconds(*failure.time));
  }
  return event;
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
  timeout.rank = logs::FindRank(line);
  return timeout;
}

Triage::Triage(std::vector<CheckData::Pattern> patterns, absl::Time near)
    : patterns_(std::move(patterns)), near_(near) {
  std::vector<std::string> texts;
  for (const CheckData::Pattern& pattern : patterns_) texts.push_back(pattern.text);
  set_ = PatternSet::Of(texts);
}

bool Triage::Earlier(const Failure& a, const Failure& b) const {
  if (a.time.has_value() && b.time.has_value() && *a.time != *b.time) return *a.time < *b.time;
  return false;  // what came first stays
}

void Triage::NoteExit(const LogLine& line) {
  auto exit = FindExit(line.text);
  if (!exit.has_value()) return;
  if (!exit->rank.has_value()) exit->rank = logs::FindRank(line.text);
  if (!exit->rank.has_value()) exit->rank = line.log->rank;
  if (exits_.size() < kMaxRanks) exits_.emplace(exit->rank.value_or(-1), *exit);
}

void Triage::Add(const LogLine& line) {
  if (line.log != log_) {
    log_ = line.log;
    clock_.reset();
    loading_ = false;
  }
  const absl::string_view dated = line.dated.empty() ? line.text : line.dated;
  if (const auto stamp = logs::FindTimeStamp(dated); stamp.has_value()) {
    logs::TimeContext context;
    if (near_ != absl::InfinitePast() && near_ != absl::InfiniteFuture()) context.near = near_;
    if (const auto time = logs::Resolve(*stamp, context)) clock_ = time;
  }
  if (absl::StrContains(line.text, "Traceback (most recent call last)")) loading_ = false;
  loading_ = loading_ || absl::StrContains(line.text, "load_state_dict") ||
             absl::StrContains(line.text, "torch.load(") ||
             absl::StrContains(line.text, "load_checkpoint");
  NoteExit(line);
  if (const auto timeout = FindWatchdogTimeout(line.text); timeout.has_value()) {
    const bool barrier =
        timeout->op == "BARRIER" || (timeout->op == "ALLREDUCE" && timeout->numel_in == 1);
    const bool equal = timeout->ran_ms >= timeout->timeout_ms &&
                       timeout->ran_ms - timeout->timeout_ms <= timeout->timeout_ms / 50 + 2000;
    timeout_equals_ = timeout_equals_.value_or(false) || (barrier && equal);
  }
  const int index = set_->First(line.text);
  if (index < 0) return;
  std::string signature = patterns_[static_cast<std::size_t>(index)].name;
  if (absl::StartsWith(signature, "none:")) return;
  if (signature == "cuda_oom" && loading_) signature = "cuda_oom_in_load";
  ++count_;
  Failure failure;
  failure.rank = logs::FindRank(line.text);
  if (!failure.rank.has_value()) failure.rank = line.log->rank;
  const auto known = failure.rank.has_value() ? by_rank_.find(*failure.rank) : by_rank_.end();
  // Nothing to learn: this rank failed earlier, and so did another.
  if (first_.has_value() && known != by_rank_.end() && !clock_.has_value()) return;
  failure.signature = std::move(signature);
  failure.text = CleanText(absl::StripAsciiWhitespace(line.text).substr(0, 512), 512);
  failure.log = line.log->name;
  failure.node = line.log->node;
  failure.line = line.number;
  failure.time = clock_;
  if (failure.rank.has_value() && by_rank_.size() < kMaxRanks &&
      (known == by_rank_.end() || Earlier(failure, known->second))) {
    by_rank_[*failure.rank] = failure;
  }
  if (!first_.has_value() || Earlier(failure, *first_)) first_ = std::move(failure);
}

namespace {

// What a line holds that Triage::Add() makes something of.
std::vector<std::string> WantedByTriage(const knowledge::Knowledge& knowledge) {
  std::vector<std::string> wanted = {
      // FindExit()
      R"(exitcode)", R"(: Exited with exit code )", R"(exited on signal)", R"(received by PID)",
      R"(exited with (?:exit )?(?:code|status))", R"((?i)exit code)",
      R"(Killed|Segmentation fault|Aborted|Bus error|Terminated|Floating point exception)",
      // FindWatchdogTimeout(), and what a traceback goes through
      R"(WorkNCCL\()", R"(Traceback \(most recent call last\))", R"(load_state_dict)",
      R"(torch\.load\()", R"(load_checkpoint)"};
  for (const CheckData::Pattern& pattern : PatternsOf(knowledge, "log.triage")) {
    if (!absl::StartsWith(pattern.name, "none:")) wanted.push_back(pattern.text);
  }
  return wanted;
}

class TriageFold final : public LogFold {
 public:
  explicit TriageFold(const FoldBasis& basis)
      : triage_(PatternsOf(basis.knowledge, "log.triage"), basis.window_end) {}
  void Add(const LogLine& line) override {
    // Kernel logs and such have checks of their own.
    if (line.log->kind != "system") triage_.Add(line);
  }
  const Triage& triage() const { return triage_; }

 private:
  Triage triage_;
};

}  // namespace

const LogWant kTriageWant = {.name = "failures",
                             .expressions = WantedByTriage,
                             .fold = [](const FoldBasis& basis) -> std::unique_ptr<LogFold> {
                               return std::make_unique<TriageFold>(basis);
                             },
                             .dated = true};

absl::StatusOr<CheckOutput> CheckTriage(const CheckContext& context) {
  const host::Host& host = context.host;
  GALEN_RETURN_IF_ERROR(CheckData::Of(context.knowledge, "log.triage").status());
  GALEN_ASSIGN_OR_RETURN(const FoldedLogs folded, FoldLogs(context, kTriageWant));
  const std::shared_ptr<const TriageFold> fold = FoldAs<TriageFold>(folded);
  const Triage& triage = fold->triage();
  CheckOutput output;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  const auto& first = triage.first();
  const std::string node = first.has_value() && !first->node.empty() ? first->node : host.name();
  const std::string device =
      first.has_value() && first->rank.has_value() ? absl::StrCat("rank:", *first->rank) : "";
  if (first.has_value()) {
    add(first->rank.has_value() ? IntFinding("first_failing_rank", node, device, *first->rank)
                                : UnknownFinding("first_failing_rank", node, ""));
    add(EventFinding("first_error", node, device,
                     EventOf(*first, absl::StrCat(first->log, ":", first->line), triage.count())));
    add(EventFinding("signature", node, device, EventOf(*first, first->signature, triage.count())));
  } else {
    add(UnknownFinding("first_failing_rank", node, ""));
    add(EventFinding("first_error", node, "", v1::LogEvent()));
    add(EventFinding("signature", node, "", v1::LogEvent()));
  }
  std::size_t shown = 0;
  for (const auto& [rank, exit] : triage.exits()) {
    if (++shown > 64) break;
    const std::string subject = rank >= 0 ? absl::StrCat("rank:", rank) : std::string();
    if (exit.exit_code.has_value()) add(IntFinding("exit_code", node, subject, *exit.exit_code));
    add(exit.signal.has_value() ? IntFinding("signal", node, subject, *exit.signal)
                                : UnknownFinding("signal", node, subject));
  }
  if (triage.exits().empty()) {
    add(UnknownFinding("exit_code", node, ""));
    add(UnknownFinding("signal", node, ""));
  }
  const auto equal = triage.timeout_equals_configured();
  add(equal.has_value() ? BoolFinding("timeout_equals_configured", node, "", *equal)
                        : UnknownFinding("timeout_equals_configured", node, ""));
  if (first.has_value()) {
    output.message =
        absl::StrCat("first failure: ", first->signature,
                     first->rank.has_value() ? absl::StrCat(" on rank ", *first->rank) : "", " at ",
                     first->log, ":", first->line, ": ", first->text);
    output.excerpt = first->text;
    for (const auto& [rank, failure] : triage.by_rank()) {
      if (output.excerpt.size() > 3000) break;
      absl::StrAppend(&output.excerpt, "\nrank ", rank, " ", failure.log, ":", failure.line, " ",
                      failure.signature, ": ", failure.text.substr(0, 160));
    }
  } else {
    output.message = absl::StrCat("no failure in ", folded.lines, " lines of the job's logs");
  }
  return output;
}

}  // namespace galen::node
