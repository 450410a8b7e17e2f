#include "common/intake/pasted_evidence_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/intake/kinds_for_test.h"

namespace galen::intake {
namespace keeper_test {

using ::galen::testing::IsOk;
using ::galen::testing::Scratch;
using ::testing::IsEmpty;
using ::testing::Not;

class PastedEvidenceStoreTest : public ::testing::Test {
 protected:
  // Gives the evidence_store an incident with that description.
  v1::Incident Take(const char* description, const char* node = nullptr) {
    v1::Incident incident;
    incident.set_description(description);
    if (node != nullptr) incident.add_nodes(node);
    const PastedEvidenceStore evidence_store(
        scratch_ / "evidence", std::shared_ptr<const Kinds>(&ShippedKinds(), [](const Kinds*) {}),
        absl::Hours(1));
    const auto taken = evidence_store.Take(incident, "d1", absl::Now());
    EXPECT_THAT(taken, IsOk());
    return taken.ok() ? *taken : v1::Incident();
  }

  const Scratch scratch_;
};

TEST_F(PastedEvidenceStoreTest, WordsStayWords) {
  EXPECT_THAT(Take("the job hangs").bundle(), IsEmpty());
  EXPECT_EQ(Take("the job hangs").description(), "the job hangs");
}

TEST_F(PastedEvidenceStoreTest, WhatAProgramPrintedBecomesEvidence) {
  EXPECT_THAT(Take("look:\n```\n$ uname -r\n6.1.0\n```\n").bundle(), Not(IsEmpty()));
  EXPECT_THAT(Take("it dies with RuntimeError: CUDA error: out of memory").bundle(),
              Not(IsEmpty()));
}

TEST_F(PastedEvidenceStoreTest, AQuotationLeavesNamedNodesLive) {
  const char* const quoting = "it dies with RuntimeError: CUDA error: out of memory";
  const v1::Incident live = Take(quoting, "gpu07");
  EXPECT_THAT(live.bundle(), IsEmpty());
  EXPECT_EQ(live.description(), quoting);
}

}  // namespace keeper_test
}  // namespace galen::intake
