#ifndef COMMON_LOG_ANALYSIS_TRIAGE_COMPILED_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_COMPILED_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/log_analysis/scan/pattern_database.h"
#include "common/log_analysis/triage/job_triage.h"
#include "re2/re2.h"
#include "re2/set.h"

namespace galen::triage {

// A compiled pattern and the indices of its named groups.
struct FactReader {
  explicit FactReader(const std::string& pattern);
  RE2 expression;
  int number = 0;  // 0: no such group
  int text = 0;
  int time = 0;
};

// The owner of an expression of the automaton.
struct Owner {
  enum class Kind { kFormat, kFact, kClass, kFailure };
  Kind kind = Kind::kFailure;
  std::size_t index = 0;
};

struct CompiledCatalogue::Inside {
  Catalogue catalogue;
  std::unique_ptr<const log_scan::PatternDatabase> database;
  std::vector<Owner> owners;  // of the database's expressions
  std::vector<std::unique_ptr<const FactReader>> facts;
  std::vector<std::unique_ptr<const RE2>> bars;  // per format; null: any bar counts steps
  std::vector<std::string> signature_names;
  std::unique_ptr<RE2::Set> signatures;
  std::unique_ptr<RE2::Set> harmless;                      // null: none
  absl::flat_hash_map<std::string, std::size_t> class_of;  // by signature
};

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_COMPILED_H_
