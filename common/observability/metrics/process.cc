#include "common/observability/metrics/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/observability/metrics/calls.h"

namespace galen::metrics {
namespace {

// Fields of /proc/self/stat from the third on, in the numbering of proc(5): the earlier ones hold
// the name of the program, which may contain anything.
std::vector<std::string> StatFields() {
  std::ifstream file("/proc/self/stat");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::size_t end = all.rfind(") ");
  if (end == std::string::npos) return {};
  return absl::StrSplit(all.substr(end + 2), ' ');
}

std::optional<double> Field(const std::vector<std::string>& fields, std::size_t number) {
  double value = 0;
  if (number < 3 || number - 3 >= fields.size() || !absl::SimpleAtod(fields[number - 3], &value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> BootTime() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    double seconds = 0;
    if (line.rfind("btime ", 0) == 0 && absl::SimpleAtod(line.substr(6), &seconds)) return seconds;
  }
  return std::nullopt;
}

std::optional<double> OpenFiles() {
  std::error_code error;
  std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return std::nullopt;
  double count = -1;  // but for the one that reads
  for (; files != std::filesystem::directory_iterator(); files.increment(error)) {
    if (error) return std::nullopt;
    ++count;
  }
  return count;
}

std::vector<prometheus::MetricFamily> Process() {
  std::vector<prometheus::MetricFamily> families;
  const auto tell = [&families](const Description& description, std::optional<double> value) {
    if (value.has_value()) families.push_back(FamilyWith(description, {{{}, *value}}));
  };
  const std::vector<std::string> fields = StatFields();
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::optional<double> user = Field(fields, 14);
  const std::optional<double> system = Field(fields, 15);
  if (user && system) tell(kProcessCpu, (*user + *system) / ticks);
  if (const std::optional<double> pages = Field(fields, 24)) {
    tell(kProcessMemory, *pages * static_cast<double>(sysconf(_SC_PAGESIZE)));
  }
  tell(kProcessThreads, Field(fields, 20));
  tell(kProcessFiles, OpenFiles());
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    tell(kProcessMostFiles, static_cast<double>(files.rlim_cur));
  }
  const std::optional<double> start = Field(fields, 22);
  const std::optional<double> boot = BootTime();
  if (start && boot) tell(kProcessStart, *boot + *start / ticks);
  return families;
}

}  // namespace

std::shared_ptr<const prometheus::Collectable> ProcessNumbers() { return SourceOf(&Process); }

std::shared_ptr<const prometheus::Collectable> QueueNumbers(std::string queue,
                                                            const ThreadPool& pool) {
  return SourceOf([queue = std::move(queue), &pool] {
    return std::vector<prometheus::MetricFamily>{
        FamilyWith(kQueued, {{{{"queue", queue}}, static_cast<double>(pool.queued())}})};
  });
}

void AddProgram(Registry& registry) {
  registry.Add(ProcessNumbers());
  registry.Add(ServerCalls());
  registry.Add(ClientCalls());
}

}  // namespace galen::metrics
