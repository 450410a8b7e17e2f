// amd_smi: `amd-smi static`, `metric`, `bad-pages` and `xgmi` as they print text (amdsmi_cli,
// amdsmi_logger.py: the JSON's own keys in capitals, a level of it for each four blanks), as with
// --json.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"

namespace galen::intake {
namespace {

constexpr std::size_t kMostAmdLines = 200'000;
constexpr std::size_t kMostAmdGpus = 1024;
constexpr std::size_t kDeepestAmd = 16;

// The command that prints a section.
absl::string_view CommandOfSection(absl::string_view section) {
  static constexpr absl::string_view kStatic[] = {"asic",  "bus",   "vbios",  "ifwi",
                                                  "limit", "board", "driver", "vram"};
  static constexpr absl::string_view kMetric[] = {"usage",     "power",    "clock", "temperature",
                                                  "pcie",      "ecc",      "fan",   "ecc_blocks",
                                                  "mem_usage", "throttle", "energy"};
  static constexpr absl::string_view kPages[] = {"retired", "pending", "un_res"};
  if (absl::c_linear_search(kStatic, section)) return "static";
  if (absl::c_linear_search(kMetric, section)) return "metric";
  if (absl::c_linear_search(kPages, section)) return "bad-pages";
  return "";
}

struct Level {
  std::size_t indent = 0;
  nlohmann::json* object = nullptr;
};

}  // namespace

absl::StatusOr<Converted> AmdSmiText(absl::string_view text, absl::string_view command) {
  static const LazyRE2 kGpu = {R"(^\s*GPU: (\d{1,4})\s*$)"};
  static const LazyRE2 kField = {R"(^(\s+)([A-Z][A-Z0-9_]{0,63}):(?:\s+(\S.*))?$)"};
  std::vector<nlohmann::json> gpus;
  gpus.reserve(kMostAmdGpus);  // levels point into them
  std::vector<Level> levels;
  std::string subcommand;
  std::size_t lines = 0;
  for (const absl::string_view line : PastedLines(text)) {
    if (++lines > kMostAmdLines) break;
    std::string number;
    std::string blanks;
    std::string name;
    std::string value;
    if (RE2::FullMatch(Piece(line), *kGpu, &number)) {
      if (gpus.size() == kMostAmdGpus) break;
      int index = 0;
      if (!absl::SimpleAtoi(number, &index)) continue;
      gpus.push_back({{"gpu", index}});
      levels.assign(1, {IndentOf(line), &gpus.back()});
      continue;
    }
    if (gpus.empty() || !RE2::FullMatch(Piece(line), *kField, &blanks, &name, &value)) continue;
    const std::size_t indent = IndentOf(line);
    while (levels.size() > 1 && levels.back().indent >= indent) levels.pop_back();
    if (indent <= levels.front().indent || levels.size() > kDeepestAmd) continue;
    absl::AsciiStrToLower(&name);
    if (levels.size() == 1 && subcommand.empty()) subcommand = std::string(CommandOfSection(name));
    nlohmann::json& object = *levels.back().object;
    if (!value.empty()) {
      object[name] = std::string(absl::StripAsciiWhitespace(value));
    } else {
      nlohmann::json& child = object[name];
      if (!child.is_object()) child = nlohmann::json::object();
      levels.push_back({indent, &child});
    }
  }
  const TypedCommand typed(command, "amd-smi");
  const std::vector<std::string> words = typed.operands();
  for (const char* known : {"static", "metric", "bad-pages"}) {
    if (!words.empty() && words[0] == known) subcommand = known;
  }
  const bool any = std::any_of(gpus.begin(), gpus.end(),
                               [](const nlohmann::json& gpu) { return gpu.size() > 1; });
  if (!any || subcommand.empty()) {
    return Unreadable("amd_smi", "no line has values of a GPU that checks read");
  }
  Converted converted;
  converted.text = nlohmann::json(std::move(gpus))
                       .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                   "\n";
  converted.argv = {"amd-smi", subcommand, "--json"};
  // Letters choose sections, and -g GPUs.
  converted.partial = typed.filtered() || !typed.known() || typed.arguments().size() > 1;
  return converted;
}

}  // namespace galen::intake
