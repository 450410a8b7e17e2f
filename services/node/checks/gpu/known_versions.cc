#include "services/node/checks/gpu/known_versions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace galen::node {
namespace {

absl::string_view Branch(absl::string_view version) { return version.substr(0, version.find('.')); }

// Numbers compare as numbers, anything else as text.
int ComparePart(absl::string_view left, absl::string_view right) {
  std::uint64_t of_left = 0;
  std::uint64_t of_right = 0;
  const auto number = [](absl::string_view text, std::uint64_t& value) {
    return text.substr(0, 2) == "0x" ? absl::SimpleHexAtoi(text, &value)
                                     : absl::SimpleAtoi(text, &value);
  };
  if (number(left, of_left) && number(right, of_right)) {
    return of_left < of_right ? -1 : of_left > of_right ? 1 : 0;
  }
  return left.compare(right);
}

}  // namespace

int CompareReleases(absl::string_view left, absl::string_view right) {
  const std::vector<absl::string_view> of_left = absl::StrSplit(left, '.');
  const std::vector<absl::string_view> of_right = absl::StrSplit(right, '.');
  for (std::size_t i = 0; i < std::min(of_left.size(), of_right.size()); ++i) {
    if (const int compared = ComparePart(of_left[i], of_right[i]); compared != 0) return compared;
  }
  return of_left.size() < of_right.size() ? -1 : of_left.size() > of_right.size() ? 1 : 0;
}

std::optional<BadDriver> ReadBadDriver(const std::vector<std::string>& texts) {
  if (texts.size() != 4) return std::nullopt;
  // YAML has no empty text that people would see.
  const std::string fixed = texts[2] == "none" ? "" : texts[2];
  return BadDriver{.vendor = texts[0], .first = texts[1], .fixed = fixed, .defect = texts[3]};
}

std::optional<std::string> KnownDefects(const std::vector<BadDriver>& list,
                                        absl::string_view vendor, absl::string_view version) {
  if (version.empty()) return std::nullopt;
  std::vector<std::string> defects;
  bool covered = false;
  for (const BadDriver& bad : list) {
    if (bad.vendor != vendor) continue;
    covered = covered || Branch(bad.first) == Branch(version);
    if (CompareReleases(version, bad.first) >= 0 &&
        (bad.fixed.empty() ? Branch(bad.first) == Branch(version)
                           : CompareReleases(version, bad.fixed) < 0)) {
      covered = true;
      defects.push_back(bad.defect);
    }
  }
  if (!covered) return std::nullopt;
  return defects.empty() ? "none" : absl::StrJoin(defects, ",");
}

}  // namespace galen::node
