// The logs of a plan's jobs: MaxText's lines as srun -l collects them, or Megatron-LM's.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tests/scenarios/plan.h"

namespace galen::scenarios {
namespace {

std::string Stamp(absl::Time at) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", at, absl::UTCTimeZone());
}

// Whether the fault is JAX's, so that its trainer is MaxText on any GPUs.
bool OfJax(const std::string& study) {
  return study == "heartbeat" || study == "dead_node" || study == "restore_leak";
}

std::vector<std::string> NodesOf(const Plan& plan, const JobPlan& job) {
  std::vector<std::string> names;
  for (const int node : job.nodes) names.push_back(plan.nodes[static_cast<std::size_t>(node)]);
  return names;
}

std::string MaxText(const Plan& plan, const JobPlan& job, bool last) {
  const std::vector<std::string> nodes = NodesOf(plan, job);
  const bool restored = job.first_step > 0;
  std::string text;
  absl::StrAppend(&text, Stamp(job.start), " Job ", job.name, " starts\n");
  absl::StrAppend(&text, "SLURM_JOB_ID=", job.name, "\nNNODES=", nodes.size(), "\n");
  absl::StrAppend(&text, "PASSTHROUGH_ARGS=steps=", job.total_steps,
                  " enable_checkpointing=true checkpoint_period=", job.checkpoint_period, "\n");
  for (std::size_t i = 0; i < nodes.size(); ++i)
    absl::StrAppend(&text, "NODE_RANK ", i, " host=", nodes[i], "\n");
  absl::StrAppend(&text, "0: Config param steps: ", job.total_steps, "\n");
  absl::StrAppend(&text, "0: Config param checkpoint_period: ", job.checkpoint_period, "\n");
  absl::StrAppend(&text, "0: Config param max_target_length: 4096\n");
  // A wave of communicators each; a restore by broadcast makes two more (case study 3).
  for (int wave = 0; wave < (restored ? 5 : 3); ++wave) {
    for (std::size_t i = 0; i < std::min<std::size_t>(nodes.size(), 4); ++i) {
      absl::StrAppend(&text, i, ": ", nodes[i], ":2211:", 2400 + wave,
                      " [0] init.cc:2095 NCCL WARN MSCCL++: Feature not enabled\n");
    }
    if (restored && wave == 2) {
      absl::StrAppend(&text, "0: restoring from this run's directory step ", job.first_step - 1,
                      "\n");
    }
  }
  if (!restored)
    absl::StrAppend(&text, "0: No existing checkpoints found, not restoring checkpoint.\n");
  absl::StrAppend(&text, "0: ", Stamp(job.train), " Synchronizing hosts before training loop\n");

  for (const Step& step : job.steps) {
    for (std::size_t teller = 0; teller < nodes.size(); ++teller) {
      absl::StrAppendFormat(&text,
                            "%d: completed step: %d, seconds: %.3f, TFLOP/s/device: %.3f, "
                            "Tokens/s/device: %.3f, total_weights: 3145728, loss: %.3f\n",
                            teller, step.number, step.seconds, step.tokens * 0.155, step.tokens,
                            step.loss);
    }
    if (step.checkpoint)
      absl::StrAppend(&text, "0: Saved a checkpoint at step ", step.number, ".\n");
  }
  if (last && !plan.last_words.empty()) {
    absl::StrAppend(&text, absl::StrJoin(plan.last_words, "\n"), "\n");
    absl::StrAppend(&text, Stamp(job.end + absl::Seconds(5)),
                    " == JOB SUMMARY ==\nStatus: FAILED (exit ",
                    plan.last_words[0].find("exit=137") == std::string::npos ? 1 : 137, ")\n");
  } else if (!job.runs) {
    absl::StrAppend(&text, Stamp(job.end), " == JOB SUMMARY ==\nStatus: FAILED (exit 143)\n",
                    "CANCELLED (scancel / SIGTERM)\n");
  }
  return text;
}

std::string Megatron(const Plan& plan, const JobPlan& job, bool last) {
  const std::size_t world = job.nodes.size() * static_cast<std::size_t>(plan.gpus);
  std::string text;
  absl::StrAppend(&text, Stamp(job.start), " SLURM_JOB_ID=", job.name,
                  " nodes: ", absl::StrJoin(NodesOf(plan, job), ","), "\n");
  absl::StrAppend(&text, "using world size: ", world, ", data-parallel size: ", job.nodes.size(),
                  ", tensor-model-parallel size: 8\n");
  absl::StrAppend(&text, "  save_interval ................................... ",
                  job.checkpoint_period,
                  "\n  seq_length ...................................... 4096\n",
                  "  train_iters ..................................... ", job.total_steps, "\n");
  absl::StrAppend(&text,
                  "WARNING: could not find the metadata file /data/ckpt/latest_checkpointed_",
                  "iteration.txt\n    will not load any checkpoints and will start from random\n");
  absl::StrAppend(&text, "[before the start of training step] datetime: ", Stamp(job.train), " \n");
  for (const Step& step : job.steps) {
    const int iteration = step.number + 1;
    absl::StrAppendFormat(
        &text,
        " [%s] iteration %8d/%8d | consumed samples: %12d | elapsed time per iteration (ms): %.1f "
        "| "
        "throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: %.6E | global batch size: %5d | "
        "lm "
        "loss: %.6E | load_balancing_loss: %.6E | loss scale: 1.0 | grad norm: %.3f | number of "
        "skipped iterations:   0 | number of nan iterations:   0 |\n",
        Stamp(step.end), iteration, job.total_steps, iteration * 1024, step.seconds * 1000,
        step.tokens * 0.062, step.learning_rate, 1024, step.loss, step.load_balance_loss,
        step.gradient_norm);
    if (step.checkpoint) {
      absl::StrAppend(&text, "  successfully saved checkpoint from iteration ", iteration,
                      " to /data/ckpt\n");
    }
  }
  if (last && !plan.last_words.empty()) {
    absl::StrAppend(&text, absl::StrJoin(plan.last_words, "\n"), "\n", Stamp(job.end),
                    " slurmstepd: error: task 0: Killed\n");
  }
  return text;
}

}  // namespace

std::vector<Log> WriteLogs(const Plan& plan, const std::string& study) {
  std::vector<Log> logs;
  for (const JobPlan& job : plan.jobs) {
    const bool last = &job == &plan.jobs.back();
    const bool maxtext = plan.style == Style::kAmd || OfJax(study);
    logs.push_back({absl::StrCat("job-", job.name, ".log"),
                    maxtext ? MaxText(plan, job, last) : Megatron(plan, job, last), "",
                    std::nullopt, false});
  }
  logs.insert(logs.end(), plan.logs.begin(), plan.logs.end());
  return logs;
}

}  // namespace galen::scenarios
