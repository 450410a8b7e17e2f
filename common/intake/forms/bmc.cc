// bmc: event logs of BMCs as `ipmitool sel elist` prints them: `racadm getsel` and `racadm lclog
// view` of Dell's iDRAC (RACADM CLI guide), `ipmi-sel` of FreeIPMI (ipmi-sel/ipmi-sel.c) and log
// entries of Redfish (DMTF, LogEntry schema).
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/base/json_access.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"

namespace galen::intake {
namespace {

constexpr std::size_t kMostBmcEntries = 100'000;
constexpr int kMostBmcDepth = 32;

struct BmcEntry {
  std::string time;  // as the BMC writes it
  std::string sensor;
  std::string event;
  bool over = false;
};

// Columns are parted by bars.
std::string OneColumn(absl::string_view text) {
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(text), {{"|", "/"}, {"\n", " "}});
}

// A line of `ipmitool sel elist`; a time that cannot be read becomes "Unspecified".
std::string SelLine(std::size_t number, const BmcEntry& entry) {
  absl::Time time;
  std::string error;
  bool known = false;
  for (const char* format :
       {"%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%E*S%Ez", "%Y-%m-%dT%H:%M:%E*S",
        "%b-%d-%Y %H:%M:%S", "%a %b %d %Y %H:%M:%S", "%a %b %d %H:%M:%S %Y"}) {
    known = known || absl::ParseTime(format, entry.time, absl::UTCTimeZone(), &time, &error);
    if (known) break;
  }
  const std::string when =
      known ? absl::FormatTime("%m/%d/%Y | %H:%M:%S", time, absl::UTCTimeZone()) : "Unspecified | ";
  return absl::StrFormat("%4x | %s | %s | %s | %s\n", number, when, OneColumn(entry.sensor),
                         OneColumn(entry.event), entry.over ? "Deasserted" : "Asserted");
}

// "Description: The power input for power supply 1 is lost." and "Message  = ...": fields of a
// record, which begins with its number.
void ReadRecords(absl::string_view text, std::vector<BmcEntry>* entries) {
  static const LazyRE2 kField = {R"(^\s*([A-Z][A-Za-z/ ]{1,24}?)\s*(?::|=)\s+(\S.*)$)"};
  static const LazyRE2 kBegin = {R"(^\s*(?:Record:\s+\d+|SeqNumber\s+=\s+\d+)\s*$)"};
  bool within = false;
  for (const absl::string_view line : PastedLines(text)) {
    std::string name;
    std::string value;
    if (RE2::FullMatch(Piece(line), *kBegin)) {
      if (entries->size() == kMostBmcEntries) break;
      entries->emplace_back();
      within = true;
      continue;
    }
    if (!within || !RE2::FullMatch(Piece(line), *kField, &name, &value)) continue;
    BmcEntry& entry = entries->back();
    if (name == "Date/Time" || name == "Timestamp") entry.time = value;
    if (name == "Source" || name == "Category") entry.sensor = value;
    if (name == "Description" || name == "Message") entry.event = value;
  }
}

// "12 | Jul-27-2023 | 10:00:01 | PS1 Status | Power Supply | Power Supply input lost (AC/DC)"
void ReadTable(absl::string_view text, std::vector<BmcEntry>* entries) {
  for (const absl::string_view line : PastedLines(text)) {
    std::vector<absl::string_view> columns = absl::StrSplit(line, '|');
    for (absl::string_view& column : columns) column = absl::StripAsciiWhitespace(column);
    if (columns.size() < 6 || !IsNumber(columns[0]) || entries->size() == kMostBmcEntries) continue;
    BmcEntry entry;
    entry.time = absl::StrCat(columns[1], " ", columns[2]);
    entry.sensor = absl::StrCat(columns[4], " ", columns[3]);
    // With -v a column tells the direction.
    std::size_t at = 5;
    if (columns[at] == "Assertion Event" || columns[at] == "Deassertion Event") {
      entry.over = columns[at] == "Deassertion Event";
      if (++at >= columns.size()) continue;
    }
    entry.event = std::string(columns[at]);
    entries->push_back(std::move(entry));
  }
}

std::string TextOfKey(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void ReadRedfish(absl::string_view text, std::vector<BmcEntry>* entries) {
  const nlohmann::json root = ParseJson(text, {.depth = kMostBmcDepth});
  const auto add = [&](const nlohmann::json& object) {
    if (!object.is_object() || entries->size() == kMostBmcEntries) return;
    BmcEntry entry;
    entry.event = TextOfKey(object, "Message");
    entry.time = TextOfKey(object, "Created");
    if (entry.event.empty() || entry.time.empty()) return;
    entry.sensor = TextOfKey(object, "SensorType");
    if (entry.sensor.empty()) entry.sensor = TextOfKey(object, "EntryType");
    entry.over = TextOfKey(object, "EntryCode") == "Deassert";
    entries->push_back(std::move(entry));
  };
  add(root);
  const nlohmann::json* list = root.is_array() ? &root : nullptr;
  if (root.is_object() && root.contains("Members")) list = &root["Members"];
  if (list == nullptr || !list->is_array()) return;
  for (const nlohmann::json& member : *list) add(member);
}

}  // namespace

absl::StatusOr<Converted> BmcEvents(absl::string_view text, absl::string_view /*command*/) {
  std::vector<BmcEntry> entries;
  ReadRecords(text, &entries);
  if (entries.empty()) ReadRedfish(text, &entries);
  if (entries.empty()) ReadTable(text, &entries);
  Converted converted;
  std::size_t number = 0;
  for (const BmcEntry& entry : entries) {
    if (!entry.event.empty()) converted.text += SelLine(++number, entry);
  }
  if (converted.text.empty()) return Unreadable("bmc", "no record describes an event");
  converted.argv = {"ipmitool", "sel", "elist"};
  // A life-cycle log is asked for by severity or number, and Redfish gives it page by page.
  converted.partial = true;
  return converted;
}

}  // namespace galen::intake
