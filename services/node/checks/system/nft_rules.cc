#include "services/node/checks/system/nft_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

// A word, a text in quotes (without them), or a set with all that is between its braces.
struct Token {
  enum class Kind { kWord, kText, kSet };
  Kind kind = Kind::kWord;
  absl::string_view text;

  bool Is(absl::string_view word) const { return kind == Kind::kWord && text == word; }
};

// Nothing for a line that ends within a set or a text.
std::optional<std::vector<Token>> Tokens(absl::string_view line) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < line.size()) {
    const char c = line[at];
    if (c == ' ' || c == '\t' || c == ';') {
      ++at;
    } else if (c == '#') {
      break;
    } else if (c == '"') {
      const std::size_t end = line.find('"', at + 1);
      if (end == absl::string_view::npos) return std::nullopt;
      tokens.push_back({Token::Kind::kText, line.substr(at + 1, end - at - 1)});
      at = end + 1;
    } else if (c == '{') {
      int depth = 0;
      bool quoted = false;
      std::size_t end = at;
      for (; end < line.size(); ++end) {
        if (line[end] == '"') quoted = !quoted;
        if (quoted) continue;
        depth += int{line[end] == '{'} - int{line[end] == '}'};
        if (depth == 0) break;
      }
      if (end == line.size()) return std::nullopt;
      tokens.push_back({Token::Kind::kSet, line.substr(at + 1, end - at - 1)});
      at = end + 1;
    } else {
      const std::size_t end = std::min(line.find_first_of(" \t;", at), line.size());
      tokens.push_back({Token::Kind::kWord, line.substr(at, end - at)});
      at = end;
    }
  }
  return tokens;
}

absl::string_view Plain(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

// "tcp" and "established,related" and the elements of a set.
std::vector<absl::string_view> Elements(absl::string_view text) {
  std::vector<absl::string_view> elements;
  for (const absl::string_view part : absl::StrSplit(text, ',')) elements.push_back(Plain(part));
  return elements;
}

// "22" and "1024-65535"; nothing for a name, which is that of a service below the high ports.
std::optional<PortRange> Ports(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  PortRange range;
  if (!absl::SimpleAtoi(ends.first, &range.low)) return std::nullopt;
  range.high = range.low;
  if (!ends.second.empty() && !absl::SimpleAtoi(ends.second, &range.high)) return std::nullopt;
  return range;
}

// The property that a match compares.
enum class What { kState, kStatus, kInterface, kProtocol, kFamily, kCast, kPort, kAddressType };

// The result for one value. kSome: some of the connections have it, or that is unknown.
Takes TakenByValue(What what, absl::string_view value, const PortRange& high) {
  const auto all_if = [](bool all) { return all ? Takes::kAll : Takes::kNone; };
  switch (what) {
    case What::kState:
      return all_if(value == "new");
    case What::kStatus:
      // A connection to a port of this machine is one that no rule sent elsewhere.
      return value == "dnat" || value == "snat" ? Takes::kNone : Takes::kSome;
    case What::kInterface:
      return value == "lo" ? Takes::kNone : Takes::kSome;
    case What::kProtocol:
      return all_if(value == "tcp" || value == "6");
    case What::kFamily:
      return all_if(value == "ip" || value == "ipv4");
    case What::kCast:
      return all_if(value == "host" || value == "unicast");
    case What::kAddressType:
      return all_if(value == "local");
    case What::kPort: {
      // One port too few, and a library that takes any free port is turned away at times.
      const auto ports = Ports(value);
      return all_if(ports.has_value() && ports->low <= high.low && ports->high >= high.high);
    }
  }
  return Takes::kSome;
}

Takes Negated(What what, const std::vector<absl::string_view>& values, Takes taken,
              const PortRange& high) {
  if (what == What::kPort) {
    for (const absl::string_view value : values) {
      const auto ports = Ports(value);
      if (ports.has_value() && ports->low <= high.high && ports->high >= high.low) {
        return Takes::kSome;
      }
    }
  }
  if (taken == Takes::kSome) return Takes::kSome;
  return taken == Takes::kAll ? Takes::kNone : Takes::kAll;
}

struct Key {
  What what;
  std::size_t words;
};

// The property that the words from `at` on compare; nothing: it is unsupported here.
std::optional<Key> KeyAt(const std::vector<Token>& tokens, std::size_t at) {
  struct Known {
    std::vector<absl::string_view> words;
    What what;
  };
  static const std::vector<Known>& known = *new std::vector<Known>{
      {{"ct", "state"}, What::kState},
      {{"ct", "status"}, What::kStatus},
      {{"meta", "iifname"}, What::kInterface},
      {{"meta", "iif"}, What::kInterface},
      {{"iifname"}, What::kInterface},
      {{"iif"}, What::kInterface},
      {{"meta", "l4proto"}, What::kProtocol},
      {{"l4proto"}, What::kProtocol},
      {{"ip", "protocol"}, What::kProtocol},
      {{"meta", "nfproto"}, What::kFamily},
      {{"meta", "protocol"}, What::kFamily},
      {{"meta", "pkttype"}, What::kCast},
      {{"pkttype"}, What::kCast},
      {{"tcp", "dport"}, What::kPort},
      {{"th", "dport"}, What::kPort},
      {{"fib", "daddr", "type"}, What::kAddressType},
  };
  for (const Known& one : known) {
    if (at + one.words.size() > tokens.size()) continue;
    bool all = true;
    for (std::size_t i = 0; i < one.words.size(); ++i) all &= tokens[at + i].Is(one.words[i]);
    if (all) return Key{one.what, one.words.size()};
  }
  return std::nullopt;
}

// Words that only a packet of another protocol or of IPv6 fits.
bool IsOfOthers(const Token& token) {
  for (const absl::string_view word : {"udp", "udplite", "sctp", "dccp", "icmp", "icmpv6", "igmp",
                                       "ip6", "esp", "ah", "comp", "arp"}) {
    if (token.Is(word)) return true;
  }
  return false;
}

struct NftFilter {
  struct Base {
    std::string chain;
    bool policy = true;
    bool of_iptables = false;
  };

  FilterChains chains;
  std::vector<Base> bases;
  bool whole = true;  // the text has its end
};

class RuleReader {
 public:
  RuleReader(const std::string& table, const PortRange& high, std::vector<FilterRule>& rules)
      : table_(table), high_(high), rules_(rules) {}

  void Read(absl::string_view line) {
    // How nft prints the first packet of a connection, in three of its ways.
    static const RE2 syn(
        R"re( tcp flags (?:syn / fin,syn,rst,ack|& \(fin ?\| ?syn ?\| ?rst ?\| ?ack\) == syn|syn)\b)re");
    std::string plain = absl::StrCat(" ", line);
    RE2::GlobalReplace(&plain, syn, "");
    const auto tokens = Tokens(plain);
    if (!tokens.has_value()) {
      Unjudged(Takes::kAll);
      return;
    }
    // Fields that are compared together: whether one alone would fit says nothing.
    const bool together = std::any_of(tokens->begin(), tokens->end(),
                                      [](const Token& token) { return token.Is("."); });
    Takes takes = together ? Takes::kSome : Takes::kAll;
    std::size_t at = 0;
    while (at < tokens->size()) {
      if (Decides(*tokens, at, takes)) return;
      at += Match(*tokens, at, together, takes);
      if (ended_) return;
    }
  }

 private:
  // Adds a rule whose verdict is unknown.
  void Unjudged(Takes takes) { rules_.push_back({takes, std::string(kUnjudged), true}); }

  // Adds the verdict at `at` in `words` for the connections that the rule takes; false when it is
  // not a verdict.
  bool Decides(const std::vector<Token>& words, std::size_t at, Takes takes) {
    const Token& word = words[at];
    if (word.Is("accept") || word.Is("drop") || word.Is("reject") || word.Is("return")) {
      rules_.push_back({takes, absl::AsciiStrToUpper(word.text), true});
    } else if ((word.Is("jump") || word.Is("goto")) && at + 1 < words.size()) {
      rules_.push_back({takes, absl::StrCat(table_, " ", words[at + 1].text), word.Is("jump")});
    } else if (word.Is("queue") ||
               (word.Is("xt") && at + 1 < words.size() && words[at + 1].Is("target"))) {
      Unjudged(takes);
    } else {
      return word.Is("continue");
    }
    return true;
  }

  // How many words from `at` on are one match or statement, and whom it takes.
  std::size_t Match(const std::vector<Token>& tokens, std::size_t at, bool together, Takes& takes) {
    const auto has = [&](std::size_t i, absl::string_view word) {
      return i < tokens.size() && tokens[i].Is(word);
    };
    if (has(at, "counter")) {
      if (has(at + 1, "packets")) return 5;
      return has(at + 1, "name") ? 3 : 1;
    }
    if (has(at, "comment")) return 2;
    if (has(at, "log")) {
      std::size_t end = at + 1;
      while (has(end, "prefix") || has(end, "level") || has(end, "group") || has(end, "flags") ||
             has(end, "snaplen") || has(end, "queue-threshold")) {
        end += 2;
      }
      return end - at;
    }
    if ((has(at, "meta") || has(at, "ct")) && has(at + 2, "set")) return 4;
    if (IsOfOthers(tokens[at])) {
      takes = Takes::kNone;
      return 1;
    }
    const auto key = KeyAt(tokens, at);
    if (!key.has_value() || together) {
      if (has(at, "vmap")) {
        Map(tokens, at + 1, std::nullopt, takes);
        return 1;
      }
      takes = std::min(takes, Takes::kSome);
      return 1;
    }
    std::size_t value = at + key->words;
    if (has(value, "vmap")) {
      Map(tokens, value + 1, key->what, takes);
      return 1;
    }
    bool negated = false;
    absl::string_view order;
    if (value < tokens.size() && tokens[value].kind == Token::Kind::kWord) {
      const absl::string_view sign = tokens[value].text;
      negated = sign == "!=";
      if (sign == ">=" || sign == ">" || sign == "<=" || sign == "<") order = sign;
      if (negated || !order.empty() || sign == "==") ++value;
    }
    if (value >= tokens.size()) {
      takes = std::min(takes, Takes::kSome);
      return value - at;
    }
    takes = std::min(takes, TakenBy(key->what, tokens[value], negated, order));
    return value + 1 - at;
  }

  Takes TakenBy(What what, const Token& value, bool negated, absl::string_view order) const {
    if (value.kind == Token::Kind::kWord && absl::StartsWith(value.text, "@")) return Takes::kSome;
    std::vector<absl::string_view> values = Elements(value.text);
    std::string range;
    if (!order.empty()) {
      std::int64_t port = 0;
      if (what != What::kPort || !absl::SimpleAtoi(value.text, &port) || port < 0 || port > 65535) {
        return Takes::kSome;
      }
      range = order == ">="  ? absl::StrCat(port, "-65535")
              : order == ">" ? absl::StrCat(port + 1, "-65535")
                             : absl::StrCat("0-", order == "<=" ? port : port - 1);
      values = {range};
    }
    Takes taken = Takes::kNone;
    for (const absl::string_view one : values) {
      taken = std::max(taken, TakenByValue(what, one, high_));
    }
    return negated ? Negated(what, values, taken, high_) : taken;
  }

  // "{ established : accept, new : jump x }": a rule for each entry.
  void Map(const std::vector<Token>& tokens, std::size_t at, std::optional<What> what,
           Takes takes) {
    ended_ = true;
    if (at >= tokens.size() || tokens[at].kind != Token::Kind::kSet) {
      Unjudged(std::min(takes, Takes::kSome));
      return;
    }
    for (const absl::string_view entry : absl::StrSplit(tokens[at].text, ',')) {
      const std::size_t colon = entry.rfind(" : ");
      if (colon == absl::string_view::npos) {
        Unjudged(std::min(takes, Takes::kSome));
        continue;
      }
      const absl::string_view key = Plain(entry.substr(0, colon));
      const Takes taken = what.has_value() ? TakenByValue(*what, key, high_) : Takes::kSome;
      const auto verdict = Tokens(entry.substr(colon + 3));
      if (!verdict.has_value() || verdict->empty() ||
          !Decides(*verdict, 0, std::min(takes, taken))) {
        Unjudged(std::min(takes, taken));
      }
    }
  }

  const std::string& table_;
  const PortRange& high_;
  std::vector<FilterRule>& rules_;
  bool ended_ = false;
};

// Braces that a line opens, less those that it closes.
int Opened(absl::string_view line) {
  int opened = 0;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted) opened += int{c == '{'} - int{c == '}'};
  }
  return opened;
}

class RulesetReader {
 public:
  RulesetReader(const PortRange& high, bool iptables_is_read)
      : high_(high), iptables_is_read_(iptables_is_read) {}

  void Add(absl::string_view line) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') return;
    if (skipped_ > 0) {
      skipped_ += Opened(line);
      return;
    }
    if (line == "}") {
      if (!chain_.empty()) {
        chain_.clear();
      } else {
        table_.clear();
      }
      return;
    }
    const std::vector<absl::string_view> words = Words(line);
    if (table_.empty()) {
      if (words.size() > 3 && words[0] == "table" && (words[1] == "ip" || words[1] == "inet")) {
        table_ = absl::StrCat(words[1], " ", words[2]);
        dormant_ = false;
      } else {
        skipped_ = std::max(Opened(line), 0);
      }
    } else if (chain_.empty()) {
      if (words.size() > 2 && words[0] == "chain") {
        chain_ = absl::StrCat(table_, " ", words[1]);
        rules_ = &filter_.chains[chain_];
      } else if (words[0] == "flags" && absl::StrContains(line, "dormant")) {
        dormant_ = true;
      } else {
        skipped_ = std::max(Opened(line), 0);
      }
    } else if (words[0] == "type" && words.size() > 3 && words[2] == "hook") {
      if (words[3] != "input" || dormant_) return;
      filter_.bases.push_back({chain_, !absl::StrContains(line, "policy drop"),
                               iptables_is_read_ && chain_ == "ip filter INPUT"});
    } else if (words[0] == "policy") {
      if (!filter_.bases.empty() && filter_.bases.back().chain == chain_) {
        filter_.bases.back().policy = !absl::StrContains(line, "policy drop");
      }
    } else {
      RuleReader(table_, high_, *rules_).Read(line);
    }
  }

  NftFilter Take() {
    filter_.whole = skipped_ == 0 && table_.empty();
    return std::move(filter_);
  }

 private:
  const PortRange high_;
  const bool iptables_is_read_;
  NftFilter filter_;
  std::string table_;
  std::string chain_;
  bool dormant_ = false;
  std::vector<FilterRule>* rules_ = nullptr;
  int skipped_ = 0;
};

}  // namespace

Input InputOfNft(absl::string_view ruleset, const PortRange& high, bool iptables_is_read) {
  RulesetReader reader(high, iptables_is_read);
  for (const absl::string_view line : Lines(ruleset)) reader.Add(line);
  const NftFilter filter = reader.Take();
  FilterWalk walk(filter.chains);
  Input all = filter.whole ? Input::kNoChain : Input::kSome;
  for (const NftFilter::Base& base : filter.bases) {
    const Input input = InputOf(walk.Through(base.chain), base.policy);
    if (input == Input::kClosed) return input;
    // iptables-save says it in words that nft does not have for everything.
    if (base.of_iptables) continue;
    if (input == Input::kSome || all == Input::kNoChain) all = input;
  }
  return all;
}

}  // namespace galen::node
