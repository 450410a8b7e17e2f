#include "common/observability/log/log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/observability/trace/trace.h"

namespace galen::log {
namespace {

// How long one who reads the other end of a pipe may keep us waiting.
constexpr int kPatienceMs = 100;

bool WriteToStandardError(absl::string_view text) {
  while (!text.empty()) {
    pollfd wait = {STDERR_FILENO, POLLOUT, 0};
    const int ready = poll(&wait, 1, kPatienceMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    // A pipe that is ready takes so much at once.
    const ssize_t count =
        write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;  // nobody to tell
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

Logger& Process() {
  static const SystemClock clock;
  // Never destroyed: threads may log until the very end.
  static Logger& logger = *new Logger(Logger::Settings(), clock, &WriteToStandardError);
  return logger;
}

}  // namespace

Logger::Logger(Settings settings, const Clock& clock, std::function<bool(absl::string_view)> write)
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
    if (!Write(Level::kWarning, absl::StrCat("lines of this log were left out: ", left_out_), {},
               now)) {
      ++left_out_;
      return;
    }
    left_out_ = 0;
  }
  if (!Write(level, message, {fields.begin(), fields.size()}, now)) ++left_out_;
}

bool Logger::Write(Level level, absl::string_view message, absl::Span<const Field> fields,
                   absl::Time now) {
  const trace::Work& work = trace::Current();
  return write_(Render({.time = now,
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
