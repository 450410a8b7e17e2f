#include "services/node/checks/system/version_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

std::vector<std::int64_t> Parts(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text.substr(0, 128));
  if (const std::size_t colon = text.find(':'); colon != absl::string_view::npos) {
    text.remove_prefix(colon + 1);
  }
  absl::ConsumePrefix(&text, "v");
  std::vector<std::int64_t> parts;
  for (const absl::string_view part : absl::StrSplit(text, '.')) {
    if (part.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(part[0]))) break;
    const auto number = LeadingInt(part);
    if (!number.has_value()) break;
    parts.push_back(*number);
    if (!std::all_of(part.begin(), part.end(),
                     [](unsigned char c) { return absl::ascii_isdigit(c); })) {
      break;
    }
  }
  return parts;
}

int Compare(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  const std::size_t size = std::max(a.size(), b.size());
  a.resize(size);
  b.resize(size);
  return a < b ? -1 : (b < a ? 1 : 0);
}

bool Meets(absl::string_view version, absl::string_view condition) {
  condition = absl::StripAsciiWhitespace(condition);
  for (const absl::string_view op : {">=", "<=", "==", "!=", ">", "<"}) {
    absl::string_view bound = condition;
    if (!absl::ConsumePrefix(&bound, op)) continue;
    const std::vector<std::int64_t> limit = Parts(bound);
    if (limit.empty()) return false;
    std::vector<std::int64_t> own = Parts(version);
    if (own.empty()) return false;
    if (op == "==" || op == "!=") {
      if (own.size() > limit.size()) own.resize(limit.size());
      return (Compare(own, limit) == 0) == (op == "==");
    }
    const int order = Compare(own, limit);
    if (op == ">=") return order >= 0;
    if (op == "<=") return order <= 0;
    return op == ">" ? order > 0 : order < 0;
  }
  return false;
}

}  // namespace

int OrderVersions(absl::string_view a, absl::string_view b) { return Compare(Parts(a), Parts(b)); }

bool InVersionRange(absl::string_view version, absl::string_view range) {
  bool any = false;
  for (const absl::string_view condition : absl::StrSplit(range, ',', absl::SkipWhitespace())) {
    if (!Meets(version, condition)) return false;
    any = true;
  }
  return any;
}

}  // namespace galen::node
