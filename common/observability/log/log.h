#ifndef COMMON_OBSERVABILITY_LOG_LOG_H_
#define COMMON_OBSERVABILITY_LOG_LOG_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/observability/log/line.h"

namespace galen::log {

using Fields = std::initializer_list<Field>;

// Writes events as lines, limited per second so that no outsider can fill a disk: lines beyond the
// limit are counted, and the count is written as soon as there is room again. Thread-safe.
class Logger {
 public:
  struct Settings {
    std::string service = "galen";
    Format format = Format::kText;
    int burst = 500;       // lines at once
    int per_second = 100;  // lines in the long run
  };
  // `write` gets whole lines, one call at a time, and says whether it took it; what it does not
  // take is left out too.
  Logger(Settings settings, const Clock& clock, std::function<bool(absl::string_view)> write);

  // Diagnosis and trace are those of the calling thread (common/observability/trace). Never put a
  // secret into a message or a field.
  void Tell(Level level, absl::string_view message, Fields fields = {});

  void Use(std::string service, Format format);

 private:
  bool Write(Level level, absl::string_view message, absl::Span<const Field> fields, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock& clock_;
  const std::function<bool(absl::string_view)> write_;
  Mutex mu_;
  Settings settings_ ABSL_GUARDED_BY(mu_);
  double room_ ABSL_GUARDED_BY(mu_);  // lines
  absl::Time filled_ ABSL_GUARDED_BY(mu_);
  std::int64_t left_out_ ABSL_GUARDED_BY(mu_) = 0;
};

// The log of this process, on standard error: a slow reader loses lines and blocks no caller for
// long. Until Configure() as "galen" and in text.
void Configure(std::string service, Format format);
void Info(absl::string_view message, Fields fields = {});
void Warning(absl::string_view message, Fields fields = {});
void Error(absl::string_view message, Fields fields = {});

}  // namespace galen::log

#endif  // COMMON_OBSERVABILITY_LOG_LOG_H_
