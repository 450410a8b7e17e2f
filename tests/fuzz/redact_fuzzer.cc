// Fuzzes the redaction of secrets with the shipped patterns, and a whole capture of a machine that
// gives arbitrary answers.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/host/bundle.h"
#include "common/host/capture.h"
#include "common/host/capture_plan.h"
#include "common/host/redact.h"
#include "tests/fuzz/fuzz_host.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Require(bool holds) {
  if (!holds) __builtin_trap();
}

const host::CapturePlan& Shipped() {
  static const auto* const plan = [] {
    auto loaded = host::LoadCapturePlan(GALEN_SOURCE_DIR "/knowledge/capture.txt");
    if (!loaded.ok()) std::abort();
    return new host::CapturePlan(*std::move(loaded));
  }();
  return *plan;
}

// The bytes of a text outside of placeholders for secrets.
std::size_t Left(absl::string_view text) {
  return absl::StrReplaceAll(text, {{host::kRedacted, ""}}).size();
}

// Returns the text without secrets. A text without a secret is unchanged; removed secrets are
// counted, and the text grows by no more than their placeholders.
std::string Once(const host::Redactor& redactor, absl::string_view text) {
  std::map<std::string, int> counts;
  std::string clean = redactor.Redact(text, counts);
  std::size_t taken = 0;
  for (const auto& [kind, count] : counts) {
    Require(count > 0 && !kind.empty());
    taken += static_cast<std::size_t>(count);
  }
  Use(host::ShownCounts(counts));
  if (taken == 0) {
    Require(clean == text);
  } else {
    Require(absl::StrContains(clean, host::kRedacted));
  }
  Require(clean.size() <= text.size() + taken * host::kRedacted.size());
  return clean;
}

// As often as it is repeated, it only ever takes out more, until there is no more to take.
void Settles(const host::Redactor& redactor, absl::string_view text) {
  std::string before(text);
  for (int i = 0; i < 4; ++i) {
    std::string clean = Once(redactor, before);
    if (clean == before) return;
    // A match may end within the placeholder of another one, of which a letter then remains.
    Require(Left(clean) <= Left(before));
    before = std::move(clean);
  }
}

void Secrets(absl::string_view text) { Settles(Shipped().redactor, text); }

void Paths(absl::string_view text) { Settles(Shipped().paths, text); }

void Names(absl::string_view text) {
  for (const absl::string_view name : absl::StrSplit(text, '\n')) {
    Use(Shipped().redactor.IsSecretName(name));
  }
}

// A pattern of a site's own in the first line, over the rest.
void Pattern(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  host::Redactor redactor;
  if (!redactor.AddPattern("kind", parts.first).ok()) return;
  Require(redactor.AddVariablePattern(parts.first).ok());
  Use(redactor.IsSecretName(parts.second));
  Once(redactor, parts.second);
}

// One entry of each kind.
const host::CapturePlan& SmallPlan() {
  static const auto* const plan = [] {
    auto parsed = host::ParseCapturePlan(
        "run ethtool <netdev>\n"
        "run smartctl -a -j <disk>\n"
        "run mlxconfig -d <hca> q\n"
        "read /sys/class/net/*/{mtu,operstate}\n"
        "read /proc/meminfo\n"
        "job-run nvidia-smi -L\n"
        "job-read /proc/<job_pid>/limits\n"
        "job-read /sys/fs/cgroup/<job_cgroup>/memory.max\n"
        "redact-variable TOKEN\n"
        "redact token token=([a-z]+)\n"
        "redact-path home-directory /home/([a-z]+)\n",
        "capture.txt");
    if (!parsed.ok()) std::abort();
    return new host::CapturePlan(*std::move(parsed));
  }();
  return *plan;
}

// A directory in memory for one capture.
class Directory {
 public:
  Directory() : path_(absl::StrCat("/dev/shm/galen-fuzz-capture-", getpid())) { Clear(); }
  ~Directory() { Clear(); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  void Clear() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string path_;
};

// The output of a capture is a bundle that opens. One input in four: a capture takes as long as ten
// of the others.
void Capture(absl::string_view text) {
  if (text.size() % 4 != 0) return Secrets(text);
  const Directory directory;
  const FuzzHost machine(text);
  host::CaptureOptions options;
  options.directory = directory.path();
  options.incident.set_description("the job hangs");
  options.values = {{"job_pid", {"4711"}}};
  options.now = absl::FromUnixSeconds(1'715'000'000);
  options.parallel = 1;
  options.redact_paths = text.size() % 8 == 0;
  const auto summary = host::Capture(machine, SmallPlan(), options);
  if (!summary.ok()) return;
  const auto bundle = host::Bundle::Open(directory.path());
  Require(bundle.ok());
  const auto node = (*bundle)->OpenNode(machine.name());
  Require(node.ok());
  Use((*node)->JobEnvironment());
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"secrets", Secrets}, {"paths", Paths},     {"names", Names},
      {"pattern", Pattern}, {"capture", Capture},
  };
  return kParsers;
}

}  // namespace galen::fuzz
