#include "common/llm/sse.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace galen::llm {

absl::Status SseReader::Take(absl::string_view bytes,
                             absl::FunctionRef<absl::Status(absl::string_view data)> on_data) {
  while (!bytes.empty()) {
    if (after_cr_) {
      after_cr_ = false;
      if (absl::ConsumePrefix(&bytes, "\n")) continue;
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    const absl::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() + data_.size() > most_bytes_) {
      return absl::DataLossError(
          absl::StrCat("an event of the stream is longer than ", most_bytes_, " bytes"));
    }
    line_.append(piece.data(), piece.size());
    if (end == absl::string_view::npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    GALEN_RETURN_IF_ERROR(EndLine(on_data));
  }
  return absl::OkStatus();
}

absl::Status SseReader::EndLine(absl::FunctionRef<absl::Status(absl::string_view data)> on_data) {
  absl::string_view line = line_;
  if (first_line_) absl::ConsumePrefix(&line, "\xEF\xBB\xBF");
  first_line_ = false;
  absl::Status status;
  if (line.empty()) {
    if (has_data_) {
      status = on_data(data_);
      data_.clear();
      has_data_ = false;
    }
  } else if (line == "data" || absl::ConsumePrefix(&line, "data:")) {
    if (line == "data") line = "";
    absl::ConsumePrefix(&line, " ");
    if (has_data_) data_.push_back('\n');
    data_.append(line.data(), line.size());
    has_data_ = true;
  }
  line_.clear();
  return status;
}

}  // namespace galen::llm
