#include "common/talk/talk.h"

#include <arpa/inet.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/talk/cues.h"
#include "common/talk/mentions.h"
#include "common/talk/sentences.h"

namespace galen::talk {
namespace {

// How far the words around an address reach.
constexpr std::size_t kReach = 70;
constexpr char kLeftAlone[] = "is to be left alone";

RE2::Options TalkBytes() { return RE2::Options(RE2::Latin1); }

struct Found {
  Target target;
  bool in = true;
  std::string why;  // not in
};

class Reader {
 public:
  explicit Reader(const Reading& reading) : reading_(reading) {}

  void Read(const Sentence& sentence) {
    if (reading_.critique && ((sentence.quoted && !IsLogin(sentence)) || IsPlanted(sentence.lower)))
      return;
    sentence_ = &sentence;
    mentions_ = AddressesIn(sentence.text);
    if (reading_.second_look) AddShortForms();
    ports_ = PortsIn(sentence.lower);
    // Numbers within an address are no ports.
    ports_.erase(std::remove_if(ports_.begin(), ports_.end(),
                                [&](const PortMention& port) {
                                  return std::any_of(
                                      mentions_.begin(), mentions_.end(), [&](const Mention& each) {
                                        return port.end > each.begin && port.end <= each.end;
                                      });
                                }),
                 ports_.end());
    if (mentions_.empty()) {
      if (reading_.second_look) LookBack();
      return;
    }
    Weigh();
    GivePorts();
    Keep();
  }

  Talk Take() && {
    Talk talk;
    for (Found& each : found_) {
      if (each.in) {
        if (talk.targets.size() < kMostTargets) talk.targets.push_back(std::move(each.target));
      } else if (talk.excluded.size() < kMostTargets) {
        const bool left_alone = each.why == kLeftAlone;
        talk.excluded.push_back({std::move(each.target.address), left_alone, std::move(each.why)});
      }
    }
    return talk;
  }

 private:
  // A command that logs in tells where the machine is, also where it was pasted.
  static bool IsLogin(const Sentence& sentence) {
    static const RE2* const kLogin =
        new RE2(R"(^\s*(?:[\w.-]+@[\w.-]+[:~\w/ ]*)?[$#%] *ssh\b|^\s*ssh )", TalkBytes());
    return Has(sentence.lower, kLogin);
  }

  // Words that are meant for a model that obeys what it reads.
  static bool IsPlanted(const std::string& lower) {
    static const RE2* const kPlanted = new RE2(
        R"(\b(?:ignore|disregard|forget) (?:all |any |your |the )*(?:previous|prior|earlier|above|former) (?:instructions?|orders?|rules?|prompts?)\b|^\W*(?:system|assistant|developer) ?:)",
        TalkBytes());
    return Has(lower, kPlanted);
  }

  void AddShortForms() {
    std::string before;
    for (const Mention& each : mentions_) {
      if (absl::StrContains(each.address, '.')) before = each.address;
    }
    if (before.empty()) {
      for (const Found& each : found_) {
        if (absl::StrContains(each.target.address, '.')) before = each.target.address;
      }
    }
    if (before.empty()) return;
    for (Mention& each : ShortFormsIn(sentence_->lower)) {
      const std::string whole = absl::StrCat(before.substr(0, before.rfind('.') + 1), each.address);
      std::array<unsigned char, sizeof(in_addr)> bytes{};
      if (inet_pton(AF_INET, whole.c_str(), bytes.data()) != 1) continue;
      each.address = whole;
      mentions_.push_back(std::move(each));
    }
    std::stable_sort(mentions_.begin(), mentions_.end(),
                     [](const Mention& a, const Mention& b) { return a.begin < b.begin; });
  }

  absl::string_view Before(std::size_t begin, std::size_t from) const {
    const std::size_t start = std::max(from, begin > kReach ? begin - kReach : 0);
    return absl::string_view(sentence_->lower).substr(start, begin - start);
  }
  absl::string_view After(std::size_t end, std::size_t to) const {
    return absl::string_view(sentence_->lower).substr(end, std::min(to - end, kReach));
  }

  // Which addresses of the sentence are in.
  void Weigh() {
    in_.assign(mentions_.size(), true);
    why_.assign(mentions_.size(), "");
    if (!reading_.critique) return;
    for (std::size_t i = 0; i < mentions_.size(); ++i) {
      const Mention& mention = mentions_[i];
      const std::size_t from = i == 0 ? 0 : std::min(mentions_[i - 1].end, mention.begin);
      const std::size_t to = i + 1 == mentions_.size()
                                 ? sentence_->lower.size()
                                 : std::max(mentions_[i + 1].begin, mention.end);
      const absl::string_view before = Before(mention.begin, from);
      const absl::string_view after = After(mention.end, to);
      const bool same_place = i > 0 && mentions_[i - 1].begin == mention.begin;
      if (mention.no_machine) {
        Exclude(i, "is no machine's address");
      } else if (i > 0 && (same_place || Connects(before))) {
        if (!in_[i - 1]) Exclude(i, why_[i - 1]);
        if (Has(after, DeniedAfter()) && !same_place) {
          // "10.0.0.4 and 10.0.0.5 are off limits": all of the list.
          const bool plural = Has(after, Plural());
          Exclude(i, "is said to be another thing, or fine");
          for (std::size_t k = i; plural && k-- > 0;) {
            Exclude(k, why_[i]);
            if (k == 0 || !Connects(Before(mentions_[k].begin, mentions_[k - 1].end))) break;
          }
        }
      } else if (i > 0 && Has(before, Becomes())) {
        // "not X but Y" and "X is now Y".
        if (in_[i - 1]) Exclude(i - 1, "was replaced");
      } else if (Has(before, DeniedBefore())) {
        Exclude(i, kLeftAlone);
      } else if (Has(before, OtherBefore())) {
        Exclude(i, "is another thing, or an example");
      } else if (Has(after, DeniedAfter())) {
        Exclude(i, "is said to be another thing, or fine");
      }
    }
  }

  static const RE2* Plural() {
    static const RE2* const kPlural = new RE2(
        R"(^[ ,)]*(?:which |that |who |both |all |they )*(?:are|were|have|both|can|stay|need)\b)",
        TalkBytes());
    return kPlural;
  }

  void Exclude(std::size_t at, std::string why) {
    in_[at] = false;
    why_[at] = std::move(why);
  }

  // Hands each port to the address that it is said of.
  void GivePorts() {
    for (const PortMention& port : ports_) {
      const std::size_t from = port.begin > kReach ? port.begin - kReach : 0;
      const absl::string_view before =
          absl::string_view(sentence_->lower).substr(from, port.begin - from);
      const absl::string_view after = After(port.end, sentence_->lower.size());
      // The cue is part of what stands before.
      const absl::string_view with_cue =
          absl::string_view(sentence_->lower).substr(from, port.end - from);
      if (reading_.critique) {
        static const RE2* const kDeniedCue = new RE2(
            R"(\b(?:not|no longer|instead of|rather than|isn't|never)(?: (?:on|at|port|the|via|to))* ?[^ ]+$)",
            TalkBytes());
        if (IsOtherPort(before, after) || Has(with_cue, kDeniedCue)) continue;
      }
      // The last address before it, or the first behind where none is before or the words lead on.
      std::size_t owner = mentions_.size();
      for (std::size_t i = 0; i < mentions_.size(); ++i) {
        if (mentions_[i].end <= port.begin + 1) owner = i;
      }
      static const RE2* const kLeadsOn = new RE2(
          R"(^ *(?:on|at|of|for|to|is for|goes to|root@|[\w-]+@)? *(?:the |host |node |root@|[\w-]+@)?\[?$)",
          TalkBytes());
      for (std::size_t i = 0; i < mentions_.size(); ++i) {
        if (mentions_[i].begin < port.end) continue;
        const absl::string_view between =
            absl::string_view(sentence_->lower).substr(port.end, mentions_[i].begin - port.end);
        if (port.flag || owner == mentions_.size() || (Has(between, kLeadsOn) && !between.empty()))
          owner = i;
        break;
      }
      if (owner == mentions_.size()) continue;
      // "Look at A, not B, and log in on 2222": of A.
      if (reading_.critique && !in_[owner] && mentions_[owner].end <= port.begin + 1) {
        const std::string gap =
            sentence_->lower.substr(mentions_[owner].end, port.begin + 1 - mentions_[owner].end);
        if (gap.find_first_of(",;(") != std::string::npos || absl::StrContains(gap, " and ")) {
          for (std::size_t i = owner; i-- > 0;) {
            if (!in_[i]) continue;
            owner = i;
            break;
          }
        }
      }
      // "ports for all": of those that have none of their own.
      const std::string around =
          absl::StrCat(before.substr(before.size() > 30 ? before.size() - 30 : 0), " | ",
                       with_cue.substr(with_cue.size() > 24 ? with_cue.size() - 24 : 0), " ",
                       after.substr(0, 24));
      static const RE2* const kForAll =
          new RE2(R"(\b(?:both|all|each|every|everywhere|they|same|either)\b)", TalkBytes());
      if (reading_.second_look && mentions_.size() > 1 && Has(around, kForAll)) {
        for (Mention& each : mentions_) {
          if (!each.port.has_value()) each.port = port.port;
        }
        continue;
      }
      if (!mentions_[owner].port.has_value()) mentions_[owner].port = port.port;
      // A list before one port: "10.0.0.4 and 10.0.0.5 on port 2222" gives it to the whole list.
      if (reading_.second_look && mentions_[owner].end <= port.begin + 1) {
        for (std::size_t k = owner; k > 0; --k) {
          const bool listed = mentions_[k - 1].begin == mentions_[k].begin ||
                              Connects(Before(mentions_[k].begin, mentions_[k - 1].end));
          if (!listed || mentions_[k - 1].port.has_value()) break;
          mentions_[k - 1].port = port.port;
        }
      }
    }
  }

  // Takes over what the sentence says.
  void Keep() {
    const auto kept_in = static_cast<std::size_t>(std::count(in_.begin(), in_.end(), true));
    if (reading_.critique && kept_in == 1 && !found_.empty() && IsCorrection(sentence_->lower) &&
        !Adds(sentence_->lower)) {
      const std::size_t at = std::find(in_.begin(), in_.end(), true) - in_.begin();
      Found* const last = LastIn();
      const bool known = FindAddress(mentions_[at].address) != nullptr;
      if (last != nullptr && !known) {
        last->in = false;
        last->why = "was corrected";
        if (!mentions_[at].port.has_value()) mentions_[at].port = last->target.port;
      }
    }
    for (std::size_t i = 0; i < mentions_.size(); ++i) {
      Mention& mention = mentions_[i];
      Found* const known = FindAddress(mention.address);
      if (known == nullptr) {
        if (found_.size() >= kMostTargets) continue;
        found_.push_back({{std::move(mention.address), mention.port}, in_[i], why_[i]});
        continue;
      }
      // What is said later counts. A word on the port alone does not bring an address back.
      if (!in_[i]) {
        known->in = false;
        known->why = why_[i];
      } else {
        if (!known->in && !BringsBack()) continue;
        known->in = true;
        if (mention.port.has_value()) known->target.port = mention.port;
      }
    }
  }

  bool BringsBack() const {
    static const RE2* const kBack = new RE2(
        R"(\b(?:after all|again|do include|include|back in|put back|add|bring|also|too|changed my mind|on second thought|as well)\b)",
        TalkBytes());
    return !reading_.critique || Has(sentence_->lower, kBack);
  }

  Found* FindAddress(const std::string& address) {
    for (Found& each : found_) {
      if (each.target.address == address) return &each;
    }
    return nullptr;
  }
  Found* LastIn() {
    for (auto each = found_.rbegin(); each != found_.rend(); ++each) {
      if (each->in) return &*each;
    }
    return nullptr;
  }

  // The target that the last "the second one" within `said` means; null when none is meant.
  Found* Meant(absl::string_view said) {
    static const RE2* const kOrdinal = new RE2(
        R"(\b(?:the |that )?(first|1st|second|2nd|third|3rd|fourth|4th|last|latter|former)(?: (?:one|host|node|box|machine|address|ip))?\b)",
        TalkBytes());
    std::string word;
    std::string each_word;
    re2::StringPiece rest(said.data(), said.size());
    while (RE2::FindAndConsume(&rest, *kOrdinal, &each_word)) word = each_word;
    if (word.empty()) return nullptr;
    std::vector<Found*> in;
    for (Found& each : found_) {
      if (each.in) in.push_back(&each);
    }
    if (in.empty()) return nullptr;
    std::size_t at = 0;
    if (word == "second" || word == "2nd") at = 1;
    if (word == "third" || word == "3rd") at = 2;
    if (word == "fourth" || word == "4th") at = 3;
    if (word == "last" || word == "latter") at = in.size() - 1;
    return at < in.size() ? in[at] : nullptr;
  }

  // A sentence without an address may speak of those before it.
  void LookBack() {
    if (found_.empty()) return;
    static const RE2* const kDrop = new RE2(
        R"(\b(?:skip|drop|leave (?:out )?|forget(?: about)?|ignore|exclude|remove|not) (?:the |that )(?:first|1st|second|2nd|third|3rd|fourth|4th|last|latter|former)\b|\b(?:first|second|third|fourth|last|latter|former)(?: (?:one|host|node|box|machine))? (?:is|was|can be|should be) (?:fine|healthy|ok|okay|left alone|left out|ignored|skipped|out|off limits|decommissioned|excluded|already (?:fixed|replaced))\b)",
        TalkBytes());
    Found* const meant = Meant(sentence_->lower);
    static const RE2* const kSelect = new RE2(
        R"(\b(?:broken|bad|slow|sick|faulty|failing|guilty|ill|suspect|culprit|problem|affected|real|right)(?: (?:one|host|node|machine|box|address))? is (?:the |that )(?:first|1st|second|2nd|third|3rd|fourth|4th|last|latter|former)\b|\b(?:just|only) the (?:first|second|third|fourth|last|latter|former)\b)",
        TalkBytes());
    if (reading_.critique && meant != nullptr && Has(sentence_->lower, kSelect)) {
      for (Found& each : found_) {
        if (&each == meant || !each.in) continue;
        each.in = false;
        each.why = "another one is meant";
      }
      return;
    }
    if (reading_.critique && meant != nullptr && Has(sentence_->lower, kDrop)) {
      meant->in = false;
      meant->why = kLeftAlone;
      return;
    }
    std::size_t said_from = 0;
    for (const PortMention& port : ports_) {
      const std::size_t from = port.begin > kReach ? port.begin - kReach : 0;
      const absl::string_view lower = sentence_->lower;
      const absl::string_view after = After(port.end, lower.size());
      if (reading_.critique) {
        static const RE2* const kDeniedCue = new RE2(
            R"(\b(?:not|no longer|instead of|rather than|isn't|never)(?: (?:on|at|port|the|via|to))* ?[^ ]+$)",
            TalkBytes());
        if (IsOtherPort(lower.substr(from, port.begin - from), after) ||
            Has(lower.substr(from, port.end - from), kDeniedCue)) {
          continue;
        }
      }
      const bool correction = IsCorrection(sentence_->lower);
      // "the first on 2201, the second on 2202"; else "2201 on the first".
      Found* owner = Meant(lower.substr(said_from, port.end - said_from));
      if (owner == nullptr) owner = Meant(after);
      said_from = port.end;
      if (owner != nullptr) {
        owner->target.port = port.port;
      } else if (IsOfAll(sentence_->lower)) {
        for (Found& each : found_) {
          if (each.in && (correction || !each.target.port.has_value()))
            each.target.port = port.port;
        }
      } else if (Found* const last = LastIn(); last != nullptr) {
        last->target.port = port.port;
      }
    }
  }

  const Reading reading_;
  const Sentence* sentence_ = nullptr;
  std::vector<Mention> mentions_;
  std::vector<PortMention> ports_;
  std::vector<bool> in_;
  std::vector<std::string> why_;
  std::vector<Found> found_;
};

}  // namespace

Talk ReadTalk(absl::string_view text, const Reading& reading) {
  const std::vector<Sentence> sentences = SentencesOf(text.substr(0, kMostTalkBytes));
  Reader reader(reading);
  for (const Sentence& sentence : sentences) reader.Read(sentence);
  Talk talk = std::move(reader).Take();
  GoOnSaid said = WhetherToGoOn(sentences, reading.critique);
  talk.go_on = said.go_on;
  talk.go_on_sentence = std::move(said.sentence);
  return talk;
}

}  // namespace galen::talk
