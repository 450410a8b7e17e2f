#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/node/checks/system/boot_history.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/cgroups.h"
#include "services/node/checks/system/device_names.h"
#include "services/node/checks/system/file_systems.h"
#include "services/node/checks/system/firewall.h"
#include "services/node/checks/system/memory.h"
#include "services/node/checks/system/nft_rules.h"
#include "services/node/checks/system/services.h"
#include "tests/fuzz/fuzz_host.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Df(absl::string_view text) { Use(node::ParseDf(text)); }

void Units(absl::string_view text) { Use(node::ParseUnits(text)); }

void Package(absl::string_view text) {
  Use(node::PackageVersion(text, "nvidia-fabricmanager"));
  Use(node::PackageVersion(text, ""));
}

void Pressure(absl::string_view text) {
  Use(node::PressureAvg10(text, "some"));
  Use(node::PressureAvg10(text, "full"));
}

void Iptables(absl::string_view text) {
  Use(node::InputOf(text, {32768, 60999}));
  Use(node::ParsePortRange(text));
}

void Nft(absl::string_view text) { Use(node::InputOfNft(text, {32768, 60999}, true)); }

void Ibdev2netdev(absl::string_view text) { Use(node::NicsOfIbdev2netdev(text)); }

void Words(absl::string_view text) {
  for (const absl::string_view line : node::Lines(text)) {
    for (const absl::string_view word : node::Words(line)) {
      Use(node::LeadingInt(word));
      Use(node::LeadingDouble(word));
      Use(node::BaseName(word));
    }
  }
}

void Panic(absl::string_view text) { Use(node::PanicReason(text)); }

void Last(absl::string_view text) { Use(node::BootWithoutShutdown(text)); }

void Counters(absl::string_view text) {
  const std::string answer = absl::StrCat("+", text);
  Use(node::ReadCounters(FuzzHost(answer), "/sys/fs/cgroup/job/memory.events"));
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"df", Df},
      {"units", Units},
      {"package", Package},
      {"pressure", Pressure},
      {"iptables", Iptables},
      {"nft", Nft},
      {"ibdev2netdev", Ibdev2netdev},
      {"words", Words},
      {"panic", Panic},
      {"last", Last},
      {"counters", Counters},
  };
  return kParsers;
}

}  // namespace galen::fuzz
