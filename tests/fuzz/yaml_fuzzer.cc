#include <string>
#include <vector>

#include "common/host/capture_plan.h"
#include "common/host/commands.h"
#include "common/host/incident_yaml.h"
#include "common/host/manifest.h"
#include "common/knowledge/fields.h"
#include "common/knowledge/parse.h"
#include "common/knowledge/yaml_document.h"
#include "common/yaml/yaml.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

// An incident survives being written and read again.
void Incident(absl::string_view text) {
  std::vector<std::string> remarks;
  const auto incident = host::ParseIncident(text, "incident.yaml", remarks);
  if (!incident.ok()) return;
  const std::string written = host::FormatIncident(*incident);
  if (!host::ParseIncident(written, "incident.yaml", remarks).ok()) __builtin_trap();
}

void Manifest(absl::string_view text) {
  const auto manifest = host::ParseManifest(text, "bundle.yaml");
  if (!manifest.ok()) return;
  if (!host::ParseManifest(host::FormatManifest(*manifest), "bundle.yaml").ok()) __builtin_trap();
}

void Commands(absl::string_view text) {
  const auto commands = host::ParseCommands(text, "commands.yaml");
  if (!commands.ok()) return;
  for (const host::CapturedCommand& command : *commands) Use(host::ShownCommand(command.argv));
  if (!host::ParseCommands(host::FormatCommands(*commands), "commands.yaml").ok()) {
    __builtin_trap();
  }
}

void Document(absl::string_view text) {
  const auto yaml = ParseYaml(text, "a.yaml");
  if (!yaml.ok()) return;
  Use(YamlTexts(*yaml, "a.yaml", "list"));
  Use(YamlTextMap(*yaml, "a.yaml", "map"));
  Use(YamlInteger(*yaml, "a.yaml", "integer"));
  Use(YamlBool(*yaml, "a.yaml", "bool"));
}

void Quote(absl::string_view text) {
  const auto back = ParseYaml(YamlQuote(text), "quoted");
  if (!back.ok()) __builtin_trap();
}

void Plan(absl::string_view text) {
  const auto plan = host::ParseCapturePlan(text, "capture.txt");
  if (!plan.ok()) return;
  const host::Placeholders values = {{"netdev", {"eth0", "eth1"}}, {"hca", {"mlx5_0"}}};
  for (const auto& command : plan->commands) Use(host::ExpandCommand(command.argv, values));
  for (const auto& files : plan->files) Use(host::ExpandWord(files.glob, values));
}

void Knowledge(absl::string_view text) {
  std::vector<knowledge::Problem> problems;
  const knowledge::FileContext context{"a.yaml", problems};
  knowledge::Entries entries;
  knowledge::ParseFile(text, context, entries);
  std::vector<knowledge::Problem> of_meaning =
      knowledge::Lint(knowledge::Assemble(std::move(entries)));
  for (const knowledge::Problem& problem : of_meaning) Use(knowledge::ToString(problem));
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"incident", Incident},   {"manifest", Manifest}, {"commands", Commands},
      {"document", Document},   {"quote", Quote},       {"capture_plan", Plan},
      {"knowledge", Knowledge},
  };
  return kParsers;
}

}  // namespace galen::fuzz
