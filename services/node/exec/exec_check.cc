#include "services/node/exec/exec_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/knowledge/limits.h"
#include "services/node/exec/json_lines.h"
#include "services/node/exec/output_parsers.h"
#include "services/node/exec/trials.h"
#include "services/node/exec/words.h"

namespace galen::node {
namespace {

using knowledge::v1::Check;

constexpr std::size_t kDefaultOutputBytes = std::size_t{4} << 20;
constexpr std::size_t kExcerptBytes = 4000;
constexpr std::size_t kMostCaptures = 8;  // captured runs that are read
constexpr std::size_t kMostTried = 64;
constexpr absl::string_view kHung = "hung";

// The arguments with the values of the parameters in them. An argument that is nothing but an empty
// value is left out.
absl::StatusOr<std::vector<std::string>> Argv(const Check& check, const Parameters& parameters) {
  // All at once, so that a parameter's mark within another value is not expanded.
  std::vector<std::pair<std::string, std::string>> values;
  for (const knowledge::v1::Parameter& parameter : check.parameters()) {
    values.emplace_back(absl::StrCat("{", parameter.name(), "}"),
                        parameters.Text(parameter.name()));
  }
  std::vector<std::string> argv;
  for (const std::string& pattern : check.exec().argv()) {
    std::string argument = absl::StrReplaceAll(pattern, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& [mark, value] = values[i];
      const knowledge::v1::Parameter& parameter = check.parameters(static_cast<int>(i));
      if (argv.empty() && absl::StrContains(pattern, mark)) {
        return absl::FailedPreconditionError(
            absl::StrCat(check.name(), ": a parameter must not choose the program"));
      }
      // A number may be negative.
      if (absl::StartsWith(pattern, mark) && absl::StartsWith(argument, "-") &&
          (parameter.type() == "text" || value.empty())) {
        return absl::InvalidArgumentError(
            absl::StrCat(check.name(), ": ", parameter.name(), " = \"", CleanText(value, 64),
                         "\" begins with \"-\" and would be read as an option"));
      }
    }
    if (argument.empty() && !pattern.empty()) continue;
    argv.push_back(std::move(argument));
  }
  if (argv.empty() || argv.front().empty()) {
    return absl::FailedPreconditionError(absl::StrCat(check.name(), ": declares no program"));
  }
  return argv;
}

host::ProcessLimits Limits(const Check& check, absl::Time deadline) {
  const knowledge::v1::ExecSpec& exec = check.exec();
  host::ProcessLimits limits;
  if (exec.has_time_limit()) limits.time = ToDuration(exec.time_limit());
  // The executor reports the deadline itself.
  limits.time = std::min(limits.time, deadline - SteadyNow() + absl::Seconds(1));
  limits.output = exec.output_limit_bytes() > 0
                      ? static_cast<std::size_t>(exec.output_limit_bytes())
                      : kDefaultOutputBytes;
  limits.memory = exec.memory_limit_bytes();
  limits.processes = exec.process_limit();
  return limits;
}

bool Declares(const Check& check, absl::string_view finding) {
  return std::any_of(check.findings().begin(), check.findings().end(),
                     [&](const auto& spec) { return spec.name() == finding; });
}

// The last words of a text, which is where programs say why they end.
absl::string_view Tail(absl::string_view text, std::size_t bytes) {
  return text.size() <= bytes ? text : text.substr(text.size() - bytes);
}

bool MayExitWith(const Check& check, int code) {
  const auto& codes = check.exec().exit_codes();
  if (codes.empty()) return code == 0;
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// Findings of what a program printed.
absl::StatusOr<CheckOutput> Interpret(const Check& check, const CheckContext& context,
                                      const host::CommandResult& result) {
  if (result.truncated) {
    return absl::ResourceExhaustedError(absl::StrCat(check.name(), ": \"", check.exec().argv(0),
                                                     "\" printed more than it may; ",
                                                     "raise `output_kib` if that is right"));
  }
  const OutputParser parser = FindOutputParser(check.exec().output());
  if (parser == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(check.name(), ": there is no parser \"",
                                                      check.exec().output(), "\"; known are ",
                                                      absl::StrJoin(OutputParserNames(), ", ")));
  }
  if (!MayExitWith(check, result.exit_code)) {
    return absl::AbortedError(absl::StrCat(check.name(), ": \"", check.exec().argv(0),
                                           "\" ended with exit code ", result.exit_code, ": ",
                                           LastWords(result)));
  }
  GALEN_ASSIGN_OR_RETURN(CheckOutput output,
                         parser({.check = check, .context = context, .result = result}));
  output.excerpt = std::string(Tail(result.out.empty() ? result.err : result.out, kExcerptBytes));
  if (Declares(check, kHung)) {
    output.findings.push_back(BoolFinding(kHung, context.host.name(), "", false));
  }
  return output;
}

absl::StatusOr<CheckOutput> Hung(const CheckContext& context, const absl::Status& error) {
  CheckOutput output;
  output.findings.push_back(BoolFinding(kHung, context.host.name(), "", true));
  output.message = std::string(error.message());
  return output;
}

// Reads a run that somebody else started, perhaps with another output format, or that failed: if it
// holds no result, the findings are unknown, and the check itself has not failed.
absl::StatusOr<CheckOutput> InterpretCaptured(const Check& check, const CheckContext& context,
                                              const host::CommandResult& result) {
  absl::StatusOr<CheckOutput> output = Interpret(check, context, result);
  if (output.ok() || absl::IsFailedPrecondition(output.status())) return output;
  return absl::UnavailableError(
      absl::StrCat("the captured run holds no result: ", output.status().message()));
}

// A captured run with a result.
struct CapturedRun {
  std::vector<std::string> argv;
  CheckOutput output;
};

// The findings of a run on one device.
struct Told {
  int abnormal = 0;
  int known = 0;
  std::vector<const galen::v1::Finding*> findings;
};

std::map<std::string, Told> ByDevice(const Check& check, const CheckOutput& output) {
  galen::v1::CheckResult judged;
  for (const galen::v1::Finding& finding : output.findings) *judged.add_findings() = finding;
  knowledge::ApplyLimits(check, judged);
  std::map<std::string, Told> devices;
  for (int i = 0; i < judged.findings_size(); ++i) {
    const galen::v1::Finding& finding = judged.findings(i);
    Told& told = devices[finding.subject().device()];
    told.abnormal += finding.abnormal() ? 1 : 0;
    told.known += finding.value_case() != galen::v1::Finding::VALUE_NOT_SET ? 1 : 0;
    told.findings.push_back(&output.findings[static_cast<std::size_t>(i)]);
  }
  return devices;
}

// The findings of all runs. If several runs report on one device, the run with the most abnormal
// findings counts, because a short test misses faults that a long one finds; else the first.
CheckOutput Join(const Check& check, std::vector<CapturedRun> runs,
                 const std::vector<std::string>& asked) {
  if (runs.size() == 1 && runs.front().argv == asked) return std::move(runs.front().output);
  std::map<std::string, std::vector<Told>> devices;
  std::size_t shown = 0;
  int most = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    int abnormal = 0;
    for (auto& [device, told] : ByDevice(check, runs[i].output)) {
      abnormal += told.abnormal;
      devices[device].push_back(std::move(told));
    }
    if (abnormal > most) shown = i;
    most = std::max(most, abnormal);
  }
  CheckOutput joined;
  for (auto& [device, all] : devices) {
    std::stable_sort(all.begin(), all.end(), [](const Told& a, const Told& b) {
      return std::pair(a.abnormal, a.known) > std::pair(b.abnormal, b.known);
    });
    std::set<absl::string_view> names;
    for (const Told& told : all) {
      std::set<absl::string_view> here;
      for (const galen::v1::Finding* const finding : told.findings) {
        if (names.contains(finding->name())) continue;
        here.insert(finding->name());
        joined.findings.push_back(*finding);
      }
      names.merge(here);
    }
  }
  std::vector<std::string> messages;
  for (const CapturedRun& run : runs) {
    std::string message = run.output.message;
    absl::StrAppend(&message, message.empty() ? "" : " ",
                    "(captured: ", CleanText(absl::StrJoin(run.argv, " "), 160), ")");
    messages.push_back(std::move(message));
  }
  joined.message = absl::StrJoin(messages, "; ");
  joined.excerpt = std::move(runs[shown].output.excerpt);
  return joined;
}

// Reads the captured runs of the program: that of the same argv, and others that begin alike.
absl::StatusOr<CheckOutput> ReadCapture(const Check& check, const CheckContext& context,
                                        const std::vector<std::string>& argv) {
  // The program and its subcommands; options may come in any order.
  std::vector<std::string> prefix = {argv.front()};
  for (std::size_t i = 1; i < argv.size() && !absl::StartsWith(argv[i], "-"); ++i) {
    if (absl::StrContains(check.exec().argv(static_cast<int>(i)), '{')) break;
    prefix.push_back(argv[i]);
  }
  std::vector<std::vector<std::string>> captured = {argv};
  for (std::vector<std::string>& other : context.host.Captured(prefix)) {
    if (other != argv && captured.size() < kMostTried) captured.push_back(std::move(other));
  }
  std::vector<CapturedRun> runs;
  absl::Status why;
  for (const std::vector<std::string>& each : captured) {
    if (runs.size() == kMostCaptures) break;
    const absl::StatusOr<host::CommandResult> result = context.host.Run(each);
    const bool hung = absl::IsDeadlineExceeded(result.status()) && Declares(check, kHung);
    absl::StatusOr<CheckOutput> output = result.ok() ? InterpretCaptured(check, context, *result)
                                         : hung      ? Hung(context, result.status())
                                                     : result.status();
    if (output.ok()) {
      runs.push_back({.argv = each, .output = *std::move(output)});
    } else if (why.ok() || absl::IsUnavailable(why)) {
      why = output.status();
    }
  }
  if (runs.empty()) return why;
  return Join(check, std::move(runs), argv);
}

// The result of a run that failed, with the results of the trials added. An error stays an error
// unless a trial has passed.
absl::StatusOr<CheckOutput> WithTrials(const Check& check, const CheckContext& context,
                                       const std::vector<std::string>& argv,
                                       absl::StatusOr<CheckOutput> failed,
                                       absl::string_view printed) {
  const std::vector<Trial> trials = TrialsOf(check);
  if (trials.empty()) return failed;
  int runs = 0;
  const auto run = [&](const std::vector<std::string>& settings) {
    const host::ProcessLimits limits = Limits(check, context.deadline);
    // A run cut short by the deadline of the check is not a hang.
    if (context.cancelled.cancelled() || SteadyNow() + limits.time > context.deadline) {
      return TrialEnd::kNotRun;
    }
    if (context.progress) {
      // One run for each trial, and one more under the first conditions.
      context.progress(static_cast<double>(++runs) / static_cast<double>(trials.size() + 2),
                       absl::StrCat("it failed; again, ",
                                    settings.empty() ? "as before" : absl::StrJoin(settings, " ")));
    }
    std::vector<std::string> with = argv;
    if (!settings.empty()) {
      with.insert(with.begin(), settings.begin(), settings.end());
      with.insert(with.begin(), "env");
    }
    const auto result = context.host.RunWithin(with, limits, context.cancelled, nullptr);
    if (absl::IsCancelled(result.status())) return TrialEnd::kNotRun;
    return result.ok() && result->exit_code == 0 && Interpret(check, context, *result).ok()
               ? TrialEnd::kPassed
               : TrialEnd::kFailed;
  };
  CheckOutput tried = RunTrials(trials, context.host.name(), run);
  if (context.cancelled.cancelled()) return absl::CancelledError("cancelled");
  if (failed.ok()) {
    failed->findings.insert(failed->findings.end(), tried.findings.begin(), tried.findings.end());
    absl::StrAppend(&failed->message, failed->message.empty() ? "" : "; ", tried.message);
    return failed;
  }
  const bool tells =
      std::any_of(tried.findings.begin(), tried.findings.end(),
                  [](const galen::v1::Finding& finding) { return finding.bool_value(); });
  const std::string message = absl::StrCat(failed.status().message(), "; ", tried.message);
  if (!tells) return absl::Status(failed.status().code(), message);
  tried.message = message;
  tried.excerpt = std::string(Tail(printed, kExcerptBytes));
  return tried;
}

}  // namespace

absl::StatusOr<CheckOutput> RunExecCheck(const Check& check, const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> argv, Argv(check, context.parameters));
  if (!context.host.live()) return ReadCapture(check, context, argv);
  host::OutputSink sink;
  if (context.progress && check.exec().output() == "json_lines") {
    auto progress = std::make_shared<JsonLinesProgress>(context.progress);
    sink = [progress](absl::string_view piece) { progress->Take(piece); };
  }
  const absl::StatusOr<host::CommandResult> result =
      context.host.RunWithin(argv, Limits(check, context.deadline), context.cancelled, sink);
  if (absl::IsDeadlineExceeded(result.status()) && Declares(check, kHung)) {
    return WithTrials(check, context, argv, Hung(context, result.status()), "");
  }
  if (!result.ok()) return result.status();
  absl::StatusOr<CheckOutput> output = Interpret(check, context, *result);
  // A program that does not apply here has not failed.
  if (result->exit_code == 0 || absl::IsFailedPrecondition(output.status())) return output;
  return WithTrials(check, context, argv, std::move(output),
                    result->err.empty() ? result->out : result->err);
}

}  // namespace galen::node
