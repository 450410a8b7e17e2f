#ifndef SERVICES_SUMMARIZATION_SURVIVED_H_
#define SERVICES_SUMMARIZATION_SURVIVED_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/log_analysis/triage/catalogue.h"

namespace galen::summarization {

// Tells which messages of a log are of failures that the program survived: behind them it says that
// it came to its end by itself, and no process ended in another way or was started again before
// that. Immutable and thread-safe.
class Survived {
 public:
  // `signatures`: what the check log.triage goes by. One that is no expression counts as none.
  explicit Survived(const triage::Signatures& signatures);
  ~Survived();
  Survived(const Survived&) = delete;
  Survived& operator=(const Survived&) = delete;

  // Adds what the scan of a log has to find for this: patterns of no signal.
  static void AddPatterns(const triage::Signatures& signatures, log_scan::Patterns& patterns);
  // The pattern is one of these.
  static bool IsOwn(const knowledge::v1::SignalPattern& pattern);

  // The line up to which the program survived what failed; 0 where it did not, or nobody knows.
  static std::int64_t LastLine(const log_scan::Scanner& scanner,
                               const log_scan::ScanResult& result);

  // The line tells of a failure that ends a program unless it is made good.
  bool TellsOfAFailure(absl::string_view line) const;

 private:
  struct Inside;
  std::unique_ptr<const Inside> inside_;
};

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_SURVIVED_H_
