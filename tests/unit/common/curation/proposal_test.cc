#include "common/curation/proposal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/curation/proposal_store.h"
#include "common/knowledge/knowledge.h"
#include "site_files.h"
#include "tests/testing/status_matchers.h"

namespace galen::curation {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kNow =
    absl::FromCivil(absl::CivilSecond(2026, 3, 14, 15, 9, 26), absl::UTCTimeZone());

Proposal AnIncident(const std::string& id = "incident-new-1") {
  Proposal proposal;
  proposal.id = id;
  proposal.kind = "incident";
  proposal.made = "2026-03-01";
  proposal.origin = "tickets.jsonl:12";
  proposal.reason = "its words: \"quoted\", with a colon: here";
  proposal.verification = {"nvidia-smi -q: 3 errors", "# looks like a comment"};
  proposal.knowledge = absl::StrCat("incidents:\n  - id: ", id,
                                    "\n    title: Memory again\n    label: GPU.MEMORY.ECC\n");
  return proposal;
}

class ProposalStoreTest : public ::testing::Test {
 protected:
  ProposalStoreTest() { shipped_.Write("book.yaml", kBook); }

  std::vector<std::string> Directories() const { return {shipped_.path(), site_.path()}; }

  Folder shipped_;
  Folder site_;
  const ProposalStore store_{{shipped_.path(), site_.path()}};
};

TEST(ProposalText, ComesBackAsItWas) {
  const Proposal proposal = AnIncident();
  const auto again = ProposalFromText("p.yaml", ToText(proposal));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->id, proposal.id);
  EXPECT_EQ(again->kind, proposal.kind);
  EXPECT_EQ(again->made, proposal.made);
  EXPECT_EQ(again->origin, proposal.origin);
  EXPECT_EQ(again->reason, proposal.reason);
  EXPECT_EQ(again->verification, proposal.verification);
  EXPECT_EQ(ToText(*again), ToText(proposal));
}

TEST(ProposalText, KeepsTheLineNumbersOfTheFile) {
  const std::string text = ToText(AnIncident());
  const auto again = ProposalFromText("p.yaml", text);
  ASSERT_THAT(again, IsOk());
  const auto lines_before = [](const std::string& all) {
    return std::count(all.begin(), all.begin() + static_cast<long>(all.find("incidents:")), '\n');
  };
  EXPECT_EQ(lines_before(again->knowledge), lines_before(text));
}

TEST(ProposalText, ACommentAtTheMarginEndsTheHeadNoSoonerThanAKey) {
  const auto read =
      ProposalFromText("p.yaml",
                       "proposal:\n  id: a\n  kind: incident\n  verification:\n"
                       "    - one\n# between\n    - two\n# of what comes\n\nincidents: []\n");
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT(read->verification, ElementsAre("one", "two"));
  EXPECT_EQ(read->knowledge, "\n\n\n\n\n\n\n\n# of what comes\nincidents: []\n");
  const auto again = ProposalFromText("p.yaml", ToText(*read));
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->verification, ElementsAre("one", "two"));
}

TEST(ProposalText, MayBeginWithTheMarkOfItsEncoding) {
  for (const char* text : {"\xEF\xBB\xBFproposal:\n  id: a\n  kind: label\nlabels: []\n",
                           "\xEF\xBB\xBFlabels: []\nproposal:\n  id: a\n  kind: label\n"}) {
    const auto proposal = ProposalFromText("p.yaml", text);
    ASSERT_THAT(proposal, IsOk());
    const auto again = ProposalFromText("p.yaml", ToText(*proposal));
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->id, "a");
  }
}

TEST(ProposalText, RefusesWhatIsNoProposalWithFileAndLine) {
  const auto refused = [](const std::string& text) {
    return ProposalFromText("p.yaml", text).status();
  };
  EXPECT_THAT(refused("labels: []\n"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("p.yaml:1: error: has no `proposal:`")));
  EXPECT_THAT(refused("proposal: {id: ../../etc/passwd, kind: label}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a valid id")));
  EXPECT_THAT(refused("proposal:\n  id: a\n  kidn: label\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("p.yaml:3: error: unknown key \"kidn\"")));
  for (const char* other : {"{proposal: {id: a, kind: label}, labels: []}\n",
                            "'proposal': {id: a, kind: label}\nlabels: []\n",
                            // The head ends within a quotation.
                            "proposal:\n  id: a\n  kind: 'label\nb: '\nlabels: []\n"}) {
    EXPECT_THAT(refused(other), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("the head is not written line by line")));
  }
  EXPECT_THAT(refused("proposal: {id: a\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("p.yaml:")));
  EXPECT_THAT(refused(std::string(kMaxProposalBytes + 1, '#')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes")));
}

TEST(Slug, IsAnIdOrNothing) {
  EXPECT_EQ(Slug("INC 00-12/ä?"), "inc-00-12");
  EXPECT_EQ(Slug("../../etc/passwd"), "etc-passwd");
  EXPECT_EQ(Slug("...---"), "");
  EXPECT_TRUE(IsProposalId(Slug(std::string(5000, 'X'))));
}

TEST_F(ProposalStoreTest, WhatIsProposedWaitsAndIsNoKnowledge) {
  ASSERT_THAT(store_.Propose(AnIncident()), IsOk());
  const auto pending = store_.Pending();
  ASSERT_THAT(pending, IsOk());
  ASSERT_THAT(*pending, SizeIs(1));
  EXPECT_EQ((*pending)[0].origin, "tickets.jsonl:12");
  EXPECT_EQ(Parsed(Directories()).incidents_size(), 1);
}

TEST_F(ProposalStoreTest, WhatIsAcceptedBecomesKnowledgeWithWhoAndWhen) {
  ASSERT_THAT(store_.Propose(AnIncident()), IsOk());
  const auto path = store_.Accept("incident-new-1", "ada", kNow);
  ASSERT_THAT(path, IsOk());
  const auto base = Parsed(Directories());
  ASSERT_EQ(base.incidents_size(), 2);
  EXPECT_EQ(base.incidents(1).id(), "incident-new-1");
  EXPECT_THAT(site_.Read("accepted/incident-new-1.yaml"),
              HasSubstr("# Accepted by ada on 2026-03-14T15:09:26Z: proposal incident-new-1 from "
                        "tickets.jsonl:12."));
  EXPECT_THAT(*store_.Pending(), IsEmpty());
  const auto decisions = store_.Decisions();
  ASSERT_THAT(decisions, SizeIs(1));
  EXPECT_EQ(decisions[0].by, "ada");
  EXPECT_EQ(decisions[0].time, kNow);
  EXPECT_EQ(decisions[0].decision, "accepted");
}

TEST_F(ProposalStoreTest, WhatHasAMistakeIsRefusedWithItsLineAndNothingChanges) {
  Proposal proposal = AnIncident();
  proposal.knowledge = "incidents:\n  - {id: x, title: T, label: GPU.MEMORY.EEC}\n";
  ASSERT_THAT(store_.Propose(proposal), IsOk());
  const std::string file = store_.PathOf(proposal.id);
  EXPECT_THAT(store_.Accept(proposal.id, "ada", kNow),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(absl::StrCat(file,
                                                    ":12: error: past incident x names the "
                                                    "unknown label GPU.MEMORY.EEC")),
                             HasSubstr("did you mean \"GPU.MEMORY.ECC\"?"))));
  EXPECT_THAT(*store_.Pending(), SizeIs(1));
  EXPECT_THAT(store_.Decisions(), IsEmpty());
  EXPECT_FALSE(site_.Has("accepted"));
}

TEST_F(ProposalStoreTest, AProposedLabelWithoutARuleCannotBeAccepted) {
  Proposal proposal = AnIncident("label-x");
  proposal.knowledge =
      "labels:\n  - {label: NET.LINK.SLOW, title: Slow, owner: either, severity: low, prior: "
      "low}\n";
  ASSERT_THAT(store_.Propose(proposal), IsOk());
  EXPECT_THAT(store_.Accept("label-x", "ada", kNow),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is a leaf without a rule that confirms it")));
}

TEST_F(ProposalStoreTest, SomebodyHasToDecide) {
  ASSERT_THAT(store_.Propose(AnIncident()), IsOk());
  for (const char* nobody : {"", "  ", "two\nlines"}) {
    EXPECT_THAT(store_.Accept("incident-new-1", nobody, kNow),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--by")));
  }
  EXPECT_THAT(store_.Reject("incident-new-1", "", "why", kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--by")));
}

TEST_F(ProposalStoreTest, WhatIsRejectedIsRecordedAndNotProposedAgain) {
  ASSERT_THAT(store_.Propose(AnIncident()), IsOk());
  ASSERT_THAT(store_.Reject("incident-new-1", "bob", "a duplicate of old-1", kNow), IsOk());
  const auto again = store_.Propose(AnIncident());
  ASSERT_THAT(again, IsOk());
  EXPECT_FALSE(*again);
  EXPECT_THAT(*store_.Pending(), IsEmpty());
  ASSERT_THAT(store_.Decisions(), SizeIs(1));
  EXPECT_EQ(store_.Decisions()[0].why, "a duplicate of old-1");
  EXPECT_EQ(Parsed(Directories()).incidents_size(), 1);
}

TEST_F(ProposalStoreTest, WhatWasAcceptedIsTakenBackAndStaysOnRecord) {
  ASSERT_THAT(store_.Propose(AnIncident()), IsOk());
  EXPECT_THAT(store_.Undo("incident-new-1", "bob", "why", kNow),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none is accepted")));
  ASSERT_THAT(store_.Accept("incident-new-1", "ada", kNow), IsOk());
  ASSERT_EQ(Parsed(Directories()).incidents_size(), 2);
  EXPECT_THAT(store_.Undo("incident-new-1", "", "why", kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--by")));
  ASSERT_THAT(store_.Undo("incident-new-1", "bob", "it was another fault", kNow), IsOk());
  EXPECT_EQ(Parsed(Directories()).incidents_size(), 1);
  ASSERT_THAT(store_.Decisions(), SizeIs(2));
  EXPECT_EQ(store_.Decisions()[1].decision, "undone");
  EXPECT_EQ(store_.Decisions()[1].why, "it was another fault");
  EXPECT_FALSE(*store_.Propose(AnIncident()));
}

TEST_F(ProposalStoreTest, AnEditTakesThePlaceOfTheProposalUnlessItIsNone) {
  ASSERT_THAT(store_.Propose(AnIncident()), IsOk());
  Proposal edited = AnIncident();
  edited.knowledge = "incidents: [{id: better, title: T, label: NET.LINK.DOWN}]\n";
  EXPECT_THAT(store_.Replace("incident-new-1", "gone"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("proposal")));
  EXPECT_THAT(store_.Replace("incident-new-1", ToText(AnIncident("other"))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leave it as it was")));
  ASSERT_THAT(store_.Replace("incident-new-1", ToText(edited)), IsOk());
  ASSERT_THAT(store_.Accept("incident-new-1", "ada", kNow), IsOk());
  EXPECT_EQ(Parsed(Directories()).incidents(1).id(), "better");
}

TEST_F(ProposalStoreTest, AnIdNeverLeavesTheFolder) {
  for (const char* id : {"../x", "a/b", "", ".hidden", "UPPER", "a b"}) {
    EXPECT_THAT(store_.Find(id),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not an id")));
  }
  EXPECT_THAT(store_.Find("none"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("none waits")));
}

TEST_F(ProposalStoreTest, AFileThatCannotBeWrittenIsNamed) {
  const ProposalStore nowhere({shipped_.path(), "/proc/no-such-place"});
  EXPECT_THAT(nowhere.Propose(AnIncident()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/proc/no-such-place")));
}

TEST_F(ProposalStoreTest, NoHalfWrittenFileStays) {
  ASSERT_THAT(store_.Propose(AnIncident()), IsOk());
  ASSERT_THAT(store_.Accept("incident-new-1", "ada", kNow), IsOk());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(site_.path() + "/accepted")) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, ElementsAre("incident-new-1.yaml"));
}

}  // namespace
}  // namespace galen::curation
