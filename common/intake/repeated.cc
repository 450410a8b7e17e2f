#include "common/intake/repeated.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace galen::intake {
namespace {

// A shorter quotation could be in any output.
constexpr std::size_t kLeastBytes = 24;
constexpr std::size_t kMostQuoted = 64;

// A quotation of one line without the dots that stand for what was left out of it.
absl::string_view Message(absl::string_view quoted) {
  for (bool again = true; again;) {
    quoted = absl::StripAsciiWhitespace(quoted);
    again = false;
    for (const absl::string_view dots : {"...", "\xE2\x80\xA6", "[...]"}) {
      again = again || absl::ConsumeSuffix(&quoted, dots) || absl::ConsumePrefix(&quoted, dots);
    }
  }
  return quoted;
}

}  // namespace

void DropRepeated(Recognised& recognised) {
  std::vector<Artefact>& artefacts = recognised.artefacts;
  std::vector<const Artefact*> repeated;
  std::size_t compared = 0;
  for (const Artefact& quoted : artefacts) {
    if (!quoted.quoted || ++compared > kMostQuoted) continue;
    const absl::string_view message = Message(quoted.content);
    if (message.size() < kLeastBytes) continue;
    const bool known =
        std::any_of(artefacts.begin(), artefacts.end(), [&](const Artefact& artefact) {
          return !artefact.quoted &&
                 absl::StrContains(absl::string_view(artefact.content).substr(0, kLookedAt),
                                   message);
        });
    if (known) repeated.push_back(&quoted);
  }
  std::vector<Artefact> kept;
  for (Artefact& artefact : artefacts) {
    if (std::find(repeated.begin(), repeated.end(), &artefact) == repeated.end()) {
      kept.push_back(std::move(artefact));
    }
  }
  artefacts = std::move(kept);
}

}  // namespace galen::intake
