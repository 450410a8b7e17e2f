#include "services/node/checks/log/profile.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/profile/job.h"

namespace galen::node {
namespace {

// Traces of a job's ranks; more of them say no more.
constexpr std::size_t kMostTraces = 64;

bool IsTrace(absl::string_view path) {
  const std::string lower = absl::AsciiStrToLower(path);
  absl::string_view name = lower;
  for (const char* packed : {".gz", ".zst"}) absl::ConsumeSuffix(&name, packed);
  return profile::NamedLikeTrace(path) ||
         (absl::EndsWith(name, ".json") && absl::StrContains(name, "trace"));
}

const absl::StatusOr<profile::Families>& ShippedFamilies() {
  static const auto* const families =
      new absl::StatusOr<profile::Families>([]() -> absl::StatusOr<profile::Families> {
        GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                               knowledge::FindDirectories({}));
        return profile::Families::Load(directories);
      }());
  return *families;
}

struct Sums {
  double wall = 0;
  double compute = 0;
  double exposed = 0;
  double host = 0;
  double idle = 0;
  bool host_known = true;
};

Sums SumsOf(const profile::JobProfile& job) {
  Sums sums;
  for (const profile::TraceReport& trace : job.traces) {
    sums.host_known = sums.host_known && trace.host_known;
    for (const profile::DeviceReport& device : trace.devices) {
      const profile::Split& total = device.total;
      sums.wall += static_cast<double>(total.wall);
      sums.compute += static_cast<double>(total.compute);
      sums.exposed += static_cast<double>(total.exposed);
      sums.host += static_cast<double>(total.host);
      sums.idle += static_cast<double>(total.idle);
    }
  }
  return sums;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckProfile(const CheckContext& context) {
  const host::Host& host = context.host;
  GALEN_ASSIGN_OR_RETURN(const std::vector<host::JobLog> logs, host.JobLogs());
  std::vector<std::string> paths;
  for (const host::JobLog& log : logs) {
    if (IsTrace(log.name) && paths.size() < kMostTraces) paths.push_back(log.path);
  }
  if (paths.empty()) {
    return absl::UnavailableError(
        "no trace of a profiler lies with the job's logs (*.trace.json.gz, *.xplane.pb, *.sqlite, "
        "*_kernel_trace.csv)");
  }
  GALEN_RETURN_IF_ERROR(ShippedFamilies().status());
  GALEN_ASSIGN_OR_RETURN(const profile::JobProfile job,
                         profile::ReadJob(paths, *ShippedFamilies()));
  const Sums sums = SumsOf(job);
  if (!(sums.wall > 0)) {
    return absl::UnavailableError(
        absl::StrCat("the traces contain no GPU operation",
                     job.troubles.empty() ? "" : absl::StrCat("; ", job.troubles.front())));
  }
  CheckOutput output;
  const auto share = [&](const char* name, double part, bool known) {
    output.findings.push_back(known ? FloatFinding(name, "", "", part / sums.wall)
                                    : UnknownFinding(name, "", ""));
  };
  share("compute_share", sums.compute, true);
  share("exposed_communication_share", sums.exposed, true);
  share("gpu_waits_share", sums.host + sums.idle, true);
  share("host_share", sums.host, sums.host_known);
  const profile::RankComparison& ranks = job.ranks;
  std::string held_up = "none";
  // With two or three ranks none can be called the outlier.
  const bool certain = ranks.certain && ranks.slowest.has_value();
  if (certain) held_up = ranks.ranks[*ranks.slowest].who;
  const auto late = [&](const char* name, profile::Lateness how) {
    output.findings.push_back(
        ranks.ranks.size() < 4
            ? UnknownFinding(name, "", "")
            : TextFinding(name, "", "", certain && ranks.lateness == how ? held_up : "none"));
  };
  late("straggler", profile::Lateness::kComputes);
  late("late_rank", profile::Lateness::kArrives);
  output.message = absl::StrFormat(
      "%d traces: %.0f %% of a step computes, %.0f %% communicates uncovered, %.0f %% waits",
      job.traces.size(), 100 * sums.compute / sums.wall, 100 * sums.exposed / sums.wall,
      100 * (sums.host + sums.idle) / sums.wall);
  if (certain) {
    absl::StrAppend(
        &output.message, "; ", held_up,
        ranks.lateness == profile::Lateness::kComputes
            ? absl::StrFormat(" computes %.0f %% longer than the others", 100 * ranks.ahead)
            : " comes last to collectives");
  }
  for (const std::string& trouble : job.troubles) {
    absl::StrAppend(&output.excerpt, trouble, "\n");
  }
  return output;
}

}  // namespace galen::node
