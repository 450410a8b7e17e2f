// Fuzzes the data that an executor reads by itself: records of the kernel log, counters of /proc
// and /sys, and the list that selects them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "services/node/watch/counter_files.h"
#include "services/node/watch/kernel_reader.h"
#include "services/node/watch/sampler.h"
#include "services/node/watch/watch_list.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

// The separator between inputs that are read one after the other.
constexpr char kNext = '\x1e';

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

// One line, however many the record has, and never longer than the record.
void Record(absl::string_view text) {
  const std::string line = node::LineOfRecord(text);
  Require(line.size() <= text.size() && !absl::StrContains(line, '\n'));
}

// Records of /dev/kmsg; one that begins with '!' is an error of read(2). After the last one, no
// record is available yet.
void Kmsg(absl::string_view text) {
  std::vector<absl::string_view> records = absl::StrSplit(text, kNext);
  std::size_t next = 0;
  const auto read = [&](char* buffer, std::size_t size) -> ssize_t {
    errno = EAGAIN;
    if (next == records.size()) return -1;
    const absl::string_view record = records[next++];
    if (absl::StartsWith(record, "!")) {
      const char kind = record.size() > 1 ? record[1] : ' ';
      errno = kind == 'p' ? EPIPE : kind == 'i' ? EINTR : kind == 'v' ? EINVAL : ENODEV;
      return -1;
    }
    const std::size_t length = std::min(record.size(), size);
    std::memcpy(buffer, record.data(), length);
    return static_cast<ssize_t>(length);
  };
  const auto reader = node::ReadKmsg(host::FileDescriptor(), read);
  for (int i = 0; i < 2; ++i) {
    const absl::Status status =
        reader->Read([](absl::string_view line) { Require(!absl::StrContains(line, '\n')); },
                     [](std::int64_t lost) { Require(lost > 0); });
    if (!status.ok()) return;
  }
}

// Copies of the whole log.
void Copies(absl::string_view text) {
  const std::vector<std::string> copies = absl::StrSplit(text, kNext);
  std::size_t next = 0;
  const auto reader = node::ReadCopies([&]() -> absl::StatusOr<std::string> {
    if (next == copies.size()) return absl::PermissionDeniedError("no more");
    return copies[next++];
  });
  while (reader
             ->Read([](absl::string_view line) { Require(!absl::StrContains(line, '\n')); },
                    [](std::int64_t lost) { Require(lost > 0); })
             .ok()) {
  }
}

void WatchList(absl::string_view text) { Use(node::ParseWatchList(text, "watch.txt")); }

// A directory in memory that replaces the machine's root, gone with this process.
class Root {
 public:
  Root() : path_(absl::StrCat("/dev/shm/galen-fuzz-watch-", getpid())) {
    std::filesystem::create_directories(absl::StrCat(path_, "/proc/net-1"));
  }
  ~Root() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  // The one file of counters, with `text` as its content. It stays the same file.
  void Write(absl::string_view text) const {
    const std::string file = absl::StrCat(path_, "/proc/net-1/counters");
    const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0 || write(descriptor, text.data(), text.size()) < 0) std::abort();
    close(descriptor);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const Root& TheRoot() {
  static const Root root;
  return root;
}

// The entry of a counter in the list, then the content of its file at the discovery, at the first
// sample, and at the second one.
void Counters(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(kNext, 3));
  const auto part = [&](std::size_t i) { return i < parts.size() ? parts[i] : ""; };
  if (absl::StrContains(parts[0], '\n')) return;
  const auto specs = node::ParseWatchList(
      absl::StrCat("/proc/net-*/counters ", parts[0],
                   " event net.interfaces errors_delta count netdev:{1}/{row} 1 60s\n"),
      "watch.txt");
  if (!specs.ok()) return;
  // "KEY:N@K" is for the form with a row for each device alone.
  const node::CounterSpec& spec = specs->front();
  if (spec.layout != node::CounterSpec::Layout::kRows && spec.name_word != 1) return;

  TheRoot().Write(part(1));
  node::CounterFiles files(*specs, TheRoot().path(), 4, 64);
  files.Discover();
  std::vector<std::uint64_t> values(files.series().size());
  // A series that was just discovered has a value.
  Require(files.Read(absl::MakeSpan(values)));
  Require(std::find(values.begin(), values.end(), node::kUnknownCount) == values.end());
  TheRoot().Write(part(2));
  Use(files.Read(absl::MakeSpan(values)));
  files.Discover();
  Require(files.series().size() >= values.size());
  values.resize(files.series().size());
  Use(files.Read(absl::MakeSpan(values)));

  node::Sampler::Options options;
  options.root = TheRoot().path();
  options.history.bytes = 1 << 10;
  TheRoot().Write(part(1));
  node::Sampler sampler("node-1", *specs, options);
  const absl::Time start = absl::FromUnixSeconds(1'715'000'000);
  const auto noticed = [](const std::string& check, const galen::v1::Finding& finding) {
    Require(check == "net.interfaces" && finding.int_value() > 0);
  };
  sampler.Sample(start, noticed);
  TheRoot().Write(part(2));
  sampler.Sample(start + absl::Seconds(1), noticed);
  TheRoot().Write(part(3));
  sampler.Sample(start + absl::Seconds(2), noticed);
}

void Stars(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  const auto stars = node::StarsOf(halves.first, halves.second);
  const auto most = std::count(halves.first.begin(), halves.first.end(), '*');
  Require(stars.size() <= static_cast<std::size_t>(most));
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"record", Record},        {"kmsg", Kmsg},         {"copies", Copies},
      {"watch_list", WatchList}, {"counters", Counters}, {"stars", Stars},
  };
  return kParsers;
}

}  // namespace galen::fuzz
