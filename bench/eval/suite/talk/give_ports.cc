#include "bench/eval/suite/talk/give_ports.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bench/eval/suite/talk/text.h"

namespace galen::talk {
namespace {

// The distances at which "both" and "all" count before and after a port.
constexpr std::size_t kNearBefore = 30;
constexpr std::size_t kNearAfter = 24;

absl::string_view Last(absl::string_view text, std::size_t bytes) {
  return text.substr(text.size() > bytes ? text.size() - bytes : 0);
}

class Giver {
 public:
  Giver(absl::string_view lower, const std::vector<Verdict>& verdicts, const TalkWords& words,
        const Reading& reading, std::vector<Mention>& mentions)
      : lower_(lower), verdicts_(verdicts), words_(words), reading_(reading), mentions_(mentions) {}

  void Give(const PortMention& port) {
    std::size_t owner = OwnerOf(port);
    if (owner == mentions_.size()) return;
    if (reading_.critique) owner = PassOver(owner, port);
    if (reading_.second_look && mentions_.size() > 1 && IsForAll(port)) {
      for (Mention& each : mentions_) GiveTo(each, port);
      return;
    }
    GiveTo(mentions_[owner], port);
    if (reading_.second_look && StandsBefore(owner, port)) GiveToList(owner, port);
  }

 private:
  static void GiveTo(Mention& mention, const PortMention& port) {
    if (!mention.port.has_value()) mention.port = port.port;
  }

  bool StandsBefore(std::size_t i, const PortMention& port) const {
    return mentions_[i].end <= port.begin + 1;
  }

  // The last address before it; the first one after it if none is before it or the words point
  // forward.
  std::size_t OwnerOf(const PortMention& port) const {
    std::size_t owner = mentions_.size();
    std::size_t next = mentions_.size();
    for (std::size_t i = mentions_.size(); i-- > 0;) {
      if (mentions_[i].begin >= port.end) next = i;
      if (owner == mentions_.size() && StandsBefore(i, port)) owner = i;
    }
    if (next == mentions_.size()) return owner;
    const bool lead_on = LeadOn(lower_.substr(port.end, mentions_[next].begin - port.end));
    return port.flag || owner == mentions_.size() || lead_on ? next : owner;
  }

  bool LeadOn(absl::string_view between) const {
    // "root@[": a user name, and the bracket of an address.
    static const RE2* const kUser = new RE2(R"((?:[\w-]+@)?\[?$)", Bytes());
    re2::StringPiece user;
    if (between.empty()) return false;
    kUser->Match(Piece(between), 0, between.size(), RE2::UNANCHORED, &user, 1);
    return words_.leads_on.In(between.substr(0, between.size() - user.size()));
  }

  // "Look at A, not B, and log in on 2222": the port belongs to A.
  std::size_t PassOver(std::size_t owner, const PortMention& port) const {
    if (verdicts_[owner].in || !StandsBefore(owner, port)) return owner;
    const absl::string_view gap =
        lower_.substr(mentions_[owner].end, port.begin + 1 - mentions_[owner].end);
    if (gap.find_first_of(",;(") == absl::string_view::npos && !absl::StrContains(gap, " and ")) {
      return owner;
    }
    for (std::size_t i = owner; i-- > 0;) {
      if (verdicts_[i].in) return i;
    }
    return owner;
  }

  // "ports for all".
  bool IsForAll(const PortMention& port) const {
    const absl::string_view before = Before(lower_, port.begin);
    const absl::string_view with_cue =
        lower_.substr(port.begin - before.size(), port.end - port.begin + before.size());
    return words_.for_all.In(absl::StrCat(Last(before, kNearBefore), " | ",
                                          Last(with_cue, kNearAfter), " ",
                                          After(lower_, port.end).substr(0, kNearAfter)));
  }

  // "10.0.0.4 and 10.0.0.5 on port 2222" gives it to the whole list.
  void GiveToList(std::size_t owner, const PortMention& port) {
    for (std::size_t k = owner; k > 0; --k) {
      if (!IsListed(lower_, mentions_, k, words_) || mentions_[k - 1].port.has_value()) return;
      mentions_[k - 1].port = port.port;
    }
  }

  const absl::string_view lower_;
  const std::vector<Verdict>& verdicts_;
  const TalkWords& words_;
  const Reading& reading_;
  std::vector<Mention>& mentions_;
};

}  // namespace

void GivePorts(absl::string_view lower, const std::vector<PortMention>& ports,
               const std::vector<Verdict>& verdicts, const TalkWords& words, const Reading& reading,
               std::vector<Mention>& mentions) {
  Giver giver(lower, verdicts, words, reading, mentions);
  for (const PortMention& port : ports) {
    if (reading.critique && IsOtherPort(lower, port, words)) continue;
    giver.Give(port);
  }
}

}  // namespace galen::talk
