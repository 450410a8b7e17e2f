#ifndef SERVICES_SUMMARIZATION_SURVIVED_H_
#define SERVICES_SUMMARIZATION_SURVIVED_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/log_analysis/triage/catalogue.h"

namespace galen::summarization {

// Recognises messages of failures that the program survived: later lines of the log report that it
// came to a normal end, or, for failures to find the other processes, that these are connected; and
// no process ended abnormally or was started again before that. Immutable and thread-safe.
class Survived {
 public:
  // `signatures`: those of the check log.triage. Invalid expressions are ignored.
  explicit Survived(const triage::Signatures& signatures);
  ~Survived();
  Survived(const Survived&) = delete;
  Survived& operator=(const Survived&) = delete;

  // Adds the patterns that the scan of a log needs for this; they belong to no signal.
  static void AddPatterns(const triage::Signatures& signatures, log_scan::Patterns& patterns);
  // The pattern is one of these.
  static bool IsOwn(const knowledge::v1::SignalPattern& pattern);

  // The lines up to which the program survived its failures; 0 if it did not, or if it is unknown.
  struct Until {
    std::int64_t done = 0;       // all failures
    std::int64_t connected = 0;  // failures of the start
  };
  static Until UntilLine(const log_scan::Scanner& scanner, const log_scan::ScanResult& result);

  // True if line `number` reports a failure that the program survived.
  bool Has(const Until& until, std::int64_t number, absl::string_view line) const;

 private:
  // kHarmless: looks like a failure and is not one, such as a request that is tried again.
  enum class Failure { kNone, kHarmless, kOfStart, kOther };
  // The failure that the line reports, which ends a program unless the program recovers.
  Failure FailureOf(absl::string_view line) const;

  struct Inside;
  std::unique_ptr<const Inside> inside_;
};

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_SURVIVED_H_
