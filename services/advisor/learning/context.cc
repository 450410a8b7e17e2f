#include "services/advisor/learning/context.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace galen::advisor {
namespace {

constexpr std::size_t kMostText = 128;
constexpr std::size_t kMostSettings = 32;

absl::StatusOr<std::string> Word(absl::string_view field, absl::string_view text) {
  if (text.size() > kMostText) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": has more than 128 bytes"));
  }
  std::string word;
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError(absl::StrCat(field, ": has control characters"));
    }
    // Spaces and equal signs separate the parts of the line.
    word.push_back(c == ' ' || c == '=' ? '_' : c);
  }
  return word.empty() ? std::string("unknown") : word;
}

absl::string_view LimitStep(double limit) {
  if (!(limit > 0)) return "unknown";
  if (limit >= 0.95) return "full";
  return limit >= 0.7 ? "reduced" : "low";
}

std::string Branch(absl::string_view version) {
  std::vector<absl::string_view> parts = absl::StrSplit(version, absl::MaxSplits('.', 2));
  if (parts.size() > 2) parts.resize(2);
  return absl::StrJoin(parts, ".");
}

}  // namespace

absl::StatusOr<std::string> ContextOf(const Hardware& hardware) {
  if (hardware.gpu.empty()) {
    return absl::InvalidArgumentError("gpu: a context needs the GPU's product name");
  }
  if (hardware.settings.size() > kMostSettings) {
    return absl::InvalidArgumentError("settings: there are more than 32");
  }
  GALEN_ASSIGN_OR_RETURN(const std::string gpu, Word("gpu", hardware.gpu));
  GALEN_ASSIGN_OR_RETURN(const std::string nic, Word("nic", hardware.nic));
  GALEN_ASSIGN_OR_RETURN(const std::string driver, Word("driver", hardware.driver));
  std::string text = absl::StrCat(
      "gpu=", gpu, " nic=", hardware.nic.empty() ? "none" : nic, " driver=", Branch(driver),
      " gpus=", std::clamp(hardware.gpus_per_node, 0, 1024),
      " clocks=", LimitStep(hardware.clock_limit), " power=", LimitStep(hardware.power_limit));
  for (const auto& [name, value] : hardware.settings) {
    GALEN_ASSIGN_OR_RETURN(const std::string key, Word("settings", name));
    GALEN_ASSIGN_OR_RETURN(const std::string word, Word(name, value));
    absl::StrAppend(&text, " ", key, "=", word);
  }
  if (text.size() > kMostContext) {
    return absl::InvalidArgumentError(absl::StrCat("settings: with them the context has ",
                                                   text.size(), " bytes; it may have 4,096"));
  }
  return text;
}

}  // namespace galen::advisor
