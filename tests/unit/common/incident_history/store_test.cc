#include "common/incident_history/store.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "common/incident_history/search.h"
#include "tests/testing/status_matchers.h"
#include "tickets.h"

namespace galen::incident_history {
namespace {

namespace fs = std::filesystem;
using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Ticket;
using testing::Tickets;
using ::testing::UnorderedElementsAre;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest()
      : directory_(::testing::TempDir() + "/store-" +
                   ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(directory_);
  }
  ~StoreTest() override { fs::remove_all(directory_); }

  absl::StatusOr<std::unique_ptr<Store>> TryOpen(size_t compact_after = 0) {
    return Store::Open(directory_, embedder_, {.compact_after = compact_after});
  }
  std::unique_ptr<Store> Open(size_t compact_after = 0) { return *TryOpen(compact_after); }

  std::string Best(const Store& store, absl::string_view question) {
    const Answer answer = Search(store.view(), embedder_, question);
    return answer.hits.empty() ? "nothing" : answer.hits[0].document.id;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      files.push_back(entry.path().filename().string());
    }
    return files;
  }
  void Write(const std::string& file, absl::string_view bytes) const {
    std::ofstream(directory_ + "/" + file, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string Read(const std::string& file) const {
    std::ifstream in(directory_ + "/" + file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  const std::string directory_;
  const HashedEmbedder embedder_;
};

TEST_F(StoreTest, AnAddedIncidentIsFoundAtOnce) {
  const auto store = Open();
  ASSERT_THAT(store->Add(Tickets(20)), IsOk());
  EXPECT_NE(Best(*store, "was there a cat on that switch?"), "cat");
  ASSERT_THAT(store->Add({.id = "cat", .label = "L", .text = "a cat sat on the switch of rack 7"}),
              IsOk());
  EXPECT_EQ(Best(*store, "was there a cat on that switch?"), "cat");
  EXPECT_EQ(Best(*store, Ticket(3).text), "t-3");
}

TEST_F(StoreTest, AViewStaysAsItWasTaken) {
  const auto store = Open();
  ASSERT_THAT(store->Add(Tickets(5)), IsOk());
  const View before = store->view();
  ASSERT_THAT(store->Add(Ticket(5)), IsOk());
  ASSERT_THAT(store->Compact(), IsOk());
  EXPECT_EQ(before.documents(), 5U);
  EXPECT_FALSE(before.Contains("t-5"));
  EXPECT_EQ(store->view().documents(), 6U);
}

TEST_F(StoreTest, EverythingIsThereAfterReopening) {
  for (const bool compacted : {false, true}) {
    fs::remove_all(directory_);
    {
      const auto store = Open();
      ASSERT_THAT(store->Add(Tickets(300)), IsOk());
      if (compacted) {
        ASSERT_THAT(store->Compact(), IsOk());
      }
      ASSERT_THAT(store->Add(Ticket(300)), IsOk());
    }
    const auto store = Open();
    EXPECT_EQ(store->view().documents(), 301U);
    for (const int number : {0, 299, 300}) {
      EXPECT_EQ(Best(*store, Ticket(number).text), absl::StrCat("t-", number));
    }
  }
}

TEST_F(StoreTest, WhatWasAcknowledgedSurvivesKill9) {
  int acknowledged[2];
  ASSERT_EQ(pipe(acknowledged), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Adds, compacting all the time, until it is killed; reports which documents are safe.
    auto store = Store::Open(directory_, embedder_, {.compact_after = 7});
    for (std::uint32_t i = 0; store.ok(); ++i) {
      if (!(*store)->Add(Ticket(i)).ok()) _exit(1);
      if (write(acknowledged[1], &i, sizeof(i)) != sizeof(i)) _exit(1);
    }
    _exit(1);
  }
  close(acknowledged[1]);
  std::uint32_t last = 0;
  while (last < 40 && read(acknowledged[0], &last, sizeof(last)) == sizeof(last)) {
  }
  kill(child, SIGKILL);
  // The last acknowledgements before it died.
  while (read(acknowledged[0], &last, sizeof(last)) == sizeof(last)) {
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  close(acknowledged[0]);
  const auto store = Open();
  for (std::uint32_t i = 0; i <= last; ++i) {
    EXPECT_TRUE(store->view().Contains(absl::StrCat("t-", i))) << i << " of " << last;
  }
  EXPECT_LE(store->view().documents(), last + 2);  // one may have been under way
  EXPECT_THAT(store->Add(Ticket(1'000'000)), IsOk());
}

TEST_F(StoreTest, ARecordThatWasCutOffAnywhereIsDroppedAndTheRestKept) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Add(Ticket(0)), IsOk());
  }
  const std::string one = Read("log-0");
  {
    const auto store = Open();
    ASSERT_THAT(store->Add(Ticket(1)), IsOk());
  }
  const std::string two = Read("log-0");
  for (size_t size = one.size(); size < two.size(); size += 7) {
    Write("log-0", two.substr(0, size));
    const auto store = Open();
    EXPECT_EQ(store->view().documents(), 1U) << size;
    // And the next document is where the cut was.
    ASSERT_THAT(store->Add(Ticket(2)), IsOk());
    EXPECT_EQ(Best(*store, Ticket(2).text), "t-2");
  }
  // After a loss of power a file may be longer than the written data: zeros.
  Write("log-0", one + std::string(5000, '\0'));
  EXPECT_EQ(Open()->view().documents(), 1U);
}

TEST_F(StoreTest, RefusesADamagedLogAndSaysWhatToDo) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Add(Tickets(3)), IsOk());
  }
  std::string bytes = Read("log-0");
  bytes[60] ^= 1;  // in the first of three
  Write("log-0", bytes);
  EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kDataLoss,
                                  AllOf(HasSubstr("log-0: the record at byte 16 is damaged"),
                                        HasSubstr("restore the file from a copy"))));
  EXPECT_EQ(Read("log-0"), bytes) << "nothing may be thrown away";
}

TEST_F(StoreTest, RefusesADamagedSegmentAndALogWithoutItsSegment) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Add(Tickets(3)), IsOk());
    ASSERT_THAT(store->Compact(), IsOk());
    ASSERT_THAT(store->Add(Ticket(3)), IsOk());
  }
  const std::string good = Read("segment-1");
  Write("segment-1", good.substr(0, good.size() / 2));
  EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kDataLoss,
                                  AllOf(HasSubstr("segment-1"), HasSubstr("restore"))));
  fs::remove(directory_ + "/segment-1");
  EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("log-1"), HasSubstr("put it back"))));
  Write("segment-1", good);
  EXPECT_EQ(Open()->view().documents(), 4U);
}

TEST_F(StoreTest, DoesNotCarryDamageIntoANewSegment) {
  const auto store = Open();
  ASSERT_THAT(store->Add(Tickets(3)), IsOk());
  ASSERT_THAT(store->Compact(), IsOk());
  std::string bytes = Read("segment-1");
  std::fstream file(directory_ + "/segment-1", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(bytes.size() - 200));
  file.put(static_cast<char>(bytes[bytes.size() - 200] ^ 1));
  file.close();
  EXPECT_THAT(store->Compact(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksum of section")));
  EXPECT_THAT(store->Add(Ticket(9)), IsOk());
}

TEST_F(StoreTest, ClearsAwayWhatACompactionLeftThatDidNotEnd) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Add(Tickets(3)), IsOk());
    ASSERT_THAT(store->Compact(), IsOk());
  }
  Write("new-2", "half a segment");
  Write("log-2", "half a log");
  EXPECT_EQ(Open()->view().documents(), 3U);
  EXPECT_THAT(Files(), UnorderedElementsAre("segment-1", "log-1", "lock"));
}

TEST_F(StoreTest, TakesAnIdOnlyOnceAndAllOrNone) {
  const auto store = Open();
  ASSERT_THAT(store->Add(Ticket(1)), IsOk());
  EXPECT_THAT(store->Add({Ticket(2), Ticket(1)}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("\"t-1\"")));
  EXPECT_THAT(store->Add({Ticket(3), Ticket(3)}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("\"t-3\"")));
  EXPECT_EQ(store->view().documents(), 1U);
  ASSERT_THAT(store->Compact(), IsOk());
  EXPECT_THAT(store->Add(Ticket(1)), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("t-1")));
}

TEST_F(StoreTest, OneProcessWritesAtATime) {
  const auto store = Open();
  EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("another process")));
}

TEST_F(StoreTest, CompactsByItselfAndKeepsTheGraph) {
  const auto store =
      *Store::Open(directory_, embedder_, {.build = {.exact_documents = 50}, .compact_after = 40});
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_THAT(store->Add(Ticket(i)), IsOk());
  const View view = store->view();
  ASSERT_EQ(view.segments().size(), 1U);
  EXPECT_EQ(view.segments()[0]->documents(), 80U);
  EXPECT_EQ(view.segments()[0]->header().graph_documents, 80U);
  // Fewer than 50 documents outside the graph are scanned, and the graph is not rebuilt.
  ASSERT_THAT(store->Compact(), IsOk());
  const View after = store->view();
  EXPECT_EQ(after.segments()[0]->documents(), 100U);
  EXPECT_EQ(after.segments()[0]->header().graph_documents, 80U);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(Best(*store, Ticket(i).text), Ticket(i).id);
}

// An endpoint that can be away.
class Endpoint final : public Embedder {
 public:
  std::string name() const override { return "endpoint"; }
  size_t dimensions() const override { return HashedEmbedder::kDimensions; }
  absl::StatusOr<Vector> EmbedDocument(absl::string_view text) const override {
    if (away) return absl::UnavailableError("away");
    return HashedEmbedder().EmbedDocument(text);
  }
  absl::StatusOr<Vector> EmbedQuery(absl::string_view text, Rarity rarity) const override {
    if (away) return absl::UnavailableError("away");
    return HashedEmbedder().EmbedQuery(text, rarity);
  }
  bool away = false;
};

TEST_F(StoreTest, AnotherEmbedderFindsByWordsUntilItsVectorsAreMade) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Add(Tickets(10)), IsOk());
    ASSERT_THAT(store->Compact(), IsOk());
  }
  Endpoint endpoint;
  endpoint.away = true;
  const auto store = *Store::Open(directory_, endpoint, {.compact_after = 0});
  ASSERT_THAT(store->Add(Ticket(10)), IsOk());
  const auto cosine = [&](int number) {
    const Answer answer = Search(store->view(), endpoint, Ticket(number).text);
    EXPECT_EQ(answer.hits.at(0).document.id, Ticket(number).id);
    return answer.hits.at(0).cosine;
  };
  EXPECT_EQ(cosine(3), 0);
  EXPECT_THAT(store->Compact(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("away")));
  endpoint.away = false;
  EXPECT_EQ(cosine(3), 0);
  ASSERT_THAT(store->Compact(), IsOk());
  EXPECT_GT(cosine(3), 0.8);
  EXPECT_GT(cosine(10), 0.8);
}

TEST_F(StoreTest, ReadersSearchWhileOthersAddAndCompact) {
  const auto store = Open(25);
  ASSERT_THAT(store->Add(Tickets(10)), IsOk());
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      std::uint64_t seen = 0;
      while (!done) {
        const View view = store->view();
        EXPECT_GE(view.documents(), seen);
        seen = view.documents();
        const Document last = Ticket(seen - 1);
        const Answer answer = Search(view, embedder_, last.text);
        ASSERT_FALSE(answer.hits.empty());
        EXPECT_EQ(answer.hits[0].document.id, last.id);
      }
    });
  }
  for (std::uint32_t i = 10; i < 120; ++i) ASSERT_THAT(store->Add(Ticket(i)), IsOk());
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(store->view().documents(), 120U);
}

TEST_F(StoreTest, ImportsAnIndexThatWasMadeBefore) {
  const std::string made = directory_ + ".made";
  fs::remove(made);
  {
    const auto builder = *SegmentBuilder::ToFile(made, embedder_.name(), embedder_.dimensions());
    for (const Document& ticket : Tickets(50)) {
      ASSERT_THAT(builder->Add(ticket, embedder_), IsOk());
    }
    ASSERT_THAT(builder->Finish({}), IsOk());
  }
  ASSERT_THAT(Store::Import(made, directory_), IsOk());
  const auto store = Open();
  EXPECT_EQ(store->view().documents(), 50U);
  ASSERT_THAT(store->Add(Ticket(50)), IsOk());
  EXPECT_EQ(Best(*store, Ticket(49).text), "t-49");
  EXPECT_EQ(Best(*store, Ticket(50).text), "t-50");
}

}  // namespace
}  // namespace galen::incident_history
