// The requirements of a check of kind EXEC on the machine before its program runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "fake_hosts.h"
#include "services/node/executor.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::galen::testing::IsOk;
using galen::v1::CheckResult;
using ::testing::HasSubstr;

// A program that loads GPUs.
std::shared_ptr<const knowledge::Knowledge> Burn() {
  knowledge::v1::KnowledgeBase base;
  knowledge::v1::Check& check = *base.add_checks();
  check.set_name("t.burn");
  check.set_kind(knowledge::v1::Check::EXEC);
  check.set_intrusive(true);
  check.add_needs("idle_gpu");
  check.mutable_exec()->add_argv("burn");
  check.mutable_exec()->set_output("json_lines");
  knowledge::v1::FindingSpec& finding = *check.add_findings();
  finding.set_name("count");
  finding.set_type("int");
  finding.set_subject("node");
  return std::make_shared<const knowledge::Knowledge>(std::move(base));
}

TEST(CheckNeeds, AProgramThatNeedsIdleGpusDoesNotRunWhileSomebodyUsesThem) {
  // No driver of this machine answers in place of the fake one.
  setenv("GALEN_NVML_LIBRARY", "/nonexistent/libnvidia-ml.so.1", 1);
  const auto host = std::make_shared<FakeHost>("n1");
  host->SetLive(true);
  host->AddCommand("burn", R"({"finding": "count", "value": 1})");
  host->AddCommand("nvidia-smi -q -x", R"(<nvidia_smi_log><gpu id="00000000:17:00.0"><processes>
      <process_info><pid>4711</pid><type>C</type><process_name>python</process_name></process_info>
      </processes></gpu></nvidia_smi_log>)");
  const FakeHosts hosts(host);
  const NodeExecutor executor(hosts, Burn(), {}, {});
  v1::RunChecksRequest request;
  request.add_checks("t.burn");
  request.set_allow_intrusive(true);
  CheckResult result;
  const auto run = [&] {
    EXPECT_THAT(executor.RunChecks(request, absl::InfiniteFuture(),
                                   [&](CheckResult told) { result = std::move(told); }),
                IsOk());
  };
  run();
  EXPECT_EQ(result.status(), CheckResult::SKIPPED);
  EXPECT_THAT(result.message(), HasSubstr("gpu:0: used by python (4711)"));
  request.set_allow_busy(true);
  run();
  EXPECT_EQ(result.status(), CheckResult::PASS);
}

}  // namespace
}  // namespace galen::node
