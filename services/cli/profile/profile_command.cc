#include "services/cli/profile/profile_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/perfmodel/model_shape.h"
#include "common/profile/compare.h"
#include "common/profile/job.h"
#include "common/profile/picture.h"
#include "services/cli/answer.h"
#include "services/cli/local_mesh.h"
#include "services/cli/profile/difference_text.h"
#include "services/cli/profile/profile_json.h"
#include "services/cli/profile/profile_text.h"
#include "services/node/checks/check_data.h"

namespace galen::cli {
namespace {

// The slowest GPU's step, which all others wait for; nothing where no trace marks steps.
std::optional<double> StepOf(const profile::JobProfile& job) {
  std::optional<double> step;
  for (const profile::RankTimes& rank : job.ranks.ranks) {
    if (job.traces[rank.trace].devices[rank.device].marked) {
      step = std::max(step.value_or(0), rank.wall);
    }
  }
  return step;
}

Utilization UtilizationOf(const profile::JobProfile& job, const perfmodel::ModelShape& shape,
                          std::string gpu, const knowledge::Knowledge& knowledge) {
  Utilization mfu;
  mfu.flops_per_step = perfmodel::FlopsPerStep(shape);
  const std::optional<double> step = StepOf(job);
  if (!step.has_value() || *step <= 0) {
    mfu.unknown = "no trace marks steps, so that none has a duration";
    return mfu;
  }
  mfu.step = *step;
  mfu.gpus = static_cast<double>(shape.gpus);
  for (const profile::TraceReport& trace : job.traces) {
    if (mfu.gpus == 0 && trace.world_size.has_value()) mfu.gpus = *trace.world_size;
    if (gpu.empty() && !trace.gpus.empty()) gpu = trace.gpus.front();
  }
  if (mfu.gpus == 0) {
    mfu.unknown = "the traces do not say how many GPUs the job has; declare gpus in --shape";
    return mfu;
  }
  const auto* hardware = gpu.empty() ? nullptr : knowledge.FindHardware(gpu);
  if (hardware == nullptr) {
    mfu.unknown =
        gpu.empty()
            ? "the traces do not name the GPU; say it with --gpu"
            : absl::StrCat("\"", gpu, "\" is not a model of knowledge/hardware; --gpu names one");
    return mfu;
  }
  const auto peak = hardware->facts().find(absl::StrCat("peak_", shape.precision, "_tflops"));
  if (peak == hardware->facts().end() || peak->second <= 0) {
    mfu.unknown = absl::StrCat("knowledge/hardware has no peak_", shape.precision, "_tflops of ",
                               hardware->model());
    return mfu;
  }
  mfu.gpu = hardware->model();
  mfu.peak = peak->second * 1e12;
  mfu.share = mfu.flops_per_step / (mfu.step * mfu.gpus * mfu.peak);
  return mfu;
}

absl::StatusOr<profile::Difference> DifferenceOf(const ProfileArguments& arguments,
                                                 const profile::Families& families,
                                                 const profile::JobOptions& options,
                                                 const profile::JobProfile& job) {
  GALEN_ASSIGN_OR_RETURN(const profile::JobProfile against,
                         profile::ReadJob(arguments.against, families, options));
  for (const auto& [which, paths] :
       {std::pair{&job, &arguments.paths}, std::pair{&against, &arguments.against}}) {
    if (!profile::IsComparable(*which)) {
      return absl::FailedPreconditionError(absl::StrCat(
          paths->front(), ": has no trace with a GPU operation: there is nothing to compare"));
    }
  }
  return profile::Compare(job, against);
}

absl::Status Run(const ProfileArguments& arguments, Console& console) {
  std::optional<perfmodel::ModelShape> shape;
  if (!arguments.shape.empty()) {
    GALEN_ASSIGN_OR_RETURN(shape, perfmodel::ParseShape(arguments.shape));
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(const profile::Families families, profile::Families::Load(directories));
  GALEN_ASSIGN_OR_RETURN(const auto knowledge, LoadKnowledge(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(const node::CheckData data,
                         node::CheckData::Of(*knowledge, "job.collective_trace"));
  profile::JobOptions options;
  const std::vector<std::string> equal = data.Texts("equal_sizes");
  options.equal_sizes = {equal.begin(), equal.end()};
  options.analyse.kernels =
      arguments.against.empty() ? arguments.operators : profile::kComparedKernels;
  GALEN_ASSIGN_OR_RETURN(const profile::JobProfile job,
                         profile::ReadJob(arguments.paths, families, options));
  ProfilePage page = {families, job, {}, arguments.operators, std::nullopt};
  if (!arguments.against.empty()) {
    GALEN_ASSIGN_OR_RETURN(page.difference, DifferenceOf(arguments, families, options, job));
  }
  if (shape.has_value()) {
    page.utilization = UtilizationOf(job, *shape, arguments.gpu, *knowledge);
  } else {
    page.utilization.unknown = "the model's shape is not declared (--shape, docs/profiles.md)";
  }
  if (!arguments.svg.empty()) {
    const std::string picture = profile::Picture(job);
    if (picture.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(arguments.svg, ": not drawn: no trace with a GPU was read"));
    }
    GALEN_RETURN_IF_ERROR(WriteFile(arguments.svg, picture));
  }
  console.out << (arguments.json                ? absl::StrCat(ProfileJson(page), "\n")
                  : page.difference.has_value() ? DifferenceText(page, console.terminal)
                                                : ProfileText(page, console.terminal))
              << std::flush;
  return absl::OkStatus();
}

}  // namespace

CLI::App* DeclareProfile(CLI::App& app, ProfileArguments& arguments) {
  CLI::App* profile = app.add_subcommand(
      "profile",
      "Find where a step's time goes and which rank is late, from traces of profilers, dumps of "
      "the flight recorder and answers of NCCL's RAS (docs/profiles.md)");
  profile
      ->add_option("path", arguments.paths,
                   "A trace, a dump, an answer of RAS, or a directory; repeatable")
      ->required()
      ->type_name("PATH");
  profile->add_option("--svg", arguments.svg, "Also draw a picture into this file")
      ->type_name("FILE");
  profile
      ->add_option("--shape", arguments.shape,
                   "The model, for MFU: layers=32,hidden=4096,heads=32,... (docs/profiles.md)")
      ->type_name("FIELDS");
  profile
      ->add_option(
          "--against", arguments.against,
          "Compare with this trace or directory: where the difference of the step time comes "
          "from; repeatable")
      ->type_name("PATH");
  profile->add_option("--operators", arguments.operators, "Show so many operators (default: 10)")
      ->check(CLI::Range(1, 5000))
      ->type_name("N");
  profile->add_option("--gpu", arguments.gpu, "The GPU, if the trace does not name it")
      ->type_name("MODEL");
  DeclareAnswer(*profile, arguments.json, arguments.knowledge);
  return profile;
}

ExitCode RunProfile(const ProfileArguments& arguments, Console& console) {
  return ExitWith(Run(arguments, console), console);
}

}  // namespace galen::cli
