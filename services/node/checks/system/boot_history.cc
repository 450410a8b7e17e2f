#include "services/node/checks/system/boot_history.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/flag.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

// Seconds since boot; a machine that is not live has none.
std::optional<double> Uptime(const host::Host& host) {
  const auto uptime = FirstLine(host, "/proc/uptime");
  return uptime.ok() ? LeadingDouble(*uptime) : std::nullopt;
}

// The log that the kernel left in the firmware's store when it died (fs/pstore), oldest part first;
// "none" when it left nothing. Parts of one record hold the log from its end backwards.
std::optional<std::string> PanicRecord(const host::Host& host) {
  const auto parts = host.Glob("/sys/fs/pstore/dmesg-*");
  if (!parts.ok()) {
    if (IsAbsent(parts.status())) return "none";
    return std::nullopt;
  }
  std::string reason;
  for (const std::string& part : *parts) {
    const auto text = host.ReadFile(part);
    if (!text.ok()) continue;
    if (std::string found = PanicReason(*text); !found.empty()) reason = std::move(found);
  }
  return reason.empty() ? absl::StrCat(parts->size(), " parts without a reason") : reason;
}

// Whether the machine went down without a shutdown in the incident's window, or at all where none
// is known. A boot that long precedes it says that the machine ran through; one that long follows
// it hides what came before.
std::optional<bool> UncleanReboot(const CheckContext& context, absl::string_view last,
                                  absl::Duration margin) {
  const std::optional<bool> unclean = BootWithoutShutdown(last);
  if (context.window_start == absl::InfinitePast() &&
      context.window_end == absl::InfiniteFuture()) {
    return unclean;
  }
  const std::optional<absl::Time> boot = BootTime(context.host);
  if (!boot.has_value() || *boot > context.window_end + margin) return std::nullopt;
  if (*boot < context.window_start - margin) return false;
  return unclean;
}

}  // namespace

std::string PanicReason(absl::string_view record) {
  static const RE2 reason(
      R"((Kernel panic - not syncing.*|BUG: .*|Oops: .*|general protection fault.*|Unable to handle kernel .*))");
  std::string found;
  for (const absl::string_view line : Lines(record)) {
    std::string text;
    if (!RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), reason, &text)) continue;
    // The panic names its cause; the lines before it are only part of it.
    if (absl::StartsWith(text, "Kernel panic")) return CleanText(text, 200);
    if (found.empty()) found = CleanText(text, 200);
  }
  return found;
}

std::optional<bool> BootWithoutShutdown(absl::string_view last) {
  bool booted = false;
  for (const absl::string_view line : Lines(last)) {
    const bool boot = absl::StartsWith(line, "reboot ") && absl::StrContains(line, "system boot");
    if (!booted) {
      booted = boot;
      continue;
    }
    if (absl::StartsWith(line, "shutdown ")) return false;
    // A session that a shutdown did not end is shown so.
    if (boot || absl::StrContains(line, "- crash")) return true;
  }
  return std::nullopt;
}

absl::StatusOr<CheckOutput> CheckBootHistory(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const std::vector<KernelEvent> events, KernelEvents(context));
  bool suspended = false;
  bool shutdown = false;
  CheckOutput output;
  for (const KernelEvent& event : events) {
    if (event.family != EventFamily::KERNEL_POWER) continue;
    suspended |= event.code == "suspend";
    shutdown |= event.code == "shutdown";
    absl::StrAppend(&output.excerpt, event.text, "\n");
  }
  const std::optional<double> uptime = Uptime(context.host);
  output.findings.push_back(uptime.has_value() ? FloatFinding("uptime_s", node, "", *uptime)
                                               : UnknownFinding("uptime_s", node, ""));
  const std::optional<std::string> panic = PanicRecord(context.host);
  output.findings.push_back(panic.has_value() ? TextFinding("panic_record", node, "", *panic)
                                              : UnknownFinding("panic_record", node, ""));
  std::optional<bool> unclean;
  if (const auto last = Output(context.host, {"last", "-x"}); last.ok()) {
    GALEN_ASSIGN_OR_RETURN(const CheckData data,
                           CheckData::Of(context.knowledge, "system.boot_history"));
    GALEN_ASSIGN_OR_RETURN(const double margin, data.Number("boot_margin_s"));
    unclean = UncleanReboot(context, *last, absl::Seconds(margin));
    output.excerpt += last->substr(0, 1024);
  }
  output.findings.push_back(FlagOrUnknown("unclean_reboot", node, unclean));
  output.findings.push_back(BoolFinding("suspended", node, "", suspended));
  output.findings.push_back(BoolFinding("last_shutdown_in_log", node, "", shutdown));
  output.message = absl::StrCat(suspended ? "the node was suspended" : "the node was not suspended",
                                unclean.value_or(false) ? "; it went down without a shutdown" : "",
                                panic.value_or("none") != "none"
                                    ? absl::StrCat("; the firmware keeps a record: ", *panic)
                                    : "");
  return output;
}

}  // namespace galen::node
