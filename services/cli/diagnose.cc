#include "services/cli/diagnose.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/plot/courses_svg.h"
#include "services/cli/progress.h"
#include "services/cli/report_text.h"

namespace galen::cli {
namespace {

constexpr std::uintmax_t kInlineLogBytes = 2 << 20;
constexpr char kParent[] = "tenants/default";

absl::StatusOr<v1::LogSource> MakeLog(const std::string& path, bool inline_content) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return absl::NotFoundError(absl::StrCat("--log ", path, ": no such file"));
  }
  if (!std::filesystem::is_regular_file(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log ", path, ": not a regular file; save the log to a file first"));
  }
  v1::LogSource log;
  log.set_kind(v1::LogSource::JOB);
  if (!inline_content) {
    log.set_path(std::filesystem::absolute(path).lexically_normal().string());
    return log;
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kInlineLogBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--log ", path, ": ", size,
        " bytes; at most 2 MiB travel to a server. Cut out the part "
        "around the failure, or put the log into a bundle below the server's --bundle_root"));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) return absl::PermissionDeniedError(absl::StrCat("--log ", path, ": cannot be read"));
  log.set_path(std::filesystem::path(path).filename().string());
  log.set_content(content.str());
  return log;
}

void TellError(const absl::Status& status, Console& console) {
  console.err << "galen: " << std::string(status.message()) << std::endl;
}

// Prints events, keeping one line at the bottom that says what is going on.
class LiveProgress {
 public:
  LiveProgress(Console& console, bool silent)
      : console_(console), silent_(silent), progress_(console.terminal) {}
  void Show(const v1::DiagnosisEvent& event) {
    const std::vector<std::string> lines = progress_.Tell(event);
    if (silent_) return;
    Clear();
    for (const std::string& line : lines) console_.out << line << '\n';
    if (console_.terminal.interactive && !progress_.Status().empty()) {
      console_.out << Paint(console_.terminal, Colour::kDim,
                            Shorten(absl::StrCat("… ", progress_.Status()),
                                    static_cast<std::size_t>(console_.terminal.width) - 1));
      pending_ = true;
    }
    console_.out.flush();
  }
  void Clear() {
    if (pending_) console_.out << "\r\x1b[2K";
    pending_ = false;
  }

 private:
  Console& console_;
  const bool silent_;
  Progress progress_;
  bool pending_ = false;
};

absl::Status ReadTime(absl::string_view flag, absl::string_view text,
                      google::protobuf::Timestamp& out) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " \"", text, "\": is no time as 2026-03-04T05:06:07Z"));
  }
  out.set_seconds(absl::ToUnixSeconds(time));
  return absl::OkStatus();
}

// The times that a call names.
absl::Status AddTimes(const DiagnoseArguments& arguments, v1::Incident& incident) {
  if (!arguments.start.empty()) {
    GALEN_RETURN_IF_ERROR(ReadTime("--start", arguments.start, *incident.mutable_start_time()));
  }
  if (!arguments.end.empty()) {
    GALEN_RETURN_IF_ERROR(ReadTime("--end", arguments.end, *incident.mutable_end_time()));
  }
  if (arguments.baseline.empty()) return absl::OkStatus();
  const std::vector<std::string> ends = absl::StrSplit(arguments.baseline, ',');
  if (ends.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("--baseline \"", arguments.baseline, "\": is not START,END"));
  }
  v1::Baseline& baseline = *incident.mutable_baseline();
  GALEN_RETURN_IF_ERROR(ReadTime("--baseline", ends[0], *baseline.mutable_start_time()));
  return ReadTime("--baseline", ends[1], *baseline.mutable_end_time());
}

// Where it was drawn to, or why not.
void Draw(const v1::Report& report, const std::string& file, Console& console) {
  const std::string svg = plot::CoursesSvg(report.courses(), report.headline());
  if (svg.empty()) {
    console.err << "galen: --svg: nothing was drawn, as no numbers over time were read\n";
    return;
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << svg << std::flush;
  if (!out) {
    console.err << "galen: --svg " << file << ": cannot be written\n";
  } else {
    console.err << "Drawn: " << file << '\n';
  }
}

}  // namespace

absl::StatusOr<v1::Incident> MakeIncident(const DiagnoseArguments& arguments,
                                          const v1::Incident* from_bundle) {
  v1::Incident incident;
  if (from_bundle != nullptr) incident = *from_bundle;
  std::vector<std::string> logs = arguments.logs;
  std::string description;
  for (const std::string& word : arguments.words) {
    std::error_code error;
    if (std::filesystem::is_regular_file(word, error)) {
      logs.push_back(word);
    } else if (description.empty()) {
      description = word;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\" is not a file, and the description is \"", description,
                       "\" already: put the whole description into one pair of quotes, or correct "
                       "the file's name"));
    }
  }
  if (!description.empty()) incident.set_description(description);
  if (!arguments.nodes.empty()) {
    incident.clear_nodes();
    for (const std::string& node : arguments.nodes) incident.add_nodes(node);
  }
  GALEN_RETURN_IF_ERROR(AddTimes(arguments, incident));
  for (const std::string& path : logs) {
    absl::StatusOr<v1::LogSource> log = MakeLog(path, !arguments.server.empty());
    if (!log.ok()) return log.status();
    *incident.add_logs() = *std::move(log);
  }
  if (absl::StripAsciiWhitespace(incident.description()).empty() && incident.logs().empty()) {
    return absl::InvalidArgumentError(
        "nothing to diagnose: describe the incident in a sentence, or give --log or --bundle");
  }
  return incident;
}

ExitCode Diagnose(DiagnosisApi& api, const v1::Incident& incident,
                  const DiagnoseArguments& arguments, Console& console) {
  v1::CreateDiagnosisRequest request;
  request.set_parent(kParent);
  request.set_request_id(arguments.request_id);
  *request.mutable_diagnosis()->mutable_incident() = incident;
  request.mutable_diagnosis()->set_strategy(arguments.strategy);
  absl::StatusOr<v1::Diagnosis> diagnosis = api.Create(request);
  if (!diagnosis.ok()) {
    TellError(diagnosis.status(), console);
    return ExitCodeOf(diagnosis.status());
  }
  const std::string name = diagnosis->name();
  std::int64_t seen = 0;
  // A drawing is for another program: nothing else goes to standard output.
  const bool drawn =
      arguments.show_reasoning.has_value() && *arguments.show_reasoning != ReasoningForm::kText;
  LiveProgress progress(console, arguments.json || drawn);
  for (;;) {
    const absl::Status watched = api.Watch(name, seen, [&](const v1::DiagnosisEvent& event) {
      seen = event.sequence();
      progress.Show(event);
    });
    progress.Clear();
    if (watched.ok()) diagnosis = api.Get(name);
    const absl::Status status = watched.ok() ? diagnosis.status() : watched;
    if (!status.ok()) {
      TellError(status, console);
      return ExitCodeOf(status);
    }
    // Somebody else told it more meanwhile, or the store lost its end, which is done again.
    if (diagnosis->state() == v1::Diagnosis::PENDING ||
        diagnosis->state() == v1::Diagnosis::RUNNING) {
      seen = std::min(seen, diagnosis->last_sequence());
      continue;
    }
    if (arguments.json) break;
    if (diagnosis->state() == v1::Diagnosis::FAILED) {
      console.err << "galen: " << diagnosis->error().message() << std::endl;
      break;
    }
    if (drawn) break;
    console.out << '\n' << ReportText(diagnosis->report(), console.terminal);
    if (diagnosis->state() != v1::Diagnosis::AWAITING_FEEDBACK || !console.may_ask) break;
    console.out << "\nWhat else do you know? (Enter to stop) " << std::flush;
    std::string answer;
    if (!std::getline(console.in, answer) || absl::StripAsciiWhitespace(answer).empty()) break;
    v1::SubmitFeedbackRequest feedback;
    feedback.set_name(name);
    feedback.set_text(answer);
    if (const auto accepted = api.SubmitFeedback(feedback); !accepted.ok()) {
      TellError(accepted.status(), console);
      return ExitCodeOf(accepted.status());
    }
  }
  if (arguments.show_reasoning.has_value() && !arguments.json) {
    if (!drawn) console.out << "\nReasoning\n";
    console.out << ReasoningText({diagnosis->reasoning().begin(), diagnosis->reasoning().end()},
                                 *arguments.show_reasoning, console.terminal)
                << std::flush;
  }
  if (!arguments.svg.empty()) Draw(diagnosis->report(), arguments.svg, console);
  if (arguments.json) {
    google::protobuf::util::JsonPrintOptions options;
    options.add_whitespace = true;
    std::string json;
    const auto status = google::protobuf::util::MessageToJsonString(*diagnosis, &json, options);
    if (!status.ok()) {
      console.err << "galen: " << name << ": " << status.ToString() << std::endl;
      return kBroken;
    }
    console.out << json << std::flush;
  }
  return ExitCodeOf(*diagnosis);
}

}  // namespace galen::cli
