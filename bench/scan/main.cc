// Parts of the scan benchmark, put together by run.py: the strings, the log, one scan of it.
//   scan_bench strings COUNT
//   scan_bench log PATH BYTES MESSAGE_EVERY COLOUR_EVERY CARRIAGE_EVERY [STRINGS]
//   scan_bench ours|bare LOG [STRINGS]
//   scan_bench triage LOG
// Without STRINGS (a file, one string a line) the signals are the catalogue's patterns for logs.
#include <fcntl.h>
#include <hs.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/scan/log_writer.h"
#include "bench/scan/strings.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/load.h"
#include "common/log_analysis/scan/reader.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/log_analysis/triage/job_triage.h"
#include "common/log_analysis/triage/signatures.h"
#include "re2/re2.h"

namespace galen::bench {
namespace {

[[noreturn]] void Die(absl::string_view why) {
  std::cerr << "scan_bench: " << why << "\n";
  std::exit(1);
}

knowledge::v1::KnowledgeBase Catalogue() {
  std::vector<knowledge::Problem> problems;
  auto base = knowledge::Parse(std::vector<std::string>{GALEN_SOURCE_DIR "/knowledge"}, problems);
  if (!base.ok()) Die(base.status().message());
  return *std::move(base);
}

std::vector<std::string> ReadStrings(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> strings;
  for (std::string line; std::getline(file, line);) strings.push_back(line);
  if (strings.empty()) Die(absl::StrCat(path, ": no strings"));
  return strings;
}

// The signals to search for: strings, or the catalogue's signals for logs.
log_scan::Patterns SignalsOf(const std::string& strings_path) {
  log_scan::Patterns signals;
  if (strings_path.empty()) {
    const knowledge::v1::KnowledgeBase base = Catalogue();
    for (const knowledge::v1::SignalPattern& signal : base.signals()) {
      const bool spoken = !signal.where().empty() &&
                          std::all_of(signal.where().begin(), signal.where().end(),
                                      [](int where) { return where == v1::DESCRIPTION; });
      if (!spoken) *signals.Add() = signal;
    }
    return signals;
  }
  for (const std::string& text : ReadStrings(strings_path)) {
    knowledge::v1::SignalPattern& signal = *signals.Add();
    signal.set_id(absl::StrCat("string ", signals.size()));
    signal.set_pattern(RE2::QuoteMeta(text));
    signal.add_where(v1::JOB_LOG);
  }
  return signals;
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double CpuSeconds() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The matches of one scan, and its cost.
struct Took {
  double seconds = 0;
  double cpu = 0;
  std::int64_t bytes = 0;
  std::int64_t lines = 0;
  std::int64_t matches = 0;
  std::int64_t signals = 0;
};

void Print(const Took& took) {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << absl::StrFormat(
      "{\"seconds\": %.6f, \"cpu\": %.6f, \"bytes\": %d, \"lines\": %d, \"matches\": %d, "
      "\"signals\": %d, \"peak_kib\": %d}\n",
      took.seconds, took.cpu, took.bytes, took.lines, took.matches, took.signals, usage.ru_maxrss);
}

Took Ours(const std::string& path, const std::string& strings) {
  auto scanner = log_scan::Scanner::Create(SignalsOf(strings), "");
  if (!scanner.ok()) Die(scanner.status().message());
  Took took;
  const double start = Seconds();
  const double cpu = CpuSeconds();
  auto reader = log_scan::LogReader::Open(path, {});
  if (!reader.ok()) Die(reader.status().message());
  log_scan::LogScan scan(**scanner, {});
  for (;;) {
    const auto chunk = (*reader)->Next();
    if (!chunk.ok()) Die(chunk.status().message());
    if (chunk->empty()) break;
    scan.Feed(*chunk);
  }
  const log_scan::ScanResult result = scan.Finish();
  took.seconds = Seconds() - start;
  took.cpu = CpuSeconds() - cpu;
  took.bytes = result.bytes;
  took.lines = result.lines;
  took.signals = static_cast<std::int64_t>(result.hits.size());
  for (const log_scan::Hit& hit : result.hits) took.matches += hit.count;
  return took;
}

// The time that Hyperscan takes for the same signals if only the number of matches is wanted:
// blocks are scanned as they are read, without regard to lines.
Took Bare(const std::string& path, const std::string& strings) {
  const log_scan::Patterns signals = SignalsOf(strings);
  std::vector<const char*> expressions;
  std::vector<unsigned int> ids;
  for (const knowledge::v1::SignalPattern& signal : signals) {
    ids.push_back(static_cast<unsigned int>(expressions.size()));
    expressions.push_back(signal.pattern().c_str());
  }
  const std::vector<unsigned int> flags(ids.size(), HS_FLAG_MULTILINE);
  hs_database_t* database = nullptr;
  hs_compile_error_t* error = nullptr;
  hs_scratch_t* scratch = nullptr;
  if (hs_compile_multi(expressions.data(), flags.data(), ids.data(),
                       static_cast<unsigned int>(ids.size()), HS_MODE_BLOCK, nullptr, &database,
                       &error) != HS_SUCCESS ||
      hs_alloc_scratch(database, &scratch) != HS_SUCCESS) {
    Die("hyperscan refuses the signals");
  }
  Took took;
  std::string block(1 << 20, '\0');
  const double start = Seconds();
  const double cpu = CpuSeconds();
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) Die(absl::StrCat(path, ": cannot be opened"));
  for (;;) {
    const ssize_t n = read(fd, block.data(), block.size());
    if (n <= 0) break;
    took.bytes += n;
    const auto count = [](unsigned int, unsigned long long, unsigned long long, unsigned int,
                          void* context) {
      ++*static_cast<std::int64_t*>(context);
      return 0;
    };
    hs_scan(database, block.data(), static_cast<unsigned int>(n), 0, scratch, count, &took.matches);
  }
  close(fd);
  took.seconds = Seconds() - start;
  took.cpu = CpuSeconds() - cpu;
  hs_free_scratch(scratch);
  hs_free_database(database);
  return took;
}

// The work of `galen triage` on the log.
Took Triage(const std::string& path) {
  auto catalogue = triage::LoadCatalogue({GALEN_SOURCE_DIR "/knowledge"});
  if (!catalogue.ok()) Die(catalogue.status().message());
  const knowledge::Knowledge knowledge(Catalogue());
  auto compiled =
      triage::CompiledCatalogue::Create(*std::move(catalogue), triage::SignaturesOf(knowledge), "");
  if (!compiled.ok()) Die(compiled.status().message());
  Took took;
  const double start = Seconds();
  const double cpu = CpuSeconds();
  auto reader = log_scan::LogReader::Open(path, {});
  if (!reader.ok()) Die(reader.status().message());
  triage::JobTriage job(**compiled, {});
  job.BeginLog(path);
  for (;;) {
    const auto chunk = (*reader)->Next();
    if (!chunk.ok()) Die(chunk.status().message());
    if (chunk->empty()) break;
    job.Feed(*chunk);
  }
  job.EndLog();
  const triage::JobReport report = job.Finish();
  took.seconds = Seconds() - start;
  took.cpu = CpuSeconds() - cpu;
  took.bytes = report.logs[0].bytes;
  took.lines = report.logs[0].lines;
  took.matches = report.progress.reported;
  took.signals =
      static_cast<std::int64_t>(report.others.size()) + (report.primary.has_value() ? 1 : 0);
  return took;
}

std::int64_t Number(const std::string& text) {
  std::int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) Die(absl::StrCat(text, ": not a number"));
  return value;
}

int Run(const std::vector<std::string>& arguments) {
  const auto argument = [&](std::size_t i) {
    return i < arguments.size() ? arguments[i] : std::string();
  };
  const std::string verb = argument(0);
  if (verb == "strings" && arguments.size() == 2) {
    for (const std::string& text :
         SignalStrings(Catalogue(), static_cast<std::size_t>(Number(argument(1))))) {
      std::cout << text << "\n";
    }
  } else if (verb == "log" && arguments.size() >= 6) {
    LogShape shape;
    shape.bytes = Number(argument(2));
    shape.message_every = Number(argument(3));
    shape.colour_every = Number(argument(4));
    shape.carriage_every = Number(argument(5));
    const std::vector<std::string> messages =
        arguments.size() > 6 ? ReadStrings(argument(6)) : std::vector<std::string>();
    const absl::Status written = WriteLog(argument(1), shape, messages);
    if (!written.ok()) Die(written.message());
  } else if (verb == "ours" && arguments.size() >= 2) {
    Print(Ours(argument(1), argument(2)));
  } else if (verb == "bare" && arguments.size() >= 2) {
    Print(Bare(argument(1), argument(2)));
  } else if (verb == "triage" && arguments.size() == 2) {
    Print(Triage(argument(1)));
  } else {
    Die("strings COUNT | log PATH BYTES EVERY COLOUR CARRIAGE [STRINGS] | ours|bare LOG [STRINGS] "
        "| triage LOG");
  }
  return 0;
}

}  // namespace
}  // namespace galen::bench

int main(int argc, char** argv) {
  return galen::bench::Run(std::vector<std::string>(argv + 1, argv + argc));
}
