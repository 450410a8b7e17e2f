#ifndef COMMON_PHRASES_VOCABULARY_H_
#define COMMON_PHRASES_VOCABULARY_H_

#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/phrases/phrases.h"

namespace galen::phrases {

inline constexpr std::size_t kMostLists = 256;
inline constexpr std::size_t kMostPhrases = 1000;  // of a list, with those of all sites
inline constexpr std::size_t kMostExpressionBytes = std::size_t{128} << 10;

// The lists of phrases of knowledge/talk, each compiled once. Immutable; thread-safe.
class Vocabulary {
 public:
  // talk/*.yaml of the knowledge directories; later ones add phrases to the lists of earlier ones.
  // NOT_FOUND: none has any; INVALID_ARGUMENT names file, line and remedy.
  static absl::StatusOr<Vocabulary> Load(const std::vector<std::string>& directories);
  // Parses one text.
  static absl::StatusOr<Vocabulary> Parse(absl::string_view text, absl::string_view file);

  // Fills each list that is asked for by its name. INVALID_ARGUMENT: one is not there.
  absl::Status Fill(std::initializer_list<std::pair<absl::string_view, Phrases*>> wanted) const;

 private:
  friend class VocabularyReader;
  std::map<std::string, Phrases, std::less<>> lists_;
};

}  // namespace galen::phrases

#endif  // COMMON_PHRASES_VOCABULARY_H_
