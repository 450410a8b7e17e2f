#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "common/run_records/read_run.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

using run_records::Form;

run_records::RunRecords ReadIn(Form form, absl::string_view text, std::size_t piece) {
  run_records::RunRecords records({.series = 64, .points = 256});
  run_records::ReadRun(
      form, "mlruns/0/run/metrics/loss",
      [text, piece, at = std::size_t{0}]() mutable -> absl::StatusOr<absl::string_view> {
        const absl::string_view next = text.substr(std::min(at, text.size()), piece);
        at += next.size();
        return next;
      },
      records);
  return records;
}

// However a file is cut, it has the same numbers; their text keeps to its size.
void Read(Form form, absl::string_view text) {
  Use(run_records::FormOf(text) != Form::kNone);
  run_records::RunRecords whole = ReadIn(form, text, 1 << 20);
  const run_records::RunRecords cut = ReadIn(form, text, 3);
  if (whole.points() != cut.points() || whole.left_out() != cut.left_out()) std::abort();
  const auto named = run_records::Named(std::move(whole).Take());
  for (const std::size_t most : {1U << 20, 300U}) {
    if (run_records::AsOpenMetrics(named, most).size() > most + 6) std::abort();
  }
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"event_file", [](absl::string_view text) { Read(Form::kEventFile, text); }},
      {"wandb", [](absl::string_view text) { Read(Form::kWandb, text); }},
      {"wandb_lines", [](absl::string_view text) { Read(Form::kWandbLines, text); }},
      {"mlflow", [](absl::string_view text) { Read(Form::kMlflowLines, text); }}};
  return kParsers;
}

}  // namespace galen::fuzz
