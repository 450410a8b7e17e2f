#include "services/gateway/webhooks/selector.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::gateway::webhooks {

absl::StatusOr<Selector> Selector::Parse(absl::string_view text) {
  Selector selector;
  for (absl::string_view part : absl::StrSplit(text, '|')) {
    part = absl::StripAsciiWhitespace(part);
    Place place;
    if (absl::ConsumePrefix(&part, "header:")) {
      if (part.empty()) return absl::InvalidArgumentError("header: has no name after it");
      place.header = std::string(part);
    } else {
      GALEN_ASSIGN_OR_RETURN(place.pointer, Pointer::Parse(part));
    }
    selector.places_.push_back(std::move(place));
  }
  return selector;
}

std::vector<std::string> Selector::Texts(const Event& event) const {
  for (const Place& place : places_) {
    std::vector<std::string> texts;
    if (place.header.empty()) {
      texts = event.body.Texts(place.pointer);
    } else if (const absl::string_view value = event.headers.Get(place.header); !value.empty()) {
      texts.emplace_back(value);
    }
    for (const std::string& found : texts) {
      if (!found.empty()) return texts;
    }
  }
  return {};
}

absl::StatusOr<Template> Template::Parse(absl::string_view text) {
  Template made;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') {
      plain += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '{') {
      plain += '{';
      ++i;
      continue;
    }
    const std::size_t end = text.find('}', i);
    if (end == absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat("\"", CleanText(text, 80),
                                                     "\" has a brace that is not closed; a brace "
                                                     "that is meant as such is written \"{{\""));
    }
    GALEN_ASSIGN_OR_RETURN(Selector selector, Selector::Parse(text.substr(i + 1, end - i - 1)));
    if (!plain.empty()) made.pieces_.push_back({std::exchange(plain, ""), false, {}});
    made.pieces_.push_back({"", true, std::move(selector)});
    i = end;
  }
  if (!plain.empty()) made.pieces_.push_back({std::move(plain), false, {}});
  return made;
}

std::string Template::Fill(const Event& event, std::size_t most_bytes) const {
  std::string text;
  bool selects = false;
  bool found = false;
  for (const Piece& piece : pieces_) {
    if (!piece.selects) {
      absl::StrAppend(&text, piece.text);
      continue;
    }
    selects = true;
    const std::vector<std::string> texts = piece.selector.Texts(event);
    found = found || !texts.empty();
    absl::StrAppend(&text, absl::StrJoin(texts, ", "));
    if (text.size() > most_bytes) break;
  }
  if (selects && !found) return "";
  return CleanText(text, most_bytes);
}

}  // namespace galen::gateway::webhooks
