#ifndef COMMON_INCIDENT_HISTORY_VIEW_H_
#define COMMON_INCIDENT_HISTORY_VIEW_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/incident_history/document.h"
#include "common/incident_history/embedder.h"
#include "common/incident_history/segment.h"
#include "common/incident_history/tokens.h"
#include "common/incident_history/top.h"

namespace galen::incident_history {

// A document that no segment holds yet.
struct Recent {
  Document document;
  Analysis analysis;
  Vector vector;
  std::string embedder;  // whose vector it is
};

// Recent documents, added one by one by one writer. A reader looks only at as many as its view
// says, and those do not change any more.
struct RecentBlock {
  static constexpr size_t kCapacity = 256;
  std::array<std::unique_ptr<const Recent>, kCapacity> documents;
};

// The documents of a search: segments, and documents added since. Cheap to copy; its content does
// not change. Thread-safe.
class View {
 public:
  View() = default;
  View(std::vector<std::shared_ptr<const Segment>> segments,
       std::vector<std::shared_ptr<const RecentBlock>> recent, size_t recent_count);

  // The documents of both.
  static View Join(const View& first, const View& second);

  std::uint64_t documents() const { return documents_; }
  // Words of a document, on average; 1 without documents.
  double mean_length() const;

  // Parts: each segment, then each list of recent documents.
  absl::Span<const std::shared_ptr<const Segment>> segments() const { return segments_; }
  struct RecentPart {
    std::shared_ptr<const RecentBlock> block;
    size_t count = 0;
  };
  absl::Span<const RecentPart> recent() const { return recent_; }
  const Recent& recent(std::uint32_t part, std::uint32_t document) const {
    return *recent_[part - segments_.size()].block->documents[document];
  }
  bool IsRecent(std::uint32_t part) const { return part >= segments_.size(); }

  absl::StatusOr<Document> Read(const Scored& scored) const;
  absl::string_view Label(const Scored& scored) const;
  bool Contains(absl::string_view id) const;

  // Documents of the segments that have a word, or a pair of words. Recent ones do not count: they
  // are few.
  std::uint64_t TermDocuments(std::uint64_t term) const;
  std::uint64_t PairDocuments(std::uint16_t pair) const;
  // log(1 + N / documents with it); what nothing has is as rare as can be.
  double Rarity(std::uint64_t documents_with_it) const;

 private:
  std::vector<std::shared_ptr<const Segment>> segments_;
  std::vector<RecentPart> recent_;
  std::uint64_t documents_ = 0;
  std::uint64_t total_length_ = 0;
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_VIEW_H_
