#include <memory>
#include <string>
#include <vector>

#include "common/intake/blocks.h"
#include "common/intake/forms/forms.h"
#include "common/intake/kinds.h"
#include "common/intake/prompt.h"
#include "common/intake/recognise.h"
#include "common/intake/text.h"
#include "common/intake/writer.h"
#include "common/knowledge/load.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

const intake::Kinds& Shipped() {
  static const auto* const kinds = [] {
    const auto knowledge =
        knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, knowledge::LoadOptions());
    return new std::shared_ptr<const intake::Kinds>(
        intake::Kinds::Compile((*knowledge)->base()).value());
  }();
  return **kinds;
}

// Every line of the text is in at most one artefact, in order; sentences may quote several
// messages on one.
void Recognise(absl::string_view content, bool attached) {
  const intake::Text text = {
      .name = attached ? "a.log" : "a.md", .content = std::string(content), .attached = attached};
  const intake::Recognised recognised = intake::Recognise(Shipped(), {&text, 1});
  std::int64_t last = 0;
  bool quoted = false;
  for (const intake::Artefact& artefact : recognised.artefacts) {
    const std::int64_t least = quoted && artefact.quoted ? last : last + 1;
    if (artefact.first_line < least || artefact.last_line < artefact.first_line) __builtin_trap();
    last = artefact.last_line;
    quoted = artefact.quoted;
    if (artefact.kind != nullptr && !artefact.kind->form.empty()) {
      Use(intake::Convert(artefact.kind->form, artefact.content, artefact.typed));
    }
  }
}

void Line(absl::string_view text) {
  Use(intake::FindPrompt(text));
  Use(intake::ReadCommand(text));
  Use(intake::WriterOf(text));
  Use(intake::IsContainerId(text));
}

void Forms(absl::string_view text) {
  for (const absl::string_view form : intake::Forms()) Use(intake::Convert(form, text, ""));
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const auto* const parsers =
      new std::vector<Parser>{{"pasted", [](absl::string_view text) { Recognise(text, false); }},
                              {"attached", [](absl::string_view text) { Recognise(text, true); }},
                              {"line", Line},
                              {"forms", Forms},
                              {"plain", [](absl::string_view text) { Use(intake::Plain(text)); }}};
  return *parsers;
}

}  // namespace galen::fuzz
