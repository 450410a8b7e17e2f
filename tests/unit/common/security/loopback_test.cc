#include "common/security/loopback.h"

#include <gtest/gtest.h>

#include <string>

namespace galen::security {
namespace {

TEST(Loopback, IsWhatCanOnlyBeThisMachine) {
  for (const std::string address :
       {"127.0.0.1:50051", "127.0.0.1", "127.9.8.7:1", "localhost:50051", "localhost",
        "[::1]:50051", "[::1]", "::1", "unix:/run/galen.sock", "unix:///run/galen.sock",
        "unix-abstract:galen", "dns:///localhost:50051", "dns:localhost:50051",
        "ipv4:127.0.0.1:50051", "ipv6:[::1]:50051", "ipv4:127.0.0.1:1,127.0.0.2:2"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
}

TEST(Loopback, IsNothingElse) {
  for (const std::string address : {"",
                                    "0.0.0.0:50051",
                                    "[::]:50051",
                                    "10.0.0.1:50051",
                                    "128.0.0.1",
                                    "localhost.evil.com:1",
                                    "127.0.0.1.evil.com:1",
                                    "galen-planning:50052",
                                    "*:50051",
                                    ":50051",
                                    "127.0.0.1:http",
                                    "127.0.0.1:50051:1",
                                    "[::1",
                                    "[::1]x",
                                    "[::1]:x",
                                    "::2",
                                    "ipv4:127.0.0.1:1,10.0.0.1:2",
                                    "dns://10.0.0.1/galen:50051",
                                    "xds:///planning",
                                    "127.1",
                                    "0x7f000001",
                                    "[::ffff:10.0.0.1]:1"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

}  // namespace
}  // namespace galen::security
