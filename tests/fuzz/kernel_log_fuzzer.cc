#include <vector>

#include "absl/time/time.h"
#include "services/node/checks/system/kernel_events.h"
#include "services/node/checks/system/kernel_line.h"
#include "services/node/checks/system/kernel_log.h"
#include "tests/fuzz/check_parsers.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

const node::KernelPatterns& Patterns() {
  static const auto patterns = node::KernelPatterns::Of(TheKnowledge());
  return *patterns;
}

void Line(absl::string_view text) { Use(node::ParseKernelLine(text)); }

void Events(absl::string_view text) {
  for (const node::KernelEvent& event : node::ScanKernelLog(text, Patterns()))
    Use(node::ToLogEvent(event));
}

void Window(absl::string_view text) {
  const absl::Time boot = absl::FromUnixSeconds(1'715'000'000);
  Use(node::ScanKernelLog(text, Patterns(),
                          {.from = boot, .to = boot + absl::Hours(1), .boot = boot}));
}

void Pci(absl::string_view text) { Use(node::NormalPci(text)); }

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"line", Line}, {"events", Events}, {"window", Window}, {"pci", Pci}};
  return kParsers;
}

}  // namespace galen::fuzz
