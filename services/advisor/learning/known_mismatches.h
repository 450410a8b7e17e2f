#ifndef SERVICES_ADVISOR_LEARNING_KNOWN_MISMATCHES_H_
#define SERVICES_ADVISOR_LEARNING_KNOWN_MISMATCHES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "re2/re2.h"

namespace galen::advisor {

// Facts about a job and its machines that are registered in the clear, as much or as little as both
// sides like.
struct JobFacts {
  std::set<std::string> needs;                            // IsNeed()
  std::map<std::string, std::set<std::string>> versions;  // by component, of all ranks and machines
  std::string gpu;                                        // product name
  std::set<std::string> settings;                         // words of the provider: "acs_enabled"
};

// The needs that a job can declare: kinds of numbers, of collectives, of reach. A closed list, so
// that no tenant's own words are in it.
bool IsNeed(absl::string_view word);

// -1, 0, 1 if `a` is older than, as new as, newer than `b`: numbers compare by value, part by part;
// a missing part is 0, a part that is not a number compares as text.
int OrderVersions(absl::string_view a, absl::string_view b);

struct KnownMismatch {
  std::string name;
  std::string title;
  bool error = false;  // otherwise it is a warning
  std::string check;   // of knowledge/checks, that shows it
  std::string advice;
  std::string source;
};

// Known-bad combinations: knowledge/advisor. Immutable; thread-safe.
class KnownMismatches {
 public:
  // advisor/gpus.yaml and advisor/mismatches.yaml of the directories; a later mismatch replaces one
  // of the same name, and later GPUs take precedence. NOT_FOUND if there is none; INVALID_ARGUMENT
  // names file, line and remedy.
  static absl::StatusOr<KnownMismatches> Load(const std::vector<std::string>& directories);
  static absl::StatusOr<KnownMismatches> Parse(absl::string_view gpus,
                                               absl::string_view mismatches);

  // The mismatches that apply, errors first. A fact that was not registered makes nothing apply.
  std::vector<const KnownMismatch*> Find(const JobFacts& facts) const;
  std::size_t size() const { return rules_.size(); }
  std::vector<const KnownMismatch*> all() const;

 private:
  struct Gpu {
    std::unique_ptr<const re2::RE2> match;
    std::set<std::string> has;
  };
  struct Bound {
    enum class Is { kBelow, kAtMost, kAtLeast, kAbove, kEqual } is = Is::kEqual;
    std::string version;
  };
  struct Condition {
    enum class Kind {
      kNeeds,
      kGpuHas,
      kGpuLacks,
      kSetting,
      kVersion,
      kDiffers,
      kUnequal,
      kNewer,
      kNewerMajor,
      kNewerMinor
    };
    Kind kind = Kind::kNeeds;
    std::string word;
    std::string other;
    std::vector<Bound> range;
  };
  struct Rule {
    KnownMismatch mismatch;
    std::vector<Condition> all;
  };

  KnownMismatches() = default;
  absl::Status AddGpus(absl::string_view text, absl::string_view file);
  absl::Status AddRules(absl::string_view text, absl::string_view file);
  static absl::StatusOr<Condition> ReadCondition(const std::string& text);
  const Gpu* GpuOf(const std::string& name) const;
  static bool Holds(const Condition& condition, const JobFacts& facts, const Gpu* gpu);

  std::vector<Gpu> gpus_;
  std::vector<Rule> rules_;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_KNOWN_MISMATCHES_H_
