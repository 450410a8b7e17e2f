// Files of the index of past incidents: segments and logs.
#include <cstring>
#include <string>
#include <vector>

#include "common/incident_history/append_log.h"
#include "common/incident_history/checksum.h"
#include "common/incident_history/search.h"
#include "common/incident_history/segment_builder.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

using incident_history::format::Header;

void Ask(const std::shared_ptr<const incident_history::Segment>& segment) {
  const incident_history::View view({segment}, {}, 0);
  const incident_history::HashedEmbedder embedder;
  Use(incident_history::Search(view, embedder, "the link of rank 7 went down"));
  Use(incident_history::Search(view, embedder, "link",
                               {.dense = {.exact = true, .without = "L.1"}}));
  Use(view.Contains("2"));
  Use(segment->VerifyChecksums());
  const auto builder =
      incident_history::SegmentBuilder::ToMemory(embedder.name(), embedder.dimensions());
  Use(builder->AddAll(*segment, embedder));
}

// The file as it comes: mostly the header, which a checksum guards.
void Segment(absl::string_view text) {
  const auto segment = incident_history::Segment::FromBytes(text, "fuzz");
  if (segment.ok()) Ask(*segment);
}

// A segment with a graph, to damage.
const std::string& Good() {
  static const std::string kGood = [] {
    const incident_history::HashedEmbedder embedder;
    const auto builder =
        incident_history::SegmentBuilder::ToMemory(embedder.name(), embedder.dimensions());
    for (int i = 0; i < 12; ++i) {
      const std::string number = std::to_string(i);
      Use(builder->Add({.id = number,
                        .label = "L." + std::to_string(i % 3),
                        .text = "link " + number + " of rank went down and rank " + number},
                       embedder));
    }
    Use(builder->Finish({.exact_documents = 4}));
    return builder->bytes();
  }();
  return kGood;
}

// Each four bytes: a place in a good segment and what to write there. The header's checksum is made
// right, so that what lies behind it is reached.
void Damage(absl::string_view text) {
  std::string bytes = Good();
  for (; text.size() >= 4; text.remove_prefix(4)) {
    std::uint16_t place = 0;
    std::memcpy(&place, text.data(), sizeof(place));
    // Half of them into the header and the small sections behind it.
    const size_t at = (text[3] & 1) != 0 ? place % 2048 : place * size_t{31} % bytes.size();
    bytes[at] = text[2];
  }
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.header_crc = incident_history::Crc32c(
      {reinterpret_cast<const char*>(&header), offsetof(Header, header_crc)});
  std::memcpy(bytes.data(), &header, sizeof(header));
  Segment(bytes);
}

void Log(absl::string_view text) {
  std::vector<incident_history::Recent> recent;
  Use(incident_history::ReadLog(text, "fuzz", [&](incident_history::Recent one) {
    recent.push_back(std::move(one));
    return absl::OkStatus();
  }));
}

// The content of a record, without the checksum before it.
void Record(absl::string_view text) {
  const auto recent = incident_history::DecodeRecent(text);
  if (recent.ok()) Use(incident_history::EncodeRecent(*recent));
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"segment", Segment}, {"damage", Damage}, {"log", Log}, {"record", Record}};
  return kParsers;
}

}  // namespace galen::fuzz
