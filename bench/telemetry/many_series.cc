// many_series DIR SERIES: creates a TSDB with this many series of node_exporter in DIR (once), has
// a Prometheus of our own serve it, and sends the queries of the checks. Prints the result and the
// duration of each query, the peak memory of this process, and the memory of the server.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/host/process.h"
#include "common/telemetry/discovery.h"
#include "common/telemetry/stored_tsdb.h"

namespace galen::telemetry {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kStart = 1'700'000'000;
absl::Time At(std::int64_t second) { return absl::FromUnixSeconds(kStart + second); }

std::int64_t Kibibytes(const std::string& status_file, const std::string& what) {
  std::ifstream status(status_file);
  std::string word;
  while (status >> word) {
    std::int64_t kibibytes = 0;
    if (word == what && status >> kibibytes) return kibibytes;
  }
  return 0;
}

// Memory of the program `name` that this process started, directly or not.
std::int64_t ServerMebibytes(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline");
    std::string words((std::istreambuf_iterator<char>(in)), {});
    if (absl::StartsWith(words, "prometheus") && absl::StrContains(words, folder))
      return Kibibytes(entry.path() / "status", "VmHWM:") >> 10;
  }
  return 0;
}

absl::Status Make(const std::string& directory, std::int64_t count) {
  const std::string text = directory + "/samples.om";
  fs::create_directories(directory + "/tsdb");
  std::ofstream out(text);
  // A thousand series a node, as node_exporter and cAdvisor have them; two samples each.
  out << "# TYPE node_procs_running gauge\n";
  for (const int second : {0, 60}) {
    for (std::int64_t i = 0; i < count / 1000; ++i)
      out << "node_procs_running{instance=\"n" << i << ":9100\"} 5 " << kStart + second << "\n";
  }
  out << "# TYPE container_processes gauge\n";
  for (const int second : {0, 60}) {
    for (std::int64_t i = 0; i < count - count / 1000; ++i)
      out << "container_processes{instance=\"n" << i / 999 << ":10250\",pod=\"p" << i << "\"} 5 "
          << kStart + second << "\n";
  }
  out << "# EOF\n";
  out.close();
  GALEN_ASSIGN_OR_RETURN(
      const auto made,
      host::RunProcess(
          {"promtool", "tsdb", "create-blocks-from", "openmetrics", text, directory + "/tsdb"},
          "/usr/local/bin:/usr/bin:/bin", {}, {.time = absl::Hours(1)}));
  fs::remove(text);
  if (made.exit_code != 0)
    return absl::InternalError(
        absl::StrCat("promtool ended with ", made.exit_code, ": ", made.err));
  return absl::OkStatus();
}

template <typename Question>
void Ask(const char* what, Question question) {
  const absl::Time begin = SteadyNow();
  const std::string came = question();
  std::cout << absl::StrFormat("%-34s %7.2f s  %5d MiB  %s\n", what,
                               absl::ToDoubleSeconds(SteadyNow() - begin),
                               Kibibytes("/proc/self/status", "VmHWM:") >> 10, came);
}

template <typename T>
std::string Came(const absl::StatusOr<T>& answer, std::size_t count, bool complete) {
  if (!answer.ok()) return answer.status().ToString();
  return absl::StrCat(count, complete ? ", complete" : ", incomplete");
}

absl::Status Run(const std::string& directory, std::int64_t count) {
  if (!fs::exists(directory + "/tsdb")) GALEN_RETURN_IF_ERROR(Make(directory, count));
  GALEN_ASSIGN_OR_RETURN(const Rules rules, LoadRules({GALEN_SOURCE_DIR "/knowledge"}));
  absl::Time begin = SteadyNow();
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<StoredTsdb> tsdb,
                         StoredTsdb::Open(directory + "/tsdb", {}, {}));
  std::cout << absl::StrFormat("%d series; opened in %.2f s\n", count,
                               absl::ToDoubleSeconds(SteadyNow() - begin));
  Ask("label values of __name__", [&] {
    bool complete = true;
    const auto names = tsdb->LabelValues(kMetricName, "", At(0), At(60), {}, &complete);
    return Came(names, names.ok() ? names->size() : 0, complete);
  });
  Ask("label values of pod", [&] {
    bool complete = true;
    const auto pods = tsdb->LabelValues("pod", "", At(0), At(60), {}, &complete);
    return Came(pods, pods.ok() ? pods->size() : 0, complete);
  });
  Ask("what is there (Discover)", [&] {
    const auto found = Discover(*tsdb, rules, At(0), At(60), {}, {});
    return Came(found, found.ok() ? found->families.size() : 0, found.ok() && found->complete);
  });
  Ask("a quantity of all nodes (Measure)", [&] {
    const auto measured = Measure(*tsdb, rules, "runnable_tasks",
                                  {At(0), At(60), absl::Seconds(15)}, absl::Minutes(1), {});
    return Came(measured, measured.ok() ? measured->rows.size() : 0,
                measured.ok() && measured->complete);
  });
  Ask("all series", [&] {
    const auto all = tsdb->SeriesOf("{__name__!=\"\"}", At(0), At(60), {});
    return Came(all, all.ok() ? all->series.size() : 0, all.ok() && all->complete);
  });
  Ask("samples of all series", [&] {
    const auto all = tsdb->Samples("{__name__!=\"\"}", At(0), At(60), {});
    return Came(all, all.ok() ? all->series.size() : 0, all.ok() && all->complete);
  });
  Ask("a sum over all series", [&] {
    const auto sum = tsdb->Instant("sum(container_processes)", At(60), {});
    return Came(sum, sum.ok() ? sum->series.size() : 0, sum.ok() && sum->complete);
  });
  std::cout << "the server's most memory: " << ServerMebibytes(absl::StrCat(":", tsdb->port()))
            << " MiB\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace galen::telemetry

int main(int argc, char** argv) {
  std::int64_t count = 0;
  if (argc != 3 || !absl::SimpleAtoi(argv[2], &count) || count < 1000) {
    std::cerr << "many_series DIR SERIES (1000 and more)\n";
    return 1;
  }
  const absl::Status status = galen::telemetry::Run(argv[1], count);
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
