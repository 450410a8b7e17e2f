#include "services/node/checks/gpu/link_reports.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxLinkedGpus = 1024;
constexpr std::size_t kMaxLinks = 256;
constexpr std::size_t kMaxLinkTextBytes = 256;

struct Heading {
  int index = 0;
  std::string product;
  std::string uuid;
};

// "GPU 0: NVIDIA H200 (UUID: GPU-...)".
bool ReadHeading(absl::string_view line, Heading& heading) {
  static const LazyRE2 kHeading = {R"(^GPU (\d{1,6}): (.*?)(?: \(UUID: ([^)]*)\))?\s*$)"};
  std::string product;
  std::string uuid;
  if (!RE2::FullMatch(re2::StringPiece(line.data(), line.size()), *kHeading, &heading.index,
                      &product, &uuid)) {
    return false;
  }
  heading.product = CleanText(product, kMaxLinkTextBytes);
  heading.uuid = CleanText(uuid, kMaxLinkTextBytes);
  return true;
}

// "Link 3: <text>", also "C2C Link 3: <text>".
bool ReadLink(absl::string_view line, int& link, std::string& text) {
  static const LazyRE2 kLink = {R"(^(?:C2C )?Link (\d{1,4}): (.*)$)"};
  return RE2::FullMatch(re2::StringPiece(line.data(), line.size()), *kLink, &link, &text);
}

// "Replay Errors: 12", "Effective BER: 1.5e-254".
void ReadCounter(absl::string_view text, LinkErrors& errors) {
  const std::size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return;
  const absl::string_view name = absl::StripAsciiWhitespace(text.substr(0, colon));
  const absl::string_view value = absl::StripAsciiWhitespace(text.substr(colon + 1));
  if (SaysNothing(value)) return;
  if (absl::EqualsIgnoreCase(name, "Effective BER")) {
    double ber = 0;
    if (absl::SimpleAtod(value, &ber)) errors.effective_ber = ber;
    return;
  }
  const std::optional<std::int64_t> count = LeadingInteger(value);
  if (!count.has_value()) return;
  if (absl::EqualsIgnoreCase(name, "CRC Errors") ||
      absl::EqualsIgnoreCase(name, "CRC FLIT Error") ||
      absl::EqualsIgnoreCase(name, "CRC FLIT Errors")) {
    errors.crc = count;
  } else if (absl::EqualsIgnoreCase(name, "Replay Errors")) {
    errors.replay = count;
  } else if (absl::EqualsIgnoreCase(name, "Recovery Errors") ||
             absl::EqualsIgnoreCase(name, "Total link recovery events")) {
    errors.recovery = count;
  } else if (absl::EndsWithIgnoreCase(name, "Errors")) {
    errors.other += *count > 0 ? 1 : 0;
  }
}

}  // namespace

std::vector<GpuLinks> ParseLinkStatus(absl::string_view output) {
  std::vector<GpuLinks> gpus;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    Heading heading;
    if (ReadHeading(line, heading)) {
      if (gpus.size() == kMaxLinkedGpus) break;
      GpuLinks& gpu = gpus.emplace_back();
      gpu.index = heading.index;
      gpu.product = heading.product;
      gpu.uuid = heading.uuid;
      continue;
    }
    if (gpus.empty()) continue;
    int link = 0;
    std::string text;
    if (ReadLink(line, link, text)) {
      if (gpus.back().links.size() == kMaxLinks) continue;
      // An active link shows its rate.
      gpus.back().links[link] = LeadingNumber(text).value_or(0) > 0;
    } else if (absl::StrContains(line, "all links are inActive")) {
      gpus.back().all_inactive = true;
    } else if (absl::StrContains(line, "does not have or support") ||
               absl::StrContains(line, "not supported") ||
               absl::StrContains(line, "Not Supported")) {
      gpus.back().not_supported = true;
    }
  }
  return gpus;
}

std::vector<GpuLinkErrors> ParseLinkErrors(absl::string_view output) {
  std::vector<GpuLinkErrors> gpus;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    Heading heading;
    if (ReadHeading(line, heading)) {
      if (gpus.size() == kMaxLinkedGpus) break;
      gpus.emplace_back();
      gpus.back().index = heading.index;
      gpus.back().uuid = heading.uuid;
      continue;
    }
    int link = 0;
    std::string text;
    if (gpus.empty() || !ReadLink(line, link, text)) continue;
    auto& links = gpus.back().links;
    if (links.size() < kMaxLinks || links.contains(link)) ReadCounter(text, links[link]);
  }
  return gpus;
}

}  // namespace galen::node
