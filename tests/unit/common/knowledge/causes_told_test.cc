#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/knowledge/load.h"
#include "common/knowledge/rules.h"
#include "shipped.h"
#include "tests/testing/status_matchers.h"

namespace galen::knowledge {
namespace {

struct Line {
  std::string text;
  galen::v1::Where where = galen::v1::WHERE_UNSPECIFIED;
  std::string label;
};

// The labels for which the shipped signals of that source speak if they find the line; those of
// trials are left out, for they need an outcome.
std::set<std::string> Told(const Line& line) {
  std::set<std::string> labels;
  for (const v1::SignalPattern& signal : Shipped().base().signals()) {
    if (std::find(signal.where().begin(), signal.where().end(), line.where) ==
        signal.where().end()) {
      continue;
    }
    if (signal.outcome() != v1::OUTCOME_UNSPECIFIED) continue;
    if (!RE2::PartialMatch(line.text, signal.pattern())) continue;
    labels.insert(signal.labels().begin(), signal.labels().end());
  }
  return labels;
}

constexpr auto kSaid = galen::v1::DESCRIPTION;
constexpr auto kLog = galen::v1::JOB_LOG;

TEST(CausesTold, ByTheseLines) {
  for (const Line& line : std::vector<Line>{
           {"all_gather under is_global_zero makes the program hang forever", kSaid,
            "USER_APPLICATION.COLLECTIVE_DESYNC.RANK_CONDITIONAL_COLLECTIVE"},
           {"one rank returns early and never reaches the barrier", kSaid,
            "USER_APPLICATION.COLLECTIVE_DESYNC.RANK_CONDITIONAL_COLLECTIVE"},
           {"rank 0 exits the training loop and the others go on", kSaid,
            "USER_APPLICATION.COLLECTIVE_DESYNC.RANK_CONDITIONAL_COLLECTIVE"},
           {"not all parameters participate in producing the loss", kSaid,
            "USER_APPLICATION.COLLECTIVE_DESYNC.UNUSED_PARAMETERS"},
           {"torch.cuda.set_device(args.rank)", kSaid,
            "USER_APPLICATION.LAUNCH.DEVICE_NOT_SET_PER_RANK"},
           {"after loading the checkpoint the head is randomly initialized", kSaid,
            "FRAMEWORK_LIBRARY.CHECKPOINT.KEYS_SILENTLY_SKIPPED"},
           {"the prefill kernel always produces NaN", kSaid,
            "FRAMEWORK_LIBRARY.MATH_LIBRARY.KERNEL_DEFECT"},
           {"NaN comes even with a much lower learning rate", kSaid,
            "FRAMEWORK_LIBRARY.NUMERICS.OPTIMIZER_INSTABILITY"},
           {"the loss is nan with the new PyTorch version only", kSaid,
            "FRAMEWORK_LIBRARY.NUMERICS.OPTIMIZER_INSTABILITY"},
           {"This is a false positive.", kSaid, "OTHER.MONITORING.HEALTH_CHECK_FALSE_POSITIVE"},
           {"the dataloader hangs after the first epoch", kSaid,
            "FRAMEWORK_LIBRARY.PYTORCH.DATALOADER_FORK_DEADLOCK"},
           {"with twice the GPUs and a larger batch the loss is nan", kSaid,
            "USER_APPLICATION.TRAINING.LEARNING_RATE_TOO_HIGH"},
           {"$ unset LD_LIBRARY_PATH", kLog,
            "USER_APPLICATION.ENVIRONMENT.LD_LIBRARY_PATH_SHADOWS_CUDA_LIBS"},
           {"CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasCreate(handle)`", kLog,
            "USER_APPLICATION.DATA.INDEX_OUT_OF_RANGE"},
           {"ModuleNotFoundError: No module named 'flash_attn_2_cuda'", kLog,
            "FRAMEWORK_LIBRARY.VERSION_MATRIX.EXTENSION_ABI_MISMATCH"},
           {"world_size (8) is not equal to tensor_model_parallel_size (4) x "
            "pipeline_model_parallel_size (1)",
            kLog, "USER_APPLICATION.LAUNCH.WORLD_SIZE_OR_RANK_WRONG"},
           {"Weights of BertModel not initialized from pretrained model: ['bert.a']", kLog,
            "FRAMEWORK_LIBRARY.CHECKPOINT.KEYS_SILENTLY_SKIPPED"},
       }) {
    EXPECT_TRUE(Told(line).contains(line.label)) << line.text << ": " << line.label;
  }
}

// Words that occur in reports of every cause.
TEST(CausesTold, NotByTheseLines) {
  for (const Line& line : std::vector<Line>{
           {"the learning rate is 1e-4 and the batch size 16", kSaid,
            "USER_APPLICATION.TRAINING.LEARNING_RATE_TOO_HIGH"},
           {"I start it by srun python train.py", kSaid,
            "USER_APPLICATION.LAUNCH.CPU_BINDING_TOO_FEW_CORES"},
           {"CUDA_VISIBLE_DEVICES=0,1 python train.py", kSaid,
            "USER_APPLICATION.ENVIRONMENT.WRONG_OVERRIDE_VARIABLE"},
           {"For debugging consider passing CUDA_LAUNCH_BLOCKING=1", kSaid,
            "USER_APPLICATION.ENVIRONMENT.WRONG_OVERRIDE_VARIABLE"},
           {"the dataloader hangs after the first epoch", kSaid,
            "USER_APPLICATION.DATA.INPUT_PIPELINE_SLOW"},
           {"if rank == 0: torch.save(model.state_dict(), path)", kSaid,
            "USER_APPLICATION.COLLECTIVE_DESYNC.SHAPE_MISMATCH"},
           {"ModuleNotFoundError: No module named 'wandb'", kLog,
            "FRAMEWORK_LIBRARY.VERSION_MATRIX.EXTENSION_ABI_MISMATCH"},
           {"RuntimeError: Expected all tensors to be on the same device, but found at least two "
            "devices, cuda:0 and cpu!",
            kLog, "USER_APPLICATION.LAUNCH.DEVICE_NOT_SET_PER_RANK"},
       }) {
    EXPECT_FALSE(Told(line).contains(line.label)) << line.text << ": " << line.label;
  }
}

// The watchdog of a waiting rank ends its own process by SIGABRT.
TEST(CausesTold, ARankThatAbortedHadNotDied) {
  const v1::Label* label =
      Shipped().FindLabel("USER_APPLICATION.COLLECTIVE_DESYNC.RANK_CONDITIONAL_COLLECTIVE");
  ASSERT_NE(label, nullptr);
  int rules = 0;
  for (const v1::Rule& rule : label->refute()) {
    if (rule.check() != "log.triage" || rule.finding() != "signal") continue;
    ++rules;
    galen::v1::Finding signal;
    signal.set_name("signal");
    signal.set_int_value(6);
    EXPECT_EQ(Compare(rule, signal, {}), Truth::kFalse);
    signal.set_int_value(9);
    EXPECT_EQ(Compare(rule, signal, {}), Truth::kTrue);
  }
  EXPECT_EQ(rules, 1);
}

}  // namespace
}  // namespace galen::knowledge
