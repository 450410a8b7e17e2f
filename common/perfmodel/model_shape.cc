#include "common/perfmodel/model_shape.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::perfmodel {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;

double AttentionWeights(const ModelShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const double heads = static_cast<double>(shape.heads) * static_cast<double>(shape.head_size);
  const double kv = static_cast<double>(shape.kv_heads) * static_cast<double>(shape.head_size);
  return 2 * hidden * heads + 2 * hidden * kv;  // Q and out, K and V
}

double RouterWeights(const ModelShape& shape) {
  return shape.experts > 1 ? static_cast<double>(shape.hidden) * static_cast<double>(shape.experts)
                           : 0;
}

}  // namespace

absl::StatusOr<ModelShape> ParseShape(absl::string_view text) {
  ModelShape shape;
  shape.kv_heads = shape.head_size = shape.ffn = 0;
  const std::map<absl::string_view, std::int64_t*> numbers = {
      {"layers", &shape.layers},         {"hidden", &shape.hidden},
      {"heads", &shape.heads},           {"kv_heads", &shape.kv_heads},
      {"head_size", &shape.head_size},   {"ffn", &shape.ffn},
      {"experts", &shape.experts},       {"active", &shape.active},
      {"vocabulary", &shape.vocabulary}, {"sequence", &shape.sequence},
      {"batch", &shape.batch},           {"gpus", &shape.gpus}};
  std::set<absl::string_view> seen;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(field.first);
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("shape: ", name, ": is set twice; keep one"));
    }
    const auto number = numbers.find(name);
    if (number != numbers.end()) {
      if (!absl::SimpleAtoi(value, number->second) || *number->second < 1 ||
          *number->second > kMost) {
        return absl::InvalidArgumentError(
            absl::StrCat("shape: ", name, "=", value, ": is not a whole number from 1"));
      }
    } else if (name == "gated" || name == "training") {
      bool flag = false;
      if (!absl::SimpleAtob(value, &flag)) {
        return absl::InvalidArgumentError(
            absl::StrCat("shape: ", name, "=", value, ": is true or false"));
      }
      (name == "gated" ? shape.gated : shape.training) = flag;
    } else if (name == "precision") {
      shape.precision = std::string(value);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape: ", name,
          ": unknown; there are layers, hidden, heads, kv_heads, head_size, ffn, gated, "
          "experts, active, vocabulary, sequence, batch, gpus, precision, training"));
    }
  }
  for (const char* needed : {"layers", "hidden", "heads", "vocabulary", "sequence", "batch"}) {
    if (*numbers.at(needed) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape: ", needed, ": is missing; declare it, it is not guessed"));
    }
  }
  if (shape.precision.empty()) {
    return absl::InvalidArgumentError(
        "shape: precision: is missing (bf16, fp16, fp8); it decides the peak");
  }
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  if (shape.head_size == 0) {
    if (shape.hidden % shape.heads != 0) {
      return absl::InvalidArgumentError("shape: heads: does not divide hidden; declare head_size");
    }
    shape.head_size = shape.hidden / shape.heads;
  }
  if (shape.ffn == 0) {
    if (shape.gated) {
      return absl::InvalidArgumentError("shape: ffn: is missing; with gated it is not 4 * hidden");
    }
    shape.ffn = 4 * shape.hidden;
  }
  if (shape.active > shape.experts) {
    return absl::InvalidArgumentError("shape: active: more than there are experts");
  }
  return shape;
}

double ExpertWeights(const ModelShape& shape) {
  return (shape.gated ? 3.0 : 2.0) * static_cast<double>(shape.hidden) *
         static_cast<double>(shape.ffn) * static_cast<double>(shape.experts);
}

double LayerWeights(const ModelShape& shape) {
  return AttentionWeights(shape) + RouterWeights(shape) + ExpertWeights(shape);
}

double Weights(const ModelShape& shape) {
  return static_cast<double>(shape.layers) * LayerWeights(shape) +
         static_cast<double>(shape.hidden) * static_cast<double>(shape.vocabulary);
}

double ScoreFlopsPerToken(const ModelShape& shape) {
  // Each token with each of the sequence: scores, and the weighted sum.
  return 2 * 2 * static_cast<double>(shape.heads) * static_cast<double>(shape.head_size) *
         static_cast<double>(shape.sequence);
}

double LayerFlopsPerToken(const ModelShape& shape) {
  const double network =
      ExpertWeights(shape) * static_cast<double>(shape.active) / static_cast<double>(shape.experts);
  return 2 * (AttentionWeights(shape) + RouterWeights(shape) + network) + ScoreFlopsPerToken(shape);
}

double HeadFlopsPerToken(const ModelShape& shape) {
  return 2 * static_cast<double>(shape.hidden) * static_cast<double>(shape.vocabulary);
}

double ForwardFlopsPerToken(const ModelShape& shape) {
  return static_cast<double>(shape.layers) * LayerFlopsPerToken(shape) + HeadFlopsPerToken(shape);
}

double FlopsPerStep(const ModelShape& shape) {
  return ForwardFlopsPerToken(shape) * static_cast<double>(shape.sequence) *
         static_cast<double>(shape.batch) * (shape.training ? 3.0 : 1.0);
}

}  // namespace galen::perfmodel
