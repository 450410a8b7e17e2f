#include "services/node/checks/rdma/verbs/pair_message.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostValue = 400;
constexpr double kMostNumber = 1e9;
constexpr std::int64_t kMost24Bits = 0xffffff;

bool Printable(unsigned char c) { return absl::ascii_isgraph(c); }

absl::Status Wrong(absl::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat("the other side gives no sound ", name, "; do both run the same version?"));
}

}  // namespace

absl::string_view PairMessage::Text(absl::string_view name) const {
  const auto it = values.find(name);
  return it == values.end() ? absl::string_view() : absl::string_view(it->second);
}

absl::StatusOr<std::int64_t> PairMessage::Integer(absl::string_view name, std::int64_t least,
                                                  std::int64_t most) const {
  std::int64_t value = 0;
  if (!absl::SimpleAtoi(Text(name), &value) || value < least || value > most) return Wrong(name);
  return value;
}

absl::StatusOr<double> PairMessage::Number(absl::string_view name) const {
  double value = 0;
  if (!absl::SimpleAtod(Text(name), &value) || !std::isfinite(value) || value < 0 ||
      value > kMostNumber) {
    return Wrong(name);
  }
  return value;
}

absl::StatusOr<PairMessage> ParsePairMessage(absl::string_view line) {
  const absl::Status wrong = absl::InvalidArgumentError("not a line of the pair protocol");
  if (line.size() > kMostPairLine) return wrong;
  PairMessage message;
  for (const absl::string_view word : absl::StrSplit(line, ' ')) {
    if (word.empty() || !std::all_of(word.begin(), word.end(), [](char c) {
          return Printable(static_cast<unsigned char>(c));
        })) {
      return wrong;
    }
    if (message.verb.empty()) {
      message.verb = std::string(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == absl::string_view::npos || equals == 0) return wrong;
    message.values[std::string(word.substr(0, equals))] = std::string(word.substr(equals + 1));
  }
  return message;
}

std::string AsValue(absl::string_view text) {
  std::string value(text.substr(0, kMostValue));
  for (char& c : value) {
    if (!Printable(static_cast<unsigned char>(c))) c = '_';
  }
  return value;
}

std::string EndpointWords(const EndpointAddress& address) {
  const absl::string_view gid(reinterpret_cast<const char*>(address.gid.data()),
                              address.gid.size());
  return absl::StrCat("lid=", address.lid, " gid=", absl::BytesToHexString(gid),
                      " ethernet=", address.ethernet ? 1 : 0, " mtu=", address.mtu,
                      " psn=", address.psn, " qpn=", absl::StrJoin(address.qpns, ","),
                      " target=", absl::Hex(address.target), " rkey=", address.rkey);
}

absl::StatusOr<EndpointAddress> ParseEndpoint(const PairMessage& message) {
  EndpointAddress address;
  GALEN_ASSIGN_OR_RETURN(const std::int64_t lid, message.Integer("lid", 0, 0xffff));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t ethernet, message.Integer("ethernet", 0, 1));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t mtu, message.Integer("mtu", 256, 4096));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t psn, message.Integer("psn", 0, kMost24Bits));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t rkey,
                         message.Integer("rkey", 0, std::numeric_limits<std::uint32_t>::max()));
  const absl::string_view gid = message.Text("gid");
  const bool hex = std::all_of(gid.begin(), gid.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
  if (gid.size() != 2 * address.gid.size() || !hex) return Wrong("gid");
  const std::string bytes = absl::HexStringToBytes(gid);
  std::copy(bytes.begin(), bytes.end(), address.gid.begin());
  if (!absl::SimpleHexAtoi(message.Text("target"), &address.target)) return Wrong("target");
  for (const absl::string_view text : absl::StrSplit(message.Text("qpn"), ',')) {
    std::uint32_t qpn = 0;
    if (!absl::SimpleAtoi(text, &qpn) || qpn > kMost24Bits) return Wrong("qpn");
    address.qpns.push_back(qpn);
  }
  address.lid = static_cast<std::uint16_t>(lid);
  address.ethernet = ethernet == 1;
  address.mtu = static_cast<int>(mtu);
  address.psn = static_cast<std::uint32_t>(psn);
  address.rkey = static_cast<std::uint32_t>(rkey);
  return address;
}

}  // namespace galen::node
