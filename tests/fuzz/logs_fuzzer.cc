#include <memory>
#include <string>
#include <vector>

#include "common/logs/entities.h"
#include "common/logs/line_facts.h"
#include "common/logs/line_text.h"
#include "common/logs/scanner.h"
#include "common/logs/timestamp.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Stamp(absl::string_view text) {
  const auto stamp = logs::FindTimeStamp(text);
  if (!stamp.has_value()) return;
  Use(logs::Resolve(*stamp, {}));
  Use(logs::Resolve(*stamp, {.near = absl::FromUnixSeconds(1'715'000'000)}));
}

void Facts(absl::string_view text) {
  Use(logs::FindRank(text));
  Use(logs::FindHost(text));
  Use(logs::IsBinary(text));
  Use(logs::Excerpt(text, text.size() / 2, 64));
}

void Normal(absl::string_view text) {
  std::string block(text);
  Use(logs::Normalize(block.data(), block.size(), text.size() % 2 == 0, text.size() % 3 == 0));
}

void Entities(absl::string_view text) {
  const std::vector<std::string> nodes = {"node-1", "gpu-0042.cluster.example"};
  logs::EntityCollector collector(nodes);
  collector.Add(text, "a.log", 1);
  Use(std::move(collector).Take());
}

const logs::Scanner& SomePatterns() {
  static const std::unique_ptr<const logs::Scanner> scanner = [] {
    logs::Patterns patterns;
    for (const char* const pattern :
         {"NCCL WARN .{0,80}", "Xid \\(PCI:[0-9a-f:.]+\\): \\d+", "[Oo]ut of memory", "^Traceback",
          "timed? ?out$", "rank\\s*\\d+"}) {
      knowledge::v1::SignalPattern& signal = *patterns.Add();
      signal.set_id(pattern);
      signal.set_pattern(pattern);
    }
    return std::move(logs::Scanner::Create(std::move(patterns), "").value());
  }();
  return *scanner;
}

// The result does not depend on how the text is cut.
void Scan(absl::string_view text) {
  logs::LogScan whole(SomePatterns(), {.block_bytes = 64 + logs::LogScan::kOverlap});
  whole.Feed(text);
  const logs::ScanResult expected = whole.Finish();
  logs::LogScan cut(SomePatterns(), {.block_bytes = 64 + logs::LogScan::kOverlap});
  cut.Feed(text.substr(0, text.size() / 2));
  cut.Feed(text.substr(text.size() / 2));
  const logs::ScanResult result = cut.Finish();
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
