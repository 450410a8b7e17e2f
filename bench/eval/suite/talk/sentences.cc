#include "bench/eval/suite/talk/sentences.h"

#include <re2/re2.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "bench/eval/suite/talk/text.h"

namespace galen::talk {
namespace {

// "10 dot 0 dot 0 dot 5" and "10 . 0 . 0 . 5" as "10.0.0.5".
void JoinDots(std::string& text) {
  static const RE2* const kDot = new RE2(R"((?i)(\d) (?:dot|point) (\d))", Bytes());
  // Twice: what one match ends with the next begins with.
  RE2::GlobalReplace(&text, *kDot, R"(\1.\2)");
  RE2::GlobalReplace(&text, *kDot, R"(\1.\2)");
}

// The line without what says who spoke; `speaker` is set where it does.
absl::string_view TakeSpeaker(absl::string_view line, const TalkWords& words,
                              std::string& speaker) {
  // "[10:02:11] ".
  static const RE2* const kTime = new RE2(R"(^\s*(?:\[?\d{1,2}:\d{2}(?::\d{2})?\]?\s+)?)", Bytes());
  // "<bo> ", "ana: ", "ana (on call): ".
  static const RE2* const kName =
      new RE2(R"((?:<([A-Za-z][\w.-]{0,30})>|([A-Za-z][A-Za-z_.-]{0,20}(?: \([^)]{1,20}\))?):)\s+)",
              Bytes());
  re2::StringPiece rest = Piece(line);
  RE2::Consume(&rest, *kTime);
  std::string in_brackets;
  std::string before_colon;
  if (!RE2::Consume(&rest, *kName, &in_brackets, &before_colon)) return line;
  const std::string name = absl::AsciiStrToLower(in_brackets.empty() ? before_colon : in_brackets);
  if (words.no_speaker.In(name)) return line;
  speaker = name;
  return View(rest);
}

class Cutter {
 public:
  explicit Cutter(const TalkWords& words) : words_(words) {}

  std::vector<Sentence> Take() && { return std::move(sentences_); }

  void AddLine(absl::string_view line) {
    const absl::string_view bare = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(bare, "```")) {
      in_code_ = !in_code_;
      return;
    }
    if (bare.empty()) return;
    if (in_code_ || bare[0] == '>' || bare[0] == '|') {
      Add(std::string(bare), "", true);
      return;
    }
    std::string speaker;
    const absl::string_view said = TakeSpeaker(bare, words_, speaker);
    if (!speaker.empty()) speaker_ = speaker;
    Cut(TakeQuotes(said));
    for (std::string& quote : quotes_) Add(std::move(quote), speaker_, true);
    quotes_.clear();
  }

 private:
  // A text of more than two words within double quotation marks quotes somebody else; a name or an
  // address in marks does not.
  std::string TakeQuotes(absl::string_view text) {
    static const RE2* const kQuote =
        new RE2(R"re("([^"]{1,600})"|\x{201c}([^"]{1,600}?)\x{201d})re");
    std::string left;
    re2::StringPiece rest = Piece(text);
    std::string plain;
    std::string curly;
    const char* from = text.data();
    while (RE2::FindAndConsume(&rest, *kQuote, &plain, &curly)) {
      std::string& inner = plain.empty() ? curly : plain;
      const int words = static_cast<int>(
          std::vector<absl::string_view>(absl::StrSplit(inner, ' ', absl::SkipEmpty())).size());
      const char* const marked = rest.data() - inner.size() - (plain.empty() ? 6 : 2);
      left.append(from, marked - from);
      if (words > 2) {
        left += "\"\"";
        quotes_.push_back(inner);
      } else {
        left += inner;
      }
      from = rest.data();
    }
    left.append(from, text.data() + text.size() - from);
    return left;
  }

  // At full stops, question and exclamation marks and semicolons that end something.
  void Cut(const std::string& line) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      const bool stop = (c == '.' || c == '!' || c == '?' || c == ';') &&
                        (i + 1 == line.size() || line[i + 1] == ' ' || line[i + 1] == '"');
      if (!stop) continue;
      if (c == '.' && i + 1 < line.size() &&
          words_.abbreviation.In(absl::AsciiStrToLower(line.substr(begin, i - begin)))) {
        continue;
      }
      Add(line.substr(begin, i + 1 - begin), speaker_, false);
      begin = i + 1;
    }
    if (begin < line.size()) Add(line.substr(begin), speaker_, false);
  }

  void Add(std::string text, const std::string& speaker, bool quoted) {
    absl::StripAsciiWhitespace(&text);
    if (text.empty() || sentences_.size() >= kMostSentences) return;
    if (text.size() > kMostSentenceBytes) text.resize(kMostSentenceBytes);
    Sentence sentence;
    sentence.question = text.back() == '?';
    sentence.lower = absl::AsciiStrToLower(text);
    sentence.text = std::move(text);
    sentence.speaker = speaker;
    sentence.quoted = quoted;
    sentences_.push_back(std::move(sentence));
  }

  const TalkWords& words_;
  std::vector<Sentence> sentences_;
  std::vector<std::string> quotes_;
  std::string speaker_;
  bool in_code_ = false;
};

}  // namespace

std::vector<Sentence> SentencesOf(absl::string_view talk, const TalkWords& words) {
  Cutter cutter(words);
  for (absl::string_view line : absl::StrSplit(talk, '\n')) {
    std::string text(line.substr(0, std::size_t{16} << 10));
    JoinDots(text);
    cutter.AddLine(text);
  }
  return std::move(cutter).Take();
}

}  // namespace galen::talk
