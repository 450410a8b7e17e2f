#ifndef COMMON_PHRASES_PHRASES_H_
#define COMMON_PHRASES_PHRASES_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace re2 {
class RE2;
}

namespace galen::phrases {

// The required position in a text of the phrases of a list.
enum class Place {
  kAnywhere,
  kStart,   // first, but for marks and fillers
  kEnd,     // last, but for marks and fillers
  kWhole,   // alone, but for marks and fillers
  kOnly,    // the text holds nothing but phrases of the list and marks; it may be empty
  kClause,  // first, or behind one of , ; : ( - or a filler
};

// Bytes of a text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// One list, compiled. A value: cheap to copy, immutable, thread-safe. The one that is made by
// default is empty and matches nothing.
class Phrases {
 public:
  Phrases() = default;
  // `phrases` and `filler` are expressions, "" for no filler; `marks` are the characters allowed
  // between phrase, fillers and edge, beside spaces; "" for all that are in no word.
  // INVALID_ARGUMENT: it would take more memory than a list may.
  static absl::StatusOr<Phrases> Compile(const std::string& phrases, Place place,
                                         absl::string_view marks, const std::string& filler);

  // Whether `text`, in lower case, holds a phrase where the list says.
  bool In(absl::string_view text) const;
  // The first such place at or behind `from`, of those that begin together the longest.
  std::optional<Span> Find(absl::string_view text, std::size_t from = 0) const;
  // An RE2 expression without groups that matches one of the phrases at any position, for use in
  // larger patterns.
  const std::string& expression() const { return expression_; }

 private:
  std::string expression_;
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace galen::phrases

#endif  // COMMON_PHRASES_PHRASES_H_
