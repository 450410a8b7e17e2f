#include "common/llm/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace galen::llm {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> ReadInPieces(absl::string_view text, std::size_t size) {
  SseReader reader(1000);
  std::vector<std::string> events;
  while (!text.empty()) {
    EXPECT_TRUE(reader
                    .Take(text.substr(0, size),
                          [&](absl::string_view data) {
                            events.emplace_back(data);
                            return absl::OkStatus();
                          })
                    .ok());
    text.remove_prefix(std::min(size, text.size()));
  }
  return events;
}

TEST(Sse, IsTheSameInPiecesOfAnySize) {
  const std::string text =
      "\xEF\xBB\xBF"
      "data: one\n\n: a comment\nevent: x\ndata:two\rdata: more\r\rid: 7\r\ndata\r\n\r\n"
      "retry: 3\n\ndata: [DONE]\n\ndata: never finished";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    EXPECT_THAT(ReadInPieces(text, size), ElementsAre("one", "two\nmore", "", "[DONE]")) << size;
  }
}

TEST(Sse, RefusesAnEventWithoutEnd) {
  SseReader reader(100);
  const auto ignore = [](absl::string_view) { return absl::OkStatus(); };
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = reader.Take("data: 12345678\n", ignore);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST(Sse, StopsAtTheFirstErrorOfItsReader) {
  SseReader reader(100);
  int calls = 0;
  const absl::Status status = reader.Take("data: 1\n\ndata: 2\n\n", [&](absl::string_view) {
    ++calls;
    return absl::CancelledError("enough");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace galen::llm
