#include "common/kube/resource.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace galen::kube {
namespace {

using galen::testing::StatusIs;
using ::testing::HasSubstr;

TEST(PathOf, IsThatOfKubernetes) {
  const Resource nodes{"", "v1", "nodes"};
  const Resource diagnoses{"galen.io", "v1", "diagnoses"};
  EXPECT_EQ(*PathOf(nodes, {}), "/api/v1/nodes");
  EXPECT_EQ(*PathOf(nodes, {"", "gpu-1"}, "status"), "/api/v1/nodes/gpu-1/status");
  EXPECT_EQ(*PathOf({"", "v1", "events"}, {"default", ""}), "/api/v1/namespaces/default/events");
  EXPECT_EQ(*PathOf(diagnoses, {"team-a", "slow"}),
            "/apis/galen.io/v1/namespaces/team-a/diagnoses/slow");
  // Names of some kinds have colons (RBAC).
  EXPECT_EQ(*PathOf({"rbac.authorization.k8s.io", "v1", "clusterroles"}, {"", "system:node"}),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node");
}

TEST(PathOf, LeadsNowhereElseWhateverANameSays) {
  const Resource nodes{"", "v1", "nodes"};
  for (const std::string& name :
       {std::string(".."), std::string("."), std::string("a/b"), std::string("a/../secrets"),
        std::string("a%2fb"), std::string("a\nb"), std::string("a\0b", 3), std::string("a\x7f"),
        std::string(254, 'a')}) {
    EXPECT_THAT(PathOf(nodes, {"", name}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name")))
        << name;
    EXPECT_THAT(PathOf(nodes, {name, "a"}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("namespace")));
  }
  EXPECT_EQ(*PathOf(nodes, {"", "a b?c=d#e&f"}), "/api/v1/nodes/a%20b%3Fc%3Dd%23e%26f");
  EXPECT_EQ(*PathOf(nodes, {"", "\xc3\xa9"}), "/api/v1/nodes/%C3%A9");
}

TEST(QueryText, EscapesValuesAndLeavesOutWhatIsEmpty) {
  EXPECT_EQ(QueryText({}), "");
  EXPECT_EQ(QueryText({{"a", ""}}), "");
  EXPECT_EQ(QueryText({{"limit", "500"}, {"continue", ""}, {"labelSelector", "a=b,c in (d)"}}),
            "?limit=500&labelSelector=a%3Db%2Cc%20in%20%28d%29");
}

}  // namespace
}  // namespace galen::kube
