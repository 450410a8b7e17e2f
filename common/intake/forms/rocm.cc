// rocm_smi: the text of `rocm-smi` of ROCm 4 to 6 (ROCm/rocm_smi_lib, rocm_smi.py), its concise
// table and its lines "GPU[0] : name: value", as `rocm-smi --showallinfo --json` prints it. Only
// the values that checks read are kept.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"

namespace galen::intake {
namespace {

using RocmJson = nlohmann::json;

constexpr int kMostRocmCards = 1024;
constexpr std::size_t kMostRocmPeers = 64;
constexpr std::size_t kMostRocmHeading = 512;

// Whether the JSON has the same name for that line, and checks read it.
bool IsRocmField(absl::string_view name) {
  for (const absl::string_view known : {"Card Series",
                                        "Card series",
                                        "Device Name",
                                        "Card Model",
                                        "Card model",
                                        "GFX Version",
                                        "Serial Number",
                                        "Unique ID",
                                        "VBIOS version",
                                        "SMC firmware version",
                                        "MES firmware version",
                                        "PCI Bus",
                                        "Temperature (Sensor edge) (C)",
                                        "Temperature (Sensor junction) (C)",
                                        "Temperature (Sensor memory) (C)",
                                        "Max Graphics Package Power (W)",
                                        "Current Socket Graphics Package Power (W)",
                                        "Average Graphics Package Power (W)",
                                        "GPU use (%)",
                                        "PCIe Replay Count",
                                        "VRAM Total Memory (B)",
                                        "VRAM Total Used Memory (B)",
                                        "VIS_VRAM Total Memory (B)",
                                        "VIS_VRAM Total Used Memory (B)"}) {
    if (name == known) return true;
  }
  return false;
}

class RocmReader {
 public:
  void Line(absl::string_view line) {
    static const LazyRE2 kField = {R"(^\s*GPU\[(\d{1,4})\]\s*:\s*(\S.*)$)"};
    static const LazyRE2 kLinks = {R"(Link Type between two GPUs)"};
    int number = 0;
    std::string field;
    const std::vector<absl::string_view> words = PastedWords(line);
    if (RE2::FullMatch(Piece(line), *kField, &number, &field)) {
      Field(number, field);
    } else if (absl::StartsWith(absl::StripAsciiWhitespace(line), "Driver version: ")) {
      system_["Driver version"] = std::string(words.back());
    } else if (RE2::PartialMatch(Piece(line), *kLinks)) {
      links_ = true;
      peers_ = 0;
    } else if (absl::StrContains(line, "====")) {
      links_ = false;
    } else if (links_) {
      Links(words);
    } else if (words.size() >= 8 && (words[0] == "GPU" || words[0] == "Device")) {
      concise_ = true;
      heading_ = std::string(line);
    } else if (concise_ && !words.empty() && IsNumber(words[0])) {
      Concise(words);
    } else if (concise_ && heading_.size() < kMostRocmHeading) {
      absl::StrAppend(&heading_, " ", line);  // the second line of the heading
    }
  }

  RocmJson Take() {
    RocmJson root = RocmJson::object();
    for (auto& [number, card] : cards_) root[absl::StrCat("card", number)] = std::move(card);
    if (!root.empty() && !system_.empty()) root["system"] = std::move(system_);
    return root;
  }

  bool concise() const { return concise_; }

 private:
  RocmJson* Card(int number) {
    if (number >= kMostRocmCards) return nullptr;
    RocmJson& card = cards_[number];
    if (card.is_null()) card = RocmJson::object();
    return &card;
  }

  static void Set(RocmJson* card, absl::string_view name, absl::string_view value) {
    if (value.empty()) return;
    const std::string key(name);
    if (!card->contains(key)) (*card)[key] = std::string(value);
  }

  void Field(int number, absl::string_view field) {
    const std::size_t colon = field.find(": ");
    RocmJson* const card = Card(number);
    if (colon == absl::string_view::npos || card == nullptr) return;
    // Older releases abbreviated these names.
    const std::string name =
        absl::StrReplaceAll(absl::StripAsciiWhitespace(field.substr(0, colon)),
                            {{"(Sensor mem)", "(Sensor memory)"}, {" (c)", " (C)"}});
    const absl::string_view value = absl::StripAsciiWhitespace(field.substr(colon + 2));
    if (IsRocmField(name)) {
      Set(card, name, value);
    } else if (name == "sclk clock level") {
      // "1: (600Mhz)"
      const std::size_t open = value.find('(');
      if (open != absl::string_view::npos) Set(card, "sclk clock speed:", value.substr(open));
    } else if (name == "pcie clock level") {
      Set(card, name, absl::StrReplaceAll(value, {{"GT/s, x", "GT/s x"}}));
    }
  }

  // A row of the concise table. All releases end it with "SCLK MCLK Fan Perf PwrCap VRAM% GPU%".
  void Concise(const std::vector<absl::string_view>& words) {
    int number = 0;
    if (words.size() < 10 || !absl::SimpleAtoi(words[0], &number)) return;
    const absl::string_view use = words[words.size() - 1];
    if (!absl::EndsWith(use, "%") || !absl::EndsWith(words[words.size() - 2], "%")) return;
    RocmJson* const card = Card(number);
    if (card == nullptr) return;
    Set(card, "GPU use (%)", absl::StripSuffix(use, "%"));
    absl::string_view cap = words[words.size() - 3];
    if (absl::ConsumeSuffix(&cap, "W")) Set(card, "Max Graphics Package Power (W)", cap);
    const absl::string_view clock = words[words.size() - 7];
    if (absl::EndsWithIgnoreCase(clock, "mhz")) {
      Set(card, "sclk clock speed:", absl::StrCat("(", clock, ")"));
    }
    bool hot = false;
    bool powered = false;
    for (std::size_t i = 1; i + 7 < words.size(); ++i) {
      static const LazyRE2 kDegrees = {R"((\d{1,3}\.\d)(?:c|C|°C))"};
      static const LazyRE2 kWatts = {R"((\d{1,5}(?:\.\d+)?)W)"};
      std::string value;
      if (!hot && RE2::FullMatch(Piece(words[i]), *kDegrees, &value)) {
        hot = true;
        Set(card,
            absl::StrContains(heading_, "unction") ? "Temperature (Sensor junction) (C)"
                                                   : "Temperature (Sensor edge) (C)",
            value);
      } else if (!powered && RE2::FullMatch(Piece(words[i]), *kWatts, &value)) {
        powered = true;
        Set(card,
            absl::StrContains(heading_, "Socket") ? "Current Socket Graphics Package Power (W)"
                                                  : "Average Graphics Package Power (W)",
            value);
      }
    }
  }

  // "GPU1   XGMI   0   PCIE": the kind of link to each other GPU.
  void Links(const std::vector<absl::string_view>& words) {
    if (words.empty()) return;
    absl::string_view first = words[0];
    int own = 0;
    if (!absl::ConsumePrefix(&first, "GPU") || !absl::SimpleAtoi(first, &own)) return;
    if (words.size() > 1 && absl::StartsWith(words[1], "GPU")) {
      peers_ = std::min(words.size(), kMostRocmPeers);
      return;
    }
    for (std::size_t peer = 0; peer + 1 < words.size() && peer < peers_; ++peer) {
      const absl::string_view kind = words[peer + 1];
      if ((kind != "XGMI" && kind != "PCIE") || static_cast<int>(peer) <= own) continue;
      system_[absl::StrCat("(Topology) Link type between DRM devices ", own, " and ", peer)] =
          std::string(kind);
    }
  }

  std::map<int, RocmJson> cards_;
  RocmJson system_ = RocmJson::object();
  std::string heading_;
  bool concise_ = false;
  bool links_ = false;
  std::size_t peers_ = 0;
};

}  // namespace

absl::StatusOr<Converted> RocmSmi(absl::string_view text, absl::string_view command) {
  RocmReader reader;
  for (const absl::string_view line : PastedLines(text)) reader.Line(line);
  RocmJson root = reader.Take();
  bool any = false;
  for (const auto& card : root.items()) any |= !card.value().empty();
  if (root.empty() || !any) return Unreadable("rocm_smi", "no line describes a GPU");
  const TypedCommand typed(command, "rocm-smi");
  Converted converted;
  converted.text = root.dump(-1, ' ', false, RocmJson::error_handler_t::replace) + "\n";
  converted.partial = typed.filtered() || !(typed.Has("--showallinfo") || typed.Has("-a"));
  return converted;
}

}  // namespace galen::intake
