// The cost of recognising a paste of 100 MB, compared with the cost of searching it for messages.
// The limit is 1.5 times the scan.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/intake/kinds.h"
#include "common/intake/recognise.h"
#include "common/knowledge/load.h"
#include "common/log_analysis/scan/scanner.h"

namespace galen::intake {
namespace {

constexpr std::size_t kPasted = std::size_t{100} << 20;

const knowledge::v1::KnowledgeBase& Base() {
  static const auto* const base = [] {
    return new knowledge::v1::KnowledgeBase(
        (*knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, knowledge::LoadOptions()))->base());
  }();
  return *base;
}

const Kinds& Shipped() {
  static const auto* const kinds = new std::shared_ptr<const Kinds>(Kinds::Compile(Base()).value());
  return **kinds;
}

// The log of a job as a person pastes it; `prompts`: with outputs at a shell in between.
Text Pasted(bool prompts) {
  std::string text;
  text.reserve(kPasted + 4096);
  for (int i = 1; text.size() < kPasted; ++i) {
    if (prompts && i % 200 == 0) {
      absl::StrAppend(&text, "root@node-7:~# df -h\nFilesystem Size Used Avail Use% Mounted on\n",
                      "/dev/sda2 1.8T 1.7T 100G 95% /data\n");
    } else if (i % 3 == 0) {
      absl::StrAppend(&text,
                      "node-7:8123:8190 [3] NCCL INFO Channel 05/0 : 3[3] -> 4[4] via P2P/CUMEM\n");
    } else {
      absl::StrAppend(&text, "[2025-05-01 12:00:00,441] [INFO] [rank 3] iteration ", i,
                      "/ 500000 | loss 1.9532 | grad norm 0.412 | lr 3.000E-04\n");
    }
  }
  return {.name = "standard input", .content = std::move(text)};
}

void BM_RecognisePaste(benchmark::State& state) {
  const Text text = Pasted(state.range(0) != 0);
  Shipped();
  for (auto _ : state) benchmark::DoNotOptimize(Recognise(Shipped(), {&text, 1}).artefacts.size());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.content.size()));
}
BENCHMARK(BM_RecognisePaste)->ArgName("prompts")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void BM_ScanPaste(benchmark::State& state) {
  const Text text = Pasted(state.range(0) != 0);
  const std::unique_ptr<const log_scan::Scanner> scanner =
      log_scan::Scanner::Create({Base().signals().begin(), Base().signals().end()}, "").value();
  for (auto _ : state) {
    log_scan::LogScan scan(*scanner, {});
    scan.Feed(text.content);
    benchmark::DoNotOptimize(scan.Finish().lines);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.content.size()));
}
BENCHMARK(BM_ScanPaste)->ArgName("prompts")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// A sentence with a table: what every paste pays.
void BM_RecogniseLittle(benchmark::State& state) {
  const Text text = {.name = "description",
                     .content =
                         "The job stops.\n```\n$ df -h\nFilesystem Size Used Avail Use% "
                         "Mounted on\n/dev/sda2 1.8T 1.7T 100G 95% /data\n```\n"};
  Shipped();
  for (auto _ : state) benchmark::DoNotOptimize(Recognise(Shipped(), {&text, 1}).artefacts.size());
}
BENCHMARK(BM_RecogniseLittle)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace galen::intake
