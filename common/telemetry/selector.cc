#include "common/telemetry/selector.h"

#include <re2/re2.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::telemetry {
namespace {

constexpr std::size_t kMostText = 8 << 10;
constexpr std::size_t kMostMatchers = 64;

bool IsSelectorNameByte(char c, bool first, bool colon) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' || (colon && c == ':') ||
         (!first && absl::ascii_isdigit(static_cast<unsigned char>(c)));
}

// Reads from the front of a text.
class Cursor {
 public:
  explicit Cursor(absl::string_view text) : rest_(text) {}

  void Space() {
    while (!rest_.empty() && absl::ascii_isspace(static_cast<unsigned char>(rest_[0])))
      rest_.remove_prefix(1);
  }
  bool Take(absl::string_view what) {
    if (!absl::StartsWith(rest_, what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  std::string Name(bool colon) {
    std::size_t size = 0;
    while (size < rest_.size() && IsSelectorNameByte(rest_[size], size == 0, colon)) ++size;
    std::string name(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return name;
  }
  // A string in quotes, with the escapes that label values need.
  absl::StatusOr<std::string> String() {
    const char quote = rest_.empty() ? '\0' : rest_[0];
    if (quote != '"' && quote != '\'' && quote != '`') return Wrong("a value in quotes");
    rest_.remove_prefix(1);
    std::string value;
    while (!rest_.empty() && rest_[0] != quote) {
      char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == '\\' && quote != '`') {
        if (rest_.empty()) break;
        c = rest_[0];
        rest_.remove_prefix(1);
        if (c == 'n') {
          c = '\n';
        } else if (c == 't') {
          c = '\t';
        } else if (c != '\\' && c != '"' && c != '\'') {
          return Wrong("one of the escapes \\\\ \\\" \\' \\n \\t");
        }
      }
      value += c;
    }
    if (rest_.empty()) return Wrong("the end of a string");
    rest_.remove_prefix(1);
    return value;
  }
  absl::Status Wrong(absl::string_view wanted) const {
    return absl::InvalidArgumentError(
        absl::StrCat("selector: wants ", wanted, " before \"", CleanText(rest_, 40), "\""));
  }
  bool empty() const { return rest_.empty(); }
  absl::string_view rest() const { return rest_; }

 private:
  absl::string_view rest_;
};

}  // namespace

std::string Quote(absl::string_view value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

absl::StatusOr<Selector> Selector::Parse(absl::string_view text) {
  if (text.size() > kMostText) return absl::InvalidArgumentError("selector: longer than 8 KiB");
  Selector selector;
  Cursor at(text);
  at.Space();
  const std::string name = at.Name(true);
  if (!name.empty()) selector.matchers_.push_back({kMetricName, name, nullptr, true});
  at.Space();
  if (at.Take("{")) {
    at.Space();
    while (!at.Take("}")) {
      Matcher matcher;
      matcher.label = at.Name(false);
      if (matcher.label.empty()) return at.Wrong("a label's name");
      at.Space();
      bool pattern = false;
      if (at.Take("=~")) {
        pattern = true;
      } else if (at.Take("!~")) {
        pattern = true;
        matcher.equal = false;
      } else if (at.Take("!=")) {
        matcher.equal = false;
      } else if (!at.Take("=")) {
        return at.Wrong("=, !=, =~ or !~");
      }
      at.Space();
      GALEN_ASSIGN_OR_RETURN(matcher.value, at.String());
      if (pattern) {
        RE2::Options options(RE2::Quiet);
        options.set_max_mem(1 << 20);
        matcher.pattern = std::make_shared<const RE2>(matcher.value, options);
        if (!matcher.pattern->ok()) {
          return absl::InvalidArgumentError(absl::StrCat("selector: ", CleanText(matcher.value, 80),
                                                         ": ", matcher.pattern->error()));
        }
      }
      selector.matchers_.push_back(std::move(matcher));
      if (selector.matchers_.size() > kMostMatchers)
        return absl::InvalidArgumentError("selector: more than 64 conditions");
      at.Space();
      if (at.Take(",")) {
        at.Space();
      } else if (!absl::StartsWith(at.rest(), "}")) {
        return at.Wrong(", or }");
      }
    }
  }
  at.Space();
  if (selector.matchers_.empty()) return at.Wrong("a metric's name, or conditions in braces,");
  if (!at.empty()) {
    return absl::UnimplementedError(absl::StrCat("only selectors are answered here, not \"",
                                                 CleanText(at.rest(), 40),
                                                 "\" behind one; take the series and compute"));
  }
  return selector;
}

bool Selector::Matches(const Labels& labels) const {
  for (const Matcher& matcher : matchers_) {
    const auto found = labels.find(matcher.label);
    const absl::string_view value =
        found == labels.end() ? absl::string_view() : absl::string_view(found->second);
    const bool same =
        matcher.pattern == nullptr
            ? value == matcher.value
            : RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *matcher.pattern);
    if (same != matcher.equal) return false;
  }
  return true;
}

}  // namespace galen::telemetry
