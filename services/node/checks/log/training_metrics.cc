#include "services/node/checks/log/training_metrics.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/median.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/log/training_step.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxSeries = 4096;  // points kept; a longer series is thinned out

// The steps of one log; of a long one every n-th.
class Series {
 public:
  void Add(const TrainingStep& step) {
    if (step.loss.has_value() && !std::isfinite(*step.loss) && !bad_step_.has_value()) {
      bad_step_ = step.step;
    }
    // Only norms before the first bad step can explain it.
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

  // The drop of the last quarter below the first half, in percent.
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

namespace {

class TrainingFold final : public LogFold {
 public:
  void Add(const LogLine& line) override {
    const auto step = ParseTrainingStep(line.text);
    if (!step.has_value()) return;
    if (logs_.size() < 1024) logs_[line.log->name].Add(*step);
    if (line.log->rank.has_value() && step->grad_norm.has_value() && by_step_.size() < kMaxSeries) {
      by_step_[step->step].emplace(*line.log->rank, *step->grad_norm);
    }
  }

  const std::map<std::string, Series>& logs() const { return logs_; }
  // Gradient norms of one step by rank, to see whether the replicas agree.
  const std::map<std::int64_t, std::map<int, double>>& by_step() const { return by_step_; }

 private:
  std::map<std::string, Series> logs_;
  std::map<std::int64_t, std::map<int, double>> by_step_;
};

}  // namespace

const LogWant kTrainingWant = {
    .name = "training steps",
    .expressions = [](const knowledge::Knowledge&) -> std::vector<std::string> {
      return {R"((?i)loss['"]?\s*[:=])"};
    },
    .fold = [](const FoldBasis&) -> std::unique_ptr<LogFold> {
      return std::make_unique<TrainingFold>();
    }};

absl::StatusOr<CheckOutput> CheckTrainingMetrics(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "job.training_metrics"));
  GALEN_ASSIGN_OR_RETURN(const double factor, data.Number("grad_norm_growth"));
  GALEN_ASSIGN_OR_RETURN(const double last, data.Number("grad_norm_steps"));
  GALEN_ASSIGN_OR_RETURN(const double least, data.Number("least_steps"));
  GALEN_ASSIGN_OR_RETURN(const FoldedLogs folded, FoldLogs(context, kTrainingWant));
  const std::shared_ptr<const TrainingFold> fold = FoldAs<TrainingFold>(folded);
  const std::map<std::string, Series>& logs = fold->logs();
  const std::map<std::int64_t, std::map<int, double>>& by_step = fold->by_step();
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
