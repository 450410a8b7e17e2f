#include "services/execution/own_address.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace galen::execution {
namespace own_address_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<Network> Networks(const std::vector<std::string>& texts) {
  std::vector<Network> networks;
  for (const std::string& text : texts) networks.push_back(ParseNetwork(text).value());
  return networks;
}

TEST(OwnAddress, IsWhereTheCallerCallsFrom) {
  struct Case {
    const char* address;
    const char* caller;
    const char* own;
  };
  for (const Case& c : {Case{"10.4.0.7:50054", "ipv4:10.4.0.7:41822", "10.4.0.7:50054"},
                        Case{"[fd00::7]:50054", "ipv6:[fd00::7]:41822", "[fd00::7]:50054"},
                        Case{"[fd00:0::7]:50054", "ipv6:%5Bfd00::7%5D:41822", "[fd00::7]:50054"},
                        Case{"10.4.0.7:50054", "ipv6:[::ffff:10.4.0.7]:1", "10.4.0.7:50054"},
                        Case{"[::ffff:10.4.0.7]:9", "ipv4:10.4.0.7:1", "10.4.0.7:9"},
                        // A name is not looked up.
                        Case{"gpu-7.example.com:50054", "ipv4:10.4.0.7:1", "10.4.0.7:50054"},
                        Case{"localhost:50054", "ipv4:10.4.0.7:1", "10.4.0.7:50054"},
                        Case{"127.0.0.9:50054", "ipv4:127.0.0.1:1", "127.0.0.9:50054"},
                        Case{"127.0.0.1:50054", "ipv6:[::1]:1", "127.0.0.1:50054"},
                        Case{"127.0.0.1:50054", "unix:/run/galen.sock", "127.0.0.1:50054"}}) {
    const auto own = OwnAddress(c.address, c.caller, {});
    ASSERT_THAT(own, IsOk()) << c.address << " " << c.caller;
    EXPECT_EQ(*own, c.own);
  }
}

TEST(OwnAddress, IsNoneThatExecutionReachesAndTheNodeDoesNot) {
  for (const char* address : {"10.4.0.8:50054", "127.0.0.1:22", "[::1]:22", "169.254.169.254:80",
                              "[fe80::1]:1", "0.0.0.0:22", "[::]:22", "[::ffff:127.0.0.1]:22"}) {
    EXPECT_THAT(OwnAddress(address, "ipv4:10.4.0.7:1", {}),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr(address), HasSubstr("10.4.0.7"))))
        << address;
  }
  EXPECT_FALSE(OwnAddress("10.4.0.7:1", "vsock:7", {}).ok());
  EXPECT_FALSE(OwnAddress("10.4.0.7:1", "ipv4:nothing", {}).ok());
}

TEST(OwnAddress, MayLieInTheNetworksOfTheSite) {
  const auto networks = Networks({"10.8.0.0/15", "fd00:4::/32"});
  EXPECT_THAT(OwnAddress("10.9.255.255:1", "ipv4:10.4.0.7:1", networks), IsOk());
  EXPECT_THAT(OwnAddress("[fd00:4:9::1]:1", "ipv4:10.4.0.7:1", networks), IsOk());
  EXPECT_FALSE(OwnAddress("10.10.0.0:1", "ipv4:10.4.0.7:1", networks).ok());
  // No network makes the machine that execution runs on one of them.
  EXPECT_FALSE(OwnAddress("127.0.0.1:1", "ipv4:10.4.0.7:1", Networks({"0.0.0.0/0"})).ok());
  EXPECT_FALSE(OwnAddress("169.254.1.1:1", "ipv4:10.4.0.7:1", Networks({"0.0.0.0/0"})).ok());
}

TEST(Network, IsAnAddressAndABitCount) {
  for (const char* text : {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "a/8",
                           "fd00::/129", "10.0.0/8"}) {
    EXPECT_THAT(ParseNetwork(text), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << text;
  }
}

}  // namespace own_address_test
}  // namespace galen::execution
