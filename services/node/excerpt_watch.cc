#include "services/node/excerpt_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"

namespace galen::node {
namespace {

// The length of the beginning of a text by which it is recognised as data.
constexpr std::size_t kLookedAt = 64 << 10;

void NeverPass(galen::v1::CheckResult& result, const std::string& why) {
  if (result.status() != galen::v1::CheckResult::PASS) return;
  result.set_status(galen::v1::CheckResult::SKIPPED);
  result.set_message(why + ": " + result.message());
}

bool TellsOfAbsence(const galen::v1::Finding& finding) {
  switch (finding.value_case()) {
    case galen::v1::Finding::kEventValue:
      return finding.event_value().code().empty();
    case galen::v1::Finding::kBoolValue:
      return !finding.bool_value() && finding.subject().device().empty();
    case galen::v1::Finding::kIntValue:
    case galen::v1::Finding::kDoubleValue:
      return finding.subject().device().empty();
    default:
      return false;
  }
}

}  // namespace

void DropWhatNoExcerptTells(knowledge::CheckOutput& output) {
  for (galen::v1::Finding& finding : output.findings) {
    if (TellsOfAbsence(finding)) finding.clear_value();
  }
}

void NeverPassByExcerpt(galen::v1::CheckResult& result) {
  NeverPass(result, "only a part of the output was given, and it shows no fault");
}

void NeverPassByNothing(galen::v1::CheckResult& result) {
  NeverPass(result, "what was given is empty or cannot be read, so it shows no fault");
}

absl::StatusOr<std::vector<host::JobLog>> ExcerptWatch::JobLogs() const {
  absl::StatusOr<std::vector<host::JobLog>> logs = host_.JobLogs();
  if (!logs.ok()) return logs;
  read_.store(true);
  for (const host::JobLog& log : *logs) {
    // A pipe or the like has no size.
    struct stat info = {};
    const bool empty =
        stat(log.path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0;
    if (!empty) told_.store(true);
  }
  return logs;
}

bool ExcerptWatch::TellsSomething(absl::string_view text) {
  text = text.substr(0, kLookedAt);
  std::size_t control = 0;
  bool filled = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ') filled = true;
    // NUL parts the words of /proc/PID/environ.
    const bool usual = byte >= ' ' || absl::ascii_isspace(byte) || c == '\0' || c == '\x1b' ||
                       c == '\b' || c == '\a';
    control += usual ? 0 : 1;
  }
  return filled && control * 20 <= text.size();
}

}  // namespace galen::node
