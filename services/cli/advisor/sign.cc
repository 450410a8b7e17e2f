#include "services/cli/advisor/sign.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/knowledge/load.h"
#include "common/perfmodel/tables/read_table.h"
#include "common/profile/families.h"
#include "common/profile/job.h"
#include "services/advisor/learning/mix.h"
#include "services/advisor/learning/signature.h"
#include "services/cli/advisor/inputs.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {
namespace {

// Kernels that are kept by name, so that collectives are told apart (mix.h).
constexpr std::size_t kKernels = 100'000;

struct Workload {
  advisor::OperatorMix mix;
  std::int64_t gpus = 0;
};

absl::StatusOr<Workload> OfProfile(const SignArguments& arguments) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(arguments.knowledge));
  GALEN_ASSIGN_OR_RETURN(const profile::Families families, profile::Families::Load(directories));
  profile::JobOptions options;
  options.analyse.kernels = kKernels;
  options.drawn = 0;
  GALEN_ASSIGN_OR_RETURN(profile::JobProfile job,
                         profile::ReadJob(arguments.paths, families, options));
  Workload workload;
  profile::TraceReport all;
  for (profile::TraceReport& trace : job.traces) {
    if (workload.gpus == 0) workload.gpus = trace.world_size.value_or(0);
    for (profile::DeviceReport& device : trace.devices) all.devices.push_back(std::move(device));
  }
  if (all.devices.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(job.troubles.empty() ? "no trace with a GPU is there" : job.troubles.front(),
                     "; --job declares the workload where there is no profile"));
  }
  GALEN_ASSIGN_OR_RETURN(workload.mix, advisor::MixOf(all, families));
  return workload;
}

absl::StatusOr<Workload> OfJob(const SignArguments& arguments, std::istream& in) {
  perfmodel::Job job;
  if (!arguments.shape.empty()) {
    GALEN_ASSIGN_OR_RETURN(job, perfmodel::ParseJob(arguments.shape));
  } else {
    GALEN_ASSIGN_OR_RETURN(const auto knowledge, LoadKnowledge(arguments.knowledge));
    std::map<std::string, std::map<std::string, double>> all;
    for (const auto& hardware : knowledge->base().hardware()) {
      all[hardware.model()] = {hardware.facts().begin(), hardware.facts().end()};
    }
    const auto facts = [&all](const std::string& model) -> const std::map<std::string, double>* {
      const auto found = all.find(model);
      return found == all.end() ? nullptr : &found->second;
    };
    GALEN_ASSIGN_OR_RETURN(const std::string text, ReadInput(arguments.job, in, 4 << 20));
    GALEN_ASSIGN_OR_RETURN(const perfmodel::JobOnMachine asked,
                           perfmodel::ReadJobFile(text, arguments.job, facts));
    job = asked.job;
  }
  Workload workload;
  workload.gpus = job.shape.gpus;
  GALEN_ASSIGN_OR_RETURN(workload.mix, advisor::MixOf(DeclaredOf(job)));
  return workload;
}

}  // namespace

advisor::Declared DeclaredOf(const perfmodel::Job& job) {
  const perfmodel::ModelShape& shape = job.shape;
  const perfmodel::Layout& layout = job.layout;
  advisor::Declared declared;
  declared.layers = shape.layers;
  declared.hidden = shape.hidden;
  declared.ffn = shape.gated ? shape.ffn * 3 / 2 : shape.ffn;
  declared.vocabulary = shape.vocabulary;
  declared.sequence = shape.sequence;
  declared.experts = shape.experts;
  declared.active = shape.active;
  declared.micro_batch = layout.micro_batch;
  declared.accumulation = layout.MicroBatches(shape);
  declared.training = shape.training;
  declared.sharded = layout.zero == 3;
  declared.tensor = layout.tensor;
  declared.pipeline = layout.pipeline;
  declared.data = layout.data;
  declared.expert = layout.expert;
  declared.context = layout.context;
  return declared;
}

absl::StatusOr<Signed> SignWorkload(const SignArguments& arguments, std::istream& in) {
  const int named = (arguments.paths.empty() ? 0 : 1) + (arguments.job.empty() ? 0 : 1) +
                    (arguments.shape.empty() ? 0 : 1);
  if (named != 1) {
    return absl::InvalidArgumentError(
        "which workload? name its traces, or declare it: --job FILE or --shape FIELDS");
  }
  if (arguments.key_file == "-" && arguments.job == "-") {
    return absl::InvalidArgumentError("--key-file, --job: standard input is one of them");
  }
  GALEN_ASSIGN_OR_RETURN(const std::string key, ReadKey(arguments.key_file, in));
  GALEN_ASSIGN_OR_RETURN(const std::vector<Setting> components,
                         ParseSettingsOf("--component", arguments.components));
  advisor::Versions versions;
  for (const Setting& component : components) {
    if (!advisor::IsComponent(component.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--component ", CleanText(component.name, 100),
                       ": is not a public component that identifies a stack "
                       "(docs/advisor.md); leave it out"));
    }
    versions[component.name] = component.value;
  }
  GALEN_ASSIGN_OR_RETURN(Workload workload,
                         arguments.paths.empty() ? OfJob(arguments, in) : OfProfile(arguments));
  if (arguments.gpus > 0) workload.gpus = arguments.gpus;
  if (workload.gpus < 1) {
    return absl::InvalidArgumentError("the traces do not say how many GPUs the job has: --gpus");
  }
  const advisor::Grain grain = arguments.coarse ? advisor::Grain::kCoarse : advisor::Grain::kFine;
  GALEN_ASSIGN_OR_RETURN(const advisor::Signature signature,
                         advisor::Sign(key, workload.mix, workload.gpus, versions, grain));
  Signed result;
  result.signature.set_archetype(signature.archetype);
  result.signature.set_stack(signature.stack);
  result.mix = advisor::CanonicalMix(workload.mix, workload.gpus, grain);
  result.versions = advisor::CanonicalVersions(versions);
  return result;
}

}  // namespace galen::cli
