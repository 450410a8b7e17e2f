#include "common/log_analysis/triage/writer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::triage {
namespace writer_test {

struct Case {
  const char* line;
  const char* prefix;
  const char* writer;
};

TEST(Writer, IsToldByThePrefixesOfLaunchers) {
  for (const Case& one : {
           Case{"0: 2025-04-11 16:49:59 I [train.py:156] Creating Model", "0: ", "task 0"},
           Case{" 12: text", " 12: ", "task 12"},
           Case{"[rank3]: Traceback (most recent call last):", "[rank3]:", "rank 3"},
           Case{"[default7]: iteration    45000/  115311 |", "[default7]:", "local rank 7"},
           Case{"1: [rank9]:[E506 07:08:09.1 x.cpp:616]", "1: [rank9]:", "rank 9"},
           Case{"2: [default7]: text", "2: [default7]:", "local rank 7 of task 2"},
           Case{"vm-07-05: [2023-11-29 08:50:48,288] [INFO]", "vm-07-05: ", "vm-07-05"},
           Case{"vm-07-05: [default1]:x", "vm-07-05: [default1]:", "local rank 1 of vm-07-05"},
           Case{"(RayTrainWorker pid=81234, ip=10.0.3.17) step",
                "(RayTrainWorker pid=81234, ip=10.0.3.17)",
                "RayTrainWorker pid=81234, ip=10.0.3.17"},
       }) {
    const absl::string_view prefix = WriterPrefix(one.line);
    EXPECT_EQ(prefix, one.prefix) << one.line;
    EXPECT_EQ(ToString(ParseWriter(prefix)), one.writer) << one.line;
  }
}

TEST(Writer, IsNobodyWhereNoPrefixStands) {
  for (const char* line :
       {" iteration 1/ 5 | consumed samples", "[2024-05-01 12:00:00] iteration", "Epoch 0: 3%",
        "step: 5  loss: 1.0", "2025-03-04 00:44:44,441 - root - INFO - step", "12:30:01 x",
        "[rank]: x", "[rank3] x", "(pretraining) x", "12345678901: x", "", "[", "(", ":", "7"}) {
    EXPECT_EQ(WriterPrefix(line), "") << line;
    EXPECT_EQ(ToString(ParseWriter(WriterPrefix(line))), "") << line;
  }
}

}  // namespace writer_test
}  // namespace galen::triage
