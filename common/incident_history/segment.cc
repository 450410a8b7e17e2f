#include "common/incident_history/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/incident_history/checksum.h"
#include "common/incident_history/dot.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history {
namespace {

using format::Header;

constexpr absl::string_view kRemedy =
    "restore the file from a copy, or move it away and import the past incidents again";

absl::Status Damaged(const std::string& name, absl::string_view fact) {
  return absl::DataLossError(absl::StrCat(name, ": ", fact, "; ", kRemedy));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Segment>> Segment::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return errno == ENOENT ? absl::NotFoundError(absl::StrCat(path, ": there is no such file"))
                           : absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be opened"));
  }
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
    close(fd);
    return Damaged(path, "is empty or no regular file");
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  const int error = errno;
  close(fd);
  if (data == MAP_FAILED) {
    return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot be mapped"));
  }
  std::shared_ptr<Segment> segment(new Segment());
  segment->data_ = static_cast<const char*>(data);
  segment->size_ = size;
  segment->mapped_ = true;
  GALEN_RETURN_IF_ERROR(segment->Check(path));
  return std::shared_ptr<const Segment>(std::move(segment));
}

absl::StatusOr<std::shared_ptr<const Segment>> Segment::FromBytes(absl::string_view bytes,
                                                                  const std::string& name) {
  std::shared_ptr<Segment> segment(new Segment());
  segment->owned_.resize(bytes.size() / sizeof(std::uint64_t) + 1);
  if (!bytes.empty()) std::memcpy(segment->owned_.data(), bytes.data(), bytes.size());
  segment->data_ = reinterpret_cast<const char*>(segment->owned_.data());
  segment->size_ = bytes.size();
  GALEN_RETURN_IF_ERROR(segment->Check(name));
  return std::shared_ptr<const Segment>(std::move(segment));
}

Segment::~Segment() {
  if (mapped_) munmap(const_cast<char*>(data_), size_);
}

absl::Status Segment::Check(const std::string& name) {
  name_ = name;
  if (size_ < sizeof(Header)) return Damaged(name, "is shorter than a header");
  std::memcpy(&header_, data_, sizeof(Header));
  const Header& h = header_;
  if (std::memcmp(h.magic, format::kMagic, sizeof(h.magic)) != 0) {
    return Damaged(name, "is not an index of past incidents");
  }
  if (h.version != format::kVersion || h.byte_order != 0x01020304) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, ": was written by another version or on another kind of machine (version ", h.version,
        ", this program reads ", format::kVersion,
        "); import the past incidents again with this program"));
  }
  if (Crc32c({data_, offsetof(Header, header_crc)}) != h.header_crc) {
    return Damaged(name, "the checksum of its header is wrong");
  }
  if (h.file_bytes != size_) {
    return Damaged(name, absl::StrCat("has ", size_, " bytes instead of ", h.file_bytes));
  }
  if (h.dimensions == 0 || h.dimensions > format::kMaxDimensions ||
      h.stride != Stride(h.dimensions) || h.directory_bits > format::kMaxDirectoryBits ||
      h.graph_documents > h.documents || h.graph_links > format::kMaxLinks ||
      (h.graph_documents > 0 && (h.graph_links == 0 || h.graph_entry >= h.graph_documents)) ||
      h.graph_levels > 64 || h.embedder[format::kEmbedderBytes - 1] != 0) {
    return Damaged(name, "its header contradicts itself");
  }
  for (const format::SectionEntry& section : h.sections) {
    if (section.offset % format::kAlignment != 0 || section.offset > size_ ||
        section.bytes > size_ - section.offset) {
      return Damaged(name, "a section lies outside the file");
    }
  }
  // Bytes of the sections whose size the header settles; the counts are below 2^32, so that no
  // product overflows.
  const std::uint64_t documents = h.documents;
  const std::uint64_t directory = (std::uint64_t{1} << h.directory_bits) + 1;
  const std::pair<format::Section, std::uint64_t> settled[] = {
      {format::kDocuments, (documents + 1) * sizeof(format::DocumentEntry)},
      {format::kLabels, documents * 4},
      {format::kLabelEnds, std::uint64_t{h.labels} * 4},
      {format::kTerms, (std::uint64_t{h.terms} + 1) * sizeof(format::TermEntry)},
      {format::kTermDirectory, directory * 4},
      {format::kLengths, documents * 2},
      {format::kPairDocuments, format::kPairKinds * 4},
      {format::kIds, documents * sizeof(format::IdEntry)},
      {format::kVectors, documents * h.stride},
      {format::kScales, documents * 4},
      {format::kGraphLinks, std::uint64_t{h.graph_documents} * (1 + 2 * h.graph_links) * 4},
      {format::kPostingCounts, h.sections[format::kPostings].bytes / 2},
      {format::kForwardCounts, h.sections[format::kForwardTerms].bytes / 4},
  };
  for (const auto& [section, bytes] : settled) {
    if (h.sections[section].bytes != bytes) {
      return Damaged(name, absl::StrCat("section ", section, " has ", h.sections[section].bytes,
                                        " bytes instead of ", bytes));
    }
  }
  if (h.sections[format::kChunks].bytes < sizeof(format::ChunkEntry)) {
    return Damaged(name, "has no postings");
  }
  return absl::OkStatus();
}

absl::Status Segment::VerifyChecksums() const {
  for (std::uint32_t i = 0; i < format::kSections; ++i) {
    const format::SectionEntry& section = header_.sections[i];
    if (Crc32c({data_ + section.offset, section.bytes}) != section.crc) {
      return Damaged(name_, absl::StrCat("the checksum of section ", i, " is wrong"));
    }
  }
  return absl::OkStatus();
}

template <typename T>
absl::Span<const T> Segment::Array(format::Section section) const {
  const format::SectionEntry& entry = header_.sections[section];
  return {reinterpret_cast<const T*>(data_ + entry.offset), entry.bytes / sizeof(T)};
}

absl::string_view Segment::embedder() const { return header_.embedder; }

absl::StatusOr<Document> Segment::Read(std::uint32_t document) const {
  const format::DocumentEntry& entry = Array<format::DocumentEntry>(format::kDocuments)[document];
  const absl::Span<const char> blob = Array<char>(format::kBlob);
  const std::uint64_t bytes =
      std::uint64_t{entry.id_bytes} + entry.text_bytes + entry.payload_bytes;
  if (entry.blob > blob.size() || bytes > blob.size() - entry.blob ||
      Crc32c({blob.data() + entry.blob, bytes}) != entry.crc) {
    return Damaged(name_, absl::StrCat("past incident number ", document, " is damaged"));
  }
  const char* at = blob.data() + entry.blob;
  Document read;
  read.id.assign(at, entry.id_bytes);
  read.text.assign(at + entry.id_bytes, entry.text_bytes);
  read.payload.assign(at + entry.id_bytes + entry.text_bytes, entry.payload_bytes);
  read.label = std::string(label_text(document_labels()[document]));
  return read;
}

absl::Span<const std::uint32_t> Segment::document_labels() const {
  return Array<std::uint32_t>(format::kLabels);
}

std::uint32_t Segment::FindLabel(absl::string_view label) const {
  for (std::uint32_t i = 0; i < header_.labels; ++i) {
    if (label_text(i) == label) return i;
  }
  return header_.labels;
}

absl::string_view Segment::label_text(std::uint32_t label) const {
  const absl::Span<const std::uint32_t> ends = Array<std::uint32_t>(format::kLabelEnds);
  const absl::Span<const char> text = Array<char>(format::kLabelText);
  if (label >= ends.size()) return "";
  const std::uint32_t begin = label == 0 ? 0 : ends[label - 1];
  const std::uint32_t end = ends[label];
  if (begin > end || end > text.size()) return "";
  return {text.data() + begin, end - begin};
}

bool Segment::Contains(absl::string_view id) const {
  const absl::Span<const format::IdEntry> ids = Array<format::IdEntry>(format::kIds);
  const std::uint64_t hash = Hash64(id);
  auto it = std::lower_bound(
      ids.begin(), ids.end(), hash,
      [](const format::IdEntry& entry, std::uint64_t wanted) { return entry.hash < wanted; });
  for (; it != ids.end() && it->hash == hash; ++it) {
    if (it->document >= documents()) continue;
    const format::DocumentEntry& entry =
        Array<format::DocumentEntry>(format::kDocuments)[it->document];
    const absl::Span<const char> blob = Array<char>(format::kBlob);
    if (entry.blob > blob.size() || entry.id_bytes > blob.size() - entry.blob) continue;
    if (absl::string_view(blob.data() + entry.blob, entry.id_bytes) == id) return true;
  }
  return false;
}

std::uint32_t Segment::FindTerm(std::uint64_t hash) const {
  const absl::Span<const std::uint32_t> directory = Array<std::uint32_t>(format::kTermDirectory);
  const size_t slot = header_.directory_bits == 0 ? 0 : hash >> (64 - header_.directory_bits);
  const std::uint32_t end = std::min(directory[slot + 1], header_.terms);
  const std::uint32_t begin = std::min(directory[slot], end);
  const format::TermEntry* terms = Array<format::TermEntry>(format::kTerms).data();
  const format::TermEntry* it = std::lower_bound(
      terms + begin, terms + end, hash,
      [](const format::TermEntry& entry, std::uint64_t wanted) { return entry.hash < wanted; });
  return it != terms + end && it->hash == hash ? static_cast<std::uint32_t>(it - terms)
                                               : header_.terms;
}

std::uint32_t Segment::TermDocuments(std::uint32_t term) const {
  if (term >= header_.terms) return 0;
  return std::min(Array<format::TermEntry>(format::kTerms)[term].documents, header_.documents);
}

std::uint64_t Segment::TermHash(std::uint32_t term) const {
  return term < header_.terms ? Array<format::TermEntry>(format::kTerms)[term].hash : 0;
}

std::uint32_t Segment::PairDocuments(std::uint16_t pair) const {
  return std::min(Array<std::uint32_t>(format::kPairDocuments)[pair], header_.documents);
}

std::uint32_t Segment::chunk_begin(std::uint32_t term) const {
  if (term >= header_.terms) return 0;
  return std::min(Array<format::TermEntry>(format::kTerms)[term].chunk, chunk_end(term));
}

std::uint32_t Segment::chunk_end(std::uint32_t term) const {
  if (term >= header_.terms) return 0;
  const size_t chunks = Array<format::ChunkEntry>(format::kChunks).size() - 1;
  return static_cast<std::uint32_t>(
      std::min<size_t>(Array<format::TermEntry>(format::kTerms)[term + 1].chunk, chunks));
}

std::uint32_t Segment::chunk_range(std::uint32_t index) const {
  return Array<format::ChunkEntry>(format::kChunks)[index].range;
}

Segment::Chunk Segment::chunk(std::uint32_t index) const {
  const absl::Span<const format::ChunkEntry> chunks = Array<format::ChunkEntry>(format::kChunks);
  const absl::Span<const std::uint16_t> postings = Array<std::uint16_t>(format::kPostings);
  const format::ChunkEntry& entry = chunks[index];
  const size_t end = std::min<size_t>(chunks[index + 1].posting, postings.size());
  const size_t begin = std::min<size_t>(entry.posting, end);
  const size_t count = std::min(end - begin, format::kRange);
  return {.range = entry.range,
          .max_count = entry.max_count,
          .min_length = entry.min_length,
          .documents = postings.subspan(begin, count),
          .counts = Array<std::uint8_t>(format::kPostingCounts).subspan(begin, count)};
}

absl::Span<const std::uint16_t> Segment::lengths() const {
  return Array<std::uint16_t>(format::kLengths);
}

namespace {

template <typename T>
absl::Span<const T> Between(absl::Span<const T> all, size_t begin, size_t end) {
  end = std::min({end, all.size(), begin + kMaxTokens});
  return begin < end ? all.subspan(begin, end - begin) : absl::Span<const T>();
}

}  // namespace

absl::Span<const std::uint32_t> Segment::ForwardTerms(std::uint32_t document) const {
  const format::DocumentEntry* entry =
      Array<format::DocumentEntry>(format::kDocuments).data() + document;
  return Between(Array<std::uint32_t>(format::kForwardTerms), entry[0].forward, entry[1].forward);
}

absl::Span<const std::uint8_t> Segment::ForwardCounts(std::uint32_t document) const {
  const format::DocumentEntry* entry =
      Array<format::DocumentEntry>(format::kDocuments).data() + document;
  return Between(Array<std::uint8_t>(format::kForwardCounts), entry[0].forward, entry[1].forward);
}

absl::Span<const std::uint16_t> Segment::Pairs(std::uint32_t document) const {
  const format::DocumentEntry* entry =
      Array<format::DocumentEntry>(format::kDocuments).data() + document;
  return Between(Array<std::uint16_t>(format::kPairs), entry[0].pairs, entry[1].pairs);
}

const std::int8_t* Segment::vectors() const { return Array<std::int8_t>(format::kVectors).data(); }

absl::Span<const float> Segment::scales() const { return Array<float>(format::kScales); }

absl::Span<const std::uint32_t> Segment::graph_links() const {
  return Array<std::uint32_t>(format::kGraphLinks);
}

absl::Span<const format::UpperEntry> Segment::graph_upper() const {
  return Array<format::UpperEntry>(format::kGraphUpper);
}

absl::Span<const std::uint32_t> Segment::graph_upper_links() const {
  return Array<std::uint32_t>(format::kGraphUpperLinks);
}

}  // namespace galen::incident_history
