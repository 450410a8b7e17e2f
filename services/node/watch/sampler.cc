#include "services/node/watch/sampler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::node {
namespace {

std::vector<CounterSpec> Judged(std::vector<CounterSpec> specs) {
  std::erase_if(specs, [](const CounterSpec& spec) { return !spec.rule.has_value(); });
  return specs;
}

}  // namespace

Sampler::Sampler(std::string node, std::vector<CounterSpec> specs, Options options)
    : node_(std::move(node)),
      options_(std::move(options)),
      files_(Judged(std::move(specs)), options_.root),
      history_(options_.history) {}

void Sampler::Discover(absl::Time now) {
  files_.Discover();
  discovered_ = now;
  const std::size_t count = files_.series().size();
  history_.Resize(count);
  values_.resize(count, kUnknownCount);
  before_.resize(count, kUnknownCount);
  told_.resize(count, absl::InfinitePast());
}

void Sampler::Sample(absl::Time now, const OnNoticed& noticed) {
  MutexLock lock(mu_);
  if (now - discovered_ >= options_.rediscover) Discover(now);
  std::swap(values_, before_);
  if (!files_.Read(absl::MakeSpan(values_)) && now - discovered_ >= options_.rediscover_pause) {
    Discover(now);
    files_.Read(absl::MakeSpan(values_));
  }
  history_.Add(now, values_);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (files_.series()[i].rule == nullptr) continue;
    if (values_[i] == before_[i] && told_[i] == absl::InfinitePast()) continue;
    Judge(i, now, noticed);
  }
}

void Sampler::Judge(std::size_t series, absl::Time now, const OnNoticed& noticed) {
  const Series& counter = files_.series()[series];
  const MovementRule& rule = *counter.rule;
  const std::optional<History::Change> change = history_.Between(series, now - rule.within, now);
  if (!change.has_value() || change->rise < rule.rise) {
    told_[series] = absl::InfinitePast();
    return;
  }
  if (now - told_[series] < options_.repeat) return;
  told_[series] = now;
  galen::v1::Finding finding;
  finding.set_name(rule.finding);
  finding.mutable_subject()->set_node(node_);
  finding.mutable_subject()->set_device(counter.device);
  if (rule.unit == "1/h") {
    finding.set_double_value(static_cast<double>(change->rise) / absl::ToDoubleHours(rule.within));
  } else if (rule.unit == "1/s") {
    finding.set_double_value(static_cast<double>(change->rise) /
                             absl::ToDoubleSeconds(rule.within));
  } else {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    finding.set_int_value(static_cast<std::int64_t>(std::min(change->rise, kMost)));
  }
  finding.set_unit(rule.unit);
  finding.set_expected(
      absl::StrCat("fewer than ", rule.rise, " within ", absl::FormatDuration(rule.within)));
  finding.set_abnormal(true);
  noticed(rule.check, std::move(finding));
}

std::size_t Sampler::counters() const {
  MutexLock lock(mu_);
  return files_.series().size();
}

std::size_t Sampler::files() const {
  MutexLock lock(mu_);
  return files_.file_count();
}

}  // namespace galen::node
