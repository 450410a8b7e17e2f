#include "common/log/log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/trace/trace.h"

namespace galen::log {
namespace {

void WriteToStandardError(absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody to tell
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

Logger& Process() {
  static const SystemClock clock;
  // Never destroyed: threads may log until the very end.
  static Logger& logger = *new Logger(Logger::Settings(), clock, &WriteToStandardError);
  return logger;
}

}  // namespace

Logger::Logger(Settings settings, const Clock& clock, std::function<void(absl::string_view)> write)
    : clock_(clock),
      write_(std::move(write)),
      settings_(std::move(settings)),
      room_(settings_.burst),
      filled_(clock.Now()) {}

void Logger::Use(std::string service, Format format) {
  MutexLock lock(mu_);
  settings_.service = std::move(service);
  settings_.format = format;
}

void Logger::Tell(Level level, absl::string_view message, Fields fields) {
  MutexLock lock(mu_);
  const absl::Time now = clock_.Now();
  const double since = std::max(0.0, absl::ToDoubleSeconds(now - filled_));
  room_ = std::min<double>(settings_.burst, room_ + since * settings_.per_second);
  filled_ = now;
  if (room_ < 1) {
    ++left_out_;
    return;
  }
  room_ -= 1;
  if (left_out_ > 0) {
    const std::int64_t count = std::exchange(left_out_, 0);
    Write(Level::kWarning, absl::StrCat("lines of this log were left out: ", count), {}, now);
  }
  Write(level, message, {fields.begin(), fields.size()}, now);
}

void Logger::Write(Level level, absl::string_view message, absl::Span<const Field> fields,
                   absl::Time now) {
  const trace::Work& work = trace::Current();
  write_(Render({.time = now,
                 .level = level,
                 .service = settings_.service,
                 .message = message,
                 .diagnosis = work.diagnosis,
                 .trace_id = trace::TraceIdOf(work.context),
                 .fields = fields},
                settings_.format));
}

void Configure(std::string service, Format format) { Process().Use(std::move(service), format); }
void Info(absl::string_view message, Fields fields) {
  Process().Tell(Level::kInfo, message, fields);
}
void Warning(absl::string_view message, Fields fields) {
  Process().Tell(Level::kWarning, message, fields);
}
void Error(absl::string_view message, Fields fields) {
  Process().Tell(Level::kError, message, fields);
}

}  // namespace galen::log
