#include "common/security/identity.h"

#include <gtest/gtest.h>

namespace galen::security {
namespace {

TEST(Identity, EveryRoleHasOneThatIsReadBack) {
  for (const Role role : AllRoles()) {
    for (const absl::string_view instance : {"", "node-17.rack_3"}) {
      const std::string uri = IdentityUri("galen.local", role, instance);
      const std::optional<Identity> read = ParseIdentity(uri);
      ASSERT_TRUE(read.has_value()) << uri;
      EXPECT_EQ(read->domain, "galen.local");
      EXPECT_EQ(read->role, role);
      EXPECT_EQ(read->instance, instance);
    }
  }
}

TEST(Identity, RolesAreToldApartByName) {
  for (const Role role : AllRoles()) EXPECT_EQ(ParseRole(NameOf(role)), role);
  EXPECT_EQ(ParseRole("Planning"), std::nullopt);
  EXPECT_EQ(ParseRole(""), std::nullopt);
}

TEST(Identity, WhatOnlyLooksLikeOneIsNone) {
  for (const std::string uri : {"",
                                "spiffe://",
                                "spiffe:///galen/node",
                                "https://galen.local/galen/node",
                                "spiffe://galen.local",
                                "spiffe://galen.local/galen",
                                "spiffe://galen.local/galen/",
                                "spiffe://galen.local/galen/root",
                                "spiffe://galen.local/galen/node/",
                                "spiffe://galen.local/galen/node/a/b",
                                "spiffe://galen.local/galen/node/..",
                                "spiffe://galen.local/galen/node?x",
                                "spiffe://galen.local/galen/node/a b",
                                "spiffe://galen.local:8443/galen/node",
                                "spiffe://Galen.local/galen/node",
                                "spiffe://user@galen.local/galen/node",
                                "spiffe://galen.local/Galen/node",
                                "spiffe://galen.local//galen/node",
                                " spiffe://galen.local/galen/node",
                                "spiffe://galen.local/galen/node "}) {
    EXPECT_FALSE(ParseIdentity(uri).has_value()) << uri;
  }
  EXPECT_FALSE(
      ParseIdentity("spiffe://d/galen/node/" + std::string(kMaxIdentityBytes, 'a')).has_value());
  EXPECT_FALSE(ParseIdentity(std::string("spiffe://d/galen/node\0x", 23)).has_value());
}

TEST(Identity, AResourceIsOfOneTenantOrOfNone) {
  EXPECT_EQ(TenantOf("tenants/t"), "t");
  EXPECT_EQ(TenantOf("tenants/t/diagnoses/d"), "t");
  EXPECT_EQ(TenantOf("tenants//diagnoses/d"), "");
  EXPECT_EQ(TenantOf("/tenants/t"), "");
  EXPECT_EQ(TenantOf("Tenants/t"), "");
  EXPECT_EQ(TenantOf("t"), "");
  EXPECT_EQ(TenantOf(""), "");
}

}  // namespace
}  // namespace galen::security
