#include "common/curation/tickets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "site_files.h"
#include "tests/testing/status_matchers.h"

namespace galen::curation {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

Tickets Json(const std::string& text) {
  std::istringstream in(text);
  return ReadJsonLines(in, "t.jsonl");
}

Tickets Csv(const std::string& text) {
  std::istringstream in(text);
  return ReadCsv(in, "t.csv");
}

TEST(JsonTickets, AreReadByTheNamesThatTicketSystemsUse) {
  const Tickets read = Json(
      R"({"key": "OPS-1", "summary": "It hangs", "body": "At step 3", "logs": ["a", "b"], )"
      R"("created_at": "2025-03-14T10:00:00Z", "root_cause_label": "GPU.MEMORY.ECC", )"
      R"("environment": {"gpu": "H100", "count": 8}, "fix": "Card replaced", "url": "http://x", )"
      R"("comments": [{"author": "eve", "body": "ran dmesg"}], )"
      R"("verification": [{"tool": "nvidia-smi", "observation": "3 errors"}], "priority": "P1"})");
  EXPECT_THAT(read.problems, IsEmpty());
  ASSERT_THAT(read.tickets, SizeIs(1));
  const Ticket& ticket = read.tickets[0];
  EXPECT_EQ(ticket.id, "OPS-1");
  EXPECT_EQ(ticket.title, "It hangs");
  EXPECT_EQ(ticket.description, "At step 3");
  EXPECT_THAT(ticket.logs, ElementsAre("a", "b"));
  EXPECT_EQ(ticket.date, "2025-03-14");
  EXPECT_EQ(ticket.label, "GPU.MEMORY.ECC");
  EXPECT_THAT(ticket.environment, ElementsAre(Pair("count", "8"), Pair("gpu", "H100")));
  EXPECT_EQ(ticket.resolution, "Card replaced");
  EXPECT_EQ(ticket.reference, "http://x");
  EXPECT_THAT(ticket.discussion, ElementsAre("ran dmesg"));
  EXPECT_THAT(ticket.verification, ElementsAre("nvidia-smi: 3 errors"));
}

TEST(JsonTickets, ALineThatIsNoTicketIsNamedAndTheOthersAreRead) {
  const Tickets read = Json(
      "not json\n"
      "{\"title\": \"good\"}\n"
      "[1, 2]\n"
      "\n"
      "{\"id\": \"empty\"}\n"
      "{\"id\": \"ticket-2\", \"title\": \"taken\"}\n"
      "{\"title\": \"date\", \"date\": \"03/14/2025\"}\n");
  ASSERT_THAT(read.tickets, SizeIs(2));
  EXPECT_EQ(read.tickets[0].id, "ticket-2");
  EXPECT_EQ(read.tickets[1].date, "");
  EXPECT_THAT(
      read.problems,
      ElementsAre(HasSubstr("t.jsonl:1: no JSON object"), HasSubstr("t.jsonl:3: no JSON object"),
                  HasSubstr("t.jsonl:5: a ticket without title and description"),
                  HasSubstr("t.jsonl:6: a second ticket ticket-2"),
                  HasSubstr("t.jsonl:7: the date \"03/14/2025\" is left out")));
}

TEST(JsonTickets, HostileInputIsBounded) {
  const std::string deep = std::string(100'000, '[');
  const std::string wide = absl::StrCat("{\"title\": \"", std::string(2 << 20, 'x'), "\"}");
  const std::string nested = absl::StrCat("{\"title\": \"n\", \"comments\": ", std::string(50, '['),
                                          "\"x\"", std::string(50, ']'), "}");
  const Tickets read = Json(absl::StrCat("{\"a\": ", deep, "\n", wide, "\n",
                                         "{\"title\": \"esc\\u001b[31m \xff\xfe\"}\n", nested, "\n",
                                         std::string("{\"title\": \"nul\0\"}", 16), "\n"));
  EXPECT_GE(read.problems.size(), 2u);
  for (const Ticket& ticket : read.tickets) {
    EXPECT_EQ(ticket.title.find('\x1b'), std::string::npos);
    EXPECT_LT(ticket.title.size(), 1000u);
  }
  std::string many;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&many, "bad line\n");
  EXPECT_LE(Json(many).problems.size(), 201u);
}

TEST(JsonTickets, ALongTextIsTruncated) {
  const Tickets read = Json(
      absl::StrCat("{\"description\": \"", std::string(500'000, 'd'), "\", \"title\": \"t\"}\n"));
  ASSERT_THAT(read.tickets, SizeIs(1));
  EXPECT_LE(read.tickets[0].description.size(), 64u << 10);
}

TEST(CsvTickets, AreReadByTheirHeadLine) {
  const Tickets read =
      Csv("\xEF\xBB\xBFNumber,Short description,Description,Opened,Close notes,Priority\r\n"
          "INC1,\"Job, hangs\",\"line one\nline \"\"two\"\"\",2025-01-02 03:04,\"done\",1\r\n"
          "INC2,plain,text,2025-02-03,,2\r\n");
  EXPECT_THAT(read.problems, IsEmpty());
  ASSERT_THAT(read.tickets, SizeIs(2));
  EXPECT_EQ(read.tickets[0].id, "INC1");
  EXPECT_EQ(read.tickets[0].title, "Job, hangs");
  EXPECT_EQ(read.tickets[0].description, "line one\nline \"two\"");
  EXPECT_EQ(read.tickets[0].date, "2025-01-02");
  EXPECT_EQ(read.tickets[0].resolution, "done");
  EXPECT_EQ(read.tickets[1].line, 4);
}

TEST(CsvTickets, AFileThatIsNoneIsToldAndBounded) {
  EXPECT_THAT(Csv("a,b\n1,2\n").problems,
              ElementsAre(HasSubstr("t.csv:1: the head line names no")));
  EXPECT_THAT(Csv("").problems, SizeIs(1));
  EXPECT_THAT(Csv("title,id\nx,1,2,3\n").problems, ElementsAre(HasSubstr("t.csv:2: 4 fields")));
  const Tickets open_quote = Csv(absl::StrCat("title\n\"", std::string(3 << 20, 'q')));
  EXPECT_THAT(open_quote.problems, ElementsAre(HasSubstr("is a quote left open?")));
  EXPECT_THAT(Csv(absl::StrCat("title", std::string(100'000, ','), "\nx\n")).tickets, SizeIs(1));
}

TEST(Tickets, AreReadByTheEndingOfTheFile) {
  Folder folder;
  folder.Write("t.CSV", "title\nfrom csv\n").Write("t.jsonl", "{\"title\": \"from json\"}\n");
  EXPECT_EQ(ReadTickets(folder.path() + "/t.CSV")->tickets[0].title, "from csv");
  EXPECT_EQ(ReadTickets(folder.path() + "/t.jsonl")->tickets[0].title, "from json");
  EXPECT_THAT(ReadTickets(folder.path() + "/none"), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(ReadTickets(folder.path()), StatusIs(absl::StatusCode::kNotFound, _));
}

}  // namespace
}  // namespace galen::curation
