#include <memory>
#include <string>
#include <vector>

#include "common/log_analysis/scan/entities.h"
#include "common/log_analysis/scan/line_facts.h"
#include "common/log_analysis/scan/line_text.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/log_analysis/scan/timestamp.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Stamp(absl::string_view text) {
  const auto stamp = log_scan::FindTimeStamp(text);
  if (!stamp.has_value()) return;
  Use(log_scan::Resolve(*stamp, {}));
  Use(log_scan::Resolve(*stamp, {.near = absl::FromUnixSeconds(1'715'000'000)}));
}

void Facts(absl::string_view text) {
  Use(log_scan::FindRank(text));
  Use(log_scan::FindHost(text));
  Use(log_scan::IsBinary(text));
  Use(log_scan::Excerpt(text, text.size() / 2, 64));
}

void Normal(absl::string_view text) {
  std::string block(text);
  Use(log_scan::Normalize(block.data(), block.size(), text.size() % 2 == 0, text.size() % 3 == 0));
}

void Entities(absl::string_view text) {
  const std::vector<std::string> nodes = {"node-1", "gpu-0042.cluster.example"};
  log_scan::EntityCollector collector(nodes);
  collector.Add(text, "a.log", 1);
  Use(std::move(collector).Take());
}

const log_scan::Scanner& SomePatterns() {
  static const std::unique_ptr<const log_scan::Scanner> scanner = [] {
    log_scan::Patterns patterns;
    for (const char* const pattern :
         {"NCCL WARN .{0,80}", "Xid \\(PCI:[0-9a-f:.]+\\): \\d+", "[Oo]ut of memory", "^Traceback",
          "timed? ?out$", "rank\\s*\\d+"}) {
      knowledge::v1::SignalPattern& signal = *patterns.Add();
      signal.set_id(pattern);
      signal.set_pattern(pattern);
    }
    return std::move(log_scan::Scanner::Create(std::move(patterns), "").value());
  }();
  return *scanner;
}

// The result does not depend on how the text is cut.
void Scan(absl::string_view text) {
  log_scan::LogScan whole(SomePatterns(), {.block_bytes = 64 + log_scan::LogScan::kOverlap});
  whole.Feed(text);
  const log_scan::ScanResult expected = whole.Finish();
  log_scan::LogScan cut(SomePatterns(), {.block_bytes = 64 + log_scan::LogScan::kOverlap});
  cut.Feed(text.substr(0, text.size() / 2));
  cut.Feed(text.substr(text.size() / 2));
  const log_scan::ScanResult result = cut.Finish();
  if (result.lines != expected.lines || result.hits.size() != expected.hits.size()) {
    __builtin_trap();
  }
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"time", Stamp},        {"facts", Facts}, {"normalize", Normal},
      {"entities", Entities}, {"scan", Scan},
  };
  return kParsers;
}

}  // namespace galen::fuzz
