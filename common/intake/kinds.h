#ifndef COMMON_INTAKE_KINDS_H_
#define COMMON_INTAKE_KINDS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/intake/prompt.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/incident.pb.h"
#include "re2/re2.h"
#include "re2/set.h"

namespace galen::intake {

// One kind of artefact (knowledge/intake), ready to be looked for.
struct Kind {
  enum class ReadsAs { kNothing, kCommand, kCommandAsTyped, kFile, kLog, kEnvironment };

  std::string id;
  std::string title;
  // RE2, as in knowledge/intake.
  std::vector<std::string> typed;
  std::vector<std::string> header;
  std::vector<std::string> file;
  ReadsAs reads_as = ReadsAs::kNothing;
  std::vector<std::string> argv;  // of kCommand; may hold "<arg>", "<node>"
  std::string path;               // of kFile; may hold "<arg>"
  v1::LogSource::Kind log = v1::LogSource::KIND_UNSPECIFIED;  // of kLog
  std::string form;
  std::string instead;
};

// The kinds whose `header`, and whose `lines`, a line matches; indices into Kinds::all(),
// ascending.
struct LineShape {
  std::vector<int> headers;
  std::vector<int> shapes;
};

// The kind that an artefact was recognised as.
struct KindMatch {
  const Kind* kind = nullptr;  // nullptr: nothing that is known
  std::string argument;        // what the group `arg` took
  std::string host;            // what the group `host` took: the machine that the text is of
};

// All kinds. Thread-safe.
class Kinds {
 public:
  // INVALID_ARGUMENT an expression does not compile, or `reads_as` is not one of the forms; the
  // message names the kind and its file.
  static absl::StatusOr<std::shared_ptr<const Kinds>> Compile(
      const knowledge::v1::KnowledgeBase& base);

  const std::vector<Kind>& all() const { return all_; }
  const Kind* Find(absl::string_view id) const;

  // Linear in the line.
  LineShape ShapeOf(absl::string_view line) const;

  // Decides by the typed command first, if it names a kind; then by the earliest header; then by
  // the shape that most lines have, if that is at least half of the lines that are not empty; then
  // by the path. `command` and `path` may be empty. `shapes` are those of `lines`.
  //
  // The groups are searched for in the expressions of commands and of headers.
  KindMatch Recognise(absl::Span<const absl::string_view> lines, absl::Span<const LineShape> shapes,
                      const Command& command, absl::string_view path) const;

 private:
  KindMatch ByCommand(const Command& command, absl::Span<const absl::string_view> lines) const;
  KindMatch ByText(absl::Span<const absl::string_view> lines,
                   absl::Span<const LineShape> shapes) const;
  KindMatch ByPath(absl::string_view path) const;

  // Expressions of all kinds at once: which of them a text matches.
  class Expressions {
   public:
    // The index that ShapeOf() and its kin hear of is that of the caller's n-th call.
    absl::Status Add(const std::string& expression);
    // Indices of the expressions that match `text`, ascending. Compiled on first use: most calls
    // need one of three.
    std::vector<int> Matches(absl::string_view text) const;
    // Compiles now, to say that it is too large.
    absl::Status Compile() const;

   private:
    std::unique_ptr<RE2::Set> set_ = MakeSet();
    mutable absl::once_flag compiled_;
    mutable bool fits_ = false;
    int size_ = 0;
    static std::unique_ptr<RE2::Set> MakeSet();
  };

  std::vector<Kind> all_;
  Expressions line_;  // headers and shapes
  Expressions typed_;
  Expressions file_;
  struct Member {
    int kind;
    bool header;
  };
  std::vector<Member> line_members_;
  std::vector<int> typed_members_;  // kinds
  std::vector<int> file_members_;
};

}  // namespace galen::intake

#endif  // COMMON_INTAKE_KINDS_H_
