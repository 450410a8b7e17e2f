#include "services/execution/hash_ring.h"

#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"

namespace galen::execution {
namespace {

constexpr int kNames = 10000;

std::vector<std::string> Members(int count) {
  std::vector<std::string> members;
  for (int i = 0; i < count; ++i) members.push_back(absl::StrCat("10.0.0.", i, ":50053"));
  return members;
}

std::string Name(int i) { return absl::StrCat("node-", i); }

TEST(HashRing, WithoutMembersNobodyOwnsAnything) { EXPECT_EQ(HashRing({}).OwnerOf("n1"), ""); }

TEST(HashRing, TheOrderOfMembersDoesNotMatter) {
  const HashRing one({"a:1", "b:1", "c:1"});
  const HashRing other({"c:1", "a:1", "b:1"});
  for (int i = 0; i < kNames; ++i) EXPECT_EQ(one.OwnerOf(Name(i)), other.OwnerOf(Name(i)));
}

TEST(HashRing, SharesAreAboutEqual) {
  const HashRing ring(Members(4));
  std::map<std::string, int> owned;
  for (int i = 0; i < kNames; ++i) ++owned[ring.OwnerOf(Name(i))];
  ASSERT_EQ(owned.size(), 4u);
  for (const auto& [member, count] : owned) {
    EXPECT_NEAR(count, kNames / 4, kNames / 12) << member;
  }
}

TEST(HashRing, OneMemberMoreTakesItsShareAndMovesNothingElse) {
  for (const int members : {1, 2, 3, 8}) {
    const HashRing before(Members(members));
    const HashRing after(Members(members + 1));
    const std::string newcomer = Members(members + 1).back();
    int moved = 0;
    for (int i = 0; i < kNames; ++i) {
      if (before.OwnerOf(Name(i)) == after.OwnerOf(Name(i))) continue;
      EXPECT_EQ(after.OwnerOf(Name(i)), newcomer);
      ++moved;
    }
    const double share = static_cast<double>(kNames) / (members + 1);
    EXPECT_GT(moved, share * 0.6) << members;
    EXPECT_LT(moved, share * 1.4) << members;
  }
}

// Another process, built elsewhere, must make the same choice.
TEST(HashRing, HashesAreTheSameEverywhere) {
  EXPECT_EQ(StableHash(""), 17280346270528514342u);
  EXPECT_NE(StableHash("node-1"), StableHash("node-2"));
}

}  // namespace
}  // namespace galen::execution
