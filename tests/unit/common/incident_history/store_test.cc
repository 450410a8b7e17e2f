#include "common/incident_history/store.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/incident_history/search.h"
#include "common/incident_history/tokens.h"
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

class StoreTest : public ::testing::Test {
 protected:
  StoreTest()
      : directory_(::testing::TempDir() + "/store-" +
                   ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(directory_);
  }
  ~StoreTest() override { fs::remove_all(directory_); }

  absl::StatusOr<std::unique_ptr<Store>> TryOpen() { return Store::Open(directory_, embedder_); }
  std::unique_ptr<Store> Open() { return *TryOpen(); }

  std::string Best(const Store& store, absl::string_view question) {
    const Answer answer = Search({&store}, embedder_, question);
    return answer.hits.empty() ? "nothing" : answer.hits[0].document.id;
  }
  std::string Read(const std::string& file) const {
    std::ifstream in(directory_ + "/" + file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void Write(const std::string& file, absl::string_view bytes) const {
    fs::create_directories(directory_);
    std::ofstream(directory_ + "/" + file, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
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
  EXPECT_EQ(store->documents(), 21U);
}

TEST_F(StoreTest, EverythingIsThereAfterReopening) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Add(Tickets(300)), IsOk());
    ASSERT_THAT(store->Add(Ticket(300)), IsOk());
  }
  const auto store = Open();
  EXPECT_EQ(store->documents(), 301U);
  for (const std::uint64_t number : {0, 299, 300}) {
    const Answer answer = Search({store.get()}, embedder_, Ticket(number).text);
    ASSERT_FALSE(answer.hits.empty());
    EXPECT_EQ(answer.hits[0].document.id, Ticket(number).id);
    EXPECT_EQ(answer.hits[0].document.label, Ticket(number).label);
    EXPECT_EQ(answer.hits[0].document.text, Ticket(number).text);
    EXPECT_EQ(answer.hits[0].document.payload, Ticket(number).payload);
    EXPECT_GT(answer.hits[0].cosine, 0.8);
  }
  ASSERT_THAT(store->Add(Ticket(301)), IsOk());
  EXPECT_EQ(Best(*store, Ticket(301).text), "t-301");
}

TEST_F(StoreTest, WhatWasAcknowledgedSurvivesKill9) {
  int acknowledged[2];
  ASSERT_EQ(pipe(acknowledged), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Adds until it is killed; reports which documents are safe.
    auto store = Store::Open(directory_, embedder_);
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
    EXPECT_TRUE(*store->Contains(absl::StrCat("t-", i))) << i << " of " << last;
  }
  EXPECT_LE(store->documents(), last + 2);  // one may have been under way
  EXPECT_THAT(store->Add(Ticket(1'000'000)), IsOk());
  EXPECT_EQ(Best(*store, Ticket(last).text), Ticket(last).id);
}

TEST_F(StoreTest, WhatWasCutOffWhileItWasWrittenIsDroppedAsAWhole) {
  std::string before;
  std::string after;
  std::string database;
  {
    const auto store = Open();
    ASSERT_THAT(store->Add(Ticket(0)), IsOk());
    before = Read("history.db-wal");
    ASSERT_THAT(store->Add({Ticket(1), Ticket(2)}), IsOk());
    after = Read("history.db-wal");
    database = Read("history.db");
  }
  ASSERT_GT(after.size(), before.size());
  for (const std::size_t cut : {1, 2, 3, 4, 5}) {
    const std::size_t size = before.size() + (after.size() - before.size()) * cut / 6;
    fs::remove_all(directory_);
    Write("history.db", database);
    Write("history.db-wal", after.substr(0, size));
    const auto store = Open();
    EXPECT_EQ(store->documents(), 1U) << size;
    EXPECT_THAT(*store->Frequencies(FeaturesOf(Analyse(Ticket(1).text))),
                ::testing::Not(::testing::Contains(::testing::Gt(1U))));
    ASSERT_THAT(store->Add(Ticket(1)), IsOk());
    EXPECT_EQ(Best(*store, Ticket(1).text), "t-1");
  }
}

TEST_F(StoreTest, TakesAnIdOnlyOnceAndAllOrNone) {
  const auto store = Open();
  ASSERT_THAT(store->Add(Ticket(1)), IsOk());
  EXPECT_THAT(store->Add({Ticket(2), Ticket(1)}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("\"t-1\"")));
  EXPECT_THAT(store->Add({Ticket(3), Ticket(3)}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("\"t-3\"")));
  EXPECT_EQ(store->documents(), 1U);
  EXPECT_FALSE(*store->Contains("t-2"));
  // Nor their words and vectors.
  EXPECT_EQ(Search({store.get()}, embedder_, Ticket(2).text).hits.size(), 1U);
  ASSERT_THAT(store->Add(Ticket(2)), IsOk());
  EXPECT_EQ(Best(*store, Ticket(2).text), "t-2");
}

TEST_F(StoreTest, RefusesWhatIsTooLong) {
  const auto store = Open();
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(store->Add({Ticket(1), {.id = ""}}), StatusIs(kInvalid, HasSubstr("id is empty")));
  EXPECT_THAT(store->Add({.id = std::string(kMaxIdBytes + 1, 'i')}),
              StatusIs(kInvalid, HasSubstr("shorten it")));
  EXPECT_THAT(store->Add({.id = "x", .label = std::string(kMaxIdBytes + 1, 'l')}),
              StatusIs(kInvalid, HasSubstr("shorten it")));
  EXPECT_THAT(store->Add({.id = "x", .text = std::string(kMaxDocumentBytes + 1, 'a')}),
              StatusIs(kInvalid, HasSubstr("shorten it")));
  EXPECT_THAT(store->Add({.id = "x", .payload = std::string(kMaxDocumentBytes + 1, 'a')}),
              StatusIs(kInvalid, HasSubstr("shorten it")));
  EXPECT_EQ(store->documents(), 0U);
  const Document longest{.id = std::string(kMaxIdBytes, 'i'),
                         .label = std::string(kMaxIdBytes, 'l'),
                         .text = "pump " + std::string(kMaxDocumentBytes - 5, ' '),
                         .payload = std::string(kMaxDocumentBytes, 'p')};
  ASSERT_THAT(store->Add(longest), IsOk());
  EXPECT_EQ(Best(*store, "pump"), longest.id);
}

TEST_F(StoreTest, OneProcessHasItOpenAtATime) {
  {
    const auto store = Open();
    EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kAlreadyExists,
                                    AllOf(HasSubstr(directory_), HasSubstr("another process"))));
    ASSERT_THAT(store->Add(Ticket(1)), IsOk());
    EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("stop it")));
  }
  EXPECT_EQ(Open()->documents(), 1U);
}

TEST_F(StoreTest, ItsFilesAreForItsUserAlone) {
  const auto store = Open();
  ASSERT_THAT(store->Add(Ticket(1)), IsOk());
  for (const auto& entry : fs::directory_iterator(directory_)) {
    EXPECT_EQ(entry.status().permissions() & (fs::perms::group_all | fs::perms::others_all),
              fs::perms::none)
        << entry.path();
  }
}

TEST_F(StoreTest, RefusesADirectoryOfTheFormerFormatAndSaysWhatToDo) {
  for (const char* file : {"segment-3", "log-0"}) {
    fs::remove_all(directory_);
    Write(file, "GALENSEG");
    EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    AllOf(HasSubstr(directory_), HasSubstr("format of Galen 0.1"),
                                          HasSubstr("galen kb history add"))));
    EXPECT_EQ(Read(file), "GALENSEG");
    EXPECT_FALSE(fs::exists(directory_ + "/history.db"));
  }
}

TEST_F(StoreTest, RefusesAFileThatIsNotOneOfPastIncidentsAndLeavesIt) {
  const std::string text(4096, 'x');
  Write("history.db", text);
  EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("nothing was changed")));
  EXPECT_EQ(Read("history.db"), text);
}

// Places in the header of an SQLite file
// (https://www.sqlite.org/fileformat.html#the_database_header).
constexpr std::size_t kUserVersion = 60;
constexpr std::size_t kApplicationId = 68;

TEST_F(StoreTest, RefusesFilesOfOtherProgramsAndVersions) {
  { ASSERT_THAT(Open()->Add(Tickets(3)), IsOk()); }
  const std::string good = Read("history.db");
  std::string other = good;
  other[kApplicationId] ^= 1;
  Write("history.db", other);
  EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("of another program")));
  std::string newer = good;
  newer[kUserVersion + 3] = 99;
  Write("history.db", newer);
  EXPECT_THAT(TryOpen(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("format 99")));
  Write("history.db", good);
  EXPECT_EQ(Open()->documents(), 3U);
}

TEST_F(StoreTest, WhateverItsFileHoldsTheSearchEndsAndSaysWhatIsDamaged) {
  { ASSERT_THAT(Open()->Add(Tickets(300)), IsOk()); }
  const std::string good = Read("history.db");
  int told = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    // Whole pages, but for the first, whose damage Open() finds.
    std::string damaged = good;
    for (std::size_t page = 4096; page + 4096 <= damaged.size(); page += 4096) {
      if (Mix(seed * 7919 + page) % 3 != 0) continue;
      for (std::size_t i = 0; i < 4096; ++i) {
        if (Mix(seed + page + i) % 4 == 0)
          damaged[page + i] = static_cast<char>(Mix(page * 31 + i));
      }
    }
    Write("history.db", damaged);
    const auto store = TryOpen();
    if (!store.ok()) {
      ++told;
      continue;
    }
    const Answer answer = Search({store->get()}, embedder_, testing::Words(seed, 20));
    for (const absl::Status& failed : answer.failed) {
      ++told;
      EXPECT_THAT(failed.ToString(), HasSubstr("history.db"));
    }
    (*store)->Contains("t-3").IgnoreError();
    (*store)->Add(Ticket(1000 + seed)).IgnoreError();
    (*store)->MakeVectors().IgnoreError();
  }
  EXPECT_GT(told, 20);
}

// An endpoint that can be away.
class Endpoint final : public Embedder {
 public:
  std::string name() const override { return "endpoint"; }
  size_t dimensions() const override { return HashedEmbedder::kDimensions; }
  absl::StatusOr<Vector> EmbedDocument(absl::string_view text) const override {
    if (away) return absl::UnavailableError("away");
    ++embedded;
    return HashedEmbedder().EmbedDocument(text);
  }
  absl::StatusOr<Vector> EmbedQuery(absl::string_view text, Rarity rarity) const override {
    return HashedEmbedder().EmbedQuery(text, rarity);
  }
  bool away = false;
  mutable int embedded = 0;
};

TEST_F(StoreTest, AnotherEmbedderFindsByWordsUntilItsVectorsAreMade) {
  { ASSERT_THAT(Open()->Add(Tickets(150)), IsOk()); }
  Endpoint endpoint;
  endpoint.away = true;
  {
    const auto store = *Store::Open(directory_, endpoint);
    ASSERT_THAT(store->Add(Ticket(150)), IsOk());
    const auto cosine = [&](int number) {
      const Answer answer = Search({store.get()}, endpoint, Ticket(number).text);
      EXPECT_EQ(answer.hits.at(0).document.id, Ticket(number).id);
      return answer.hits.at(0).cosine;
    };
    EXPECT_EQ(cosine(3), 0);
    EXPECT_EQ(cosine(150), 0);
    EXPECT_THAT(store->MakeVectors(), StatusIs(absl::StatusCode::kUnavailable, "away"));
    endpoint.away = false;
    EXPECT_EQ(cosine(3), 0);
    ASSERT_THAT(store->MakeVectors(), IsOk());
    EXPECT_GT(cosine(3), 0.8);
    EXPECT_GT(cosine(150), 0.8);
    EXPECT_EQ(endpoint.embedded, 151);
  }
  // Made once; the texts of others are not touched again.
  const auto store = *Store::Open(directory_, endpoint);
  ASSERT_THAT(store->MakeVectors(), IsOk());
  EXPECT_EQ(endpoint.embedded, 151);
  EXPECT_GT(Search({store.get()}, endpoint, Ticket(9).text).hits.at(0).cosine, 0.8);
}

TEST_F(StoreTest, ReadersSearchWhileOthersAdd) {
  const auto store = Open();
  ASSERT_THAT(store->Add(Tickets(10)), IsOk());
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      std::uint64_t seen = 0;
      while (!done) {
        const std::uint64_t now = store->documents();
        EXPECT_GE(now, seen);
        seen = now;
        const Document last = Ticket(seen - 1);
        const Answer answer = Search({store.get()}, embedder_, last.text);
        EXPECT_TRUE(answer.failed.empty());
        ASSERT_FALSE(answer.hits.empty());
        EXPECT_EQ(answer.hits[0].document.id, last.id);
      }
    });
  }
  for (std::uint32_t i = 10; i < 60; ++i) ASSERT_THAT(store->Add(Ticket(i)), IsOk());
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(store->documents(), 60U);
}

}  // namespace
}  // namespace galen::incident_history
