#ifndef COMMON_INTAKE_FORMS_PASTED_H_
#define COMMON_INTAKE_FORMS_PASTED_H_

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::intake {

// The text made fit for converters: well-formed UTF-8 without control characters, at most 8 MiB,
// cut at the end of a line. INVALID_ARGUMENT if it is empty or binary.
absl::StatusOr<std::string> Readable(absl::string_view form, absl::string_view text);

// INVALID_ARGUMENT "<form>: <why>".
absl::Status Unreadable(absl::string_view form, absl::string_view why);

// The checks' parsers cut lines at the same length.
inline constexpr std::size_t kLongestPastedLine = 4096;

// Lines of a text without their ends and without the times that CI runners add, each cut at
// `longest` bytes.
std::vector<absl::string_view> PastedLines(absl::string_view text,
                                           std::size_t longest = kLongestPastedLine);

// Words of a line, parted by blanks and tabs.
std::vector<absl::string_view> PastedWords(absl::string_view line);

// The columns that a line is indented by; a tab counts as eight.
std::size_t IndentOf(absl::string_view line);

// `words` from number `first` on, with one blank between them.
std::string JoinFrom(const std::vector<absl::string_view>& words, std::size_t first);

// True for digits and nothing else, at least one and at most 18.
bool IsNumber(absl::string_view text);

// A command as somebody typed it, as far as a form depends on it.
class TypedCommand {
 public:
  // `command`: a line of a shell, in which the program may follow sudo, ssh or an assignment.
  TypedCommand(absl::string_view command, absl::string_view program);

  // Whether the program was found in the command.
  bool known() const { return known_; }
  // The words behind the program's name, up to the first pipe or the end of the statement.
  const std::vector<std::string>& arguments() const { return arguments_; }
  // The arguments that are not options.
  std::vector<std::string> operands() const;

  // Whether an option holds the letter: 'h' in "-hT".
  bool HasLetter(char letter) const;
  bool Has(absl::string_view argument) const;
  // The value behind one of these options: "-i 4", "--id=4".
  std::optional<std::string> ValueOf(std::initializer_list<absl::string_view> options) const;

  // A program behind a pipe selected or reordered lines.
  bool filtered() const { return filtered_; }
  // It removed repeated lines, so lines cannot be counted.
  bool distinct() const { return distinct_; }
  // It changed the lines.
  bool rewritten() const { return rewritten_; }

 private:
  // Whether the program is in `command`, whose parts become members then.
  bool Read(absl::string_view command, absl::string_view program);
  void Behind(const std::vector<std::string>& stage);

  bool known_ = false;
  bool filtered_ = false;
  bool distinct_ = false;
  bool rewritten_ = false;
  std::vector<std::string> arguments_;
};

}  // namespace galen::intake

#endif  // COMMON_INTAKE_FORMS_PASTED_H_
