#include "services/cli/advisor/runs_file.h"

#include <google/protobuf/util/json_util.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::cli {
namespace {

using advisor::v1::ReportRunsRequest;

enum class Line { kRead, kEnd, kTooLong };

// Never keeps more than kMostBytesOfALine of a line.
Line ReadLine(std::istream& in, std::string& line) {
  line.clear();
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') return Line::kRead;
    if (line.size() == kMostBytesOfALine) return Line::kTooLong;
    line.push_back(static_cast<char>(c));
  }
  return line.empty() ? Line::kEnd : Line::kRead;
}

absl::Status At(absl::string_view file, std::int64_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
}

// The service says "runs[7]: ..." of what it refuses: the line that this was.
absl::Status OfLines(const absl::Status& status, absl::string_view file,
                     const std::vector<std::int64_t>& lines) {
  absl::string_view message = status.message();
  if (!absl::ConsumePrefix(&message, "runs[")) return status;
  const std::size_t end = message.find("]: ");
  std::size_t index = 0;
  if (end == absl::string_view::npos || !absl::SimpleAtoi(message.substr(0, end), &index) ||
      index >= lines.size()) {
    return status;
  }
  return At(file, lines[index], message.substr(end + 3));
}

}  // namespace

absl::Status ReportRunsOf(
    std::istream& in, absl::string_view file, std::int64_t first, int batch,
    absl::FunctionRef<absl::StatusOr<advisor::v1::ReportRunsResponse>(const ReportRunsRequest&)>
        call,
    ReportedRuns& reported) {
  reported = ReportedRuns();
  reported.lines = first - 1;
  ReportRunsRequest request;
  std::vector<std::int64_t> lines;  // of the runs of `request`
  std::size_t bytes = 0;
  std::int64_t number = 0;
  const auto send = [&]() -> absl::Status {
    if (request.runs_size() == 0) return absl::OkStatus();
    const auto response = call(request);
    if (!response.ok()) return OfLines(response.status(), file, lines);
    reported.runs += request.runs_size();
    ++reported.calls;
    reported.position = response->position();
    reported.lines = lines.back();
    request.Clear();
    lines.clear();
    bytes = 0;
    return absl::OkStatus();
  };
  std::string text;
  const auto report = [&]() -> absl::Status {
    for (;;) {
      const Line line = ReadLine(in, text);
      if (line == Line::kEnd) return send();
      if (++number < first && line == Line::kRead) continue;
      if (line == Line::kTooLong) return At(file, number, "is longer than 1 MiB");
      const absl::string_view json = absl::StripAsciiWhitespace(text);
      if (json.empty()) continue;
      advisor::v1::Run run;
      const auto read = google::protobuf::util::JsonStringToMessage(
          google::protobuf::StringPiece(json.data(), json.size()), &run);
      if (!read.ok()) {
        return At(file, number,
                  absl::StrCat("is not a Run of advisor.proto as JSON: ",
                               CleanText(std::string(read.message()), 200)));
      }
      const std::size_t size = run.ByteSizeLong();
      if (request.runs_size() == batch ||
          (request.runs_size() > 0 && bytes + size > kMostBytesOfACall)) {
        GALEN_RETURN_IF_ERROR(send());
      }
      *request.add_runs() = std::move(run);
      lines.push_back(number);
      bytes += size;
    }
  };
  absl::Status status = report();
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; ", reported.runs,
                                   " runs were taken: go on with --first ", reported.lines + 1));
}

}  // namespace galen::cli
