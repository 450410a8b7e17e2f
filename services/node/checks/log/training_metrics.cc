#include "services/node/checks/log/training_metrics.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/log_lines.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxSeries = 4096;  // points kept; a longer series is thinned out

re2::StringPiece Piece(absl::string_view text) { return {text.data(), text.size()}; }

// "2.66E+00", "nan", "inf"; nothing for another text.
std::optional<double> Number(absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "nan" || lower == "-nan") return std::numeric_limits<double>::quiet_NaN();
  if (lower == "inf" || lower == "+inf" || lower == "infinity") {
    return std::numeric_limits<double>::infinity();
  }
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) return std::nullopt;
  return value;
}

std::optional<double> Find(absl::string_view line, const RE2& form) {
  std::string text;
  if (!RE2::PartialMatch(Piece(line), form, &text)) return std::nullopt;
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  return Number(text);
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The steps of one log; of a long one every n-th.
class Series {
 public:
  void Add(const TrainingStep& step) {
    if (step.loss.has_value() && !std::isfinite(*step.loss) && !bad_step_.has_value()) {
      bad_step_ = step.step;
    }
    // What came before the first bad step is what tells why.
    if (!bad_step_.has_value() && step.grad_norm.has_value() && std::isfinite(*step.grad_norm)) {
      norms_.push_back(*step.grad_norm);
      if (norms_.size() > kMaxSeries) norms_.pop_front();
    }
    if (step.rate.has_value() && *step.rate > 0 && std::isfinite(*step.rate) &&
        seen_++ % stride_ == 0) {
      rates_.push_back(*step.rate);
      if (rates_.size() >= kMaxSeries) {
        for (std::size_t i = 0; i < rates_.size() / 2; ++i) rates_[i] = rates_[2 * i];
        rates_.resize(rates_.size() / 2);
        stride_ *= 2;
      }
    }
    ++count_;
  }

  std::int64_t count() const { return count_; }
  std::optional<std::int64_t> bad_step() const { return bad_step_; }

  // Whether the gradient norm had grown `factor`-fold before the loss was lost, over several steps;
  // nothing when too few norms are known.
  std::optional<bool> NormRose(double factor, std::size_t last) const {
    if (norms_.size() < 2 * last) return std::nullopt;
    const std::vector<double> base(norms_.begin(),
                                   norms_.end() - static_cast<std::ptrdiff_t>(last));
    const std::vector<double> recent(norms_.end() - static_cast<std::ptrdiff_t>(last),
                                     norms_.end());
    return Median(recent) > factor * Median(base);
  }

  // How far the last quarter lies below the first half, in percent.
  std::optional<double> Drop(std::size_t least) const {
    if (rates_.size() < least) return std::nullopt;
    const auto half = static_cast<std::ptrdiff_t>(rates_.size() / 2);
    const auto quarter = static_cast<std::ptrdiff_t>(rates_.size() / 4);
    const double first = Median({rates_.begin(), rates_.begin() + half});
    const double last = Median({rates_.end() - quarter, rates_.end()});
    return first > 0 ? 100 * (first - last) / first : 0;
  }

 private:
  std::optional<std::int64_t> bad_step_;
  std::deque<double> norms_;
  std::vector<double> rates_;
  std::int64_t seen_ = 0;
  std::int64_t stride_ = 1;
  std::int64_t count_ = 0;
};

}  // namespace

std::optional<TrainingStep> ParseTrainingStep(absl::string_view line) {
  if (line.size() > 2048 || !absl::StrContains(absl::AsciiStrToLower(line), "loss")) {
    return std::nullopt;
  }
  static const RE2 step(
      R"((?i)\b(?:global[_ ]step|iteration|iter|step)s?['"]?\s*[:= ]\s*\[?(\d{1,12})\b)");
  static const RE2 loss(
      R"((?i)\b(?:lm[_ ]loss|reduced_train_loss|train[_ ]?loss|loss)['"]?\s*[:=]\s*\(?([-+]?(?:\d[\d,]*\.?\d*(?:e[-+]?\d+)?|nan|inf)))");
  static const RE2 norm(
      R"((?i)\b(?:grad(?:ient)?[_ ]?norm|gnorm)['"]?\s*(?:\([^)]{0,64}\))?\s*[:=]\s*([-+]?(?:\d[\d,]*\.?\d*(?:e[-+]?\d+)?|nan|inf)))");
  static const RE2 rate(
      R"((?i)\b(?:samples per second|samples/sec(?:ond)?|samples_per_second|tokens?/s(?:ec)?(?:/(?:gpu|device))?|tps|TFLOPs?|tflop/s/device|throughput)['"]?\s*(?:\([^)]*\))?\s*[:=]\s*(\d[\d,]*\.?\d*(?:e[-+]?\d+)?))");
  TrainingStep found;
  std::string number;
  if (!RE2::PartialMatch(Piece(line), step, &number) || !absl::SimpleAtoi(number, &found.step)) {
    return std::nullopt;
  }
  found.loss = Find(line, loss);
  if (!found.loss.has_value()) return std::nullopt;
  found.grad_norm = Find(line, norm);
  found.rate = Find(line, rate);
  return found;
}

absl::StatusOr<CheckOutput> CheckTrainingMetrics(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "job.training_metrics"));
  GALEN_ASSIGN_OR_RETURN(const double factor, data.Number("grad_norm_growth"));
  GALEN_ASSIGN_OR_RETURN(const double last, data.Number("grad_norm_steps"));
  GALEN_ASSIGN_OR_RETURN(const double least, data.Number("least_steps"));
  std::map<std::string, Series> logs;
  // Gradient norms of one step by rank, to see whether the replicas agree.
  std::map<std::int64_t, std::map<int, double>> by_step;
  GALEN_RETURN_IF_ERROR(ForEachLogLine(host, LogsOf::kAllNodes, [&](const LogLine& line) {
                          const auto step = ParseTrainingStep(line.text);
                          if (!step.has_value()) return;
                          if (logs.size() < 1024) logs[line.log->name].Add(*step);
                          if (line.log->rank.has_value() && step->grad_norm.has_value() &&
                              by_step.size() < kMaxSeries) {
                            by_step[step->step].emplace(*line.log->rank, *step->grad_norm);
                          }
                        }).status());
  const Series* worst = nullptr;
  for (const auto& [name, series] : logs) {
    if (worst == nullptr || (series.bad_step().has_value() && !worst->bad_step().has_value()) ||
        (series.bad_step().has_value() == worst->bad_step().has_value() &&
         series.count() > worst->count())) {
      worst = &series;
    }
  }
  if (worst == nullptr) {
    return absl::FailedPreconditionError("the job's logs report no training step");
  }
  CheckOutput output;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  const bool enough = worst->count() >= static_cast<std::int64_t>(least);
  if (worst->bad_step().has_value()) {
    // Step 0 is one too: a loss that was never finite.
    add(IntFinding("loss_nonfinite_step", node, "", std::max<std::int64_t>(1, *worst->bad_step())));
  } else {
    add(enough ? IntFinding("loss_nonfinite_step", node, "", 0)
               : UnknownFinding("loss_nonfinite_step", node, ""));
  }
  // Without a loss that is lost, a norm that grows means nothing.
  std::optional<bool> rose;
  if (worst->bad_step().has_value()) {
    rose = worst->NormRose(factor, static_cast<std::size_t>(std::max(1.0, last)));
  }
  add(rose.has_value() ? BoolFinding("grad_norm_rises_first", node, "", *rose)
                       : UnknownFinding("grad_norm_rises_first", node, ""));
  std::optional<bool> equal;
  for (const auto& [step, norms] : by_step) {
    if (norms.size() < 2) continue;
    if (!equal.has_value()) equal = true;
    const double first = norms.begin()->second;
    for (const auto& [rank, norm] : norms) {
      const bool same = norm == first || (std::isnan(norm) && std::isnan(first)) ||
                        std::abs(norm - first) <= 1e-3 * std::abs(first);
      equal = *equal && same;
    }
  }
  add(equal.has_value() ? BoolFinding("all_ranks_equal", node, "", *equal)
                        : UnknownFinding("all_ranks_equal", node, ""));
  add(UnknownFinding("moe_imbalance_ratio", node, ""));
  const auto drop = worst->Drop(static_cast<std::size_t>(least));
  add(drop.has_value() ? FloatFinding("throughput_drop_pct", node, "", *drop)
                       : UnknownFinding("throughput_drop_pct", node, ""));
  output.message = absl::StrCat(
      worst->count(), " training steps",
      worst->bad_step().has_value()
          ? absl::StrCat("; the loss is not finite from step ", *worst->bad_step(),
                         !rose.has_value() ? ""
                         : *rose           ? ", after the gradient norm had grown"
                                           : ", without the gradient norm growing before")
          : ", the loss stays finite",
      drop.has_value() && *drop > 0
          ? absl::StrCat("; throughput ", std::llround(*drop), " % below its beginning")
          : "");
  return output;
}

}  // namespace galen::node
