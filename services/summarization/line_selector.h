#ifndef SERVICES_SUMMARIZATION_LINE_SELECTOR_H_
#define SERVICES_SUMMARIZATION_LINE_SELECTOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::summarization {

// The reason to show a line of a text unasked, the best reason first.
enum class Worth {
  kMessage,  // a known message
  kEnd,      // among the last lines, where a program says why it stopped
  kBeside,   // a warning or an error close to a known message
  kPart,     // of a short text, which is shown whole
};

struct SelectedLine {
  std::int64_t number = 0;
  std::string text;
  Worth worth = Worth::kPart;
  std::int64_t from_end = 0;  // 0: the last line
};

// Reads one text line by line, in constant memory, and keeps the most informative lines.
class LineSelector {
 public:
  // As many lines make a short text.
  static constexpr std::int64_t kShort = 60;

  // `messages`: numbers of lines that contain a known message.
  explicit LineSelector(std::set<std::int64_t> messages) : messages_(std::move(messages)) {}

  // The next line; `number` grows.
  void Add(std::int64_t number, absl::string_view line);

  std::int64_t lines() const { return last_; }
  // All of a short text.
  std::vector<SelectedLine> Whole() const;
  // By number, each line once.
  std::vector<SelectedLine> Best() const;

 private:
  const std::set<std::int64_t> messages_;
  std::int64_t last_ = 0;
  std::vector<SelectedLine> first_;  // while it may be short
  std::vector<SelectedLine> kept_;   // known messages and the lines around them
  std::deque<SelectedLine> end_;
};

// A text that was read.
struct ReadText {
  enum class Kind {
    kJobLog,
    kMachineLog,  // of the kernel or of a management controller: its end says little
    kPasted,      // an output or a file that the customer gave; short
    kFile,        // a file of the job; short
  };
  Kind kind = Kind::kJobLog;
  LineSelector selector;
};

struct Chosen {
  std::size_t text = 0;  // place among the texts
  SelectedLine line;
  bool older = false;  // much older than the incident
};

// The time from a line to the incident, if both times are known.
using BeforeIncident = std::function<std::optional<absl::Duration>(absl::string_view line)>;

// The most informative lines of several texts, at most `most_bytes` in all and `most_line` of each
// line: short logs and files in full; from other texts known messages, those nearest to the
// incident first, the ends of the job's logs, and the lines around messages. A line that several
// texts have is chosen once, and older lines come last. Pure.
std::vector<Chosen> Choose(const std::vector<ReadText>& texts, std::size_t most_bytes,
                           std::size_t most_line, const BeforeIncident& before);

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_LINE_SELECTOR_H_
