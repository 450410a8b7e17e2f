#include "services/cli/advisor/advisor_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/advisor/learning/mix.h"
#include "services/advisor/learning/signature.h"
#include "services/cli/advisor/advisor_text.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kShape[] =
    "layers=32,hidden=4096,heads=32,ffn=11008,gated=true,vocabulary=32000,sequence=4096,batch=512,"
    "precision=bf16,gpus=64,tp=8,pp=1,micro_batch=1,zero=1";

struct Ran {
  ExitCode code = kOk;
  std::string out;
  std::string err;
};

Ran Call(std::vector<std::string> words) {
  CLI::App app;
  AdvisorArguments arguments;
  const CLI::App* const command = DeclareAdvisor(app, arguments);
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  reversed.push_back("advisor");
  app.parse(reversed);
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Console console = {in, out, err, Terminal(), false};
  Ran ran;
  ran.code = RunAdvisor(*command, arguments, console);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

std::string Written(const char* name, const std::string& text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::ofstream(path) << text;
  return path;
}

std::string Key() { return Written("fleet.key", "a key of sixteen bytes and more\n"); }

TEST(AdvisorSign, SignsADeclaredWorkloadAsTheLibraryDoes) {
  const Ran ran = Call({"sign", "--shape", kShape, "--key-file", Key(), "--component",
                        "nccl=2.19.3", "--component", "torch=2.3.1", "--json"});
  ASSERT_EQ(ran.code, kOk) << ran.err;
  const auto signature = nlohmann::json::parse(ran.out);
  advisor::Declared declared;
  declared.layers = 32;
  declared.hidden = 4096;
  declared.ffn = 16512;
  declared.sequence = 4096;
  declared.accumulation = 64;
  declared.tensor = 8;
  declared.data = 8;
  const auto expected =
      advisor::Sign("a key of sixteen bytes and more", advisor::MixOf(declared).value(), 64,
                    {{"nccl", "2.19.3"}, {"torch", "2.3.1"}});
  EXPECT_EQ(signature["archetype"], expected->archetype);
  EXPECT_EQ(signature["stack"], expected->stack);
  // (The tokens alone: nothing that was digested.)
  EXPECT_EQ(signature.size(), 2u);
}

TEST(AdvisorSign, ShowsAPersonWhatWasDigested) {
  const Ran ran = Call(
      {"sign", "--shape", kShape, "--key-file", Key(), "--component", "nccl=2.19.3", "--coarse"});
  ASSERT_EQ(ran.code, kOk) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("coarse"), HasSubstr("gemm"), HasSubstr("scale=2"),
                             HasSubstr("nccl=2.19\n"), Not(HasSubstr("a key of"))));
}

TEST(AdvisorSign, SignsAProfileByTheTimeOfItsOperatorsOverAllRanks) {
  using profile::Kernel;
  using profile::StepMark;
  const auto trace = [](int rank, double compute, const char* job) {
    return Written(
        absl::StrCat("signed-rank-", rank, ".json").c_str(),
        profile::TraceText({StepMark(1, 0, 100), Kernel("ampere_sgemm_128x64_nn", 0, 7, 0, compute),
                            Kernel("ncclDevKernel_AllReduce", 0, 9, 90, 100)},
                           job));
  };
  // 110 of 130 us are multiplications.
  const std::string world = R"("distributedInfo":{"rank":0,"world_size":16},)";
  const std::string one = trace(0, 70, world.c_str());
  const std::string other = trace(1, 40, world.c_str());
  Ran ran =
      Call({"sign", one, other, "--key-file", Key(), "--knowledge", GALEN_SOURCE_DIR "/knowledge"});
  ASSERT_EQ(ran.code, kOk) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("digested   fine all_reduce=1 gemm=3 scale=2\n"));
  const std::string alone = trace(2, 10, "");
  ran = Call({"sign", alone, "--key-file", Key(), "--knowledge", GALEN_SOURCE_DIR "/knowledge"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_THAT(ran.err, HasSubstr("--gpus"));
  ran = Call({"sign", alone, "--gpus", "1", "--key-file", Key(), "--knowledge",
              GALEN_SOURCE_DIR "/knowledge"});
  ASSERT_EQ(ran.code, kOk) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("digested   fine all_reduce=2 gemm=2 scale=0\n"));
}

TEST(AdvisorSign, RefusesWhatCannotBeSignedAndSaysWhatToDo) {
  const std::string key = Key();
  const auto refused = [](const Ran& ran, const char* why) {
    EXPECT_EQ(ran.code, kBadInput);
    EXPECT_THAT(ran.err, HasSubstr(why));
    EXPECT_EQ(ran.out, "");
  };
  refused(Call({"sign", "--key-file", key}), "which workload?");
  refused(Call({"sign", "--shape", kShape, "--job", "x", "--key-file", key}), "which workload?");
  refused(Call({"sign", "--shape", kShape, "--key-file", Written("short.key", "short\n")}),
          "fewer than 16 bytes");
  refused(Call({"sign", "--shape", kShape, "--key-file", "/there/is/none"}), "cannot be read");
  refused(Call({"sign", "--shape", kShape, "--key-file", key, "--component", "acme_kernels=7"}),
          "acme_kernels");
}

TEST(AdvisorRegister, NoAdvisorIsNoRefusal) {
  const Ran ran =
      Call({"register", "--archetype", std::string(32, 'a'), "--stack", std::string(32, 'b'),
            "--gpu", "NVIDIA H100 80GB HBM3", "--server", "127.0.0.1:1"});
  EXPECT_EQ(ran.code, kUnreachable);
  EXPECT_THAT(ran.err, HasSubstr("see that galen-advisor runs"));
}

TEST(AdvisorRegister, NeedsASignature) {
  const Ran ran = Call({"register", "--gpu", "A", "--server", "127.0.0.1:1"});
  EXPECT_EQ(ran.code, kBadInput);
  EXPECT_THAT(ran.err, HasSubstr("galen advisor sign --json"));
}

TEST(AdvisorText, AnErrorAmongWarningsIsSeenAndTextsOfOthersAreCleaned) {
  advisor::v1::RegisterJobResponse response;
  response.set_context("gpu=A");
  EXPECT_FALSE(HasError(response));
  EXPECT_THAT(RegistrationText(response, Terminal()), HasSubstr("warnings  none"));
  advisor::v1::Warning& warning = *response.add_warnings();
  warning.set_severity(advisor::v1::Warning::WARNING);
  warning.set_kind(advisor::v1::Warning::LEARNED);
  warning.set_name("mismatch-\x1b[31m1");
  warning.set_title("slow");
  EXPECT_FALSE(HasError(response));
  response.add_warnings()->set_severity(advisor::v1::Warning::ERROR);
  EXPECT_TRUE(HasError(response));
  const std::string text = RegistrationText(response, Terminal());
  EXPECT_THAT(text, AllOf(HasSubstr("warning"), HasSubstr("learned"), Not(HasSubstr("\x1b"))));
}

TEST(AdvisorText, AnUnknownHazardIsNotZero) {
  advisor::v1::ReportProgressResponse response;
  response.mutable_hazard()->set_why("nothing was learned yet");
  EXPECT_EQ(ProgressText(response), "hazard  unknown: nothing was learned yet\n");
}

TEST(AdvisorText, PatternsSayWhetherTheyAreInUse) {
  advisor::v1::PatternSet set;
  EXPECT_EQ(PatternsText(set, Terminal()), "nothing was learned yet\n");
  set.set_version(2);
  for (const char* id : {"mismatch-1", "lemon-n7"}) set.add_patterns()->set_id(id);
  set.mutable_patterns(0)->set_kind(advisor::v1::Pattern::MISMATCH);
  set.mutable_patterns(1)->set_kind(advisor::v1::Pattern::LEMON);
  set.mutable_patterns(1)->set_node("n7");
  set.mutable_patterns(1)->set_fault("gray");
  set.mutable_patterns(1)->mutable_revoked()->set_by("ann");
  EXPECT_THAT(PatternsText(set, Terminal()),
              AllOf(HasSubstr("mismatch"), HasSubstr("in use"), HasSubstr("n7 (gray)"),
                    HasSubstr("revoked by ann")));
}

}  // namespace
}  // namespace galen::cli
