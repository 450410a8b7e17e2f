#ifndef SERVICES_ADVISOR_LEARNING_SIGNS_H_
#define SERVICES_ADVISOR_LEARNING_SIGNS_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/advisor/learning/run_record.h"

namespace galen::advisor {

// Signs that build up before failures, and the checks that confirm them.
struct BuildUpSign {
  std::string name;
  std::string title;
  std::string resource;            // memory, network, compute, storage or host
  std::string check;               // of knowledge/checks: the micro-benchmark of this resource
  std::array<double, 3> levels{};  // thresholds of the levels 1, 2, 3
  std::string unit;
  std::string source;
};

// advisor/buildup.yaml of the knowledge, at most kMostSigns. Their positions are recorded, so a
// site adds its own at the end. Immutable; thread-safe.
class BuildUpSigns {
 public:
  // NOT_FOUND if no directory has it; INVALID_ARGUMENT names file, line and remedy.
  static absl::StatusOr<BuildUpSigns> Load(const std::vector<std::string>& directories);
  static absl::StatusOr<BuildUpSigns> Parse(absl::string_view text, absl::string_view file);

  const std::vector<BuildUpSign>& all() const { return signs_; }
  const BuildUpSign* Find(std::size_t place) const {
    return place < signs_.size() ? &signs_[place] : nullptr;
  }
  // Nothing if there is no such sign.
  const BuildUpSign* Find(absl::string_view name, std::size_t& place) const;
  // The level of a value: 0 to 3.
  static std::uint8_t LevelOf(const BuildUpSign& sign, double value);

 private:
  absl::Status Add(absl::string_view text, absl::string_view file);
  std::vector<BuildUpSign> signs_;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_SIGNS_H_
