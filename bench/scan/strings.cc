#include "bench/scan/strings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace galen::bench {

std::vector<std::string> LiteralsOf(absl::string_view pattern, std::size_t min_size) {
  std::vector<std::string> found;
  std::string run;
  int depth = 0;
  const auto end_run = [&] {
    if (depth == 0 && run.size() >= min_size) found.push_back(run);
    run.clear();
  };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const bool escaped = c == '\\' && i + 1 < pattern.size();
    if (escaped && !absl::ascii_isalnum(static_cast<unsigned char>(pattern[i + 1]))) {
      run += pattern[++i];
    } else if (escaped) {
      end_run();
      ++i;
    } else if (c == '[') {
      end_run();
      // The first byte of a class may be the bracket that otherwise ends it.
      const std::size_t first = pattern.substr(i + 1, 1) == "^" ? i + 2 : i + 1;
      const std::size_t end = pattern.find(']', first + 1);
      if (end == absl::string_view::npos) break;
      i = end;
    } else if (c == '?' || c == '*' || c == '{') {
      if (!run.empty()) run.pop_back();
      end_run();
      if (c == '{') i = std::min(pattern.find('}', i), pattern.size() - 1);
    } else if (absl::string_view("().|^$+").find(c) != absl::string_view::npos) {
      end_run();
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    } else {
      run += c;
    }
  }
  end_run();
  return found;
}

std::vector<std::string> SignalStrings(const knowledge::v1::KnowledgeBase& base,
                                       std::size_t count) {
  constexpr std::size_t kMinSize = 12;
  std::set<std::string> seen;
  std::vector<std::string> strings;
  const auto add = [&](std::string text) {
    if (strings.size() < count && seen.insert(text).second) strings.push_back(std::move(text));
  };
  for (const knowledge::v1::SignalPattern& signal : base.signals()) {
    if (absl::StrContains(signal.pattern(), "(?i)")) continue;
    for (std::string& text : LiteralsOf(signal.pattern(), kMinSize)) add(std::move(text));
  }
  for (const knowledge::v1::ErrorCode& code : base.error_codes()) {
    if (code.name().size() >= kMinSize) add(code.name());
  }
  return strings;
}

}  // namespace galen::bench
