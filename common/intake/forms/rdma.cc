// ibstatus: `ibstatus` of infiniband-diags, as `ibstat` prints it.
// rdma_link: `rdma link` of iproute2, as `rdma -j link show` prints it.
// show_gids: `show_gids` of mlnx-tools, as the files of /sys/class/infiniband that it reads.
// ibv_devinfo: `ibv_devinfo` of rdma-core (libibverbs/examples/devinfo.c) as it is, and the GIDs
// that it prints with -v as those files.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"

namespace galen::intake {
namespace {

// "ACTIVE" of "4: ACTIVE".
absl::string_view BehindNumber(absl::string_view value) {
  const std::size_t colon = value.find(": ");
  return colon == absl::string_view::npos ? value : value.substr(colon + 2);
}

// "::ffff:192.0.2.7" with all its digits, as the kernel writes a GID; "" for another text.
std::string WholeGid(const std::string& text) {
  in6_addr address = {};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) return "";
  std::string gid;
  for (int i = 0; i < 16; i += 2) {
    absl::StrAppendFormat(&gid, "%s%02x%02x", gid.empty() ? "" : ":", address.s6_addr[i],
                          address.s6_addr[i + 1]);
  }
  return gid;
}

// "Active" of ACTIVE, and "Initializing" of INIT, as ibstat writes them.
std::string StateOfIbstat(absl::string_view state) {
  if (state == "INIT") return "Initializing";
  std::string word = absl::AsciiStrToLower(state);
  if (!word.empty()) word[0] = absl::ascii_toupper(static_cast<unsigned char>(word[0]));
  return word;
}

// A local identifier in decimal; "" for another word.
std::string DecimalLid(absl::string_view lid) {
  std::uint32_t value = 0;
  absl::ConsumePrefix(&lid, "0x");
  if (lid.empty() || !absl::SimpleHexAtoi(lid, &value) || value > 0xffff) return "";
  return absl::StrCat(value);
}

// A line below the port, as ibstat has it; "" for other fields.
std::string IbstatLine(absl::string_view name, absl::string_view value) {
  if (value.empty()) return "";
  if (name == "state") return absl::StrCat("State: ", StateOfIbstat(BehindNumber(value)));
  if (name == "phys state") return absl::StrCat("Physical state: ", BehindNumber(value));
  if (name == "rate") return absl::StrCat("Rate: ", value.substr(0, value.find(' ')));
  if (name == "link_layer") return absl::StrCat("Link layer: ", value);
  if (name == "base lid" || name == "sm lid") {
    const std::string lid = DecimalLid(value);
    return lid.empty() ? "" : absl::StrCat(name == "sm lid" ? "SM lid: " : "Base lid: ", lid);
  }
  return "";
}

}  // namespace

absl::StatusOr<Converted> InfinibandState(absl::string_view text, absl::string_view command) {
  static const LazyRE2 kPort = {
      R"(^\s*Infiniband device '([A-Za-z0-9_.-]{1,64})' port (\d{1,3}) status:$)"};
  static const LazyRE2 kField = {R"(^\s*([a-z_]+(?: [a-z]+)?):\s*(.*)$)"};
  Converted converted;
  std::string device;
  bool any = false;
  for (const absl::string_view line : PastedLines(text)) {
    std::string name;
    std::string value;
    if (RE2::FullMatch(Piece(line), *kPort, &name, &value)) {
      if (name != device) absl::StrAppend(&converted.text, "CA '", name, "'\n");
      device = name;
      absl::StrAppend(&converted.text, "\tPort ", value, ":\n");
      any = true;
    } else if (any && RE2::FullMatch(Piece(line), *kField, &name, &value)) {
      const std::string field = IbstatLine(name, value);
      if (!field.empty()) absl::StrAppend(&converted.text, "\t\t", field, "\n");
    } else if (!any && absl::StrContains(line, "sys files not found")) {
      // The machine has no RDMA device, so ibstat would not list one either.
      return Converted{.text = absl::StrCat(absl::StripAsciiWhitespace(line), "\n"), .files = {}};
    }
  }
  if (!any) return Unreadable("ibstatus", "no line describes a port");
  const TypedCommand typed(command, "ibstatus");
  converted.partial = typed.filtered() || !typed.operands().empty();
  return converted;
}

absl::StatusOr<Converted> GidList(absl::string_view text, absl::string_view /*command*/) {
  // "mlx5_0  1  3  0000:0000:0000:0000:0000:ffff:c000:0207  192.0.2.7  v2  eth0"
  static const LazyRE2 kRow = {
      R"(^\s*([A-Za-z0-9_-][A-Za-z0-9_.-]{0,63})\s+(\d{1,3})\s+(\d{1,4})\s+((?:[0-9a-f]{4}:){7}[0-9a-f]{4})(?:\s+\d[\d.]*)?\s+v([12])(?:\s+(\S{1,32}))?$)"};
  Converted converted;
  bool end = false;
  for (const absl::string_view line : PastedLines(text)) {
    end |= absl::StrContains(line, "n_gids_found");
    std::string device;
    std::string port;
    std::string index;
    std::string gid;
    std::string version;
    std::string netdev;
    if (!RE2::FullMatch(Piece(line), *kRow, &device, &port, &index, &gid, &version, &netdev)) {
      continue;
    }
    const std::string folder = absl::StrCat("/sys/class/infiniband/", device, "/ports/", port);
    converted.files[absl::StrCat(folder, "/gids/", index)] = absl::StrCat(gid, "\n");
    converted.files[absl::StrCat(folder, "/gid_attrs/types/", index)] =
        version == "1" ? "IB/RoCE v1\n" : "RoCE v2\n";
    if (!netdev.empty()) {
      converted.files[absl::StrCat(folder, "/gid_attrs/ndevs/", index)] =
          absl::StrCat(netdev, "\n");
    }
  }
  if (converted.files.empty()) return Unreadable("show_gids", "no line describes a GID");
  converted.partial = !end;
  return converted;
}

absl::StatusOr<Converted> DeviceInfo(absl::string_view text, absl::string_view command) {
  static const LazyRE2 kDevice = {R"(^\s*hca_id:\s+([A-Za-z0-9_-][A-Za-z0-9_.-]{0,63})$)"};
  static const LazyRE2 kPort = {R"(^\s*port:\s+(\d{1,3})$)"};
  static const LazyRE2 kGid = {
      R"(^\s*GID\[\s*(\d{1,4})\]:\s+([0-9a-fA-F:.]{2,45})(?:,\s*(?:IB/)?(RoCE v[12]))?$)"};
  Converted converted;
  const TypedCommand typed(command, "ibv_devinfo");
  // People paste the end alone: it is of one device, which the command may name.
  std::string device = typed.ValueOf({"-d", "--ib-dev"}).value_or("unnamed");
  if (!RE2::FullMatch(device, R"([A-Za-z0-9_-][A-Za-z0-9_.-]{0,63})")) device = "unnamed";
  std::string port = "1";
  bool named = false;
  for (const absl::string_view line : PastedLines(text)) {
    absl::StrAppend(&converted.text, line, "\n");
    std::string found;
    std::string gid;
    std::string type;
    const absl::string_view bare = absl::StripTrailingAsciiWhitespace(line);
    if (RE2::FullMatch(Piece(bare), *kDevice, &found)) {
      device = found;
      named = true;
      port.clear();
    } else if (RE2::FullMatch(Piece(bare), *kPort, &found)) {
      port = found;
    } else if (!port.empty() && RE2::FullMatch(Piece(bare), *kGid, &found, &gid, &type)) {
      const std::string folder = absl::StrCat("/sys/class/infiniband/", device, "/ports/", port);
      gid = WholeGid(gid);
      if (gid.empty()) continue;
      converted.files[absl::StrCat(folder, "/gids/", found)] = gid + "\n";
      // The kernel calls the first type so, and prints it of InfiniBand, too.
      converted.files[absl::StrCat(folder, "/gid_attrs/types/", found)] =
          type == "RoCE v2" ? "RoCE v2\n" : "IB/RoCE v1\n";
    }
  }
  if (!named && converted.files.empty()) {
    return Unreadable("ibv_devinfo", "no line names a device or tells an address");
  }
  converted.partial = !named || typed.filtered() || typed.ValueOf({"-d", "--ib-dev"}).has_value() ||
                      !(typed.HasLetter('v') || absl::StrContains(text, "max_mr_size"));
  return converted;
}

absl::StatusOr<Converted> RdmaLinks(absl::string_view text, absl::string_view command) {
  // "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 13 state ACTIVE physical_state LINK_UP"
  static const LazyRE2 kLink = {
      R"(^\s*(?:\d+(?:/\d+)?: )?link ([A-Za-z0-9_.-]{1,64})/(\d{1,3}) (.*)$)"};
  nlohmann::json links = nlohmann::json::array();
  for (const absl::string_view line : PastedLines(text)) {
    std::string device;
    std::uint32_t port = 0;
    std::string rest;
    if (!RE2::FullMatch(Piece(line), *kLink, &device, &port, &rest)) continue;
    nlohmann::json link = {{"ifname", device}, {"port", port}};
    const std::vector<absl::string_view> words = PastedWords(rest);
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
      std::uint32_t number = 0;
      if (absl::SimpleAtoi(words[i + 1], &number)) {
        link[std::string(words[i])] = number;
      } else {
        link[std::string(words[i])] = std::string(words[i + 1]);
      }
    }
    links.push_back(std::move(link));
  }
  if (links.empty()) return Unreadable("rdma_link", "no line describes a link");
  const TypedCommand typed(command, "rdma");
  return Converted{.text = absl::StrCat(links.dump(), "\n"),
                   .files = {},
                   .partial = typed.filtered() || typed.operands().size() > 2};
}

}  // namespace galen::intake
