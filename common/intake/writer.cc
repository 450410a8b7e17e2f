#include "common/intake/writer.h"

#include <array>
#include <cstddef>

#include "common/base/re2_piece.h"
#include "common/intake/line.h"
#include "re2/re2.h"

namespace galen::intake {
namespace {

constexpr std::size_t kLooked = 512;

}  // namespace

std::string WriterOf(absl::string_view line) {
  static const std::array<const RE2*, 7> kForms = {
      // NCCL and RCCL, debug.cc: host:pid:tid [device].
      new RE2(R"((?:^|[\s\]])([A-Za-z0-9][\w.\-]*):\d+:\d+ \[\d+\] )", ByteOptions()),
      // RFC 3164, with month names of any language, as journalctl prints them.
      new RE2(
          R"(^[^\s\d\[]{2,12} [ 0-9]?\d \d\d:\d\d:\d\d(?:\.\d+)? ([A-Za-z0-9][\w.\-]*) [^\s:\[]{1,64}(?:\[\d+\])?: )",
          ByteOptions()),
      // RFC 5424 and journalctl -o short-iso.
      new RE2(
          R"(^(?:<\d+>1? ?)?\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d) ([A-Za-z0-9][\w.\-]*) [^\s:\[]{1,64}(?:\[\d+\])?: )",
          ByteOptions()),
      // Open MPI, opal/util/output.c: [host:pid].
      new RE2(R"(^\[([A-Za-z0-9][\w.\-]*):\d{2,8}\] )", ByteOptions()),
      new RE2(R"(^srun: error: ([A-Za-z][\w.\-]*): task)", ByteOptions()),
      new RE2(
          R"(\*\*\* (?:STEP|JOB) \S+ (?:ON|on) ([A-Za-z][\w.\-]*) (?:CANCELLED|STEPD TERMINATED))",
          ByteOptions()),
      // pdsh, and launchers that put the machine before each line: a name with a digit, as those of
      // machines in numbers have one. "mpi4py: 3.5.1" is a package and its release.
      new RE2(R"(^([a-z][a-z\-]*[\-]?[a-z]*\d[\w.\-]*): +\S+ +\S)", ByteOptions()),
  };
  line = line.substr(0, kLooked);
  std::string host;
  for (const RE2* form : kForms) {
    if (RE2::PartialMatch(Piece(line), *form, &host)) return host;
  }
  return "";
}

}  // namespace galen::intake
