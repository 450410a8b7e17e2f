#ifndef COMMON_INCIDENT_HISTORY_SEGMENT_BUILDER_H_
#define COMMON_INCIDENT_HISTORY_SEGMENT_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/incident_history/document.h"
#include "common/incident_history/embedder.h"
#include "common/incident_history/graph.h"
#include "common/incident_history/segment.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history {

// Up to so many documents a scan of all vectors is exact and quick; beyond, a graph leads.
inline constexpr size_t kExactDocuments = 100'000;

struct BuildOptions {
  // More documents than this outside a graph are put into one.
  size_t exact_documents = kExactDocuments;
  GraphOptions graph;
};

// Writes a segment (segment_format.h). Texts are written as they come; the index is held in memory,
// about 1 KiB a document. Not thread-safe. Finish returns the first error.
class SegmentBuilder {
 public:
  // Into the file `path`, which must not exist.
  static absl::StatusOr<std::unique_ptr<SegmentBuilder>> ToFile(const std::string& path,
                                                                const std::string& embedder,
                                                                size_t dimensions);
  // Into memory.
  static std::unique_ptr<SegmentBuilder> ToMemory(const std::string& embedder, size_t dimensions);
  ~SegmentBuilder();
  SegmentBuilder(const SegmentBuilder&) = delete;
  SegmentBuilder& operator=(const SegmentBuilder&) = delete;

  // INVALID_ARGUMENT when something is too long (document.h), the vector has another size, or there
  // are too many documents; the document is then left out. The caller must ensure that ids are
  // unique. A document with an empty vector is found by words alone.
  absl::Status Add(const Document& document, const Analysis& analysis, const Vector& vector);
  // Analyses and embeds the text itself.
  absl::Status Add(const Document& document, const Embedder& embedder);
  // Takes over every document of `segment`, as the first ones, with its graph and, where the
  // embedder is the same, its vectors. `embedder` makes the others. Errors: DATA_LOSS for damaged
  // documents.
  absl::Status AddAll(const Segment& segment, const Embedder& embedder);

  // Writes the rest, makes it durable, and closes. No call may follow.
  absl::Status Finish(const BuildOptions& options);
  // After Finish: what ToMemory wrote.
  const std::string& bytes() const { return bytes_; }

 private:
  SegmentBuilder(std::string name, int fd, const std::string& embedder, size_t dimensions);

  void Write(const void* data, size_t size);
  void Pad();
  void Begin(format::Section section);
  void End(format::Section section);
  template <typename T>
  void WriteArray(format::Section section, const std::vector<T>& values);
  void MakeGraph(const BuildOptions& options);
  void WriteTerms();
  void WriteLabels();
  void WriteIds();
  std::vector<std::uint32_t> SortTerms();

  const std::string name_;
  int fd_;
  std::string bytes_;          // everything in memory, or what waits to be written
  std::uint64_t written_ = 0;  // bytes that are in the file
  std::uint32_t crc_ = 0;      // of the section that is being written
  absl::Status error_;
  format::Header header_{};

  std::uint64_t blob_ = 0;
  std::vector<format::DocumentEntry> documents_;
  std::vector<std::uint64_t> ids_;  // hashed
  absl::flat_hash_map<std::string, std::uint32_t> labels_;
  std::vector<std::string> label_names_;
  std::vector<std::uint32_t> document_labels_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> terms_;
  std::vector<std::uint64_t> term_hashes_;  // in the order in which they came
  std::vector<std::uint32_t> forward_;
  std::vector<std::uint8_t> forward_counts_;
  std::vector<std::uint16_t> pairs_;
  std::vector<std::uint32_t> pair_documents_;
  std::vector<std::uint16_t> lengths_;
  std::vector<std::int8_t> vectors_;
  std::vector<float> scales_;
  Graph graph_;
};

// The documents in memory, ready to be searched.
absl::StatusOr<std::shared_ptr<const Segment>> BuildInMemory(const std::vector<Document>& documents,
                                                             const Embedder& embedder,
                                                             const BuildOptions& options = {});

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_SEGMENT_BUILDER_H_
