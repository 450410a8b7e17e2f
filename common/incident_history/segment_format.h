#ifndef COMMON_INCIDENT_HISTORY_SEGMENT_FORMAT_H_
#define COMMON_INCIDENT_HISTORY_SEGMENT_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace galen::incident_history::format {

// A segment is one file of flat arrays, used in place: opening one reads the header. Numbers are
// little-endian. Sections begin at multiples of kAlignment. Documents are numbered from 0; words
// are known by their hash and numbered by its order. References between sections are checked at
// each use, so that a damaged file gives wrong answers at worst.

inline constexpr char kMagic[8] = {'G', 'A', 'L', 'E', 'N', 'S', 'E', 'G'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr size_t kAlignment = 64;
inline constexpr size_t kEmbedderBytes = 64;
// Postings are grouped by ranges of this many documents, and store a document as its offset in the
// range.
inline constexpr size_t kRange = 1 << 16;
inline constexpr size_t kPairKinds = 1 << 16;
inline constexpr size_t kMaxDimensions = 4096;
inline constexpr size_t kMaxLinks = 64;
inline constexpr size_t kMaxDirectoryBits = 24;

enum Section : std::uint32_t {
  kBlob,             // bytes: id, text and payload of each document
  kDocuments,        // DocumentEntry, and one more that ends the last
  kLabels,           // u32 number of the label of each document
  kLabelEnds,        // u32 where each label ends in kLabelText
  kLabelText,        // bytes
  kTerms,            // TermEntry by rising hash, and one more that ends the last
  kTermDirectory,    // u32 first term whose hash has these leading bits, and one more
  kChunks,           // ChunkEntry, and one more that ends the last
  kPostings,         // u16 document within the range
  kPostingCounts,    // u8 occurrences of the word in it
  kLengths,          // u16 words of each document
  kForwardTerms,     // u32 number of each word of a document
  kForwardCounts,    // u8
  kPairs,            // u16 hashed pairs of a document
  kPairDocuments,    // u32 documents with that pair
  kIds,              // IdEntry by rising hash
  kVectors,          // i8 rows of `stride` bytes
  kScales,           // float a row; 0: no vector
  kGraphLinks,       // u32 count and neighbours of each document of the graph, 1 + 2 * graph_links
  kGraphUpper,       // UpperEntry of documents above the lowest level, by document
  kGraphUpperLinks,  // u32 count and neighbours, 1 + graph_links a level
  kSections
};

struct SectionEntry {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint32_t crc;
  std::uint32_t reserved;
};

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;  // 0x01020304 as this machine writes it
  std::uint64_t file_bytes;
  std::uint64_t total_length;  // words of all documents
  std::uint32_t documents;
  std::uint32_t labels;
  std::uint32_t terms;
  std::uint32_t directory_bits;
  std::uint32_t dimensions;
  std::uint32_t stride;
  std::uint32_t graph_documents;  // the first so many documents are in the graph
  std::uint32_t graph_links;
  std::uint32_t graph_entry;
  std::uint32_t graph_levels;  // above the lowest
  char embedder[kEmbedderBytes];
  SectionEntry sections[kSections];
  std::uint32_t reserved;
  std::uint32_t header_crc;  // of the fields before it
};

struct DocumentEntry {
  std::uint64_t blob;
  std::uint32_t id_bytes;
  std::uint32_t text_bytes;
  std::uint32_t payload_bytes;
  std::uint32_t crc;  // of its bytes in the blob
  std::uint32_t forward;
  std::uint32_t pairs;
};

struct TermEntry {
  std::uint64_t hash;
  std::uint32_t documents;
  std::uint32_t chunk;
};

struct ChunkEntry {
  std::uint32_t posting;
  std::uint16_t range;
  std::uint16_t min_length;  // of its documents
  std::uint32_t max_count;
};

struct IdEntry {
  std::uint64_t hash;
  std::uint32_t document;
  std::uint32_t reserved;
};

struct UpperEntry {
  std::uint32_t document;
  std::uint32_t levels;
  std::uint32_t link;  // first number in kGraphUpperLinks
};

static_assert(sizeof(SectionEntry) == 24 && sizeof(DocumentEntry) == 32 && sizeof(TermEntry) == 16);
static_assert(sizeof(ChunkEntry) == 12 && sizeof(IdEntry) == 16 && sizeof(UpperEntry) == 12);
static_assert(sizeof(Header) == 72 + kEmbedderBytes + 24 * kSections + 8);

}  // namespace galen::incident_history::format

#endif  // COMMON_INCIDENT_HISTORY_SEGMENT_FORMAT_H_
