#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/log_analysis/templates/mask.h"
#include "common/log_analysis/templates/miner.h"
#include "common/log_analysis/templates/shape.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Mask(absl::string_view text) {
  char out[log_templates::kMostMasked];
  const std::size_t size = log_templates::MaskToken(text, out);
  if (size > sizeof(out) || (size == 0) != text.empty()) std::abort();
}

// A line has as many tokens as its text has.
void Shapes(absl::string_view text) {
  log_templates::Shape shape;
  log_templates::ShapeOf(text, shape);
  std::string masked;
  log_templates::AppendMasked(text, masked);
  const auto spaces = static_cast<std::size_t>(std::count(masked.begin(), masked.end(), ' '));
  if (shape.size > log_templates::kMostTokens + 1) std::abort();
  if (masked.empty() ? shape.size > 1 : shape.size != spaces + 1) std::abort();
}

// Each line has one template that takes it again, the number of templates is limited, and the same
// lines lead to the same templates.
void Lines(absl::string_view text) {
  log_templates::MinerOptions options;
  options.most_templates = 4;
  options.most_compared = 3;
  options.most_keys = 2;
  log_templates::Miner one(options);
  log_templates::Miner other(options);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::uint64_t id = one.Add(line);
    if (id == log_templates::Miner::kNone || !one.Has(id) || one.Find(line) != id) std::abort();
    if (other.Add(line) != id || one.size() > options.most_templates) std::abort();
  }
  const std::vector<log_templates::Miner::Template> left = one.Templates();
  const std::vector<log_templates::Miner::Template> right = other.Templates();
  if (left.size() != right.size() || left.size() != one.size()) std::abort();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].text != right[i].text || left[i].count != right[i].count) std::abort();
  }
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"mask", Mask}, {"shapes", Shapes}, {"lines", Lines}};
  return kParsers;
}

}  // namespace galen::fuzz
