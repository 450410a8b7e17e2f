#include "common/incident_history/vector_rows.h"

#include <algorithm>

#include "common/incident_history/tokens.h"

namespace galen::incident_history {
namespace {

std::int32_t Dot(const std::int8_t* a, const std::int8_t* b, size_t size) {
  std::int32_t sum = 0;
  for (size_t i = 0; i < size; ++i) sum += std::int32_t{a[i]} * std::int32_t{b[i]};
  return sum;
}

}  // namespace

std::vector<Scored> Best(std::vector<Scored> all, size_t most) {
  const size_t kept = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    [](const Scored& a, const Scored& b) {
                      return a.score != b.score ? a.score > b.score : a.document < b.document;
                    });
  all.resize(kept);
  return all;
}

void VectorRows::Add(std::int64_t document, absl::string_view label, const Vector& vector) {
  if (vector.values.size() != dimensions_ || vector.scale <= 0) return;
  values_.insert(values_.end(), vector.values.begin(), vector.values.end());
  rows_.push_back({document, Hash64(label), vector.scale});
}

std::vector<Scored> VectorRows::Search(const Vector& query, size_t most,
                                       absl::string_view without) const {
  if (query.values.size() != dimensions_) return {};
  const std::uint64_t left_out = Hash64(without);
  std::vector<Scored> all;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const std::int32_t product =
        Dot(query.values.data(), values_.data() + i * dimensions_, dimensions_);
    if (product <= 0 || (!without.empty() && rows_[i].label == left_out)) continue;
    all.push_back({rows_[i].document, static_cast<float>(product) * query.scale * rows_[i].scale});
  }
  return Best(std::move(all), most);
}

}  // namespace galen::incident_history
