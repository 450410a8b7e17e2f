// systemctl: `systemctl status` and `systemctl is-active` of systemd (systemctl-show.c,
// systemctl-is-active.c), as `systemctl show` prints the units.
// timedatectl: `timedatectl` (timedatectl.c), as `timedatectl show` prints it.
// chronyc: `chronyc tracking` of chrony (client.c, process_cmd_tracking), as with -c.
// sestatus: `sestatus` of SELinux, as `getenforce` prints it.
// id: `id` and `groups` of coreutils, as `id` prints them.
// uname: `uname` with any letters (coreutils src/uname.c), as `uname -a` prints it.
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

constexpr std::size_t kMostUnits = 256;

// The parts of a unit that `systemctl show` prints.
struct ShownUnit {
  std::string id;
  std::string load;
  std::string active;
  std::string sub;
  std::string result;
};

std::string ShownUnits(const std::vector<ShownUnit>& units) {
  std::string text;
  for (const ShownUnit& unit : units) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "Id=", unit.id, "\n");
    const auto field = [&](absl::string_view name, absl::string_view value) {
      if (!value.empty()) absl::StrAppend(&text, name, "=", value, "\n");
    };
    field("LoadState", unit.load);
    field("ActiveState", unit.active);
    field("SubState", unit.sub);
    field("Result", unit.result);
  }
  return text;
}

std::string UnitName(absl::string_view name) {
  return absl::StrContains(name, '.') ? std::string(name) : absl::StrCat(name, ".service");
}

bool IsActiveState(absl::string_view word) {
  static constexpr absl::string_view kStates[] = {"active",     "inactive",     "failed",
                                                  "activating", "deactivating", "reloading",
                                                  "unknown",    "maintenance"};
  return absl::c_linear_search(kStates, word);
}

// The values behind "Name : value" lines, by the name.
std::map<std::string, std::string> Fields(absl::string_view text) {
  std::map<std::string, std::string> fields;
  for (const absl::string_view line : PastedLines(text)) {
    const std::size_t colon = line.find(':');
    if (colon == absl::string_view::npos || fields.size() == 256) continue;
    fields.emplace(absl::StripAsciiWhitespace(line.substr(0, colon)),
                   absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return fields;
}

std::string FieldOf(const std::map<std::string, std::string>& fields,
                    std::initializer_list<absl::string_view> names) {
  for (const absl::string_view name : names) {
    const auto found = fields.find(std::string(name));
    if (found != fields.end()) return found->second;
  }
  return "";
}

}  // namespace

absl::StatusOr<Converted> UnitStates(absl::string_view text, absl::string_view command) {
  static const LazyRE2 kHeading = {
      R"(^\s*(?:[^\w\s]{1,4}|x) ([\w@:\\.-]+\.(?:service|socket|timer|target|mount|path))\b)"};
  static const LazyRE2 kMissing = {R"(^\s*Unit (\S+) could not be found\.)"};
  static const LazyRE2 kRefused = {R"(^\s*Job for (\S+) failed because )"};
  static const LazyRE2 kLoaded = {R"(^\s*Loaded: (\S+))"};
  static const LazyRE2 kActive = {
      R"(^\s*Active: ([a-z]+)(?: \(([\w-]+)\))?(?: \(Result: ([\w-]+)\))?)"};
  // A row of `systemctl list-units`.
  static const LazyRE2 kRow = {
      R"(^\s*(?:[^\w\s]{1,4} )?([\w@:\\.-]+\.(?:service|socket|timer|target|mount|path))\s+(loaded|not-found|masked|error|bad-setting)\s+([a-z]+)\s+([a-z-]+)\b)"};
  const TypedCommand typed(command, "systemctl");
  std::vector<ShownUnit> units;
  std::vector<std::string> bare;  // words of `systemctl is-active`, one a line
  for (const absl::string_view line : PastedLines(text)) {
    if (units.size() == kMostUnits) break;
    ShownUnit unit;
    std::string word;
    if (RE2::PartialMatch(Piece(line), *kRow, &unit.id, &unit.load, &unit.active, &unit.sub) &&
        IsActiveState(unit.active)) {
      units.push_back(std::move(unit));
    } else if (RE2::PartialMatch(Piece(line), *kMissing, &word)) {
      units.push_back({.id = UnitName(word),
                       .load = "not-found",
                       .active = "inactive",
                       .sub = "",
                       .result = ""});
    } else if (RE2::PartialMatch(Piece(line), *kRefused, &word)) {
      units.push_back(
          {.id = UnitName(word), .load = "loaded", .active = "failed", .sub = "", .result = ""});
    } else if (RE2::PartialMatch(Piece(line), *kHeading, &word)) {
      units.push_back({.id = UnitName(word), .load = "", .active = "", .sub = "", .result = ""});
    } else if (!units.empty() && units.back().load.empty() &&
               RE2::PartialMatch(Piece(line), *kLoaded, &word)) {
      units.back().load = word;
    } else if (!units.empty() && units.back().active.empty() &&
               RE2::PartialMatch(Piece(line), *kActive, &unit.active, &unit.sub, &unit.result)) {
      units.back().active = unit.active;
      units.back().sub = unit.sub;
      units.back().result = unit.result;
    } else if (IsActiveState(absl::StripAsciiWhitespace(line)) && bare.size() < kMostUnits) {
      bare.emplace_back(absl::StripAsciiWhitespace(line));
    }
  }
  // `systemctl is-active NAME...` answers a line a name. "inactive" may also be a unit that does
  // not exist.
  std::vector<std::string> names = typed.operands();
  const bool asked = !names.empty() && (names[0] == "is-active" || names[0] == "is-failed");
  if (units.empty() && asked && names.size() == bare.size() + 1) {
    for (std::size_t i = 0; i < bare.size(); ++i) {
      const bool known = bare[i] != "inactive" && bare[i] != "unknown";
      units.push_back({.id = UnitName(names[i + 1]),
                       .load = known ? "loaded" : "",
                       .active = bare[i],
                       .sub = "",
                       .result = ""});
    }
  }
  if (units.empty()) return Unreadable("systemctl", "no line tells the state of a unit");
  Converted converted;
  converted.text = absl::StrCat("\n", ShownUnits(units));
  converted.argv = {"systemctl",
                    "show",
                    "-p",
                    "Id,LoadState,ActiveState,SubState,Result,ExecMainStatus",
                    "nvidia-fabricmanager",
                    "nvidia-persistenced",
                    "nvidia-imex",
                    "nvidia-mps",
                    "opensm",
                    "opensmd",
                    "firewalld",
                    "ufw",
                    "chronyd",
                    "systemd-timesyncd",
                    "kubelet",
                    "containerd",
                    "docker",
                    "slurmd"};
  // Other units are not shown.
  converted.partial = true;
  return converted;
}

absl::StatusOr<Converted> TimeStatus(absl::string_view text, absl::string_view /*command*/) {
  const std::map<std::string, std::string> fields = Fields(text);
  const std::string synchronized =
      FieldOf(fields, {"System clock synchronized", "NTP synchronized"});
  const std::string service = FieldOf(fields, {"NTP service", "Network time on", "NTP enabled",
                                               "systemd-timesyncd.service active"});
  Converted converted;
  const std::string zone = FieldOf(fields, {"Time zone", "Timezone"});
  if (!zone.empty()) {
    absl::StrAppend(&converted.text, "Timezone=", zone.substr(0, zone.find(' ')), "\n");
  }
  if (!service.empty()) {
    const bool on = service == "active" || service == "yes";
    absl::StrAppend(&converted.text, "NTP=", on ? "yes" : "no", "\n");
  }
  if (synchronized == "yes" || synchronized == "no") {
    absl::StrAppend(&converted.text, "NTPSynchronized=", synchronized, "\n");
  }
  if (converted.text.empty()) return Unreadable("timedatectl", "tells nothing of the clock");
  converted.partial = synchronized.empty();
  return converted;
}

absl::StatusOr<Converted> ClockTracking(absl::string_view text, absl::string_view /*command*/) {
  const std::map<std::string, std::string> fields = Fields(text);
  const auto number = [&](absl::string_view name) {
    const std::string value = FieldOf(fields, {name});
    const std::string digits = value.substr(0, value.find(' '));
    // "0.000003 seconds slow of NTP time"
    const bool slow = absl::StrContains(value, " slow");
    return digits.empty() ? "0" : absl::StrCat(slow && digits[0] != '-' ? "-" : "", digits);
  };
  const std::string reference = FieldOf(fields, {"Reference ID"});
  const std::string leap = FieldOf(fields, {"Leap status"});
  const std::string offset = FieldOf(fields, {"System time"});
  if (reference.empty() || leap.empty() || !RE2::PartialMatch(offset, R"(^-?[\d.]+ )")) {
    return Unreadable("chronyc", "tells no offset of the clock, or not of what");
  }
  static const LazyRE2 kReference = {R"(^([0-9A-F]{1,8})(?: \(([^()\s,]*)\))?)"};
  std::string id;
  std::string name;
  if (!RE2::PartialMatch(reference, *kReference, &id, &name)) {
    return Unreadable("chronyc", "the reference is not one of chrony");
  }
  const std::vector<std::string> columns = {id,
                                            name,
                                            number("Stratum"),
                                            "0",
                                            number("System time"),
                                            number("Last offset"),
                                            number("RMS offset"),
                                            number("Frequency"),
                                            number("Residual freq"),
                                            number("Skew"),
                                            number("Root delay"),
                                            number("Root dispersion"),
                                            number("Update interval"),
                                            leap};
  return Converted{.text = absl::StrCat(absl::StrJoin(columns, ","), "\n")};
}

absl::StatusOr<Converted> SelinuxMode(absl::string_view text, absl::string_view /*command*/) {
  const std::map<std::string, std::string> fields = Fields(text);
  std::string mode = FieldOf(fields, {"Current mode"});
  if (mode.empty() && FieldOf(fields, {"SELinux status"}) == "disabled") mode = "disabled";
  static constexpr absl::string_view kModes[] = {"enforcing", "permissive", "disabled"};
  if (!absl::c_linear_search(kModes, mode)) return Unreadable("sestatus", "tells no mode");
  mode[0] = absl::ascii_toupper(static_cast<unsigned char>(mode[0]));
  return Converted{.text = mode + "\n"};
}

absl::StatusOr<Converted> UserGroups(absl::string_view text, absl::string_view command) {
  static const LazyRE2 kId = {R"(^\s*(uid=\d+(?:\([\w.+-]+\))? gid=\d+.*)$)"};
  // "mk sudo video render", and of a user that was named "mk : mk sudo video render"
  static const LazyRE2 kGroups = {R"(^\s*(?:([\w.+-]+) : )?([\w.+-]+(?: [\w.+-]+)*)\s*$)"};
  const bool asked_groups = TypedCommand(command, "groups").known();
  for (const absl::string_view line : PastedLines(text)) {
    std::string found;
    std::string user;
    if (RE2::FullMatch(Piece(line), *kId, &found)) return Converted{.text = found + "\n"};
    if (!asked_groups || !RE2::FullMatch(Piece(line), *kGroups, &user, &found)) continue;
    const std::vector<absl::string_view> names = PastedWords(found);
    // Process numbers are not shown, and a name is in parentheses.
    return Converted{.text =
                         absl::StrCat("groups=",
                                      absl::StrJoin(names, ",",
                                                    [](std::string* out, absl::string_view name) {
                                                      absl::StrAppend(out, "(", name, ")");
                                                    }),
                                      "\n")};
  }
  return Unreadable("id", "no line tells the groups of a user");
}

absl::StatusOr<Converted> KernelRelease(absl::string_view text, absl::string_view /*command*/) {
  static const LazyRE2 kWhole = {R"(^\s*(Linux \S+ \d+\.\d+\S* .*)$)"};
  static const LazyRE2 kRelease = {R"(^\s*(?:Linux )?(\d+\.\d+\.\d+[\w.+~-]*)(?: .*)?$)"};
  for (const absl::string_view line : PastedLines(text)) {
    std::string found;
    if (RE2::FullMatch(Piece(line), *kWhole, &found)) return Converted{.text = found + "\n"};
    if (RE2::FullMatch(Piece(line), *kRelease, &found)) {
      return Converted{.text = absl::StrCat("Linux (none) ", found, "\n")};
    }
  }
  return Unreadable("uname", "no line tells the release of a kernel");
}

}  // namespace galen::intake
