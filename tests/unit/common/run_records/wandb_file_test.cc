// Claims about run-*.wandb. Inputs are made with the fields of wandb/wandb
// wandb/proto/wandb_internal.proto and the framing of wandb/sdk/internal/datastore.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/common/run_records/run_records_testing.h"

namespace galen::run_records {
namespace wandb_file_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string TheRun() { return NumberField(1, 1) + BytesField(17, BytesField(1, "abc123")); }

std::string History(int step) {
  return WandbHistory(
      static_cast<std::uint64_t>(step) + 1,
      absl::StrCat(WandbItem("train/loss", absl::StrCat(3 - step, ".5")),
                   WandbItem("_timestamp", absl::StrCat(1'700'000'000 + step, ".25")),
                   WandbItem("_step", absl::StrCat(step)), WandbItem("note", "\"text\"")));
}

TEST(WandbFile, HistoriesAreRead) {
  const std::string file =
      WandbFile({TheRun(), History(1),
                 NumberField(1, 9) + BytesField(13, BytesField(3, "console output")), History(2)});
  EXPECT_EQ(FormOf(file), Form::kWandb);
  for (const std::size_t piece : {1U << 20, 3U}) {
    EXPECT_EQ(ReadAs(Form::kWandb, "run-abc123.wandb", file, piece),
              "abc123 train/loss: 1700000001250/1=2.5 1700000002250/2=1.5\n");
  }
}

TEST(WandbFile, NestedKeysAndNumbersThatJsonCannotWrite) {
  const std::string nested =
      BytesField(1, BytesField(2, "train") + BytesField(2, "loss") + BytesField(16, "\"NaN\""));
  const std::string file =
      WandbFile({WandbHistory(1, absl::StrCat(nested, WandbItem("_timestamp", "1700000000"),
                                              BytesField(2, NumberField(1, 7))))});
  EXPECT_EQ(ReadAs(Form::kWandb, "x/run-q.wandb", file),
            "run-q.wandb train.loss: 1700000000000/7=nan\n");
}

TEST(WandbFile, RecordsGoOnInTheNextBlock) {
  const std::string output = NumberField(1, 2) + BytesField(13, std::string(70'000, 'x'));
  const std::string file = WandbFile({TheRun(), output, History(1), output, History(2)});
  EXPECT_EQ(ReadAs(Form::kWandb, "r", file, 1000),
            "abc123 train/loss: 1700000001250/1=2.5 1700000002250/2=1.5\n");
}

TEST(WandbFile, DamageIsToldAndCostsLittle) {
  const std::string file = WandbFile({TheRun(), History(1), History(2)});
  std::vector<std::string> notes;
  std::string changed = file;
  changed[WandbFile({TheRun()}).size() + 20] ^= 1;
  EXPECT_EQ(ReadAs(Form::kWandb, "r", changed, 100, &notes),
            "abc123 train/loss: 1700000002250/2=1.5\n");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("1 damaged chunks are left out")));
  EXPECT_EQ(ReadAs(Form::kWandb, "r", file.substr(0, file.size() - 5), 100, &notes),
            "abc123 train/loss: 1700000001250/1=2.5\n");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("ends within a record")));
  EXPECT_THAT(ReadAs(Form::kWandb, "r", file.substr(0, 7), 100, &notes), IsEmpty());
  EXPECT_THAT(notes, IsEmpty());
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string flipped = file;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x41);
    static_cast<void>(ReadAs(Form::kWandb, "r", flipped, 7));
  }
}

}  // namespace wandb_file_test
}  // namespace galen::run_records
