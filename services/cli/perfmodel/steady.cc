#include "services/cli/perfmodel/steady.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

namespace galen::cli {
namespace {

using perfmodel::SteadyMean;
using perfmodel::StopRule;

std::optional<double> NumberIn(absl::string_view text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) return std::nullopt;
  return number;
}

absl::string_view Field(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

absl::Status Wrong(absl::string_view file, std::size_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
}

// Why the mean is not known as well as was asked for.
std::string Missing(std::size_t read, const SteadyMean& judged, const StopRule& rule) {
  if (judged.used == 0) {
    return absl::StrFormat("no: %d samples are too few; %d are needed for a first look", read,
                           rule.first_look);
  }
  if (!judged.warm) return "no: samples still change as they do after a start; take more";
  const double half = (judged.high - judged.low) / 2;
  if (judged.mean == 0) return "no: the mean is 0, of which there is no share";
  return absl::StrFormat("no: to %.2g %% of the mean, and %.2g %% is asked for; take more",
                         100 * half / std::abs(judged.mean), 100 * rule.half_width);
}

}  // namespace

absl::StatusOr<std::vector<double>> ReadSamples(absl::string_view text, absl::string_view file,
                                                absl::string_view column) {
  std::vector<double> samples;
  std::optional<std::size_t> wanted;  // its place, once known
  bool may_be_head = !column.empty();
  if (std::size_t number = 0; column.empty()) {
    wanted = 0;
  } else if (absl::SimpleAtoi(column, &number)) {
    if (number == 0) return absl::InvalidArgumentError("--column: 0: columns count from 1");
    wanted = number - 1;
  }
  std::size_t line = 0;
  for (const absl::string_view row : absl::StrSplit(text, '\n')) {
    ++line;
    if (absl::StripAsciiWhitespace(row).empty()) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(row, ',');
    if (column.empty() && fields.size() > 1) {
      return Wrong(file, line, "has several fields; --column says which of them");
    }
    if (!wanted.has_value()) {
      const auto found =
          std::find_if(fields.begin(), fields.end(),
                       [column](absl::string_view one) { return Field(one) == column; });
      if (found == fields.end()) {
        return Wrong(file, line, absl::StrCat("names no column ", column, "; --column names one"));
      }
      wanted = static_cast<std::size_t>(found - fields.begin());
      may_be_head = false;
      continue;
    }
    if (*wanted >= fields.size()) {
      return Wrong(file, line, absl::StrCat("has no column ", *wanted + 1));
    }
    const absl::string_view field = Field(fields[*wanted]);
    const std::optional<double> number = NumberIn(field);
    if (!number.has_value()) {
      if (!may_be_head) {
        return Wrong(file, line, absl::StrCat(field.substr(0, 40), ": is not a number"));
      }
    } else {
      samples.push_back(*number);
    }
    may_be_head = false;
  }
  return samples;
}

std::string SteadyText(absl::Span<const double> samples, const StopRule& rule,
                       const Terminal& terminal) {
  const SteadyMean judged = perfmodel::JudgeSamples(samples, rule);
  std::string text;
  const auto line = [&](absl::string_view name, absl::string_view what) {
    absl::StrAppend(&text, Paint(terminal, Colour::kBold, Pad(name, 12)), what, "\n");
  };
  line("mean", judged.used == 0 ? "unknown"
                                : absl::StrFormat("%.6g   %.6g to %.6g at %.4g %%", judged.mean,
                                                  judged.low, judged.high, 100 * rule.confidence));
  line("samples", absl::StrFormat("%d read; %d of warm-up left out, %d count, %d wait for more",
                                  samples.size(), judged.warm_up, judged.used,
                                  samples.size() - judged.warm_up - judged.used));
  line("known", judged.enough
                    ? absl::StrFormat("yes: to %.2g %% of the mean or less", 100 * rule.half_width)
                    : Missing(samples.size(), judged, rule));
  return text;
}

std::string SteadyJson(absl::Span<const double> samples, const StopRule& rule) {
  const SteadyMean judged = perfmodel::JudgeSamples(samples, rule);
  nlohmann::ordered_json json = {{"mean", nullptr}, {"low", nullptr}, {"high", nullptr}};
  if (judged.used > 0) {
    json["mean"] = judged.mean;
    json["low"] = judged.low;
    json["high"] = judged.high;
  }
  json["confidence"] = rule.confidence;
  json["half_width"] = rule.half_width;
  json["read"] = samples.size();
  json["warm_up"] = judged.warm_up;
  json["used"] = judged.used;
  json["warm"] = judged.warm;
  json["enough"] = judged.enough;
  return json.dump(2);
}

}  // namespace galen::cli
