#include "common/talk/mentions.h"

#include <arpa/inet.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/talk/spoken_number.h"

namespace galen::talk {
namespace {

constexpr int kMostOfRange = 64;
constexpr int kSshPort = 22;

RE2::Options MentionBytes() { return RE2::Options(RE2::Latin1); }

// As the system writes it; "" for what is no address.
std::string Canonical(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> written{};
  if (inet_pton(family, text.c_str(), bytes.data()) != 1) return "";
  return inet_ntop(family, bytes.data(), written.data(), written.size()) == nullptr
             ? ""
             : std::string(written.data());
}

std::optional<int> PortOf(absl::string_view digits) {
  std::int32_t port = 0;
  if (!absl::SimpleAtoi(digits, &port) || port < 1 || port > 65535) return std::nullopt;
  return port;
}

bool IsVersion(absl::string_view sentence, std::size_t begin) {
  static const RE2* const kVersion = new RE2(
      R"((?i)(?:version|release|driver|firmware|fw|bios|cuda|nccl|image|tag|ofed|mask|netmask|v)[\s:=]*$)",
      MentionBytes());
  const absl::string_view before = sentence.substr(0, begin);
  return RE2::PartialMatch(re2::StringPiece(before.data(), before.size()), *kVersion);
}

void AddIpv4(absl::string_view sentence, std::vector<Mention>& mentions) {
  static const RE2* const kIpv4 = new RE2(
      R"((?:^|[^0-9A-Za-z.])((?:\d{1,3}\.){3}\d{1,3})(?:/(\d{1,2})\b)?)"
      R"((?:\s*(?:-|\.\.\.?|through|thru|up to|bis)\s*(?:(?:\d{1,3}\.){3}|\.)?(\d{1,3})\b)?(?::(\d{1,5})\b)?)",
      MentionBytes());
  re2::StringPiece rest(sentence.data(), sentence.size());
  re2::StringPiece address;
  re2::StringPiece bits;
  re2::StringPiece last;
  re2::StringPiece port;
  while (RE2::FindAndConsume(&rest, *kIpv4, &address, &bits, &last, &port)) {
    const std::size_t begin = address.data() - sentence.data();
    const std::size_t end = rest.data() - sentence.data();
    if (!rest.empty()) rest = re2::StringPiece(rest.data() - 1, rest.size() + 1);
    // "1.2.3.4.5" is a version.
    if (end + 1 < sentence.size() && sentence[end] == '.' &&
        absl::ascii_isdigit(static_cast<unsigned char>(sentence[end + 1]))) {
      continue;
    }
    const std::string canonical = Canonical(AF_INET, std::string(address));
    if (canonical.empty()) continue;
    Mention mention;
    mention.begin = begin;
    mention.end = end;
    mention.address = canonical;
    if (!port.empty()) mention.port = PortOf(absl::string_view(port.data(), port.size()));
    std::int32_t prefix = 0;
    if (!bits.empty() && absl::SimpleAtoi(absl::string_view(bits.data(), bits.size()), &prefix)) {
      mention.prefix_bits = prefix;
    }
    mention.no_machine = IsVersion(sentence, begin) || absl::StartsWith(canonical, "255.") ||
                         absl::StartsWith(canonical, "0.") ||
                         (absl::EndsWith(canonical, ".0") && mention.prefix_bits >= 0);
    mentions.push_back(mention);
    std::int32_t to = 0;
    if (last.empty() || !absl::SimpleAtoi(absl::string_view(last.data(), last.size()), &to))
      continue;
    const std::size_t dot = canonical.rfind('.');
    std::int32_t from = 0;
    if (!absl::SimpleAtoi(canonical.substr(dot + 1), &from) || to <= from || to > 255 ||
        to - from > kMostOfRange) {
      continue;
    }
    for (std::int32_t each = from + 1; each <= to; ++each) {
      Mention further = mention;
      further.address = absl::StrCat(canonical.substr(0, dot + 1), each);
      mentions.push_back(std::move(further));
    }
  }
}

void AddIpv6(absl::string_view sentence, std::vector<Mention>& mentions) {
  static const RE2* const kIpv6 = new RE2(
      R"((?:^|[^0-9A-Za-z:.])(\[?)([0-9A-Fa-f:]{2,39}(?:(?:\d{1,3}\.){3}\d{1,3})?)(?:%\w{1,16})?(\]?)(?::(\d{1,5}))?)",
      MentionBytes());
  re2::StringPiece rest(sentence.data(), sentence.size());
  re2::StringPiece open;
  re2::StringPiece address;
  re2::StringPiece close;
  re2::StringPiece port;
  while (RE2::FindAndConsume(&rest, *kIpv6, &open, &address, &close, &port)) {
    const std::size_t begin = open.data() - sentence.data();
    const std::size_t end = rest.data() - sentence.data();
    if (!rest.empty()) rest = re2::StringPiece(rest.data() - 1, rest.size() + 1);
    std::string text(address);
    // "fd00::5:" at the end of a clause.
    if (absl::EndsWith(text, ":") && !absl::EndsWith(text, "::")) text.pop_back();
    // Times and C++ names have fewer.
    if (std::count(text.begin(), text.end(), ':') < 2) continue;
    if (text.find("::") == std::string::npos && std::count(text.begin(), text.end(), ':') < 7)
      continue;
    const std::string canonical = Canonical(AF_INET6, text);
    if (canonical.empty() || canonical == "::") continue;
    Mention mention;
    mention.begin = begin;
    mention.end = end;
    mention.address = canonical;
    if (!close.empty() && !port.empty()) {
      mention.port = PortOf(absl::string_view(port.data(), port.size()));
    }
    mention.no_machine = end < sentence.size() && sentence[end] == '/';
    mentions.push_back(std::move(mention));
  }
}

}  // namespace

std::vector<Mention> AddressesIn(absl::string_view sentence) {
  std::vector<Mention> mentions;
  AddIpv4(sentence, mentions);
  AddIpv6(sentence, mentions);
  std::stable_sort(mentions.begin(), mentions.end(),
                   [](const Mention& a, const Mention& b) { return a.begin < b.begin; });
  return mentions;
}

std::vector<Mention> ShortFormsIn(absl::string_view sentence) {
  static const RE2* const kShortForm =
      new RE2(R"((?:^|[\s(,])(?:\.|dot )(\d{1,3})(?::(\d{1,5})\b|\b))", MentionBytes());
  std::vector<Mention> mentions;
  re2::StringPiece rest(sentence.data(), sentence.size());
  re2::StringPiece last;
  re2::StringPiece port;
  while (RE2::FindAndConsume(&rest, *kShortForm, &last, &port)) {
    const std::size_t end = rest.data() - sentence.data();
    if (end + 1 < sentence.size() && sentence[end] == '.' &&
        absl::ascii_isdigit(static_cast<unsigned char>(sentence[end + 1]))) {
      continue;
    }
    Mention mention;
    mention.begin = last.data() - sentence.data() - 1;
    mention.end = end;
    mention.address = std::string(last);
    if (!port.empty()) mention.port = PortOf(absl::string_view(port.data(), port.size()));
    mention.short_form = true;
    mentions.push_back(std::move(mention));
  }
  return mentions;
}

std::vector<PortMention> PortsIn(absl::string_view sentence) {
  // Each ends where a number has to begin.
  static const RE2* const kBefore = new RE2(
      R"(\bports?(?: number| no\.?| nr\.?)?(?: is| are| was|=|:| to| of| at)?(?: now| still| actually| on)? ?#?)"
      R"(|(?:^|\s)-p ?|\bssh ?[:=] ?)"
      R"(|\b(?:sshd?|daemon|login)(?: (?:of them|there|server|daemon))?(?: is| are)?(?: now| still| only| actually)? ?(?:listens?|listening|runs?|running|answers?|sits?|lives?|moved)?(?: now| still| only| actually| over there)? ?(?:on|at|to|over|via) )"
      R"(|\b(?:listens?|listening|answers?|reachable|reach (?:it|them)|log in|logs? in) (?:on|at|via|over) )"
      R"(|\b(?:on|via|over|use|using|try|is|are|to|at|and|or|but|not|,|make (?:it|that)|meant) ?)",
      MentionBytes());
  static const RE2* const kUsual = new RE2(
      R"(\b(?:usual|default|standard|normal|regular|plain old|well-known) (?:ssh )?port\b|\bssh(?: is)?(?: on| at)?(?: the)? (?:default|usual|standard)(?: port| one)?\b)",
      MentionBytes());
  std::vector<PortMention> ports;
  re2::StringPiece rest(sentence.data(), sentence.size());
  re2::StringPiece words;
  static const RE2* const kCue =
      new RE2(absl::StrCat("(", kBefore->pattern(), ")"), MentionBytes());
  while (!rest.empty() && RE2::FindAndConsume(&rest, *kCue, &words)) {
    const std::size_t begin = words.data() - sentence.data();
    std::size_t at = begin + words.size();
    if (words.empty()) {
      rest.remove_prefix(1);
      continue;
    }
    while (at < sentence.size() && sentence[at] == ' ') ++at;
    const auto number = ReadNumber(sentence.substr(at));
    if (!number.has_value() || number->value < 1 || number->value > 65535) continue;
    const absl::string_view cue(words.data(), words.size());
    const bool flag = absl::StrContains(cue, "-p");
    const bool named = absl::StrContains(cue, "port") || absl::StrContains(cue, "ssh") || flag ||
                       absl::StrContains(cue, "listen") || absl::StrContains(cue, "answer") ||
                       absl::StrContains(cue, "reach") || absl::StrContains(cue, "log");
    // A bare number after "on" or "use" is a port only where it has the look of one and nothing
    // that is counted follows it.
    static const RE2* const kCounted = new RE2(
        R"(^\s*(?:%|-|mhz|ghz|gb|gib|mb|mib|tb|w\b|watts?|gpus?|nodes?|hosts?|ranks?|steps?|times?|seconds?|minutes?|hours?|days?|am\b|pm\b|of\b|cards?|jobs?|errors?|tokens?|iterations?|layers?|x\b))",
        MentionBytes());
    const absl::string_view after = sentence.substr(at + number->end);
    const bool counted = RE2::PartialMatch(re2::StringPiece(after.data(), after.size()), *kCounted);
    if (!named && (counted || (number->value < 1024 && number->value != kSshPort))) continue;
    if (!ports.empty() && ports.back().end >= at + number->end) continue;
    PortMention port;
    port.begin = begin;
    port.end = at + number->end;
    port.port = number->value;
    port.flag = flag;
    ports.push_back(port);
    rest = re2::StringPiece(sentence.data() + port.end, sentence.size() - port.end);
  }
  rest = re2::StringPiece(sentence.data(), sentence.size());
  static const RE2* const kUsualCue =
      new RE2(absl::StrCat("(", kUsual->pattern(), ")"), MentionBytes());
  while (RE2::FindAndConsume(&rest, *kUsualCue, &words)) {
    const std::size_t begin = words.data() - sentence.data();
    const std::size_t end = begin + words.size();
    const bool said = std::any_of(ports.begin(), ports.end(), [&](const PortMention& each) {
      return each.begin < end + 16 && begin < each.end;
    });
    if (!said) ports.push_back({begin, end, kSshPort, false});
  }
  std::stable_sort(ports.begin(), ports.end(),
                   [](const PortMention& a, const PortMention& b) { return a.begin < b.begin; });
  return ports;
}

}  // namespace galen::talk
