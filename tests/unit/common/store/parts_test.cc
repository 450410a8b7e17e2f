// Requirements of the parts of every store besides its event log: store_conformance.h describes how
// they are tested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/store/store_conformance.h"

namespace galen::store {
namespace parts_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

class WorkQueueTest : public StoreTest {
 protected:
  std::vector<std::string> Keys(const std::vector<WorkItem>& items) {
    std::vector<std::string> keys;
    for (const WorkItem& item : items) keys.push_back(item.key);
    return keys;
  }
  std::vector<WorkItem> Take(const std::string& worker, int most,
                             absl::Duration abandoned_after = absl::Hours(1)) {
    return queue_->Take("q", worker, most, abandoned_after).value();
  }
  WorkQueue* const queue_ = &store_->work();
};

TEST_P(WorkQueueTest, HandsOutOldestFirstAndEachToOneWorker) {
  for (const char* key : {"a", "b", "c"}) ASSERT_THAT(queue_->Push("q", key, "x"), IsOk());
  EXPECT_THAT(Keys(Take("w1", 2)), ElementsAre("a", "b"));
  EXPECT_THAT(Keys(Take("w2", 2)), ElementsAre("c"));
  EXPECT_THAT(Take("w1", 2), IsEmpty());
}

TEST_P(WorkQueueTest, AnEmptyQueueGivesNothing) {
  EXPECT_THAT(Take("w", 1), IsEmpty());
  EXPECT_EQ(queue_->Size("q").value(), 0);
}

TEST_P(WorkQueueTest, KeepsPayloadsByteForByte) {
  const std::string payload("\0\r\n\xff$5", 6);
  ASSERT_THAT(queue_->Push("q", "a", payload), IsOk());
  EXPECT_EQ(Take("w", 1).at(0).payload, payload);
}

TEST_P(WorkQueueTest, APushRepeatedUnderItsKeyCountsOnceUntilItIsFinished) {
  ASSERT_THAT(queue_->Push("q", "a", "1"), IsOk());
  ASSERT_THAT(queue_->Push("q", "a", "2"), IsOk());
  EXPECT_EQ(queue_->Size("q").value(), 1);
  const WorkItem item = Take("w", 5).at(0);
  EXPECT_EQ(item.payload, "1");
  ASSERT_THAT(queue_->Push("q", "a", "3"), IsOk());
  EXPECT_THAT(Take("w", 5), IsEmpty());
  ASSERT_THAT(queue_->Finish("q", "w", item), IsOk());
  ASSERT_THAT(queue_->Push("q", "a", "4"), IsOk());
  EXPECT_EQ(Take("w", 5).at(0).payload, "4");
}

TEST_P(WorkQueueTest, WhatWasAbandonedGoesToAnotherWorkerAndIsCounted) {
  ASSERT_THAT(queue_->Push("q", "a", "x"), IsOk());
  const WorkItem first = Take("w1", 1).at(0);
  EXPECT_EQ(first.deliveries, 1);
  EXPECT_THAT(Take("w2", 1), IsEmpty());
  const WorkItem second = Take("w2", 1, absl::ZeroDuration()).at(0);
  EXPECT_EQ(second.key, "a");
  EXPECT_EQ(second.deliveries, 2);
  EXPECT_THAT(queue_->Finish("q", "w1", first),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a is not w1's")));
  EXPECT_THAT(queue_->Keep("q", "w1", first),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a is not w1's")));
  EXPECT_THAT(queue_->Finish("q", "w2", second), IsOk());
  EXPECT_EQ(queue_->Size("q").value(), 0);
}

TEST_P(WorkQueueTest, WhatIsKeptIsNotAbandoned) {
  ASSERT_THAT(queue_->Push("q", "a", "x"), IsOk());
  const WorkItem item = Take("w1", 1).at(0);
  EXPECT_THAT(queue_->Keep("q", "w1", item), IsOk());
  EXPECT_THAT(Take("w2", 1, absl::Hours(1)), IsEmpty());
  EXPECT_THAT(queue_->Finish("q", "w1", item), IsOk());
  EXPECT_THAT(queue_->Finish("q", "w1", item),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a")));
}

TEST_P(WorkQueueTest, QueuesAreApart) {
  ASSERT_THAT(queue_->Push("other", "a", "x"), IsOk());
  EXPECT_THAT(Take("w", 1), IsEmpty());
}

TEST_P(WorkQueueTest, ManyWorkersAtOnceGetEachItemOnce) {
  constexpr int kItems = 60;
  for (int i = 0; i < kItems; ++i) ASSERT_THAT(queue_->Push("q", absl::StrCat(i), "x"), IsOk());
  std::vector<std::vector<WorkItem>> taken(4);
  std::vector<std::thread> workers;
  for (std::size_t w = 0; w < taken.size(); ++w) {
    workers.emplace_back([&, w] {
      for (;;) {
        auto items = queue_->Take("q", absl::StrCat("w", w), 3, absl::Hours(1));
        if (!items.ok() || items->empty()) return;
        for (WorkItem& item : *items) taken[w].push_back(std::move(item));
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::set<std::string> keys;
  std::size_t count = 0;
  for (const auto& items : taken) {
    count += items.size();
    for (const WorkItem& item : items) keys.insert(item.key);
  }
  EXPECT_EQ(count, static_cast<std::size_t>(kItems));
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(kItems));
}

INSTANTIATE_STORE_TESTS(WorkQueueTest);

class KeyValueTest : public StoreTest {
 protected:
  KeyValue* const values_ = &store_->values();
};

TEST_P(KeyValueTest, GivesAValueUntilItsTimeIsOver) {
  const std::string value("a b\0\xff", 5);
  ASSERT_THAT(values_->Put("llm", "k", value, kNow, absl::Seconds(100)), IsOk());
  EXPECT_THAT(values_->Get("llm", "k", kNow + absl::Seconds(99)).value(), Optional(value));
  EXPECT_EQ(values_->Get("llm", "k", kNow + absl::Seconds(100)).value(), std::nullopt);
}

TEST_P(KeyValueTest, ReplacesRemovesAndKeepsSpacesApart) {
  ASSERT_THAT(values_->Put("llm", "k", "1", kNow, absl::Hours(1)), IsOk());
  ASSERT_THAT(values_->Put("llm", "k", "2", kNow, absl::Hours(1)), IsOk());
  EXPECT_THAT(values_->Get("llm", "k", kNow).value(), Optional(std::string("2")));
  EXPECT_EQ(values_->Get("knowledge", "k", kNow).value(), std::nullopt);
  ASSERT_THAT(values_->Remove("llm", "k"), IsOk());
  ASSERT_THAT(values_->Remove("llm", "k"), IsOk());
  EXPECT_EQ(values_->Get("llm", "k", kNow).value(), std::nullopt);
}

TEST_P(KeyValueTest, TakesAnEmptyValueAndRefusesOneThatIsTooLargeOrKeptForNoTime) {
  ASSERT_THAT(values_->Put("llm", "k", "", kNow, absl::Hours(1)), IsOk());
  EXPECT_THAT(values_->Get("llm", "k", kNow).value(), Optional(std::string()));
  EXPECT_THAT(values_->Put("llm", "k", "x", kNow, absl::ZeroDuration()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("k")));
  EXPECT_THAT(values_->Put("llm", "k", std::string(kMaxValueBytes + 1, 'x'), kNow, absl::Hours(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("k")));
}

INSTANTIATE_STORE_TESTS(KeyValueTest);

class RateLimitsTest : public StoreTest {
 protected:
  absl::Duration Take(const std::string& key, double cost, absl::Time now) {
    return store_->rates().Take(key, {.per_second = 2, .burst = 4}, cost, now).value().wait;
  }
};

TEST_P(RateLimitsTest, LetsABurstThroughThenTheRate) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Take("acme", 1, kNow), absl::ZeroDuration());
  EXPECT_EQ(Take("acme", 1, kNow), absl::Milliseconds(500));
  EXPECT_EQ(Take("acme", 1, kNow + absl::Milliseconds(499)), absl::Milliseconds(1));
  EXPECT_EQ(Take("acme", 1, kNow + absl::Milliseconds(500)), absl::ZeroDuration());
  EXPECT_GT(Take("acme", 1, kNow + absl::Milliseconds(500)), absl::ZeroDuration());
}

TEST_P(RateLimitsTest, SaysWhatIsLeft) {
  const auto left = [this](double cost, absl::Time now) {
    return store_->rates().Take("acme", {.per_second = 2, .burst = 4}, cost, now).value().left;
  };
  EXPECT_DOUBLE_EQ(left(1, kNow), 3);
  EXPECT_DOUBLE_EQ(left(3, kNow), 0);
  EXPECT_DOUBLE_EQ(left(2, kNow + absl::Milliseconds(500)), 1);  // refused: it keeps what it has
  EXPECT_DOUBLE_EQ(left(2, kNow + absl::Seconds(1)), 0);
}

TEST_P(RateLimitsTest, OneTenantDoesNotUseUpAnothersTokens) {
  EXPECT_EQ(Take("acme", 4, kNow), absl::ZeroDuration());
  EXPECT_EQ(Take("other", 4, kNow), absl::ZeroDuration());
}

TEST_P(RateLimitsTest, GathersNoMoreThanTheBurst) {
  EXPECT_EQ(Take("acme", 4, kNow), absl::ZeroDuration());
  EXPECT_EQ(Take("acme", 4, kNow + absl::Hours(1)), absl::ZeroDuration());
  EXPECT_EQ(Take("acme", 4, kNow + absl::Hours(1)), absl::Seconds(2));
}

TEST_P(RateLimitsTest, AClockThatGoesBackGivesNothing) {
  EXPECT_EQ(Take("acme", 4, kNow), absl::ZeroDuration());
  EXPECT_GT(Take("acme", 1, kNow - absl::Hours(1)), absl::ZeroDuration());
  EXPECT_EQ(Take("acme", 1, kNow + absl::Milliseconds(500)), absl::ZeroDuration());
}

TEST_P(RateLimitsTest, RefusesWhatCouldNeverBeLetThrough) {
  for (const double cost : {5.0, 0.0, -1.0, std::nan("")}) {
    EXPECT_THAT(store_->rates().Take("acme", {.per_second = 1, .burst = 4}, cost, kNow),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("acme")));
  }
}

INSTANTIATE_STORE_TESTS(RateLimitsTest);

class NodeTableTest : public StoreTest {
 protected:
  std::vector<std::string> Names(absl::Time now) {
    std::vector<std::string> names;
    const std::vector<NodeEntry> entries = nodes_->List(now).value();
    for (const NodeEntry& entry : entries) {
      names.push_back(absl::StrCat(entry.name, "=", entry.record));
    }
    return names;
  }
  NodeTable* const nodes_ = &store_->nodes();
};

TEST_P(NodeTableTest, ListsWhatIsThereByNameUntilItsTimeIsOver) {
  ASSERT_THAT(nodes_->Announce(
                  {{"n2", "b", kNow + absl::Seconds(20)}, {"n1", "a", kNow + absl::Seconds(10)}}),
              IsOk());
  EXPECT_THAT(Names(kNow), ElementsAre("n1=a", "n2=b"));
  EXPECT_THAT(Names(kNow + absl::Seconds(10)), ElementsAre("n2=b"));
  EXPECT_EQ(nodes_->List(kNow).value().at(0).expires, kNow + absl::Seconds(10));
}

TEST_P(NodeTableTest, ANodeThatAnnouncesItselfAgainStaysAndIsReplaced) {
  ASSERT_THAT(nodes_->Announce({{"n1", "a", kNow + absl::Seconds(10)}}), IsOk());
  ASSERT_THAT(nodes_->Announce({{"n1", "b", kNow + absl::Seconds(30)}}), IsOk());
  EXPECT_THAT(Names(kNow + absl::Seconds(20)), ElementsAre("n1=b"));
}

TEST_P(NodeTableTest, WithdrawsAndSweeps) {
  ASSERT_THAT(nodes_->Announce({{"n1", "a", kNow + absl::Seconds(10)},
                                {"n2", "b", kNow + absl::Seconds(10)},
                                {"n3", "c", kNow + absl::Seconds(90)}}),
              IsOk());
  ASSERT_THAT(nodes_->Withdraw("n1"), IsOk());
  ASSERT_THAT(nodes_->Withdraw("n1"), IsOk());
  EXPECT_THAT(Names(kNow), ElementsAre("n2=b", "n3=c"));
  EXPECT_EQ(nodes_->Sweep(kNow + absl::Seconds(10)).value(), 1);
  EXPECT_THAT(Names(kNow), ElementsAre("n3=c"));
}

TEST_P(NodeTableTest, HoldsTenThousandNodes) {
  std::vector<NodeEntry> entries;
  for (int i = 0; i < 10'000; ++i) {
    entries.push_back({absl::StrCat("node-", i), "10.0.0.1:50054", kNow + absl::Seconds(30)});
  }
  ASSERT_THAT(nodes_->Announce(entries), IsOk());
  EXPECT_EQ(nodes_->List(kNow).value().size(), 10'000u);
  EXPECT_EQ(nodes_->Sweep(kNow + absl::Minutes(1)).value(), 10'000);
}

INSTANTIATE_STORE_TESTS(NodeTableTest);

class RecordsTest : public StoreTest {
 protected:
  std::vector<std::string> Keys(const std::string& after = "", int limit = 100) {
    std::vector<std::string> keys;
    const std::vector<Record> listed = records_->List("s", after, limit).value();
    for (const Record& record : listed) keys.push_back(record.key);
    return keys;
  }
  Records* const records_ = &store_->records();
};

TEST_P(RecordsTest, ChangesOnlyWhatTheWriterSaw) {
  EXPECT_EQ(records_->Get("s", "a").value(), std::nullopt);
  EXPECT_EQ(records_->Put("s", "a", "one", 0).value(), 1);
  EXPECT_THAT(records_->Put("s", "a", "two", 0).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("read it again")));
  EXPECT_EQ(records_->Put("s", "a", "two", 1).value(), 2);
  EXPECT_THAT(records_->Put("s", "a", "three", 1).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("read it again")));
  EXPECT_THAT(records_->Put("s", "b", "x", 7).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("read it again")));
  const std::optional<Record> read = records_->Get("s", "a").value();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->value, "two");
  EXPECT_EQ(read->version, 2);
  EXPECT_EQ(records_->Get("other", "a").value(), std::nullopt);
}

TEST_P(RecordsTest, ARepetitionOfTheSameChangeSucceedsAndChangesNothing) {
  EXPECT_EQ(records_->Put("s", "a", "one", 0).value(), 1);
  EXPECT_EQ(records_->Put("s", "a", "one", 0).value(), 1);
  EXPECT_EQ(records_->Put("s", "a", "two", 1).value(), 2);
  EXPECT_EQ(records_->Put("s", "a", "two", 1).value(), 2);
  EXPECT_EQ(records_->Get("s", "a").value()->version, 2);
}

TEST_P(RecordsTest, RemovesOnlyWhatTheWriterSaw) {
  ASSERT_THAT(records_->Put("s", "a", "one", 0).status(), IsOk());
  EXPECT_THAT(records_->Remove("s", "a", 2),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("read it again")));
  EXPECT_EQ(Keys(), std::vector<std::string>{"a"});
  EXPECT_THAT(records_->Remove("s", "a", 1), IsOk());
  EXPECT_THAT(records_->Remove("s", "a", 1), IsOk());
  EXPECT_TRUE(Keys().empty());
}

TEST_P(RecordsTest, ListsByKeyInPages) {
  for (const char* key : {"b", "a/2", "c", "a/1"}) {
    ASSERT_THAT(records_->Put("s", key, key, 0).status(), IsOk());
  }
  EXPECT_EQ(Keys(), (std::vector<std::string>{"a/1", "a/2", "b", "c"}));
  EXPECT_EQ(Keys("", 2), (std::vector<std::string>{"a/1", "a/2"}));
  EXPECT_EQ(Keys("a/2", 2), (std::vector<std::string>{"b", "c"}));
}

TEST_P(RecordsTest, OfManyWhoDecideTheSameThingOneWins) {
  std::atomic<int> winners = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      if (records_->Put("s", "who", absl::StrCat("worker ", i), 0).ok()) ++winners;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
}

TEST_P(RecordsTest, KeepsValuesByteForByteAndRefusesWhatIsTooLarge) {
  const std::string value("a\0b\n\xff 1", 8);
  ASSERT_THAT(records_->Put("s", "a", value, 0).status(), IsOk());
  EXPECT_EQ(records_->Get("s", "a").value()->value, value);
  EXPECT_THAT(records_->Put("s", "b", std::string(kMaxRecordValue + 1, 'x'), 0).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most")));
  EXPECT_THAT(records_->Put("s", "", "x", 0).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a key")));
}

INSTANTIATE_STORE_TESTS(RecordsTest);

class JournalTest : public StoreTest {
 protected:
  std::vector<std::string> Read(std::int64_t after, int limit = 100) {
    std::vector<std::string> entries;
    const std::vector<JournalEntry> read = journal_->Read("j", after, limit).value();
    for (const JournalEntry& entry : read) {
      entries.push_back(absl::StrCat(entry.position, "=", entry.record));
    }
    return entries;
  }
  Journal* const journal_ = &store_->journal();
};

TEST_P(JournalTest, GivesWhatWasAppendedInOrderAndByPosition) {
  EXPECT_THAT(Read(0), IsEmpty());
  EXPECT_EQ(journal_->Append("j", {"a", "b"}).value(), 2);
  EXPECT_EQ(journal_->Append("j", {"c"}).value(), 3);
  EXPECT_EQ(journal_->Append("other", {"x"}).value(), 1);
  EXPECT_THAT(Read(0), ElementsAre("1=a", "2=b", "3=c"));
  EXPECT_THAT(Read(1, 1), ElementsAre("2=b"));
  EXPECT_THAT(Read(3), IsEmpty());
}

TEST_P(JournalTest, KeepsRecordsByteForByte) {
  const std::string record("\0\r\n\xff$5", 6);
  ASSERT_THAT(journal_->Append("j", {record, ""}).status(), IsOk());
  EXPECT_EQ(journal_->Read("j", 0, 1).value().at(0).record, record);
  EXPECT_THAT(Read(1), ElementsAre("2="));
}

TEST_P(JournalTest, PositionsGoOnAfterAllWasTrimmed) {
  ASSERT_THAT(journal_->Append("j", {"a", "b", "c"}).status(), IsOk());
  ASSERT_THAT(journal_->Trim("j", 2), IsOk());
  EXPECT_THAT(Read(0), ElementsAre("3=c"));
  ASSERT_THAT(journal_->Trim("j", 3), IsOk());
  ASSERT_THAT(journal_->Trim("j", 3), IsOk());
  EXPECT_THAT(Read(0), IsEmpty());
  EXPECT_EQ(journal_->Append("j", {"d"}).value(), 4);
  EXPECT_THAT(Read(0), ElementsAre("4=d"));
}

TEST_P(JournalTest, RefusesNothingAndWhatIsTooLarge) {
  EXPECT_THAT(journal_->Append("j", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no record")));
  EXPECT_THAT(journal_->Append("j", {"a", std::string(kMaxRecordBytes + 1, 'x')}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 8388608")));
  EXPECT_THAT(Read(0), IsEmpty());
}

TEST_P(JournalTest, ManyWritersAtOnceLeaveNoGapAndMixNoAppend) {
  constexpr int kAppends = 25;
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < kAppends; ++i) {
        const std::string record = absl::StrCat(w, ".", i);
        EXPECT_THAT(journal_->Append("j", {record, record}).status(), IsOk());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::vector<JournalEntry> all = journal_->Read("j", 0, 1000).value();
  ASSERT_EQ(all.size(), 4u * 2 * kAppends);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].position, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(all[i].record, all[i - i % 2].record);
  }
}

INSTANTIATE_STORE_TESTS(JournalTest);

}  // namespace parts_test
}  // namespace galen::store
