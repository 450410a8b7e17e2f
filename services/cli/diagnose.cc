#include "services/cli/diagnose.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/svg/courses_svg.h"
#include "services/cli/progress.h"
#include "services/cli/report_text.h"

namespace galen::cli {
namespace {

constexpr char kParent[] = "tenants/default";

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

// Draws the courses into the file, and reports the file or why there is none.
void Draw(const v1::Report& report, const std::string& file, Console& console) {
  const std::string svg = svg::CoursesSvg(report.courses(), report.headline());
  if (svg.empty()) {
    console.err << "galen: --svg: nothing was drawn, as no time series were read\n";
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

// How it goes on.
void TellName(const v1::Diagnosis& diagnosis, Console& console) {
  console.out << "\nIt is " << diagnosis.name();
  if (diagnosis.state() == v1::Diagnosis::AWAITING_FEEDBACK) {
    console.out << "; answer with: galen feedback " << diagnosis.name() << " ...";
  }
  console.out << '\n';
}

// One line: words, or the name of a file with an output. Nothing: the person has had enough.
std::optional<v1::SubmitFeedbackRequest> AskForAnswer(const std::string& name, Console& console) {
  console.out << "\nYour answer: words, or the name of a file (Enter to stop) " << std::flush;
  std::string answer;
  if (!std::getline(console.in, answer)) return std::nullopt;
  const std::string said(absl::StripAsciiWhitespace(answer));
  if (said.empty()) return std::nullopt;
  v1::SubmitFeedbackRequest request;
  request.set_name(name);
  std::ifstream file(said, std::ios::binary);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(said, ignored) || !file) {
    request.set_text(answer);
    return request;
  }
  v1::LogSource& log = *request.mutable_evidence()->add_logs();
  log.set_path(said);
  log.set_kind(v1::LogSource::JOB);
  log.set_content(std::string(std::istreambuf_iterator<char>(file), {}));
  return request;
}

}  // namespace

absl::StatusOr<v1::Diagnosis> FollowDiagnosis(DiagnosisApi& api, const std::string& name,
                                              std::int64_t after, bool silent, Console& console) {
  LiveProgress progress(console, silent);
  std::int64_t seen = after;
  for (;;) {
    const absl::Status watched = api.Watch(name, seen, [&](const v1::DiagnosisEvent& event) {
      seen = event.sequence();
      progress.Show(event);
    });
    progress.Clear();
    if (!watched.ok()) return watched;
    absl::StatusOr<v1::Diagnosis> diagnosis = api.Get(name);
    if (!diagnosis.ok()) return diagnosis;
    // Somebody else told it more meanwhile, or the store lost its end, which is done again.
    if (diagnosis->state() != v1::Diagnosis::PENDING &&
        diagnosis->state() != v1::Diagnosis::RUNNING) {
      return diagnosis;
    }
    seen = std::min(seen, diagnosis->last_sequence());
  }
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
  // A drawing is for another program: nothing else goes to standard output.
  const bool drawn =
      arguments.show_reasoning.has_value() && *arguments.show_reasoning != ReasoningForm::kText;
  std::int64_t seen = 0;
  for (;;) {
    diagnosis = FollowDiagnosis(api, name, seen, arguments.json || drawn, console);
    if (!diagnosis.ok()) {
      TellError(diagnosis.status(), console);
      return ExitCodeOf(diagnosis.status());
    }
    seen = diagnosis->last_sequence();
    if (arguments.json) break;
    if (diagnosis->state() == v1::Diagnosis::FAILED) {
      console.err << "galen: " << diagnosis->error().message() << std::endl;
      break;
    }
    if (drawn) break;
    console.out << '\n' << ReportText(*diagnosis, arguments.verbose, console.terminal);
    if (arguments.stored && !console.may_ask) TellName(*diagnosis, console);
    if (diagnosis->state() != v1::Diagnosis::AWAITING_FEEDBACK || !console.may_ask) break;
    const std::optional<v1::SubmitFeedbackRequest> feedback = AskForAnswer(name, console);
    if (!feedback.has_value()) break;
    if (const auto accepted = api.SubmitFeedback(*feedback); !accepted.ok()) {
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
