// Outputs of other people's programs: every parser that a check of kind `exec` may name.
#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "services/node/exec/json_lines.h"
#include "services/node/exec/output_parsers.h"
#include "tests/fuzz/fuzz_host.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

// A GPU model with the facts that floors come from.
knowledge::v1::KnowledgeBase SomeHardware() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Hardware& hardware = *base.add_hardware();
  hardware.set_model("H100");
  hardware.set_match("H100");
  return base;
}

void Parse(node::OutputParser parser, const knowledge::v1::Check& check, absl::string_view text) {
  static const knowledge::Knowledge kKnowledge(SomeHardware());
  static const FuzzHost kHost("");
  const node::CheckContext context{.host = kHost, .knowledge = kKnowledge};
  host::CommandResult result;
  // Half of the inputs come from a program that failed.
  result.exit_code = text.size() % 2 == 0 ? 0 : 1;
  result.out = std::string(text);
  result.err = text.size() % 3 == 0 ? std::string(text.substr(0, 64)) : "";
  Use(parser({check, context, result}));
}

// Progress, in pieces as a pipe gives them.
void Progress(absl::string_view text) {
  double last = 0;
  node::JsonLinesProgress progress([&](double done, absl::string_view what) {
    last = done;
    Use(what);
  });
  const std::size_t third = text.size() / 3;
  progress.Take(text.substr(0, third));
  progress.Take(text.substr(third));
  Use(last);
}

std::vector<Parser> All() {
  std::vector<Parser> parsers = {{"progress", Progress}};
  for (const std::string& name : node::OutputParserNames()) {
    knowledge::v1::Check check;
    check.set_name("fuzz");
    check.mutable_exec()->set_output(name);
    parsers.push_back({name, [parser = node::FindOutputParser(name),
                              check](absl::string_view text) { Parse(parser, check, text); }});
  }
  return parsers;
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = All();
  return kParsers;
}

}  // namespace galen::fuzz
