// The parsers of what tools say of drives.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/drives.h"

namespace galen::node {
namespace {

std::string ShortName(absl::string_view path) {
  return CleanText(absl::StripPrefix(path, "/dev/"), 64);
}

}  // namespace

absl::StatusOr<DriveHealth> ParseSmartctl(absl::string_view json) {
  const nlohmann::json tree = ParseJson(json);
  if (At(tree, {"smartctl"}) == nullptr) return absl::DataLossError("not the JSON of smartctl");
  DriveHealth drive;
  drive.device = ShortName(TextAt(tree, {"device", "name"}));
  drive.model = CleanText(TextAt(tree, {"model_name"}), 128);
  drive.passed = BoolAt(tree, {"smart_status", "passed"});
  if (const nlohmann::json* messages = At(tree, {"smartctl", "messages"});
      messages != nullptr && messages->is_array()) {
    for (const nlohmann::json& message : *messages) {
      if (TextAt(message, {"severity"}) != "error" || drive.errors.size() >= 8) continue;
      drive.errors.push_back(CleanText(TextAt(message, {"string"}), 200));
    }
  }
  if (const nlohmann::json* log = At(tree, {"nvme_smart_health_information_log"}); log != nullptr) {
    drive.critical_warning = IntAt(*log, {"critical_warning"});
    drive.spare_pct = IntAt(*log, {"available_spare"});
    drive.spare_threshold_pct = IntAt(*log, {"available_spare_threshold"});
    drive.wear_pct = NumberAt(*log, {"percentage_used"});
    drive.media_errors = IntAt(*log, {"media_errors"});
    drive.power_on_hours = IntAt(*log, {"power_on_hours"});
    drive.power_cycles = IntAt(*log, {"power_cycles"});
    drive.host_reads = IntAt(*log, {"host_reads"});
  }
  for (const char* direction : {"read", "write", "verify"}) {
    if (const auto errors =
            IntAt(tree, {"scsi_error_counter_log", direction, "total_uncorrected_errors"})) {
      drive.uncorrected = drive.uncorrected.value_or(0) + *errors;
    }
  }
  if (const nlohmann::json* table = At(tree, {"ata_smart_attributes", "table"});
      table != nullptr && table->is_array()) {
    for (const nlohmann::json& attribute : *table) {
      const auto id = IntAt(attribute, {"id"});
      const auto raw = IntAt(attribute, {"raw", "value"});
      if (id == 197) drive.pending_sectors = raw;
      if (id == 198) drive.uncorrected = raw;
    }
  }
  return drive;
}

absl::StatusOr<DriveHealth> ParseSmartctlText(absl::string_view text) {
  if (!absl::StartsWith(text, "smartctl ")) {
    return absl::DataLossError("not the output of smartctl");
  }
  static const RE2 model(R"(^(?:Device Model|Model Number|Product):\s+(.+))");
  static const RE2 verdict(
      R"(^SMART (?:overall-health self-assessment test result|Health Status): (\w+))");
  static const RE2 attribute(R"(^\s*(19[78]) \S+.*\s(\d+)\s*$)");
  static const RE2 failed(
      R"((?i)^(?:Read .* failed|.*(?:Unable to|Unknown USB bridge|Error:|failed: ).*)$)");
  DriveHealth drive;
  for (const absl::string_view line : Lines(text)) {
    const re2::StringPiece piece(line.data(), line.size());
    std::string word;
    int id = 0;
    std::int64_t raw = 0;
    if (RE2::PartialMatch(piece, model, &word)) drive.model = CleanText(word, 128);
    if (RE2::PartialMatch(piece, verdict, &word)) drive.passed = word == "PASSED" || word == "OK";
    if (RE2::PartialMatch(piece, attribute, &id, &raw)) {
      (id == 197 ? drive.pending_sectors : drive.uncorrected) = raw;
    }
    if (drive.errors.size() < 8 && RE2::FullMatch(piece, failed)) {
      drive.errors.push_back(CleanText(line, 200));
    }
  }
  return drive;
}

std::string FaultOf(const DriveHealth& drive) {
  std::vector<std::string> faults;
  if (drive.passed.has_value() && !*drive.passed) {
    faults.push_back("the drive predicts its own failure");
  }
  if (drive.critical_warning.value_or(0) != 0) {
    faults.push_back(absl::StrCat("critical warning ", *drive.critical_warning));
  }
  if (drive.spare_pct.has_value() && drive.spare_threshold_pct.has_value() &&
      *drive.spare_pct < *drive.spare_threshold_pct) {
    faults.push_back(absl::StrCat("spare capacity ", *drive.spare_pct, " % below its threshold of ",
                                  *drive.spare_threshold_pct, " %"));
  }
  if (drive.media_errors.value_or(0) > 0) {
    faults.push_back(absl::StrCat(*drive.media_errors, " media errors"));
  }
  if (drive.uncorrected.value_or(0) > 0) {
    faults.push_back(absl::StrCat(*drive.uncorrected, " uncorrected errors"));
  }
  if (drive.pending_sectors.value_or(0) > 0) {
    faults.push_back(absl::StrCat(*drive.pending_sectors, " sectors wait to be replaced"));
  }
  // A drive that has run was switched on at least once: its log was lost or is faked.
  if (drive.power_on_hours.value_or(0) > 0 && drive.power_cycles.has_value() &&
      *drive.power_cycles == 0) {
    faults.push_back(absl::StrCat("its counters are implausible: ", *drive.power_on_hours,
                                  " hours in use, and never switched on"));
  }
  for (const std::string& error : drive.errors) faults.push_back(error);
  return absl::StrJoin(faults, "; ");
}

std::vector<MdArray> ParseMdstat(absl::string_view text) {
  static const RE2 heading(R"(^(md[\w.-]*) : (active|inactive|broken))");
  static const RE2 members(R"(\[(\d{1,6})/(\d{1,6})\])");
  // "super external:imsm"; an array within one names it: "super external:/md127/0".
  static const RE2 container(R"(super external:[^/\s-])");
  std::vector<MdArray> arrays;
  for (const absl::string_view line : Lines(text)) {
    const re2::StringPiece piece(line.data(), line.size());
    std::string name;
    std::string state;
    if (RE2::PartialMatch(piece, heading, &name, &state)) {
      MdArray array;
      array.name = std::move(name);
      array.active = state == "active";
      array.broken = state == "broken";
      arrays.push_back(std::move(array));
      continue;
    }
    if (arrays.empty()) continue;
    MdArray& array = arrays.back();
    if (array.wanted == 0) RE2::PartialMatch(piece, members, &array.wanted, &array.present);
    array.container = array.container || RE2::PartialMatch(piece, container);
    array.rebuilding = array.rebuilding || absl::StrContains(line, "recovery =") ||
                       absl::StrContains(line, "recovery=");
  }
  return arrays;
}

bool IsDegraded(const MdArray& array) {
  if (array.broken) return true;
  if (!array.active) return !array.container;
  return array.present < array.wanted;
}

}  // namespace galen::node
