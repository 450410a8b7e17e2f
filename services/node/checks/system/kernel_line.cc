#include "services/node/checks/system/kernel_line.h"

#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "re2/re2.h"

namespace galen::node {
namespace {

absl::string_view View(re2::StringPiece piece) { return {piece.data(), piece.size()}; }

std::optional<absl::Time> IsoTime(absl::string_view seconds, absl::string_view fraction,
                                  absl::string_view zone) {
  std::string text = absl::StrCat(seconds.substr(0, 10), "T", seconds.substr(11));
  if (!fraction.empty()) absl::StrAppend(&text, ".", fraction);
  absl::StrAppend(&text, zone.empty() || zone == "Z" ? "+00:00" : zone);
  absl::Time time;
  if (!absl::ParseTime("%Y-%m-%dT%H:%M:%E*S%Ez", text, &time, nullptr)) return std::nullopt;
  return time;
}

}  // namespace

KernelLine ParseKernelLine(absl::string_view line) {
  static const RE2 iso(
      R"(^(?:<\d+>)?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)? ?)");
  static const RE2 human(
      R"(^(?:<\d+>)?\[([A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \d{4})\] ?)");
  static const RE2 kmsg(R"(^\d+,\d+,(\d+),[^;]{0,64};)");
  static const RE2 syslog(R"(^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ kernel: ?)");
  static const RE2 from_host(R"(^[^\s:]+ kernel: ?)");
  static const RE2 decoded(R"(^[a-z]+ *:[a-z]+ *: )");  // dmesg -x: "kern  :info  : "
  // talosctl dmesg: "10.0.0.7: kern: warning: [2026-04-22T21:25:20.458998481Z]: ".
  static const RE2 talos(
      R"(^(?:\S+: +)?kern: +\w+: \[(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?\]: ?)");
  // Log shippers put anything before a message.
  static const RE2 shipped(
      R"(^.{1,200}?((?:NVRM: |nvidia-nvswitch\d+: |mlx5_core [0-9a-f:.]{12}|amdgpu [0-9a-f:.]{12}|pcieport [0-9a-f:.]{12}: |EDAC MC\d).*)$)");
  static const RE2 seconds(R"(^(?:<\d+>)?\[\s*(\d+\.\d+)\](?:\[ *[TC]\d+\])? ?)");

  KernelLine parsed;
  re2::StringPiece rest = Piece(line);
  re2::StringPiece a;
  re2::StringPiece b;
  re2::StringPiece c;
  RE2::Consume(&rest, decoded);
  if (RE2::Consume(&rest, iso, &a, &b, &c) || RE2::Consume(&rest, talos, &a, &b, &c)) {
    parsed.time = IsoTime(View(a), View(b), View(c));
  } else if (RE2::Consume(&rest, human, &a)) {
    absl::Time time;
    if (absl::ParseTime("%a %b %d %H:%M:%S %Y", View(a), &time, nullptr)) parsed.time = time;
  } else if (RE2::Consume(&rest, kmsg, &a)) {
    std::int64_t microseconds = 0;
    if (absl::SimpleAtoi(View(a), &microseconds)) {
      parsed.uptime_s = static_cast<double>(microseconds) / 1e6;
    }
  } else {
    RE2::Consume(&rest, syslog);
  }
  RE2::Consume(&rest, from_host);
  if (RE2::Consume(&rest, seconds, &a)) {
    double uptime = 0;
    if (absl::SimpleAtod(View(a), &uptime)) parsed.uptime_s = uptime;
  }
  if (!parsed.time.has_value() && !parsed.uptime_s.has_value() &&
      RE2::FullMatch(rest, shipped, &a)) {
    rest = a;
  }
  parsed.message = View(rest);
  return parsed;
}

}  // namespace galen::node
