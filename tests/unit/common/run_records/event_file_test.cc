// Claims about event files of TensorBoard. Inputs are made with the fields of
// tensorflow/tensorboard tensorboard/compat/proto/{event,summary,tensor}.proto and the framing of
// tensorflow core/lib/io/record_writer.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/common/run_records/run_records_testing.h"

namespace galen::run_records {
namespace event_file_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPath[] = "runs/exp1/events.out.tfevents.1700000000.host.1.0";
constexpr double kTime = 1'700'000'000;

TEST(Checksums, AreThoseOfThePrograms) {
  // The check values of CRC-32C and CRC-32 for "123456789".
  EXPECT_EQ(MaskedCrc32c("123456789"), ((0xe3069283U >> 15 | 0xe3069283U << 17) + 0xa282ead8U));
  EXPECT_EQ(Crc32("123456789"), 0xcbf43926U);
  EXPECT_EQ(Crc32("56789", Crc32("1234")), 0xcbf43926U);
}

TEST(EventFile, IsKnownByItsContent) {
  const std::string head = EventFileHead(kTime);
  EXPECT_EQ(FormOf(head), Form::kEventFile);
  // Another file of TFRecords, and one whose length does not match.
  EXPECT_EQ(FormOf(TfRecord("a sample of a data set")), Form::kNone);
  std::string damaged = head;
  damaged[3] = 1;
  EXPECT_EQ(FormOf(damaged), Form::kNone);
  EXPECT_EQ(FormOf(""), Form::kNone);
}

TEST(EventFile, ScalarsOfBothKindsAreRead) {
  const std::string file = absl::StrCat(
      EventFileHead(kTime), Event(kTime + 10, 1, Simple("train/loss", 2.5)),
      Event(kTime + 20, 2, Simple("train/loss", 2.25)),
      Event(kTime + 20, 2,
            Tensor("perf/step_time_seconds",
                   NumberField(1, 1) + BytesField(2, "") + BytesField(4, FloatBits(9.5)))),
      Event(kTime + 20, 2,
            Tensor("double", NumberField(1, 2) + BytesField(6, DoubleField(1, 0.125).substr(1)))),
      Event(kTime + 20, 2, Tensor("count", NumberField(1, 9) + NumberField(10, 7))),
      Event(kTime + 20, 2, Tensor("half", NumberField(1, 19) + NumberField(13, 0x3c00))),
      Event(kTime + 20, 2, Tensor("bfloat16", NumberField(1, 14) + NumberField(13, 0x4040))));
  for (const std::size_t piece : {1U << 20, 5U}) {
    EXPECT_EQ(ReadAs(Form::kEventFile, kPath, file, piece),
              "runs/exp1 bfloat16: 1700000020000/2=3\n"
              "runs/exp1 count: 1700000020000/2=7\n"
              "runs/exp1 double: 1700000020000/2=0.125\n"
              "runs/exp1 half: 1700000020000/2=1\n"
              "runs/exp1 perf/step_time_seconds: 1700000020000/2=9.5\n"
              "runs/exp1 train/loss: 1700000010000/1=2.5 1700000020000/2=2.25\n");
  }
}

TEST(EventFile, WhatIsNoScalarIsPassedOver) {
  const std::string file = absl::StrCat(
      EventFileHead(kTime),
      // A histogram, a text, a tensor with two numbers, a graph, an event of no time.
      Event(kTime, 1, BytesField(1, "h") + BytesField(5, DoubleField(1, 1))),
      Event(kTime, 1, Tensor("text", NumberField(1, 7) + BytesField(8, "lr=0.1"))),
      Event(kTime, 1,
            Tensor("two", NumberField(1, 1) + BytesField(2, BytesField(2, NumberField(1, 2))) +
                              BytesField(4, FloatBits(1) + FloatBits(2)))),
      TfRecord(DoubleField(1, kTime) + BytesField(4, "graph")), Event(-1, 1, Simple("x", 1)),
      Event(kTime, 1,
            Tensor("one", NumberField(1, 1) + BytesField(2, BytesField(2, NumberField(1, 1))) +
                              BytesField(4, FloatBits(4)))));
  EXPECT_EQ(ReadAs(Form::kEventFile, kPath, file), "runs/exp1 one: 1700000000000/1=4\n");
}

TEST(EventFile, DamageIsToldAndCostsLittle) {
  std::string file = EventFileHead(kTime) + Event(kTime + 1, 1, Simple("loss", 3)) +
                     Event(kTime + 2, 2, Simple("loss", 2));
  std::vector<std::string> notes;
  // A record that changed is left out; the next one is found.
  std::string changed = file;
  changed[EventFileHead(kTime).size() + 30] ^= 1;
  EXPECT_EQ(ReadAs(Form::kEventFile, kPath, changed, 100, &notes),
            "runs/exp1 loss: 1700000002000/2=2\n");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("1 damaged records are left out")));
  // A length that changed leaves no way to the next record.
  changed = file;
  changed[EventFileHead(kTime).size()] ^= 1;
  EXPECT_THAT(ReadAs(Form::kEventFile, kPath, changed, 100, &notes), IsEmpty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("is damaged at byte")));
  // A job that was killed leaves half a record.
  EXPECT_EQ(ReadAs(Form::kEventFile, kPath, file.substr(0, file.size() - 3), 100, &notes),
            "runs/exp1 loss: 1700000001000/1=3\n");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("cut off within a record")));
  for (std::size_t at = 0; at < file.size(); ++at) {
    static_cast<void>(ReadAs(Form::kEventFile, kPath, file.substr(0, at), 7));
    std::string flipped = file;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x41);
    static_cast<void>(ReadAs(Form::kEventFile, kPath, flipped, 7));
  }
}

TEST(EventFile, ALengthThatNobodyHasIsPassedOver) {
  const std::string length = Fixed(~std::uint64_t{0}, 8);
  const std::string file =
      absl::StrCat(EventFileHead(kTime), length, Fixed(MaskedCrc32c(length), 4), "rest");
  EXPECT_THAT(ReadAs(Form::kEventFile, kPath, file), IsEmpty());
}

}  // namespace event_file_test
}  // namespace galen::run_records
