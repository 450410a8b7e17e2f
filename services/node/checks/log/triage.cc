#include "services/node/checks/log/triage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/log_analysis/triage/first_failures.h"
#include "common/log_analysis/triage/signatures.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/patterns.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

using triage::FirstFailures;

v1::LogEvent EventOf(const FirstFailures::Failure& failure, absl::string_view code,
                     std::int64_t count) {
  v1::LogEvent event;
  event.set_code(std::string(code));
  event.set_text(CleanText(failure.text, 512));
  event.set_count(std::max<std::int64_t>(1, count));
  if (failure.time.has_value()) {
    event.mutable_time()->set_seconds(absl::ToUnixSeconds(*failure.time));
  }
  return event;
}

// The expressions of the lines that FirstFailures::Add() uses.
std::vector<std::string> WantedByTriage(const knowledge::Knowledge& knowledge) {
  std::vector<std::string> wanted = triage::FirstFailureExpressions();
  for (const CheckData::Pattern& pattern : PatternsOf(knowledge, "log.triage")) {
    if (triage::ParseSignatureName(pattern.name).kind != triage::SignatureName::Kind::kHarmless) {
      wanted.push_back(pattern.text);
    }
  }
  return wanted;
}

class TriageFold final : public LogFold {
 public:
  explicit TriageFold(const FoldBasis& basis)
      : failures_(MakeFailures(PatternsOf(basis.knowledge, "log.triage"), basis.window_end)) {}
  void Add(const LogLine& line) override {
    // Kernel logs and such have checks of their own.
    if (line.log->kind == "system") return;
    triage::JobLine job_line;
    job_line.log_id = reinterpret_cast<std::uintptr_t>(line.log);
    job_line.log = line.log->name;
    job_line.node = line.log->node;
    job_line.rank = line.log->rank;
    job_line.number = line.number;
    job_line.text = line.text;
    job_line.dated = line.dated;
    failures_.Add(job_line);
  }
  const FirstFailures& failures() const { return failures_; }

 private:
  static FirstFailures MakeFailures(const std::vector<CheckData::Pattern>& patterns,
                                    absl::Time near) {
    std::vector<std::string> names;
    names.reserve(patterns.size());
    for (const CheckData::Pattern& pattern : patterns) names.push_back(pattern.name);
    return FirstFailures(
        std::move(names),
        [set = PatternSet::Of(TextsOf(patterns))](absl::string_view line) {
          return set->First(line);
        },
        near);
  }

  FirstFailures failures_;
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
  const FirstFailures& triage = fold->failures();
  CheckOutput output;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  const auto& first = triage.first();
  // A node reports only its own failure; a failure that another node logged is reported for the
  // job.
  const bool own = !first.has_value() || IsNodeOf(first->node, host.name());
  const std::string node = own ? host.name() : std::string();
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
