#ifndef SERVICES_NODE_CHECKS_CHECK_DATA_H_
#define SERVICES_NODE_CHECKS_CHECK_DATA_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"

namespace re2 {
class RE2;
}

namespace galen::node {

// The `data` of the check's declaration in the catalogue, looked up by name. A check whose data is
// missing cannot judge, which is an error of the knowledge.
class CheckData {
 public:
  // INTERNAL: `knowledge` does not declare the check. `knowledge` must outlive this.
  static absl::StatusOr<CheckData> Of(const knowledge::Knowledge& knowledge,
                                      absl::string_view check);

  // The number of that name; INTERNAL when there is none.
  absl::StatusOr<double> Number(absl::string_view name) const;

  // The texts of each datum of that name, in the order of the file.
  std::vector<std::vector<std::string>> Lists(absl::string_view name) const;

  // All texts of that name, in the order of the file.
  std::vector<std::string> Texts(absl::string_view name) const;

  // A pattern, compiled.
  struct Pattern {
    std::string name;
    std::string text;  // as written
    std::shared_ptr<const re2::RE2> compiled;
  };
  // The patterns whose name is `name`, or all for "", in the order of the file. One that does not
  // compile is left out: lint says so.
  std::vector<Pattern> Patterns(absl::string_view name = "") const;

  // The name of the first pattern that `line` holds; empty for none. Linear in the line.
  static std::string FirstMatch(const std::vector<Pattern>& patterns, absl::string_view line);

 private:
  explicit CheckData(const knowledge::v1::Check& check) : check_(&check) {}

  const knowledge::v1::Check* check_;
};

// The patterns of that name, or all for "", of a check that is declared; none of another one.
std::vector<CheckData::Pattern> PatternsOf(const knowledge::Knowledge& knowledge,
                                           absl::string_view check, absl::string_view name = "");

// As they are written.
std::vector<std::string> TextsOf(const std::vector<CheckData::Pattern>& patterns);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_CHECK_DATA_H_
