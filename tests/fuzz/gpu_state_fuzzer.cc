#include <string>
#include <vector>

#include "services/node/checks/gpu/gpu_state.h"
#include "services/node/checks/system/device_names.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void State(absl::string_view text) {
  const auto state = node::ParseGpuState(text);
  if (!state.ok()) return;
  for (const node::Gpu& gpu : state->gpus) Use(node::DeviceName(gpu));
}

void Values(absl::string_view text) {
  Use(node::CanonicalPciAddress(text));
  Use(node::SaysNothing(text));
  Use(node::LeadingNumber(text));
  Use(node::LeadingInteger(text));
}

void Names(absl::string_view text) { Use(node::GpusOfSmiXml(text)); }

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"state", State}, {"values", Values}, {"names", Names}};
  return kParsers;
}

}  // namespace galen::fuzz
