#include "common/incident_history/embedder.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

double Cosine(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum * static_cast<double>(a.scale) * static_cast<double>(b.scale);
}

Vector Of(absl::string_view text) { return *HashedEmbedder().EmbedDocument(text); }

TEST(Tokens, KeepsNamesAndDropsAddressesAndLongNumbers) {
  EXPECT_THAT(
      Tokens("NCCL WARN Connect to 10.117.1.4<41000> failed, libcuda.so.1 0xdeadbeef Xid 79."),
      ElementsAre("nccl", "warn", "connect", "to", "failed", "libcuda.so.1", "xid", "79"));
}

TEST(Tokens, HashesAreTheSameEverywhere) {
  // Files contain these hashes.
  EXPECT_EQ(Hash64("nccl"), Hash64("nccl"));
  EXPECT_EQ(Mix(1), 0xb456bcfc34c2cb2cU);
}

TEST(Analyse, CountsWordsAndBoundsWhatItReads) {
  const Analysis analysis = Analyse("link down link up");
  EXPECT_EQ(analysis.length, 4);
  EXPECT_EQ(analysis.terms.size(), 3U);
  EXPECT_EQ(analysis.pairs.size(), 3U);
  std::string flood;
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&flood, "w", i % 3000, " ");
  const Analysis bounded = Analyse(flood);
  EXPECT_LE(bounded.length, kMaxTextBytes / 2);
  EXPECT_TRUE(std::is_sorted(bounded.pairs.begin(), bounded.pairs.end()));
}

TEST(HashedEmbedder, GivesTheSameVectorForTheSameText) {
  const Vector a = Of("GPU fell off the bus, Xid 79 on node7");
  EXPECT_EQ(a.values, Of("GPU fell off the bus, Xid 79 on node7").values);
  EXPECT_EQ(a.values.size(), HashedEmbedder::kDimensions);
  EXPECT_NEAR(Cosine(a, a), 1, 1e-6);
}

TEST(HashedEmbedder, LikensWhatSharesWordsPairsAndPiecesOfWords) {
  const Vector question = Of("NCCL timeout on allreduce after a link flapped");
  const double same_fault = Cosine(question, Of("allreduce NCCL timeouts since the link flaps"));
  const double other_fault =
      Cosine(question, Of("checkpoint cannot be written, disk quota exceeded"));
  EXPECT_GT(same_fault, 0.3);
  EXPECT_LT(other_fault, 0.25);
}

TEST(HashedEmbedder, SaysNothingOfATextWithoutWords) {
  EXPECT_THAT(Of("... 0x12 !").values, IsEmpty());
  EXPECT_EQ(Of("").scale, 0);
}

TEST(Quantize, UsesTheWholeRangeAndRefusesWhatIsNoNumber) {
  const Vector vector = Quantize({3, -4, 0});
  EXPECT_THAT(vector.values, ElementsAre(95, -127, 0));
  EXPECT_NEAR(vector.scale * 127, 0.8, 0.01);
  EXPECT_THAT(Quantize({1, std::numeric_limits<float>::quiet_NaN()}).values, IsEmpty());
  EXPECT_THAT(Quantize({1, std::numeric_limits<float>::infinity()}).values, IsEmpty());
  EXPECT_THAT(Quantize({0, 0}).values, IsEmpty());
}

}  // namespace
}  // namespace galen::incident_history
