#include "common/incident_history/segment.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/incident_history/checksum.h"
#include "common/incident_history/search.h"
#include "common/incident_history/segment_builder.h"
#include "tests/testing/status_matchers.h"
#include "tickets.h"

namespace galen::incident_history {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Tickets;

std::string BytesOf(const std::vector<Document>& documents, const BuildOptions& options = {}) {
  const HashedEmbedder embedder;
  const auto builder = SegmentBuilder::ToMemory(embedder.name(), embedder.dimensions());
  for (const Document& document : documents) {
    EXPECT_THAT(builder->Add(document, embedder), IsOk());
  }
  EXPECT_THAT(builder->Finish(options), IsOk());
  return builder->bytes();
}

// With a header that says `change`, and a checksum that fits.
std::string WithHeader(std::string bytes, const std::function<void(format::Header&)>& change) {
  format::Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  header.header_crc =
      Crc32c({reinterpret_cast<const char*>(&header), offsetof(format::Header, header_crc)});
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

TEST(Segment, GivesBackWhatWasPutIn) {
  const std::vector<Document> tickets = Tickets(40);
  const auto segment = *Segment::FromBytes(BytesOf(tickets), "s");
  ASSERT_EQ(segment->documents(), 40U);
  EXPECT_THAT(segment->VerifyChecksums(), IsOk());
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Document read = *segment->Read(i);
    EXPECT_EQ(read.id, tickets[i].id);
    EXPECT_EQ(read.label, tickets[i].label);
    EXPECT_EQ(read.text, tickets[i].text);
    EXPECT_EQ(read.payload, tickets[i].payload);
    EXPECT_TRUE(segment->Contains(tickets[i].id));
  }
  EXPECT_FALSE(segment->Contains("t-40"));
  EXPECT_EQ(segment->labels(), 7U);
}

TEST(Segment, TheSameDocumentsGiveTheSameBytes) {
  EXPECT_EQ(BytesOf(Tickets(300)), BytesOf(Tickets(300)));
}

TEST(Segment, OfAFileIsThatOfMemory) {
  const std::string path = ::testing::TempDir() + "/segment";
  std::filesystem::remove(path);
  const HashedEmbedder embedder;
  const auto builder = *SegmentBuilder::ToFile(path, embedder.name(), embedder.dimensions());
  for (const Document& document : Tickets(25))
    ASSERT_THAT(builder->Add(document, embedder), IsOk());
  ASSERT_THAT(builder->Finish({}), IsOk());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(bytes, BytesOf(Tickets(25)));
  EXPECT_EQ((*Segment::Open(path))->documents(), 25U);
  EXPECT_THAT(SegmentBuilder::ToFile(path, embedder.name(), 256),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(path)));
}

TEST(Segment, RefusesWhatIsTooLong) {
  const HashedEmbedder embedder;
  const auto builder = SegmentBuilder::ToMemory(embedder.name(), embedder.dimensions());
  EXPECT_THAT(builder->Add({.id = ""}, embedder),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("id is empty")));
  EXPECT_THAT(builder->Add({.id = "x", .text = std::string(kMaxDocumentBytes + 1, 'a')}, embedder),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("shorten it")));
}

TEST(Segment, RefusesADamagedFileAndSaysWhatToDo) {
  const std::string bytes = BytesOf(Tickets(30));
  const auto refused = [](absl::StatusCode code, absl::string_view fact) {
    return StatusIs(code, AllOf(HasSubstr("the-file"), HasSubstr(std::string(fact)),
                                HasSubstr("import the past incidents again")));
  };
  const auto open = [](absl::string_view damaged) {
    return Segment::FromBytes(damaged, "the-file");
  };
  constexpr auto kLoss = absl::StatusCode::kDataLoss;
  EXPECT_THAT(open(""), refused(kLoss, "shorter than a header"));
  EXPECT_THAT(open(std::string(4096, 'x')), refused(kLoss, "not an index of past incidents"));
  EXPECT_THAT(open(absl::string_view(bytes).substr(0, bytes.size() - 1)),
              refused(kLoss, "bytes instead of"));
  EXPECT_THAT(open(bytes + "x"), refused(kLoss, "bytes instead of"));
  std::string flipped = bytes;
  flipped[40] ^= 1;
  EXPECT_THAT(open(flipped), refused(kLoss, "checksum of its header"));
  EXPECT_THAT(open(WithHeader(bytes, [](auto& header) { header.version = 99; })),
              refused(absl::StatusCode::kFailedPrecondition, "another version"));
  EXPECT_THAT(open(WithHeader(bytes, [](auto& header) { header.documents = 31; })),
              refused(kLoss, "section"));
  EXPECT_THAT(open(WithHeader(bytes, [](auto& header) { header.documents = 0xffffffffU; })),
              refused(kLoss, "section"));
  EXPECT_THAT(open(WithHeader(bytes, [](auto& header) { header.stride = 64; })),
              refused(kLoss, "contradicts itself"));
  EXPECT_THAT(
      open(WithHeader(
          bytes, [](auto& header) { header.sections[format::kBlob].bytes = ~std::uint64_t{0}; })),
      refused(kLoss, "outside the file"));
}

TEST(Segment, NamesTheSectionWhoseBytesChanged) {
  const std::string bytes = BytesOf(Tickets(30));
  format::Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (std::uint32_t section = 0; section < format::kSections; ++section) {
    if (header.sections[section].bytes == 0) continue;
    std::string damaged = bytes;
    damaged[header.sections[section].offset] ^= 1;
    const auto segment = Segment::FromBytes(damaged, "the-file");
    ASSERT_THAT(segment, IsOk());
    EXPECT_THAT((*segment)->VerifyChecksums(),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr(absl::StrCat("section ", section, " is wrong"))));
  }
}

TEST(Segment, ADamagedTicketIsLeftOutOfAnswersAndNamed) {
  std::string bytes = BytesOf(Tickets(30));
  format::Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  bytes[header.sections[format::kBlob].offset + 3] ^= 1;  // of the first
  const View view({*Segment::FromBytes(bytes, "the-file")}, {}, 0);
  const Answer answer = Search(view, HashedEmbedder(), testing::Ticket(0).text);
  ASSERT_EQ(answer.damaged.size(), 1U);
  EXPECT_THAT(answer.damaged[0], HasSubstr("past incident number 0 is damaged"));
  for (const Hit& hit : answer.hits) EXPECT_NE(hit.document.id, "t-0");
}

TEST(Segment, WhateverItsSectionsHoldItIsSearchedWithinItsBounds) {
  const std::string bytes = BytesOf(Tickets(300), {.exact_documents = 100});
  format::Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  ASSERT_EQ(header.graph_documents, 300U);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::string damaged = bytes;
    const auto& section = header.sections[seed % format::kSections];
    for (std::uint64_t i = 0; i < section.bytes; ++i) {
      if (Mix(seed * 7919 + i) % 3 != 0) continue;
      damaged[section.offset + i] = static_cast<char>(Mix(seed + i));
    }
    const auto segment = Segment::FromBytes(damaged, "the-file");
    ASSERT_THAT(segment, IsOk());
    const View view({*segment}, {}, 0);
    for (const SearchOptions& options :
         {SearchOptions(), SearchOptions{.dense = {.exact = true}}}) {
      Search(view, HashedEmbedder(), testing::Words(seed, 20), options);
    }
    view.Contains("t-3");
  }
}

}  // namespace
}  // namespace galen::incident_history
