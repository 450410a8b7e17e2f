#ifndef SERVICES_NODE_CHECKS_GPU_KNOWN_VERSIONS_H_
#define SERVICES_NODE_CHECKS_GPU_KNOWN_VERSIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::node {

// Below 0, 0 or above 0, as `left` is older than `right`: numbers between dots count as numbers
// ("525.85" is older than "525.105.17", "550" older than "550.1"), hexadecimal ones too ("0x83").
int CompareReleases(absl::string_view left, absl::string_view right);

// A line of the list of releases with known defects: of `vendor`'s driver, from `first` on and
// before `fixed` ("" not fixed yet), with a word for the defect.
struct BadDriver {
  std::string vendor;
  std::string first;
  std::string fixed;
  std::string defect;
};

// From the texts [vendor, first, fixed, defect] of the catalogue; none when they are not four.
std::optional<BadDriver> ReadBadDriver(const std::vector<std::string>& texts);

// The defects of a release, separated by commas; "none" when the list covers its branch (the number
// before the first dot) and the release lacks the branch's defects; nothing when the list does not
// cover the branch, whose defects are then unknown.
std::optional<std::string> KnownDefects(const std::vector<BadDriver>& list,
                                        absl::string_view vendor, absl::string_view version);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_KNOWN_VERSIONS_H_
