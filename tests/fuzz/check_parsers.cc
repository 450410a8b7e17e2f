#include "tests/fuzz/check_parsers.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/host/bundle.h"
#include "common/knowledge/load.h"
#include "common/knowledge/make_result.h"
#include "services/node/extract_check.h"
#include "tests/fuzz/fuzz_host.h"
#include "tests/fuzz/recording_host.h"

namespace galen::fuzz {

const knowledge::Knowledge& TheKnowledge() {
  static const std::shared_ptr<const knowledge::Knowledge> loaded = [] {
    const std::vector<std::string> directories = {GALEN_SOURCE_DIR "/knowledge"};
    auto knowledge = knowledge::Load(directories, {.cache_directory = GALEN_CACHE_DIR});
    if (!knowledge.ok()) {
      std::fprintf(stderr, "%s\n", std::string(knowledge.status().message()).c_str());
      std::abort();
    }
    return *std::move(knowledge);
  }();
  return *loaded;
}

namespace {

using Run = std::function<absl::StatusOr<node::CheckOutput>(const node::CheckContext&)>;

// Limits: seeds of one check, nodes of a bundle and logs of a job that are read for seeds, and
// bytes of an answer below which it is not shortened further.
constexpr std::size_t kMostSeeds = 12;
constexpr std::size_t kMostNodes = 2;
constexpr std::size_t kMostLogs = 3;
constexpr std::size_t kShortestAnswer = 24;

// A check that is run on machines of ours.
struct Examined {
  const knowledge::v1::Check* spec;
  Run run;
  node::Parameters parameters;  // as declared
};

Examined ExaminedOf(const knowledge::v1::Check& spec, Run run) {
  return {&spec, std::move(run), node::Parameters::Resolve(spec, {}).value()};
}

galen::v1::CheckResult ResultOf(const Examined& check, const host::Host& host) {
  const node::CheckContext context{
      .host = host, .knowledge = TheKnowledge(), .parameters = check.parameters};
  absl::StatusOr<node::CheckOutput> output = check.run(context);
  const bool ran = output.ok();
  galen::v1::CheckResult result =
      knowledge::MakeResult(*check.spec, host.name(), std::move(output));
  if (ran && result.status() == galen::v1::CheckResult::ERROR) {
    std::fprintf(stderr, "%s\n", result.message().c_str());
    std::abort();
  }
  return result;
}

// A summary of a result: one of several seeds with the same summary is enough.
std::string ShapeOf(const galen::v1::CheckResult& result) {
  std::set<std::string> findings;
  for (const galen::v1::Finding& finding : result.findings()) {
    findings.insert(absl::StrCat(finding.name(), finding.abnormal() ? "!" : "",
                                 static_cast<int>(finding.value_case())));
  }
  return absl::StrCat(static_cast<int>(result.status()), " ", absl::StrJoin(findings, ","));
}

// The answers that `check` gets of `host`, short enough to be a seed; "" when it asks nothing or
// too much.
std::string AnswersOf(const Examined& check, const host::Host& host, std::size_t size,
                      std::size_t log, bool& gave_log) {
  for (std::size_t each = size; each >= kShortestAnswer; each /= 2) {
    const RecordingHost recording(host, each, log);
    Use(ResultOf(check, recording));
    gave_log = recording.gave_log();
    if (std::string answers = recording.answers(); answers.size() <= size) return answers;
  }
  return "";
}

// Writes seeds of at most `size` bytes for `check` to `directory`, from what `host` answers.
// `shapes` are those that it has already.
void RecordCheck(const Examined& check, const host::Host& host, const std::string& directory,
                 std::size_t size, std::set<std::string>& shapes) {
  bool gave_log = true;
  for (std::size_t log = 0; gave_log && log < kMostLogs && shapes.size() < kMostSeeds; ++log) {
    const std::string answers = AnswersOf(check, host, size, log, gave_log);
    if (answers.empty()) continue;
    if (!shapes.insert(ShapeOf(ResultOf(check, FuzzHost(answers)))).second) continue;
    std::ofstream(absl::StrCat(directory, "/", check.spec->name(), "-", shapes.size()),
                  std::ios::binary)
        << answers;
  }
}

// With GALEN_FUZZ_RECORD set to "SIZE DIRECTORY BUNDLE..." it runs every check on the nodes of the
// bundles, writes what each was answered as a seed, and ends: seeds.py asks.
void RecordWhereAsked(const std::vector<Examined>& checks) {
  const char* const asked = std::getenv("GALEN_FUZZ_RECORD");
  if (asked == nullptr) return;
  const std::vector<std::string> words = absl::StrSplit(asked, ' ', absl::SkipEmpty());
  std::size_t size = 0;
  if (words.size() < 2 || !absl::SimpleAtoi(words[0], &size)) std::abort();
  std::map<std::string, std::set<std::string>> shapes;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto bundle = host::Bundle::Open(words[i]);
    if (!bundle.ok()) {
      std::fprintf(stderr, "%s\n", std::string(bundle.status().message()).c_str());
      std::exit(1);
    }
    const std::vector<std::string>& nodes = (*bundle)->nodes();
    for (std::size_t node = 0; node < std::min(nodes.size(), kMostNodes); ++node) {
      const auto host = (*bundle)->OpenNode(nodes[node]);
      if (!host.ok()) continue;
      for (const Examined& check : checks) {
        RecordCheck(check, **host, words[1], size, shapes[check.spec->name()]);
      }
    }
  }
  std::exit(0);
}

std::vector<Parser> ParsersOf(const std::vector<Examined>& checks) {
  RecordWhereAsked(checks);
  std::vector<Parser> parsers;
  for (const Examined& check : checks) {
    parsers.push_back({check.spec->name(),
                       [check](absl::string_view text) { Use(ResultOf(check, FuzzHost(text))); }});
  }
  return parsers;
}

}  // namespace

std::vector<Parser> CheckParsers(absl::Span<const node::NamedCheck> group) {
  std::vector<Examined> checks;
  for (const node::NamedCheck& check : group) {
    const knowledge::v1::Check* const spec = TheKnowledge().FindCheck(check.name);
    if (spec == nullptr) {
      std::fprintf(stderr, "%s: not in the catalogue\n", std::string(check.name).c_str());
      std::abort();
    }
    checks.push_back(ExaminedOf(*spec, check.run));
  }
  return ParsersOf(checks);
}

std::vector<Parser> ExtractParsers() {
  // One of our own, so that there is one for any knowledge.
  static const knowledge::v1::Check kOwn = [] {
    knowledge::v1::Check check;
    check.set_name("fuzz.extract");
    check.add_command("program");
    for (const auto& [type, pattern] : std::map<std::string, std::string>{{"bool", "^error"},
                                                                          {"int", "count: *(\\S+)"},
                                                                          {"float", "rate=(.*)$"},
                                                                          {"text", "is (.+)"}}) {
      knowledge::v1::FindingSpec& finding = *check.add_findings();
      finding.set_name(type);
      finding.set_type(type);
      finding.set_pattern(pattern);
    }
    return check;
  }();
  std::vector<const knowledge::v1::Check*> checks = {&kOwn};
  for (const knowledge::v1::Check& check : TheKnowledge().base().checks()) {
    if (check.kind() == knowledge::v1::Check::EXTRACT) checks.push_back(&check);
  }
  std::vector<Examined> examined;
  for (const knowledge::v1::Check* const check : checks) {
    examined.push_back(ExaminedOf(*check, [check](const node::CheckContext& context) {
      return node::RunExtractCheck(*check, context);
    }));
  }
  return ParsersOf(examined);
}

}  // namespace galen::fuzz
