#include "common/rpc/serve.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::rpc {
namespace serve_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<grpc::Server>> StartAt(const std::string& address) {
  ServeOptions options;
  options.address = address;
  int port = 0;
  return StartServer(options, {}, port);
}

TEST(UnixSocket, IsForItsUserAloneAndIsNotTakenFromItsServer) {
  const testing::Scratch scratch;
  const std::string path = scratch / "s";
  {
    const mode_t before = umask(0);
    auto first = StartAt("unix:" + path);
    umask(before);
    ASSERT_THAT(first, IsOk());
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & (S_IRWXG | S_IRWXO), 0u);
    EXPECT_THAT(StartAt("unix:" + path),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another program listens")));
    EXPECT_THAT(StartAt("unix://" + path),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another program listens")));
    (*first)->Shutdown();
  }
  EXPECT_THAT(StartAt("unix:" + path), IsOk());
}

TEST(UnixSocket, APathThatIsTooLongIsNamed) {
  EXPECT_THAT(StartAt("unix:/" + std::string(200, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 to 107 bytes")));
}

}  // namespace serve_test
}  // namespace galen::rpc
