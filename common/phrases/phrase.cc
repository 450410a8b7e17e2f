#include "common/phrases/phrase.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace galen::phrases {
namespace {

// "*", a word, and "**", the text between two spaces.
constexpr char kAnyWord[] = R"([\w'-]+)";
constexpr char kAnything[] = "[^ ]+";

bool IsWordByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

// One item of a phrase: its expression, and whether it may be left out or repeated.
struct Item {
  std::string expression;
  enum class Times { kOnce, kOptional, kAnyNumber } times = Times::kOnce;
};

// Items one behind the other with a space between those that are there.
absl::StatusOr<std::string> Sequence(const std::vector<Item>& items) {
  const auto first = std::find_if(items.begin(), items.end(), [](const Item& item) {
    return item.times == Item::Times::kOnce;
  });
  if (first == items.end()) return Wrong("holds no word that has to be there; add one");
  const auto times = [](const Item& item) {
    return item.times == Item::Times::kAnyNumber ? "*" : "?";
  };
  std::string expression;
  for (auto item = items.begin(); item != first; ++item) {
    absl::StrAppend(&expression, "(?:", item->expression, " )", times(*item));
  }
  absl::StrAppend(&expression, first->expression);
  for (auto item = first + 1; item != items.end(); ++item) {
    if (item->times == Item::Times::kOnce) {
      absl::StrAppend(&expression, " ", item->expression);
    } else {
      absl::StrAppend(&expression, "(?: ", item->expression, ")", times(*item));
    }
  }
  return expression;
}

// `text` cut at each `|` outside of round brackets.
std::vector<absl::string_view> Alternatives(absl::string_view text) {
  std::vector<absl::string_view> parts;
  std::size_t from = 0;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++open;
    if (text[i] == ')') --open;
    if (text[i] != '|' || open > 0) continue;
    parts.push_back(text.substr(from, i - from));
    from = i + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

// "listen(s|ing)" as "listen", "listens", "listening".
absl::StatusOr<std::vector<std::string>> Variants(absl::string_view word) {
  std::vector<std::string> variants = {""};
  while (!word.empty()) {
    const std::size_t open = word.find('(');
    const std::size_t close = word.find(')');
    if (open == absl::string_view::npos && close == absl::string_view::npos) {
      for (std::string& each : variants) absl::StrAppend(&each, word);
      break;
    }
    if (open == absl::string_view::npos || close == absl::string_view::npos || close < open + 2) {
      return Wrong("a round bracket is empty, or has no other; write check(s)");
    }
    const std::vector<absl::string_view> endings =
        Alternatives(word.substr(open + 1, close - open - 1));
    std::vector<std::string> longer;
    for (const std::string& each : variants) {
      longer.push_back(absl::StrCat(each, word.substr(0, open)));
      for (absl::string_view ending : endings) {
        if (ending.empty() || ending.find('(') != absl::string_view::npos) {
          return Wrong("a round bracket within a round bracket, or an empty ending");
        }
        longer.push_back(absl::StrCat(each, word.substr(0, open), ending));
      }
    }
    if (longer.size() > kMostVariants) return Wrong("a word has more than 64 forms; write fewer");
    variants = std::move(longer);
    word.remove_prefix(close + 1);
  }
  return variants;
}

// A form of a word, within the bounds of words where it begins or ends with a letter.
absl::StatusOr<std::string> Literal(absl::string_view form) {
  if (form.empty()) return Wrong("a word is empty; remove the | or the bracket beside nothing");
  if (form == "*") return std::string(kAnyWord);
  if (form == "**") return std::string(kAnything);
  const bool open_end = absl::ConsumeSuffix(&form, "*");
  if (form.find('*') != absl::string_view::npos)
    return Wrong("a * is allowed only at a word's end");
  return absl::StrCat(IsWordByte(form.front()) ? R"(\b)" : "",
                      RE2::QuoteMeta(re2::StringPiece(form.data(), form.size())),
                      open_end                  ? R"(\w*)"
                      : IsWordByte(form.back()) ? R"(\b)"
                                                : "");
}

absl::StatusOr<std::string> Word(absl::string_view word) {
  std::vector<std::string> forms;
  for (absl::string_view alternative : Alternatives(word)) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> variants, Variants(alternative));
    for (const std::string& variant : variants) {
      GALEN_ASSIGN_OR_RETURN(std::string form, Literal(variant));
      forms.push_back(std::move(form));
    }
  }
  if (forms.size() == 1) return forms[0];
  return absl::StrCat("(?:", absl::StrJoin(forms, "|"), ")");
}

using Lists = std::function<absl::StatusOr<std::string>(absl::string_view name)>;

class Parser {
 public:
  Parser(absl::string_view phrase, const Lists& list) : rest_(phrase), list_(list) {}

  absl::StatusOr<std::string> Whole() {
    GALEN_ASSIGN_OR_RETURN(std::string expression, Part(0));
    if (!rest_.empty()) return Wrong("a ] has no [");
    return expression;
  }

 private:
  // Up to the end, or the bracket that closes this part.
  absl::StatusOr<std::string> Part(int depth) {
    if (depth > kMostBrackets) return Wrong("brackets stand more than 3 deep; use a list for them");
    std::vector<Item> items;
    while (true) {
      GALEN_ASSIGN_OR_RETURN(Item item, Next(depth));
      items.push_back(std::move(item));
      if (rest_.empty() || rest_.front() == ']') break;
      if (!absl::ConsumePrefix(&rest_, " ")) return Wrong("a space is missing behind a bracket");
    }
    return Sequence(items);
  }

  absl::StatusOr<Item> Next(int depth) {
    Item item;
    if (absl::ConsumePrefix(&rest_, "[")) {
      GALEN_ASSIGN_OR_RETURN(const std::string part, Part(depth + 1));
      if (!absl::ConsumePrefix(&rest_, "]")) return Wrong("a [ has no ]");
      item.expression = absl::StrCat("(?:", part, ")");
      item.times =
          absl::ConsumePrefix(&rest_, "*") ? Item::Times::kAnyNumber : Item::Times::kOptional;
      return item;
    }
    const absl::string_view word = rest_.substr(0, rest_.find_first_of(" ]"));
    rest_.remove_prefix(word.size());
    if (word.empty()) return Wrong("two spaces, or one at an end; write one between words");
    if (word.find('[') != absl::string_view::npos) {
      return Wrong("a [ within a word; put endings in round brackets: check(s)");
    }
    static const RE2* const kReference = new RE2("<([a-z0-9_]+)>");  // "<a_list>"
    std::string name;
    if (RE2::FullMatch(re2::StringPiece(word.data(), word.size()), *kReference, &name)) {
      GALEN_ASSIGN_OR_RETURN(item.expression, list_(name));
    } else {
      GALEN_ASSIGN_OR_RETURN(item.expression, Word(word));
    }
    return item;
  }

  absl::string_view rest_;
  const Lists& list_;
};

}  // namespace

absl::StatusOr<std::string> PhraseExpression(absl::string_view phrase, const Lists& list) {
  if (phrase.empty() || phrase.size() > kMostPhraseBytes) {
    return Wrong(absl::StrCat("has ", phrase.size(), " bytes; 1 to ", kMostPhraseBytes));
  }
  for (const char c : phrase) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isupper(byte)) {
      return Wrong("has a capital letter; texts are compared in lower case");
    }
    if (absl::ascii_iscntrl(byte) || absl::StrContains("\\^$?{}", c)) {
      return Wrong(
          "has a character that a phrase cannot have: \\ ^ $ ? { } or a control character; a "
          "phrase is not a regular expression");
    }
  }
  return Parser(phrase, list).Whole();
}

}  // namespace galen::phrases
