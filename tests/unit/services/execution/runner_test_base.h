#ifndef TESTS_UNIT_SERVICES_EXECUTION_RUNNER_TEST_BASE_H_
#define TESTS_UNIT_SERVICES_EXECUTION_RUNNER_TEST_BASE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/hot_swap.h"
#include "common/knowledge/load.h"
#include "services/execution/check_runner.h"
#include "services/execution/node_registry.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::execution {

// Checks that execution answers itself, through a runner without nodes.
class RunnerTestBase : public ::testing::Test {
 protected:
  static std::shared_ptr<const knowledge::Knowledge> Shipped() {
    static const auto* const knowledge =
        new absl::StatusOr<std::shared_ptr<const knowledge::Knowledge>>(
            knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, {}));
    EXPECT_THAT(*knowledge, galen::testing::IsOk());
    return **knowledge;
  }

  // The results by id, once all have come.
  std::map<std::string, galen::v1::CheckResult> Ask(CheckRunner::Options options,
                                                    const v1::RunChecksRequest& request) const {
    const NodeRegistry registry(std::map<std::string, clients::NodeClient*>{}, {});
    const CheckRunner runner(registry, HotSwap<knowledge::Knowledge>(Shipped()), clock_,
                             std::move(options));
    std::map<std::string, galen::v1::CheckResult> results;
    std::promise<absl::Status> ended;
    runner.RunChecks(
        request, absl::InfiniteFuture(),
        [&](galen::v1::CheckResult result) { results.emplace(result.id(), std::move(result)); },
        [&](const absl::Status& status) { ended.set_value(status); });
    EXPECT_THAT(ended.get_future().get(), galen::testing::IsOk());
    return results;
  }

  galen::testing::FakeClock clock_;
};

}  // namespace galen::execution

#endif  // TESTS_UNIT_SERVICES_EXECUTION_RUNNER_TEST_BASE_H_
