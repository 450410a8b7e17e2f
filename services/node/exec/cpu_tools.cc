#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/text.h"
#include "nlohmann/json.hpp"
#include "services/node/exec/parsers.h"
#include "services/node/exec/words.h"

namespace galen::node {
namespace {

using nlohmann::json;

constexpr std::size_t kMostJobs = 256;

std::optional<double> NumberOf(const json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

}  // namespace

absl::StatusOr<CheckOutput> ParseStream(const ProgramOutput& output) {
  const std::string node = output.context.host.name();
  CheckOutput found;
  bool validates = false;
  bool told = false;
  for (const absl::string_view line : OutputLines(output.result.out)) {
    // "Triad:         363208.7     0.026599     0.026431     0.026855": MB/s, MB being 10^6 bytes.
    const std::vector<absl::string_view> words = OutputWords(line);
    for (const char* const kernel : {"Copy", "Scale", "Add", "Triad"}) {
      if (words.size() != 5 || words[0] != absl::StrCat(kernel, ":")) continue;
      const auto rate = Number(words[1]);
      if (!rate.has_value()) continue;
      found.findings.push_back(FloatFinding(absl::StrCat(absl::AsciiStrToLower(kernel), "_gb_s"),
                                            node, "", *rate / 1000));
    }
    if (absl::StartsWith(line, "Solution Validates")) validates = told = true;
    if (absl::StartsWith(line, "Failed Validation")) told = true;
  }
  if (found.findings.empty()) return NotOutputOf("STREAM", output.result.out);
  const double last = found.findings.back().double_value();
  found.findings.push_back(told ? BoolFinding("validates", node, "", validates)
                                : UnknownFinding("validates", node, ""));
  found.message = absl::StrCat(found.findings[found.findings.size() - 2].name(), " ", last,
                               told ? (validates ? ", validated" : ", wrong results") : "");
  return found;
}

// The kernel's error codes of a device that failed to read (Linux block/blk-core.c, blk_errors).
// fio reports an unsupported request in the same way, as EINVAL or ENOENT.
bool IsDeviceError(std::int64_t error) {
  static constexpr std::int64_t kErrors[] = {EIO,    EBADE,     ENODATA,  ENOLINK,
                                             EILSEQ, ETIMEDOUT, EREMOTEIO};
  return std::find(std::begin(kErrors), std::end(kErrors), error) != std::end(kErrors);
}

absl::StatusOr<CheckOutput> ParseFio(const ProgramOutput& output) {
  // fio may print notes before the object.
  absl::string_view text = output.result.out;
  const std::size_t begin = text.find('{');
  if (begin == absl::string_view::npos) return NotOutputOf("fio", text);
  text.remove_prefix(begin);
  const json document = ParseJson(text);
  if (!document.is_object() || !document.contains("jobs") || !document["jobs"].is_array()) {
    return NotOutputOf("fio", output.result.out);
  }
  const std::string node = output.context.host.name();
  CheckOutput found;
  std::size_t jobs = 0;
  bool device_failed = false;
  for (const json& job : document["jobs"]) {
    if (!job.is_object() || ++jobs > kMostJobs) continue;
    std::string name = absl::StrCat("job:", jobs);
    if (job.contains("jobname") && job["jobname"].is_string()) {
      name = absl::StrCat("job:", CleanText(job["jobname"].get<std::string>(), 64));
    }
    const auto add = [&](const std::string& finding, std::optional<double> value, double unit) {
      found.findings.push_back(value.has_value() ? FloatFinding(finding, node, name, *value / unit)
                                                 : UnknownFinding(finding, node, name));
    };
    const json& error = job.contains("error") ? job["error"] : json();
    found.findings.push_back(error.is_number_integer()
                                 ? IntFinding("error", node, name, error.get<std::int64_t>())
                                 : UnknownFinding("error", node, name));
    device_failed |= error.is_number_integer() && IsDeviceError(error.get<std::int64_t>());
    for (const char* const way : {"read", "write"}) {
      if (!job.contains(way) || !job[way].is_object()) continue;
      const json& side = job[way];
      if (NumberOf(side, "total_ios").value_or(0) <= 0) continue;
      add(absl::StrCat(way, "_iops"), NumberOf(side, "iops"), 1);
      add(absl::StrCat(way, "_gb_s"), NumberOf(side, "bw_bytes"), 1e9);
      for (const char* const kind : {"lat_ns", "clat_ns"}) {
        if (!side.contains(kind) || !side[kind].is_object()) continue;
        const json& latency = side[kind];
        if (!latency.contains("percentile")) continue;
        add(absl::StrCat(way, "_p99_ms"), NumberOf(latency["percentile"], "99.000000"), 1e6);
        break;
      }
    }
  }
  if (jobs == 0) return NotOutputOf("fio", output.result.out);
  if (output.result.exit_code != 0 && !device_failed) {
    return absl::AbortedError(
        absl::StrCat("fio ended with exit code ", output.result.exit_code,
                     " and no error of a device: ", LastWords(output.result)));
  }
  found.message = absl::StrCat(jobs, jobs == 1 ? " job" : " jobs", " of fio");
  return found;
}

}  // namespace galen::node
