#ifndef COMMON_INCIDENT_HISTORY_SEGMENT_H_
#define COMMON_INCIDENT_HISTORY_SEGMENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/incident_history/document.h"
#include "common/incident_history/segment_format.h"

namespace galen::incident_history {

// An immutable index over documents, in memory or mapped from a file. Opening reads the header and
// checks that every section has the size that it says; references in the sections are checked at
// each use, so that a hostile file can cause wrong answers, but no memory errors. A file must not
// be made shorter while it is open: files of a store are replaced, never written to. Thread-safe.
class Segment {
 public:
  // Maps `path`. Errors: NOT_FOUND; DATA_LOSS for a damaged file, and FAILED_PRECONDITION for one
  // of another version, each with what to do.
  static absl::StatusOr<std::shared_ptr<const Segment>> Open(const std::string& path);
  // The same over bytes; errors contain `name`.
  static absl::StatusOr<std::shared_ptr<const Segment>> FromBytes(absl::string_view bytes,
                                                                  const std::string& name);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Reads all of it. DATA_LOSS names the section whose checksum is wrong.
  absl::Status VerifyChecksums() const;

  std::uint32_t documents() const { return header_.documents; }
  std::uint64_t total_length() const { return header_.total_length; }
  absl::string_view embedder() const;
  size_t dimensions() const { return header_.dimensions; }
  size_t stride() const { return header_.stride; }
  size_t labels() const { return header_.labels; }

  // The document with its texts. DATA_LOSS when its bytes are damaged. `document` < documents().
  absl::StatusOr<Document> Read(std::uint32_t document) const;
  // Numbers of the labels of the documents; one that is not below labels() is damaged.
  absl::Span<const std::uint32_t> document_labels() const;
  // The number of a label, or labels() when no document has it.
  std::uint32_t FindLabel(absl::string_view label) const;
  // Empty when damaged.
  absl::string_view label_text(std::uint32_t label) const;
  // Whether a document has this id.
  bool Contains(absl::string_view id) const;

  // The number of a word, or terms() when no document has it.
  std::uint32_t FindTerm(std::uint64_t hash) const;
  std::uint32_t terms() const { return header_.terms; }
  // Documents with this word, 0 for terms().
  std::uint32_t TermDocuments(std::uint32_t term) const;
  std::uint64_t TermHash(std::uint32_t term) const;
  std::uint32_t PairDocuments(std::uint16_t pair) const;

  // The documents with a word, range by range.
  struct Chunk {
    std::uint32_t range = 0;
    std::uint32_t max_count = 0;
    std::uint32_t min_length = 0;
    absl::Span<const std::uint16_t> documents;  // rising, within the range
    absl::Span<const std::uint8_t> counts;      // as many
  };
  std::uint32_t chunk_begin(std::uint32_t term) const;
  std::uint32_t chunk_end(std::uint32_t term) const;
  Chunk chunk(std::uint32_t index) const;  // index < chunk_end of a term
  // Only the range of a chunk.
  std::uint32_t chunk_range(std::uint32_t index) const;
  absl::Span<const std::uint16_t> lengths() const;

  // The words of a document by their numbers (check against terms()), and its pairs.
  absl::Span<const std::uint32_t> ForwardTerms(std::uint32_t document) const;
  absl::Span<const std::uint8_t> ForwardCounts(std::uint32_t document) const;
  absl::Span<const std::uint16_t> Pairs(std::uint32_t document) const;

  // documents() rows of stride() bytes, and the scale of each row.
  const std::int8_t* vectors() const;
  absl::Span<const float> scales() const;

  // The graph over the first graph_documents() documents: graph.h.
  const format::Header& header() const { return header_; }
  absl::Span<const std::uint32_t> graph_links() const;
  absl::Span<const format::UpperEntry> graph_upper() const;
  absl::Span<const std::uint32_t> graph_upper_links() const;

 private:
  Segment() = default;
  absl::Status Check(const std::string& name);
  template <typename T>
  absl::Span<const T> Array(format::Section section) const;

  std::string name_;
  const char* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
  std::vector<std::uint64_t> owned_;  // holds the bytes when they are not mapped
  format::Header header_{};
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_SEGMENT_H_
