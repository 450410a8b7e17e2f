#include "common/curation/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/curation/proposal_store.h"
#include "common/knowledge/knowledge.h"
#include "site_files.h"
#include "tests/testing/status_matchers.h"

namespace galen::curation {
namespace {

using ::galen::testing::IsOk;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Two tickets of a fault that the knowledge does not have, described in different words by two
// people, one with a known message, one with known words, one that names its label, and one that
// names a new one.
constexpr absl::string_view kTickets =
    R"({"id": "T-1", "title": "Job dies", "description": "It stops after a while.", "logs": ["CUDA error: uncorrectable ECC error encountered"], "date": "2025-05-01"}
{"id": "T-2", "title": "Checkpoint volume full", "description": "Writing the checkpoint fails because the checkpoint volume is full.", "resolution": "The checkpoint volume was full. Ran `df -h` and saw 100 percent. Deleted old checkpoints."}
{"id": "T-3", "title": "Saving the checkpoint fails, volume full", "description": "No space on the checkpoint volume, it is full again.", "comments": ["`df -h` says 100 percent"], "resolution": "Old checkpoints deleted."}
{"id": "T-4", "title": "Cable", "description": "Whatever.", "label": "NET.LINK.DOWN", "comments": ["ibstat says that the link is down on port 1. We waited."]}
{"id": "T-5", "title": "Optics dirty", "description": "Errors rise on one port.", "label": "NET.LINK.DIRTY_OPTICS", "verification": ["ibstat: link down now and then"]}
)";

class IngestTest : public ::testing::Test {
 protected:
  IngestTest() : book_(ParsedText(kBook)) {
    auto labeller = MakeBuiltinLabeller(book_);
    EXPECT_THAT(labeller, IsOk());
    labeller_ = *std::move(labeller);
  }
  Ingested Run(const std::string& text) {
    std::istringstream in(text);
    tickets_ = ReadJsonLines(in, "t.jsonl");
    EXPECT_THAT(tickets_.problems, IsEmpty());
    auto ingested = Ingest(tickets_.tickets, book_, *labeller_, {"t.jsonl", "2026-01-02"});
    EXPECT_THAT(ingested, IsOk());
    return *std::move(ingested);
  }
  static const Proposal* Named(const Ingested& ingested, absl::string_view id) {
    for (const Proposal& proposal : ingested.proposals) {
      if (proposal.id == id) return &proposal;
    }
    return nullptr;
  }

  const knowledge::Knowledge book_;
  std::unique_ptr<const Labeller> labeller_;
  Tickets tickets_;
};

TEST_F(IngestTest, TheFirstPassLabelsATicketByTheMessagesItHolds) {
  const Ingested ingested = Run(std::string(kTickets));
  EXPECT_EQ(ingested.labellings[0].how, Labelling::How::kJudged);
  EXPECT_EQ(ingested.labellings[0].label, "GPU.MEMORY.ECC");
  EXPECT_THAT(ingested.labellings[0].reason, HasSubstr("uncorrectable ECC error"));
  const Proposal* proposal = Named(ingested, "incident-t-1");
  ASSERT_NE(proposal, nullptr);
  EXPECT_EQ(proposal->origin, "t.jsonl:1");
  const auto entries = ParsedText(proposal->knowledge);
  ASSERT_EQ(entries.incidents_size(), 1);
  EXPECT_EQ(entries.incidents(0).label(), "GPU.MEMORY.ECC");
  EXPECT_EQ(entries.incidents(0).date(), "2025-05-01");
  EXPECT_THAT(entries.incidents(0).logs(), SizeIs(1));
}

TEST_F(IngestTest, ALabelThatTheTicketNamesIsTaken) {
  const Ingested ingested = Run(std::string(kTickets));
  EXPECT_EQ(ingested.labellings[3].how, Labelling::How::kNamed);
  const auto entries = ParsedText(Named(ingested, "incident-t-4")->knowledge);
  EXPECT_THAT(entries.incidents(0).verification(),
              ElementsAre("ibstat says that the link is down on port 1"));
}

TEST_F(IngestTest, TheSecondPassBringsNewTicketsOfOneKindTogether) {
  const Ingested ingested = Run(std::string(kTickets));
  EXPECT_EQ(ingested.labellings[1].how, Labelling::How::kNew);
  EXPECT_EQ(ingested.labellings[2].how, Labelling::How::kNew);
  int about_checkpoints = 0;
  for (const Proposal& proposal : ingested.proposals) {
    if (proposal.kind != "label" || !absl::StrContains(proposal.knowledge, "CHECKPOINT")) continue;
    ++about_checkpoints;
    const auto entries = ParsedText(proposal.knowledge);
    ASSERT_EQ(entries.labels_size(), 1);
    EXPECT_EQ(entries.incidents_size(), 2) << "both tickets belong to it";
    EXPECT_EQ(entries.incidents(0).label(), entries.labels(0).label());
    EXPECT_THAT(entries.labels(0).symptoms(), SizeIs(2));
    EXPECT_THAT(entries.labels(0).description(), HasSubstr("The checkpoint volume was full"));
    EXPECT_THAT(proposal.verification,
                ElementsAre("Ran `df -h` and saw 100 percent", "`df -h` says 100 percent"));
    EXPECT_THAT(proposal.knowledge, HasSubstr("# confirm:"));
    EXPECT_THAT(proposal.reason, HasSubstr("2 tickets fit no label"));
  }
  EXPECT_EQ(about_checkpoints, 1) << "and are one proposal";
}

TEST_F(IngestTest, AProposedLabelHasTheRulesThatChecksOfItsStepsWouldDecide) {
  const Ingested ingested = Run(std::string(kTickets));
  const Proposal* proposal = Named(ingested, "label-dirty-optics");
  ASSERT_NE(proposal, nullptr);
  const auto entries = ParsedText(proposal->knowledge);
  EXPECT_EQ(entries.labels(0).label(), "NET.LINK.DIRTY_OPTICS");
  ASSERT_EQ(entries.labels(0).confirm_size(), 1);
  EXPECT_EQ(entries.labels(0).confirm(0).check(), "net.cable");
  EXPECT_EQ(entries.labels(0).confirm(0).finding(), "link_down");
  EXPECT_EQ(entries.labels(0).added(), "2026-01-02");
}

TEST_F(IngestTest, WhatIsProposedIsAcceptedAsItIsWhereItHasARule) {
  const Ingested ingested = Run(std::string(kTickets));
  Folder shipped;
  Folder site;
  shipped.Write("book.yaml", kBook);
  const ProposalStore store({shipped.path(), site.path()});
  for (const Proposal& proposal : ingested.proposals) {
    ASSERT_THAT(store.Propose(proposal), IsOk());
    const bool has_rule = !absl::StrContains(proposal.knowledge, "# confirm:");
    EXPECT_EQ(store.Accept(proposal.id, "ada", absl::Now()).ok(), has_rule) << proposal.knowledge;
  }
  EXPECT_EQ(Parsed({shipped.path(), site.path()}).incidents_size(), 4);
}

TEST_F(IngestTest, TheHistoryIsNotProposedAgainAndARepeatedTicketCountsOnce) {
  const std::string again =
      "\"title\": \"Job dies\", \"logs\": [\"uncorrectable ECC error encountered on device 3\"], "
      "\"description\": \"The training job dies each night shortly after the first epoch.\"}\n";
  const Ingested ingested = Run(absl::StrCat("{\"id\": \"old-1\", \"title\": \"x\"}\n",
                                             "{\"id\": \"a\", ", again, "{\"id\": \"b\", ", again));
  EXPECT_EQ(ingested.labellings[0].how, Labelling::How::kKnown);
  EXPECT_EQ(ingested.labellings[1].how, Labelling::How::kJudged);
  EXPECT_EQ(ingested.labellings[2].how, Labelling::How::kKnown);
  EXPECT_THAT(ingested.labellings[2].reason, HasSubstr("the same as a"));
  EXPECT_THAT(ingested.proposals, SizeIs(1));
}

TEST_F(IngestTest, TheSameFileGivesTheSameProposals) {
  const Ingested one = Run(std::string(kTickets));
  const Ingested two = Run(std::string(kTickets));
  ASSERT_EQ(one.proposals.size(), two.proposals.size());
  for (std::size_t i = 0; i < one.proposals.size(); ++i) {
    EXPECT_EQ(ToText(one.proposals[i]), ToText(two.proposals[i]));
  }
}

TEST_F(IngestTest, HostileTicketsBecomeProposalsThatCanBeRead) {
  std::string text;
  for (const char* title :
       {"proposal:\\n  id: evil", "'; rm -rf /", "--- !!python/object", "\\u2028\\u0085\\ufeff",
        "{{{{", "- - - -", "label: GPU\\nconfirm: []", "\\u0001x\\u0002"}) {
    absl::StrAppend(&text, "{\"id\": \"", title, "\", \"title\": \"", title,
                    "\", \"description\": \"", title, "\", \"label\": \"", title, "\"}\n");
  }
  for (const Proposal& proposal : Run(text).proposals) {
    const auto again = ProposalFromText("p.yaml", ToText(proposal));
    ASSERT_THAT(again, IsOk()) << ToText(proposal);
    EXPECT_EQ(again->id, proposal.id);
    ParsedText(again->knowledge);
  }
}

TEST_F(IngestTest, NothingGivesNothing) {
  const Ingested ingested = Run("");
  EXPECT_THAT(ingested.proposals, IsEmpty());
  EXPECT_THAT(ingested.labellings, IsEmpty());
}

// A labeller with its own answers, right and wrong ones.
class Wordy final : public Labeller {
 public:
  explicit Wordy(const Labeller& inner) : inner_(inner) {}
  absl::StatusOr<Labelling> Label(const Ticket& ticket) const override {
    return inner_.Label(ticket);
  }
  CommonCause Describe(const std::vector<const Ticket*>& tickets) const override {
    EXPECT_FALSE(tickets.empty());
    return words;
  }
  std::vector<std::string> Steps(const Ticket&) const override { return steps; }

  CommonCause words;
  std::vector<std::string> steps;

 private:
  const Labeller& inner_;
};

TEST_F(IngestTest, ALabellersWordsGoIntoTheProposalAndSayWhoseTheyAre) {
  Wordy wordy(*labeller_);
  wordy.words = {"",
                 "Checkpoint volume fills up",
                 "Old checkpoints are never deleted.",
                 {"writing fails"},
                 "the model m"};
  wordy.steps = {"Deleted old checkpoints.", "rm -rf / # which no ticket says"};
  std::istringstream in{std::string(kTickets)};
  const Tickets tickets = ReadJsonLines(in, "t.jsonl");
  const auto ingested = Ingest(tickets.tickets, book_, wordy, {"t.jsonl", "2026-01-02"});
  ASSERT_THAT(ingested, IsOk());
  int described = 0;
  for (const Proposal& proposal : ingested->proposals) {
    EXPECT_THAT(proposal.knowledge, Not(HasSubstr("rm -rf")));
    for (const std::string& step : proposal.verification)
      EXPECT_THAT(step, Not(HasSubstr("rm -rf")));
    if (!absl::StrContains(proposal.knowledge, "Old checkpoints are never deleted.")) continue;
    ++described;
    EXPECT_THAT(proposal.reason, HasSubstr("put into words by the model m"));
    EXPECT_THAT(proposal.verification, Contains("Deleted old checkpoints."));
  }
  EXPECT_EQ(described, 1);
}

TEST_F(IngestTest, OnlyALeafOfTheTaxonomyIsTakenForKnown) {
  for (const char* known : {"NET.LINK.DOWN", "EVIL.LABEL", "NET"}) {
    Wordy wordy(*labeller_);
    wordy.words.known = known;
    wordy.words.by = "the model m";
    std::istringstream in{std::string(kTickets)};
    const Tickets tickets = ReadJsonLines(in, "t.jsonl");
    const auto ingested = Ingest(tickets.tickets, book_, wordy, {"t.jsonl", "2026-01-02"});
    ASSERT_THAT(ingested, IsOk());
    const Labelling& of_volume = ingested->labellings[1];
    const bool leaf = std::string(known) == "NET.LINK.DOWN";
    EXPECT_EQ(of_volume.how, leaf ? Labelling::How::kJudged : Labelling::How::kNew) << known;
    if (!leaf) continue;
    EXPECT_THAT(of_volume.reason, HasSubstr("the model m takes them for it"));
  }
}

}  // namespace
}  // namespace galen::curation
