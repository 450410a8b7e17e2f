// The address of the API server and our identity there.
#include "common/kube/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace galen::kube {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::HasSubstr;

using Code = absl::StatusCode;

class InClusterTest : public ::testing::Test {
 protected:
  InClusterTest() {
    std::string pattern = ::testing::TempDir() + "galen-kube-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ + "/ca.crt") << "ca";
    std::ofstream(folder_ + "/token") << "token";
  }
  ~InClusterTest() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<Options> Read(const std::string& host, const std::string& port) {
    const std::map<std::string, std::string> set = {{"KUBERNETES_SERVICE_HOST", host},
                                                    {"KUBERNETES_SERVICE_PORT", port}};
    return InCluster(
        [set](const char* name) -> std::optional<std::string> {
          const auto found = set.find(name);
          if (found == set.end() || found->second.empty()) return std::nullopt;
          return found->second;
        },
        folder_);
  }

  std::string folder_;
};

TEST_F(InClusterTest, IsWhatTheKubeletSetsAndMounts) {
  const auto options = Read("10.96.0.1", "443");
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->server, "https://10.96.0.1:443");
  EXPECT_EQ(options->ca_file, folder_ + "/ca.crt");
  EXPECT_EQ(options->token_file, folder_ + "/token");
}

TEST_F(InClusterTest, PutsAnAddressOfIpV6IntoBrackets) {
  EXPECT_EQ(Read("fd00::1", "6443")->server, "https://[fd00::1]:6443");
}

TEST_F(InClusterTest, SaysWhatIsMissing) {
  EXPECT_THAT(Read("", "443"), StatusIs(Code::kFailedPrecondition, HasSubstr("this is not a pod")));
  EXPECT_THAT(Read("10.0.0.1", ""), StatusIs(Code::kFailedPrecondition, HasSubstr("not a pod")));
  for (const char* port : {"0", "65536", "-1", "https"}) {
    EXPECT_THAT(Read("10.0.0.1", port),
                StatusIs(Code::kFailedPrecondition, HasSubstr("not a port")));
  }
  EXPECT_THAT(Read("10.0.0.1/x", "443"), StatusIs(Code::kInvalidArgument, HasSubstr("an address")));
  std::filesystem::remove(folder_ + "/token");
  EXPECT_THAT(Read("10.0.0.1", "443"),
              StatusIs(Code::kFailedPrecondition, HasSubstr("automountServiceAccountToken")));
}

TEST(CheckOptions, RefusesWhatWouldSendATokenInTheClearOrNothingAtAll) {
  struct Case {
    std::function<void(Options&)> change;
    const char* says;  // "": it is taken
  };
  for (const Case& one : std::vector<Case>{
           {[](Options&) {}, ""},
           {[](Options& o) { o.server = "http://127.0.0.1:8001"; }, ""},
           {[](Options& o) { o.server = "http://localhost"; }, ""},
           {[](Options& o) { o.server = "http://[::1]:8001"; }, ""},
           {[](Options& o) { o.server = "http://10.0.0.1"; }, "unencrypted"},
           {[](Options& o) { o.server = "http://localhost.evil.test"; }, "unencrypted"},
           {[](Options& o) { o.server = "http://127.0.0.1.evil.test"; }, "unencrypted"},
           {[](Options& o) { o.server = ""; }, "no address"},
           {[](Options& o) { o.server = "10.0.0.1:443"; }, "no address"},
           {[](Options& o) { o.server = "file:///etc/passwd"; }, "no address"},
           {[](Options& o) { o.server = "https://"; }, "an address"},
           {[](Options& o) { o.server = "https://a/path"; }, "an address"},
           {[](Options& o) { o.server = "https://user:word@a"; }, "an address"},
           {[](Options& o) { o.server = "https://a\nHost: b"; }, "an address"},
           {[](Options& o) { o.requests_per_second = 0; }, "no request"},
           {[](Options& o) { o.requests_per_second = std::nan(""); }, "no request"},
           {[](Options& o) { o.burst = 0.5; }, "no request"},
           {[](Options& o) { o.retry.most = -1; }, "positive"},
           {[](Options& o) { o.connect = absl::ZeroDuration(); }, "positive"}}) {
    Options options;
    options.server = "https://10.0.0.1:443";
    one.change(options);
    const absl::Status status = Check(options);
    if (std::string(one.says).empty()) {
      EXPECT_THAT(status, IsOk()) << options.server;
    } else {
      EXPECT_THAT(status, StatusIs(Code::kInvalidArgument, HasSubstr(one.says))) << options.server;
    }
  }
}

}  // namespace
}  // namespace galen::kube
