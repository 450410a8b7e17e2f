#include "bench/eval/suite/talk/addresses.h"

#include <arpa/inet.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/eval/suite/talk/text.h"

namespace galen::talk {
namespace {

constexpr int kMostOfRange = 64;
constexpr int kGroupsOfIpv6 = 8;

// The system's notation of the address; "" if `text` is not an address.
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

// "1.2.3.4.5" is a version, and ".5.6" no end of an address.
bool GoesOnWithDigits(absl::string_view sentence, std::size_t end) {
  return end + 1 < sentence.size() && sentence[end] == '.' &&
         absl::ascii_isdigit(static_cast<unsigned char>(sentence[end + 1]));
}

// Suffixes of an IPv4 address; each is taken from the front of `rest` if it is there.
struct Behind {
  std::string bits;  // "/24"
  std::string last;  // "-8", " through 10.0.0.8"
  std::string port;  // ":22"
};

Behind ReadBehind(absl::string_view& rest, const TalkWords& words) {
  static const RE2* const kBits = new RE2(R"(/(\d{1,2})\b)", Bytes());
  static const RE2* const kTo = new RE2(R"(\s*(?:-|\.\.\.?)\s*)", Bytes());
  static const RE2* const kLast = new RE2(R"(\s*(?:(?:\d{1,3}\.){3}|\.)?(\d{1,3})\b)", Bytes());
  static const RE2* const kPort = new RE2(R"(:(\d{1,5})\b)", Bytes());
  Behind behind;
  re2::StringPiece left = Piece(rest);
  RE2::Consume(&left, *kBits, &behind.bits);
  re2::StringPiece range = left;
  bool to = RE2::Consume(&range, *kTo);
  if (!to) {
    const auto said = words.range.Find(View(range));
    to = said.has_value() && absl::StripAsciiWhitespace(View(range).substr(0, said->begin)).empty();
    if (to) range.remove_prefix(said->end);
  }
  if (to && RE2::Consume(&range, *kLast, &behind.last)) left = range;
  RE2::Consume(&left, *kPort, &behind.port);
  rest = View(left);
  return behind;
}

// The others of a range that begins with `mention`.
void AddRange(const Mention& mention, const std::string& last, std::vector<Mention>& mentions) {
  const std::size_t dot = mention.address.rfind('.');
  std::int32_t from = 0;
  std::int32_t to = 0;
  if (!absl::SimpleAtoi(last, &to) || !absl::SimpleAtoi(mention.address.substr(dot + 1), &from) ||
      to <= from || to > 255 || to - from > kMostOfRange) {
    return;
  }
  for (std::int32_t each = from + 1; each <= to; ++each) {
    Mention further = mention;
    further.address = absl::StrCat(mention.address.substr(0, dot + 1), each);
    mentions.push_back(std::move(further));
  }
}

void AddIpv4(absl::string_view sentence, const TalkWords& words, std::vector<Mention>& mentions) {
  static const RE2* const kIpv4 = new RE2(R"((?:^|[^0-9a-z.])((?:\d{1,3}\.){3}\d{1,3}))", Bytes());
  absl::string_view rest = sentence;
  re2::StringPiece address;
  while (RE2::PartialMatch(Piece(rest), *kIpv4, &address)) {
    Mention mention;
    mention.begin = address.data() - sentence.data();
    rest = sentence.substr(mention.begin + address.size());
    const Behind behind = ReadBehind(rest, words);
    mention.end = rest.data() - sentence.data();
    // The last character of this address may be the delimiter before the next one.
    rest = sentence.substr(mention.end - 1);
    if (GoesOnWithDigits(sentence, mention.end)) continue;
    mention.address = Canonical(AF_INET, std::string(address));
    if (mention.address.empty()) continue;
    if (!behind.port.empty()) mention.port = PortOf(behind.port);
    mention.no_machine = words.version_before.In(sentence.substr(0, mention.begin)) ||
                         absl::StartsWith(mention.address, "255.") ||
                         absl::StartsWith(mention.address, "0.") ||
                         (absl::EndsWith(mention.address, ".0") && !behind.bits.empty());
    mentions.push_back(mention);
    if (!behind.last.empty()) AddRange(mention, behind.last, mentions);
  }
}

// Times and names of C++ have fewer colons than an address.
bool HasColonsOfIpv6(const std::string& text) {
  const auto colons = std::count(text.begin(), text.end(), ':');
  return colons >= 2 && (absl::StrContains(text, "::") || colons >= kGroupsOfIpv6 - 1);
}

void AddIpv6(absl::string_view sentence, std::vector<Mention>& mentions) {
  // "[fd00::5%eth0]:22": opening brackets, the address, closing brackets, a port.
  static const RE2* const kIpv6 = new RE2(
      R"((?:^|[^0-9a-z:.])(\[?)([0-9a-f:]{2,39}(?:(?:\d{1,3}\.){3}\d{1,3})?)(?:%\w{1,16})?(\]?)(?::(\d{1,5}))?)",
      Bytes());
  re2::StringPiece rest = Piece(sentence);
  re2::StringPiece open;
  re2::StringPiece address;
  re2::StringPiece close;
  re2::StringPiece port;
  while (RE2::FindAndConsume(&rest, *kIpv6, &open, &address, &close, &port)) {
    Mention mention;
    mention.begin = open.data() - sentence.data();
    mention.end = rest.data() - sentence.data();
    if (!rest.empty()) rest = re2::StringPiece(rest.data() - 1, rest.size() + 1);
    std::string text(address);
    // "fd00::5:" at the end of a clause.
    if (absl::EndsWith(text, ":") && !absl::EndsWith(text, "::")) text.pop_back();
    if (!HasColonsOfIpv6(text)) continue;
    mention.address = Canonical(AF_INET6, text);
    if (mention.address.empty() || mention.address == "::") continue;
    if (!close.empty() && !port.empty()) mention.port = PortOf(View(port));
    mention.no_machine = mention.end < sentence.size() && sentence[mention.end] == '/';
    mentions.push_back(std::move(mention));
  }
}

}  // namespace

void SortByPlace(std::vector<Mention>& mentions) {
  std::stable_sort(mentions.begin(), mentions.end(),
                   [](const Mention& a, const Mention& b) { return a.begin < b.begin; });
}

std::vector<Mention> AddressesIn(absl::string_view lower, const TalkWords& words) {
  std::vector<Mention> mentions;
  AddIpv4(lower, words, mentions);
  AddIpv6(lower, mentions);
  SortByPlace(mentions);
  return mentions;
}

std::vector<Mention> ShortFormsIn(absl::string_view lower) {
  // ".17", "dot 17", ".17:22".
  static const RE2* const kShortForm =
      new RE2(R"((?:^|[\s(,])(?:\.|dot )(\d{1,3})(?::(\d{1,5})\b|\b))", Bytes());
  std::vector<Mention> mentions;
  re2::StringPiece rest = Piece(lower);
  re2::StringPiece last;
  re2::StringPiece port;
  while (RE2::FindAndConsume(&rest, *kShortForm, &last, &port)) {
    Mention mention;
    mention.begin = last.data() - lower.data() - 1;
    mention.end = rest.data() - lower.data();
    if (GoesOnWithDigits(lower, mention.end)) continue;
    mention.address = std::string(last);
    if (!port.empty()) mention.port = PortOf(View(port));
    mentions.push_back(std::move(mention));
  }
  return mentions;
}

}  // namespace galen::talk
