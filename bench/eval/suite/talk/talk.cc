#include "bench/eval/suite/talk/talk.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bench/eval/suite/talk/addresses.h"
#include "bench/eval/suite/talk/gathered.h"
#include "bench/eval/suite/talk/give_ports.h"
#include "bench/eval/suite/talk/look_back.h"
#include "bench/eval/suite/talk/ports.h"
#include "bench/eval/suite/talk/sentences.h"
#include "bench/eval/suite/talk/text.h"
#include "bench/eval/suite/talk/weigh.h"

namespace galen::talk {
namespace {

// A login command contains the machine's address, also when it was pasted: "ssh a", "$ ssh a",
// "ana@host:~$ ssh a".
bool IsLoginCommand(absl::string_view lower) {
  static const RE2* const kLogin =
      new RE2(R"(^\s*(?:[\w.-]+@[\w.-]+[:~\w/ ]*)?[$#%] *ssh\b|^\s*ssh )", Bytes());
  return Has(lower, *kLogin);
}

bool IsIpv4(absl::string_view address) { return absl::StrContains(address, '.'); }

class Reader {
 public:
  Reader(const TalkWords& words, const Reading& reading) : words_(words), reading_(reading) {}

  void Read(const Sentence& sentence) {
    const absl::string_view lower = sentence.lower;
    if (reading_.critique && IsNotTheirs(sentence)) return;
    std::vector<Mention> mentions = AddressesIn(lower, words_);
    if (reading_.second_look) AddShortForms(lower, mentions);
    std::vector<PortMention> ports = PortsIn(lower, words_);
    DropPortsWithin(mentions, ports);
    if (mentions.empty()) {
      if (reading_.second_look) LookBack(lower, ports, words_, reading_, found_);
      return;
    }
    const std::vector<Verdict> verdicts =
        reading_.critique ? Weigh(lower, mentions, words_) : std::vector<Verdict>(mentions.size());
    GivePorts(lower, ports, verdicts, words_, reading_, mentions);
    if (reading_.critique) Correct(lower, verdicts, mentions);
    for (std::size_t i = 0; i < mentions.size(); ++i) {
      Keep(lower, std::move(mentions[i]), verdicts[i]);
    }
  }

  Talk Take() && { return std::move(found_).Take(); }

 private:
  // Words of somebody else, or words meant for a model that obeys its input.
  bool IsNotTheirs(const Sentence& sentence) const {
    return (sentence.quoted && !IsLoginCommand(sentence.lower)) ||
           words_.planted.In(sentence.lower) || words_.planted_speaker.In(sentence.lower);
  }

  // ".17" with the beginning of the last address before it.
  void AddShortForms(absl::string_view lower, std::vector<Mention>& mentions) const {
    std::string before;
    for (const Found& each : found_.all()) {
      if (IsIpv4(each.target.address)) before = each.target.address;
    }
    for (const Mention& each : mentions) {
      if (IsIpv4(each.address)) before = each.address;
    }
    if (before.empty()) return;
    for (Mention& each : ShortFormsIn(lower)) {
      each.address = absl::StrCat(before.substr(0, before.rfind('.') + 1), each.address);
      std::array<unsigned char, sizeof(in_addr)> bytes{};
      if (inet_pton(AF_INET, each.address.c_str(), bytes.data()) != 1) continue;
      mentions.push_back(std::move(each));
    }
    SortByPlace(mentions);
  }

  // Numbers within an address are not ports.
  static void DropPortsWithin(const std::vector<Mention>& mentions,
                              std::vector<PortMention>& ports) {
    const auto within = [&](const PortMention& port) {
      return std::any_of(mentions.begin(), mentions.end(), [&](const Mention& each) {
        return port.end > each.begin && port.end <= each.end;
      });
    };
    ports.erase(std::remove_if(ports.begin(), ports.end(), within), ports.end());
  }

  // "Sorry, I meant 10.0.0.40": the one new address takes the place of the last, with its port.
  void Correct(absl::string_view lower, const std::vector<Verdict>& verdicts,
               std::vector<Mention>& mentions) {
    const auto is_in = [](const Verdict& verdict) { return verdict.in; };
    if (std::count_if(verdicts.begin(), verdicts.end(), is_in) != 1) return;
    if (!IsCorrection(lower, words_) || words_.adds.In(lower)) return;
    const std::size_t at = std::find_if(verdicts.begin(), verdicts.end(), is_in) - verdicts.begin();
    Found* const last = found_.LastIn();
    if (last == nullptr || found_.FindAddress(mentions[at].address) != nullptr) return;
    last->verdict = {false, "was corrected"};
    if (!mentions[at].port.has_value()) mentions[at].port = last->target.port;
  }

  // Later statements take precedence. A statement about the port alone does not bring an address
  // back.
  void Keep(absl::string_view lower, Mention mention, const Verdict& verdict) {
    Found* const known = found_.FindAddress(mention.address);
    if (known == nullptr) {
      found_.Add({{std::move(mention.address), mention.port}, verdict});
      return;
    }
    if (!verdict.in) {
      known->verdict = verdict;
      return;
    }
    if (!known->verdict.in && reading_.critique && !words_.brings_back.In(lower)) return;
    known->verdict.in = true;
    if (mention.port.has_value()) known->target.port = mention.port;
  }

  const TalkWords& words_;
  const Reading reading_;
  Gathered found_;
};

}  // namespace

Talk ReadTalk(absl::string_view text, const TalkWords& words, const Reading& reading) {
  const std::vector<Sentence> sentences = SentencesOf(text.substr(0, kMostTalkBytes), words);
  Reader reader(words, reading);
  for (const Sentence& sentence : sentences) reader.Read(sentence);
  Talk talk = std::move(reader).Take();
  GoOnSaid said = WhetherToGoOn(sentences, words, reading.critique);
  talk.go_on = said.go_on;
  talk.go_on_sentence = std::move(said.sentence);
  return talk;
}

}  // namespace galen::talk
