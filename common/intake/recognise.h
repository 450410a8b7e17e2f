#ifndef COMMON_INTAKE_RECOGNISE_H_
#define COMMON_INTAKE_RECOGNISE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/intake/kinds.h"
#include "common/intake/prompt.h"

namespace galen::intake {

// A text that somebody gave: what was typed or piped in, or a file.
struct Text {
  std::string name;       // to cite: "issue.md", "standard input"
  std::string content;    // any bytes
  bool attached = false;  // a file: without prose, unless it is Markdown
  // A file that is large or packed: `content` is its unpacked beginning, and the log is the file.
  std::string path;
  // The machine that wrote it, as its source says; "": only the lines tell.
  std::string host;
  // Missing parts and the reason, for people; "": it is whole.
  std::string cut;
};

// A part of a text that no person wrote: what a program printed, or a file.
struct Artefact {
  const Kind* kind = nullptr;   // nullptr: not understood
  std::string argument;         // of the kind
  std::size_t text = 0;         // which one it is of
  std::int64_t first_line = 0;  // 1 and up, with the prompt
  std::int64_t last_line = 0;
  std::int64_t content_line = 0;     // the line that `content` begins at
  std::string content;               // without the prompt, and without the indentation of the block
  std::string host;                  // as a prompt, ssh, or the lines themselves tell; "" unknown
  std::vector<std::string> writers;  // all machines that its lines name, of a log of several
  std::string machine;  // that it says it is of, wherever it was typed; "" where it names none
  std::string user;
  Command command;  // as typed; empty where no prompt was there
  std::string typed;
  bool in_container = false;
  // It was filtered or cut, or is a piece of a log: what is missing from it says nothing.
  bool excerpt = false;
  bool quoted = false;  // in a sentence of a person
};

struct Recognised {
  std::string prose;  // what a person wrote, of all texts
  std::vector<Artefact> artefacts;
};

// A person wrote all of it; what programs printed is at most quoted in sentences.
bool IsOnlyWords(const Recognised& recognised);

// Parts texts into prose and artefacts, and names the kind and the machine of each artefact.
// Fences, indented blocks, prompts and the shapes of lines part them; a text that is one log as a
// whole is one artefact. A message that a sentence quotes, and that is also in an output, is not a
// separate artefact. Time is linear in the text; only its first kLookedAt bytes are read closely,
// the rest belongs to the last artefact in them. Pure.
inline constexpr std::size_t kLookedAt = std::size_t{4} << 20;
Recognised Recognise(const Kinds& kinds, absl::Span<const Text> texts);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_RECOGNISE_H_
