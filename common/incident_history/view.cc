#include "common/incident_history/view.h"

#include <algorithm>
#include <cmath>

namespace galen::incident_history {

View::View(std::vector<std::shared_ptr<const Segment>> segments,
           std::vector<std::shared_ptr<const RecentBlock>> recent, size_t recent_count)
    : segments_(std::move(segments)) {
  for (const auto& segment : segments_) {
    documents_ += segment->documents();
    total_length_ += segment->total_length();
  }
  documents_ += recent_count;
  for (auto& block : recent) {
    const size_t count = std::min(recent_count, RecentBlock::kCapacity);
    recent_count -= count;
    for (size_t i = 0; i < count; ++i) total_length_ += block->documents[i]->analysis.length;
    if (count > 0) recent_.push_back({std::move(block), count});
  }
}

View View::Join(const View& first, const View& second) {
  View both = first;
  both.segments_.insert(both.segments_.end(), second.segments_.begin(), second.segments_.end());
  both.recent_.insert(both.recent_.end(), second.recent_.begin(), second.recent_.end());
  both.documents_ += second.documents_;
  both.total_length_ += second.total_length_;
  return both;
}

double View::mean_length() const {
  if (documents_ == 0 || total_length_ == 0) return 1;
  return static_cast<double>(total_length_) / static_cast<double>(documents_);
}

absl::StatusOr<Document> View::Read(const Scored& scored) const {
  if (IsRecent(scored.part)) return recent(scored.part, scored.document).document;
  return segments_[scored.part]->Read(scored.document);
}

absl::string_view View::Label(const Scored& scored) const {
  if (IsRecent(scored.part)) return recent(scored.part, scored.document).document.label;
  const Segment& segment = *segments_[scored.part];
  return segment.label_text(segment.document_labels()[scored.document]);
}

bool View::Contains(absl::string_view id) const {
  for (const auto& segment : segments_) {
    if (segment->Contains(id)) return true;
  }
  for (const RecentPart& part : recent_) {
    for (size_t i = 0; i < part.count; ++i) {
      if (part.block->documents[i]->document.id == id) return true;
    }
  }
  return false;
}

std::uint64_t View::TermDocuments(std::uint64_t term) const {
  std::uint64_t documents = 0;
  for (const auto& segment : segments_)
    documents += segment->TermDocuments(segment->FindTerm(term));
  return documents;
}

std::uint64_t View::PairDocuments(std::uint16_t pair) const {
  std::uint64_t documents = 0;
  for (const auto& segment : segments_) documents += segment->PairDocuments(pair);
  return documents;
}

double View::Rarity(std::uint64_t documents_with_it) const {
  const auto all = static_cast<double>(documents_);
  return std::log(1 + all / static_cast<double>(std::max<std::uint64_t>(documents_with_it, 1)));
}

}  // namespace galen::incident_history
