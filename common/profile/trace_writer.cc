#include "common/profile/trace_writer.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace galen::profile {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::size_t kQuotedBytes = 512;

// Nanoseconds as the format's microseconds.
void AppendMicroseconds(std::int64_t nanoseconds, std::string& out) {
  const bool before = nanoseconds < 0;
  const auto size = before ? std::uint64_t{0} - static_cast<std::uint64_t>(nanoseconds)
                           : static_cast<std::uint64_t>(nanoseconds);
  absl::StrAppend(&out, before ? "-" : "", size / 1000, ".",
                  absl::Dec(size % 1000, absl::kZeroPad3));
}

}  // namespace

std::string QuotedJson(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, kQuotedBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

void TraceWriter::Begin(absl::string_view category, absl::string_view name, std::int64_t begin,
                        std::int64_t end) {
  std::int64_t length = 0;
  if (__builtin_sub_overflow(end, begin, &length)) length = -1;
  absl::StrAppend(&out_, ",{\"ph\":\"X\",\"cat\":\"", category, "\",\"name\":", QuotedJson(name),
                  ",\"ts\":");
  AppendMicroseconds(begin, out_);
  absl::StrAppend(&out_, ",\"dur\":");
  AppendMicroseconds(length, out_);
}

void TraceWriter::Operation(absl::string_view category, absl::string_view name,
                            absl::string_view device, absl::string_view stream, std::int64_t begin,
                            std::int64_t end) {
  Begin(category, name, begin, end);
  absl::StrAppend(&out_, ",\"args\":{\"device\":", QuotedJson(device),
                  ",\"stream\":", QuotedJson(stream), "}}");
}

void TraceWriter::Host(std::int64_t begin, std::int64_t end) {
  Begin("cuda_runtime", "", begin, end);
  out_ += '}';
}

void TraceWriter::Step(absl::string_view name, absl::string_view device, std::int64_t begin,
                       std::int64_t end) {
  Begin("step_mark", name, begin, end);
  absl::StrAppend(&out_, ",\"args\":{\"device\":", QuotedJson(device), "}}");
}

class TraceWriterSource {
 public:
  explicit TraceWriterSource(WriteMore more) : more_(std::move(more)) {
    writer_.out_ = "{\"traceEvents\":[{}";
  }

  absl::string_view Next() {
    while (!over_ && writer_.out_.size() < kPieceBytes) {
      const absl::StatusOr<bool> more = more_(writer_);
      if (more.ok() && *more) continue;
      if (!more.ok()) {
        writer_.Remark(absl::StrCat(more.status().message(), ": the trace is read up to there"));
      }
      over_ = true;
      End();
    }
    piece_.clear();
    piece_.swap(writer_.out_);
    return piece_;
  }

 private:
  static std::string List(const std::vector<std::string>& texts, absl::string_view before,
                          absl::string_view after) {
    return absl::StrJoin(texts, ",", [&](std::string* out, const std::string& text) {
      absl::StrAppend(out, before, QuotedJson(text), after);
    });
  }

  void End() {
    if (writer_.damaged_ > 0) {
      writer_.Remark(absl::StrCat(writer_.damaged_, " records without a valid time are left out"));
    }
    absl::StrAppend(&writer_.out_, "],\"deviceProperties\":[",
                    List(writer_.gpus_, "{\"name\":", "}"), "],\"galenRemarks\":[",
                    List(writer_.remarks_, "", ""), "]}");
  }

  WriteMore more_;
  TraceWriter writer_;
  std::string piece_;
  bool over_ = false;
};

JsonStream::Source AsTrace(WriteMore more) {
  auto source = std::make_shared<TraceWriterSource>(std::move(more));
  return [source]() -> absl::StatusOr<absl::string_view> { return source->Next(); };
}

}  // namespace galen::profile
