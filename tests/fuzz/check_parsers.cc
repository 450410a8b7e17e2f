#include "tests/fuzz/check_parsers.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/knowledge/load.h"
#include "common/knowledge/make_result.h"
#include "services/node/extract_check.h"
#include "tests/fuzz/fuzz_host.h"

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

Parser ParserOf(const knowledge::v1::Check& spec, Run run) {
  auto judge = [&spec, run = std::move(run)](absl::string_view text) {
    const FuzzHost host(text);
    node::CheckContext context{.host = host, .knowledge = TheKnowledge()};
    context.parameters = node::Parameters::Resolve(spec, {}).value();
    absl::StatusOr<node::CheckOutput> output = run(context);
    const bool ran = output.ok();
    const galen::v1::CheckResult result =
        knowledge::MakeResult(spec, host.name(), std::move(output));
    if (ran && result.status() == galen::v1::CheckResult::ERROR) {
      std::fprintf(stderr, "%s\n", result.message().c_str());
      std::abort();
    }
  };
  return {spec.name(), std::move(judge)};
}

}  // namespace

std::vector<Parser> CheckParsers(absl::Span<const node::NamedCheck> group) {
  std::vector<Parser> parsers;
  for (const node::NamedCheck& check : group) {
    const knowledge::v1::Check* const spec = TheKnowledge().FindCheck(check.name);
    if (spec == nullptr) {
      std::fprintf(stderr, "%s: not in the catalogue\n", std::string(check.name).c_str());
      std::abort();
    }
    parsers.push_back(ParserOf(*spec, check.run));
  }
  return parsers;
}

std::vector<Parser> ExtractParsers() {
  // One of our own, so that there is one whatever the knowledge declares.
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
  std::vector<Parser> parsers;
  for (const knowledge::v1::Check* const check : checks) {
    parsers.push_back(ParserOf(*check, [check](const node::CheckContext& context) {
      return node::RunExtractCheck(*check, context);
    }));
  }
  return parsers;
}

}  // namespace galen::fuzz
