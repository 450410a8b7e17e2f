#include "services/node/checks/system/device_names.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/kernel_events.h"

namespace galen::node {

std::map<std::string, std::string> GpusOfSmiXml(absl::string_view xml) {
  static const RE2 gpu(R"re(<gpu id="([0-9A-Fa-f:.]+)">)re");
  std::map<std::string, std::string> names;
  re2::StringPiece rest(xml.data(), xml.size());
  std::string address;
  for (int index = 0; RE2::FindAndConsume(&rest, gpu, &address); ++index) {
    names.try_emplace(NormalPci(address), absl::StrCat("gpu:", index));
  }
  return names;
}

std::map<std::string, std::string> GpusOfRocmSmi(absl::string_view json) {
  std::map<std::string, std::string> names;
  const nlohmann::json cards = ParseJson(json);
  if (!cards.is_object()) return names;
  for (const auto& [card, fields] : cards.items()) {
    absl::string_view index = card;
    if (!absl::ConsumePrefix(&index, "card") || !fields.is_object()) continue;
    const auto bus = fields.find("PCI Bus");
    if (bus == fields.end() || !bus->is_string()) continue;
    names.try_emplace(NormalPci(bus->get_ref<const std::string&>()), absl::StrCat("gpu:", index));
  }
  return names;
}

std::map<std::string, std::string> NicsOfIbdev2netdev(absl::string_view text) {
  std::map<std::string, std::string> names;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    if (words.size() < 2) continue;
    const std::string pci = NormalPci(words[0]);
    if (!pci.empty()) names.try_emplace(pci, absl::StrCat("nic:", words[1]));
  }
  return names;
}

std::map<std::string, std::string> DeviceNames(const host::Host& host) {
  std::map<std::string, std::string> names;
  if (const auto xml = Output(host, {"nvidia-smi", "-q", "-x"}); xml.ok()) {
    names = GpusOfSmiXml(*xml);
  }
  if (names.empty()) {
    // The driver numbers GPUs in the order of their addresses.
    const auto paths = host.Glob("/proc/driver/nvidia/gpus/*/information");
    if (paths.ok()) {
      int index = 0;
      for (const std::string& path : *paths) {
        const absl::string_view folder = absl::StripSuffix(path, "/information");
        names.try_emplace(NormalPci(BaseName(folder)), absl::StrCat("gpu:", index++));
      }
    }
  }
  if (names.empty()) {
    const auto json = Output(host, {"rocm-smi", "--showallinfo", "--json"});
    if (json.ok()) names = GpusOfRocmSmi(*json);
  }
  if (const auto nics = Output(host, {"ibdev2netdev", "-v"}); nics.ok()) {
    names.merge(NicsOfIbdev2netdev(*nics));
  }
  names.erase("");
  return names;
}

std::string DeviceAt(const std::map<std::string, std::string>& names, absl::string_view pci) {
  if (pci.empty()) return "";
  const auto it = names.find(std::string(pci));
  return it != names.end() ? it->second : absl::StrCat("pci:", pci);
}

}  // namespace galen::node
