#include "bench/eval/suite/talk/ports.h"

#include <algorithm>
#include <array>
#include <optional>

#include "bench/eval/suite/talk/spoken_number.h"
#include "bench/eval/suite/talk/text.h"

namespace galen::talk {
namespace {

constexpr int kSshPort = 22;
constexpr int kLeastOfUsers = 1024;
// "the usual ssh port, 22" says it once.
constexpr std::size_t kSaidOnce = 16;

// The sign that the number after it is a port.
enum class Cue { kFlag, kNamed, kBare };

struct FoundCue {
  Cue cue = Cue::kBare;
  phrases::Span span;
};

// The cues of a sentence in their order.
class Cues {
 public:
  Cues(absl::string_view lower, const TalkWords& words) : lower_(lower), words_(words) {}

  // The first at or behind `from`; of those that begin together the one that says more.
  std::optional<FoundCue> Next(std::size_t from) {
    std::optional<FoundCue> first;
    for (std::size_t i = 0; i < ahead_.size(); ++i) {
      const auto cue = static_cast<Cue>(i);
      Ahead& ahead = ahead_[i];
      if (!ahead.looked || (ahead.span.has_value() && ahead.span->begin < from)) {
        ahead = {Find(cue, from), true};
      }
      if (ahead.span.has_value() && (!first.has_value() || ahead.span->begin < first->span.begin)) {
        first = FoundCue{cue, *ahead.span};
      }
    }
    return first;
  }

 private:
  struct Ahead {
    std::optional<phrases::Span> span;
    bool looked = false;
  };

  std::optional<phrases::Span> Find(Cue cue, std::size_t from) const {
    if (cue == Cue::kNamed) return words_.port_named.Find(lower_, from);
    if (cue == Cue::kBare) return words_.port_bare.Find(lower_, from);
    // The option of ssh.
    static const RE2* const kFlag = new RE2(R"((?:^|\s)(-p ?))", Bytes());
    re2::StringPiece rest = Piece(lower_.substr(from));
    re2::StringPiece flag;
    if (!RE2::PartialMatch(rest, *kFlag, &flag)) return std::nullopt;
    const std::size_t begin = flag.data() - lower_.data();
    return phrases::Span{begin, begin + flag.size()};
  }

  const absl::string_view lower_;
  const TalkWords& words_;
  std::array<Ahead, 3> ahead_;
};

// The port that is said behind `cue`.
std::optional<PortMention> ReadPort(absl::string_view lower, const FoundCue& cue,
                                    const TalkWords& words) {
  std::size_t at = cue.span.end;
  while (at < lower.size() && (lower[at] == ' ' || (lower[at] == '#' && cue.cue == Cue::kNamed))) {
    ++at;
  }
  const auto number = ReadNumber(lower.substr(at));
  if (!number.has_value() || number->value < 1 || number->value > 65535) return std::nullopt;
  const std::size_t end = at + number->end;
  const bool low = number->value < kLeastOfUsers && number->value != kSshPort;
  if (cue.cue == Cue::kBare && (low || words.counted.In(lower.substr(end)))) return std::nullopt;
  return PortMention{cue.span.begin, at, end, number->value, cue.cue == Cue::kFlag};
}

}  // namespace

std::vector<PortMention> PortsIn(absl::string_view lower, const TalkWords& words) {
  std::vector<PortMention> ports;
  Cues cues(lower, words);
  for (auto cue = cues.Next(0); cue.has_value();) {
    const auto port = ReadPort(lower, *cue, words);
    if (port.has_value()) ports.push_back(*port);
    cue = cues.Next(port.has_value() ? port->end : cue->span.end);
  }
  std::size_t from = 0;
  for (auto usual = words.port_usual.Find(lower); usual.has_value();
       usual = words.port_usual.Find(lower, from)) {
    from = usual->end;
    const bool said = std::any_of(ports.begin(), ports.end(), [&](const PortMention& each) {
      return each.begin < usual->end + kSaidOnce && usual->begin < each.end;
    });
    if (!said) ports.push_back({usual->begin, usual->begin, usual->end, kSshPort, false});
  }
  std::stable_sort(ports.begin(), ports.end(),
                   [](const PortMention& a, const PortMention& b) { return a.begin < b.begin; });
  return ports;
}

bool IsOtherPort(absl::string_view lower, const PortMention& port, const TalkWords& words) {
  return words.other_port_before.In(Before(lower, port.begin)) ||
         words.port_denied.In(Before(lower, port.number)) ||
         words.other_port_after.In(After(lower, port.end));
}

}  // namespace galen::talk
