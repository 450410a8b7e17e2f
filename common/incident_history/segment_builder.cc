#include "common/incident_history/segment_builder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/incident_history/checksum.h"
#include "common/incident_history/dot.h"

namespace galen::incident_history {
namespace {

constexpr size_t kBufferBytes = 4 << 20;
constexpr std::uint64_t kMostNumbers = 0xffffffffU;

}  // namespace

absl::StatusOr<std::unique_ptr<SegmentBuilder>> SegmentBuilder::ToFile(const std::string& path,
                                                                       const std::string& embedder,
                                                                       size_t dimensions) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be created"));
  return std::unique_ptr<SegmentBuilder>(new SegmentBuilder(path, fd, embedder, dimensions));
}

std::unique_ptr<SegmentBuilder> SegmentBuilder::ToMemory(const std::string& embedder,
                                                         size_t dimensions) {
  return std::unique_ptr<SegmentBuilder>(
      new SegmentBuilder("index in memory", -1, embedder, dimensions));
}

SegmentBuilder::SegmentBuilder(std::string name, int fd, const std::string& embedder,
                               size_t dimensions)
    : name_(std::move(name)), fd_(fd), pair_documents_(format::kPairKinds) {
  std::memcpy(header_.magic, format::kMagic, sizeof(header_.magic));
  header_.version = format::kVersion;
  header_.byte_order = 0x01020304;
  header_.dimensions = static_cast<std::uint32_t>(dimensions);
  header_.stride = static_cast<std::uint32_t>(Stride(dimensions));
  if (dimensions == 0 || dimensions > format::kMaxDimensions ||
      embedder.size() >= format::kEmbedderBytes) {
    error_ = absl::InvalidArgumentError(
        absl::StrCat(name_, ": embedder ", embedder, " gives ", dimensions, " dimensions; at most ",
                     format::kMaxDimensions, " and a name below ", format::kEmbedderBytes,
                     " bytes are possible"));
  }
  embedder.copy(header_.embedder, format::kEmbedderBytes - 1);
  Write(&header_, sizeof(header_));  // again at the end
  Begin(format::kBlob);
}

SegmentBuilder::~SegmentBuilder() {
  if (fd_ >= 0) close(fd_);
}

void SegmentBuilder::Write(const void* data, size_t size) {
  const absl::string_view piece(static_cast<const char*>(data), size);
  crc_ = Crc32c(piece, crc_);
  bytes_.append(piece.data(), piece.size());
  if (fd_ < 0 || bytes_.size() < kBufferBytes || !error_.ok()) return;
  for (absl::string_view rest = bytes_; !rest.empty();) {
    const ssize_t done = write(fd_, rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      error_ = absl::ErrnoToStatus(errno, absl::StrCat(name_, ": cannot be written"));
      break;
    }
    rest.remove_prefix(static_cast<size_t>(done));
  }
  written_ += bytes_.size();
  bytes_.clear();
}

void SegmentBuilder::Pad() {
  static constexpr char kZeros[format::kAlignment] = {};
  const size_t over = (written_ + bytes_.size()) % format::kAlignment;
  if (over > 0) Write(kZeros, format::kAlignment - over);
}

void SegmentBuilder::Begin(format::Section section) {
  Pad();
  header_.sections[section].offset = written_ + bytes_.size();
  crc_ = 0;
}

void SegmentBuilder::End(format::Section section) {
  header_.sections[section].bytes = written_ + bytes_.size() - header_.sections[section].offset;
  header_.sections[section].crc = crc_;
}

template <typename T>
void SegmentBuilder::WriteArray(format::Section section, const std::vector<T>& values) {
  Begin(section);
  if (!values.empty()) Write(values.data(), values.size() * sizeof(T));
  End(section);
}

absl::Status SegmentBuilder::Add(const Document& document, const Analysis& analysis,
                                 const Vector& vector) {
  if (document.id.empty() || document.id.size() > kMaxIdBytes ||
      document.label.size() > kMaxIdBytes || document.text.size() > kMaxDocumentBytes ||
      document.payload.size() > kMaxDocumentBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "past incident \"", absl::string_view(document.id).substr(0, 80),
        "\": its id is empty, or id, label, text or payload are longer than ", kMaxIdBytes, ", ",
        kMaxIdBytes, ", ", kMaxDocumentBytes, " and ", kMaxDocumentBytes, " bytes; shorten it"));
  }
  if (!vector.values.empty() && vector.values.size() != header_.dimensions) {
    return absl::InvalidArgumentError(absl::StrCat("past incident \"", document.id,
                                                   "\": its vector has ", vector.values.size(),
                                                   " components instead of ", header_.dimensions));
  }
  if (forward_.size() + analysis.terms.size() > kMostNumbers ||
      pairs_.size() + analysis.pairs.size() > kMostNumbers || documents_.size() >= kMostNumbers) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ": is full after ", documents_.size(), " past incidents"));
  }
  const auto [label, fresh] =
      labels_.emplace(document.label, static_cast<std::uint32_t>(label_names_.size()));
  if (fresh) label_names_.push_back(document.label);
  document_labels_.push_back(label->second);
  std::uint32_t crc = Crc32c(document.id);
  crc = Crc32c(document.text, crc);
  crc = Crc32c(document.payload, crc);
  documents_.push_back({.blob = blob_,
                        .id_bytes = static_cast<std::uint32_t>(document.id.size()),
                        .text_bytes = static_cast<std::uint32_t>(document.text.size()),
                        .payload_bytes = static_cast<std::uint32_t>(document.payload.size()),
                        .crc = crc,
                        .forward = static_cast<std::uint32_t>(forward_.size()),
                        .pairs = static_cast<std::uint32_t>(pairs_.size())});
  for (const std::string* piece : {&document.id, &document.text, &document.payload}) {
    Write(piece->data(), piece->size());
    blob_ += piece->size();
  }
  ids_.push_back(Hash64(document.id));
  for (const Analysis::Term& term : analysis.terms) {
    const auto [it, is_new] =
        terms_.emplace(term.hash, static_cast<std::uint32_t>(term_hashes_.size()));
    if (is_new) term_hashes_.push_back(term.hash);
    forward_.push_back(it->second);
    forward_counts_.push_back(term.count);
  }
  for (const std::uint16_t pair : analysis.pairs) {
    pairs_.push_back(pair);
    ++pair_documents_[pair];
  }
  lengths_.push_back(analysis.length);
  header_.total_length += analysis.length;
  const size_t row = vectors_.size();
  vectors_.resize(row + header_.stride);
  std::copy(vector.values.begin(), vector.values.end(),
            vectors_.begin() + static_cast<std::ptrdiff_t>(row));
  scales_.push_back(vector.scale);
  return absl::OkStatus();
}

absl::Status SegmentBuilder::Add(const Document& document, const Embedder& embedder) {
  GALEN_ASSIGN_OR_RETURN(const Vector vector, embedder.EmbedDocument(document.text));
  return Add(document, Analyse(document.text), vector);
}

absl::Status SegmentBuilder::AddAll(const Segment& segment, const Embedder& embedder) {
  const bool same = segment.embedder() == embedder.name() &&
                    segment.dimensions() == header_.dimensions && documents_.empty();
  if (same) graph_ = CopyGraph(segment);
  for (std::uint32_t i = 0; i < segment.documents(); ++i) {
    GALEN_ASSIGN_OR_RETURN(const Document document, segment.Read(i));
    Vector vector;
    if (same && segment.scales()[i] > 0 && std::isfinite(segment.scales()[i])) {
      const std::int8_t* row = segment.vectors() + i * segment.stride();
      vector = {{row, row + segment.dimensions()}, segment.scales()[i]};
    } else {
      GALEN_ASSIGN_OR_RETURN(vector, embedder.EmbedDocument(document.text));
    }
    Analysis analysis;
    analysis.length = segment.lengths()[i];
    const auto terms = segment.ForwardTerms(i);
    const auto counts = segment.ForwardCounts(i);
    for (size_t k = 0; k < terms.size(); ++k) {
      analysis.terms.push_back({segment.TermHash(terms[k]), counts[k]});
    }
    const auto pairs = segment.Pairs(i);
    analysis.pairs.assign(pairs.begin(), pairs.end());
    GALEN_RETURN_IF_ERROR(Add(document, analysis, vector));
  }
  return absl::OkStatus();
}

std::vector<std::uint32_t> SegmentBuilder::SortTerms() {
  std::vector<std::uint32_t> order(term_hashes_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return term_hashes_[a] < term_hashes_[b]; });
  std::vector<std::uint32_t> number(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  for (std::uint32_t& term : forward_) term = number[term];
  std::sort(term_hashes_.begin(), term_hashes_.end());
  return order;
}

void SegmentBuilder::WriteTerms() {
  SortTerms();
  const size_t count = term_hashes_.size();
  std::vector<format::TermEntry> terms(count + 1);
  std::vector<std::uint32_t> last_range(count, 0xffffffffU);
  std::vector<std::uint32_t> chunks_of(count);
  const auto each = [&](auto use) {
    for (std::uint32_t document = 0; document < documents_.size(); ++document) {
      const size_t end =
          document + 1 < documents_.size() ? documents_[document + 1].forward : forward_.size();
      for (size_t i = documents_[document].forward; i < end; ++i) {
        use(document, forward_[i], forward_counts_[i]);
      }
    }
  };
  each([&](std::uint32_t document, std::uint32_t term, std::uint8_t) {
    ++terms[term].documents;
    const auto range = static_cast<std::uint32_t>(document / format::kRange);
    if (last_range[term] != range) ++chunks_of[term];
    last_range[term] = range;
  });
  std::vector<std::uint32_t> posting(count);
  std::uint32_t postings = 0;
  std::uint32_t chunk = 0;
  for (size_t term = 0; term < count; ++term) {
    terms[term].hash = term_hashes_[term];
    terms[term].chunk = chunk;
    posting[term] = postings;
    chunk += chunks_of[term];
    postings += terms[term].documents;
  }
  terms[count].chunk = chunk;
  std::vector<format::ChunkEntry> chunks(chunk + 1);
  chunks[chunk].posting = postings;
  std::vector<std::uint16_t> documents(postings);
  std::vector<std::uint8_t> counts(postings);
  std::fill(last_range.begin(), last_range.end(), 0xffffffffU);
  std::fill(chunks_of.begin(), chunks_of.end(), 0U);
  each([&](std::uint32_t document, std::uint32_t term, std::uint8_t times) {
    const auto range = static_cast<std::uint32_t>(document / format::kRange);
    if (last_range[term] != range) {
      chunks[terms[term].chunk + chunks_of[term]++] = {
          posting[term], static_cast<std::uint16_t>(range), lengths_[document], times};
      last_range[term] = range;
    }
    format::ChunkEntry& entry = chunks[terms[term].chunk + chunks_of[term] - 1];
    entry.min_length = std::min(entry.min_length, lengths_[document]);
    entry.max_count = std::max<std::uint32_t>(entry.max_count, times);
    documents[posting[term]] = static_cast<std::uint16_t>(document % format::kRange);
    counts[posting[term]++] = times;
  });
  header_.terms = static_cast<std::uint32_t>(count);
  header_.directory_bits =
      static_cast<std::uint32_t>(std::min<size_t>(std::bit_width(count / 4), 20));
  std::vector<std::uint32_t> directory((size_t{1} << header_.directory_bits) + 1);
  for (const std::uint64_t hash : term_hashes_) {
    ++directory[(header_.directory_bits == 0 ? 0 : hash >> (64 - header_.directory_bits)) + 1];
  }
  std::partial_sum(directory.begin(), directory.end(), directory.begin());
  WriteArray(format::kTerms, terms);
  WriteArray(format::kTermDirectory, directory);
  WriteArray(format::kChunks, chunks);
  WriteArray(format::kPostings, documents);
  WriteArray(format::kPostingCounts, counts);
}

void SegmentBuilder::WriteLabels() {
  std::vector<std::uint32_t> ends;
  std::string text;
  for (const std::string& label : label_names_) {
    text += label;
    ends.push_back(static_cast<std::uint32_t>(text.size()));
  }
  header_.labels = static_cast<std::uint32_t>(ends.size());
  WriteArray(format::kLabels, document_labels_);
  WriteArray(format::kLabelEnds, ends);
  WriteArray(format::kLabelText, std::vector<char>(text.begin(), text.end()));
}

void SegmentBuilder::WriteIds() {
  std::vector<format::IdEntry> ids;
  for (std::uint32_t i = 0; i < ids_.size(); ++i) ids.push_back({ids_[i], i, 0});
  std::sort(ids.begin(), ids.end(), [](const format::IdEntry& a, const format::IdEntry& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.document < b.document;
  });
  WriteArray(format::kIds, ids);
}

void SegmentBuilder::MakeGraph(const BuildOptions& options) {
  if (documents_.size() - graph_.documents > options.exact_documents) {
    graph_ = BuildGraph(vectors_.data(), scales_, documents_.size(), header_.stride, options.graph);
  }
  header_.graph_documents = graph_.documents;
  header_.graph_links = graph_.links;
  header_.graph_entry = graph_.entry;
  header_.graph_levels = graph_.levels;
  WriteArray(format::kGraphLinks, graph_.base);
  WriteArray(format::kGraphUpper, graph_.upper);
  WriteArray(format::kGraphUpperLinks, graph_.upper_links);
}

absl::Status SegmentBuilder::Finish(const BuildOptions& options) {
  GALEN_RETURN_IF_ERROR(error_);
  End(format::kBlob);
  header_.documents = static_cast<std::uint32_t>(documents_.size());
  WriteLabels();
  WriteTerms();
  documents_.push_back({.blob = blob_,
                        .forward = static_cast<std::uint32_t>(forward_.size()),
                        .pairs = static_cast<std::uint32_t>(pairs_.size())});
  WriteArray(format::kDocuments, documents_);
  documents_.pop_back();
  WriteArray(format::kLengths, lengths_);
  WriteArray(format::kForwardTerms, forward_);
  WriteArray(format::kForwardCounts, forward_counts_);
  WriteArray(format::kPairs, pairs_);
  WriteArray(format::kPairDocuments, pair_documents_);
  WriteIds();
  WriteArray(format::kVectors, vectors_);
  WriteArray(format::kScales, scales_);
  MakeGraph(options);
  header_.file_bytes = written_ + bytes_.size();
  header_.header_crc =
      Crc32c({reinterpret_cast<const char*>(&header_), offsetof(format::Header, header_crc)});
  if (fd_ < 0) {
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return error_;
  }
  for (absl::string_view rest = bytes_; error_.ok() && !rest.empty();) {
    const ssize_t done = write(fd_, rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      error_ = absl::ErrnoToStatus(errno, absl::StrCat(name_, ": cannot be written"));
      break;
    }
    rest.remove_prefix(static_cast<size_t>(done));
  }
  GALEN_RETURN_IF_ERROR(error_);
  if (pwrite(fd_, &header_, sizeof(header_), 0) != static_cast<ssize_t>(sizeof(header_)) ||
      fsync(fd_) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat(name_, ": cannot be written"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Segment>> BuildInMemory(const std::vector<Document>& documents,
                                                             const Embedder& embedder,
                                                             const BuildOptions& options) {
  const auto builder = SegmentBuilder::ToMemory(embedder.name(), embedder.dimensions());
  for (const Document& document : documents) {
    GALEN_RETURN_IF_ERROR(builder->Add(document, embedder));
  }
  GALEN_RETURN_IF_ERROR(builder->Finish(options));
  return Segment::FromBytes(builder->bytes(), "index in memory");
}

}  // namespace galen::incident_history
