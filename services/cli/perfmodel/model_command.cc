#include "services/cli/perfmodel/model_command.h"

#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/perfmodel/holdout.h"
#include "common/perfmodel/picture.h"
#include "common/perfmodel/tables/read_table.h"
#include "services/cli/answer.h"
#include "services/cli/local_mesh.h"
#include "services/cli/perfmodel/model_text.h"
#include "services/cli/perfmodel/steady.h"

namespace galen::cli {
namespace {

using perfmodel::Calibration;
using perfmodel::Measurement;

constexpr std::size_t kMostBytes = 4 << 20;

void Print(Console& console, const std::string& answer) {
  console.out << answer << (absl::EndsWith(answer, "\n") ? "" : "\n") << std::flush;
}

// The facts of knowledge/hardware.
class Hardware {
 public:
  explicit Hardware(std::shared_ptr<const knowledge::Knowledge> knowledge)
      : knowledge_(std::move(knowledge)) {
    for (const auto& hardware : knowledge_->base().hardware()) {
      facts_[hardware.model()] = {hardware.facts().begin(), hardware.facts().end()};
    }
  }
  // By the model's own name; nullptr: unknown model.
  const std::map<std::string, double>* Facts(const std::string& model) const {
    const auto found = facts_.find(model);
    return found != facts_.end() ? &found->second : nullptr;
  }
  // The model's own name, of that or of what a driver calls it.
  std::string NameOf(const std::string& gpu) const {
    if (facts_.contains(gpu)) return gpu;
    const auto* known = knowledge_->FindHardware(gpu);
    return known != nullptr ? known->model() : gpu;
  }

 private:
  std::shared_ptr<const knowledge::Knowledge> knowledge_;
  std::map<std::string, std::map<std::string, double>> facts_;
};

absl::StatusOr<std::vector<Measurement>> MeasurementsOf(const ModelArguments& arguments,
                                                        const Hardware& hardware) {
  const auto facts = [&hardware](const std::string& model) { return hardware.Facts(model); };
  std::vector<Measurement> all;
  if (!arguments.alone) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                           knowledge::FindDirectories(arguments.knowledge));
    GALEN_ASSIGN_OR_RETURN(all, perfmodel::LoadTables(directories, facts));
  } else if (arguments.measured.empty()) {
    return absl::InvalidArgumentError("--alone: nothing is left; name a file of measurements");
  }
  for (const std::string& path : arguments.measured) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMostBytes));
    GALEN_ASSIGN_OR_RETURN(std::vector<Measurement> own, perfmodel::ReadTable(text, path, facts));
    all.insert(all.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  }
  GALEN_RETURN_IF_ERROR(perfmodel::UniqueIds(all));
  return all;
}

absl::StatusOr<perfmodel::JobOnMachine> JobOf(const ModelArguments& arguments,
                                              const Hardware& hardware) {
  const auto facts = [&hardware](const std::string& model) { return hardware.Facts(model); };
  if (!arguments.job.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(arguments.job, kMostBytes));
    return perfmodel::ReadJobFile(text, arguments.job, facts);
  }
  if (arguments.shape.empty() || arguments.gpu.empty()) {
    return absl::InvalidArgumentError(
        "which job? --shape and --gpu say it, or --job names a file of it (docs/perfmodel.md)");
  }
  perfmodel::JobOnMachine asked;
  GALEN_ASSIGN_OR_RETURN(asked.job, perfmodel::ParseJob(arguments.shape));
  const std::string model = hardware.NameOf(arguments.gpu);
  const auto* known = hardware.Facts(model);
  if (known == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--gpu ", arguments.gpu, ": is not a model of knowledge/hardware"));
  }
  GALEN_ASSIGN_OR_RETURN(asked.machine, perfmodel::MachineOf(model, *known));
  asked.machine.gpus_per_node = arguments.gpus_per_node;
  if (!arguments.nics.empty()) {
    GALEN_ASSIGN_OR_RETURN(asked.machine.nics, perfmodel::ParseNics(arguments.nics));
  }
  asked.machine.fabric = arguments.fabric;
  return asked;
}

absl::Status DrawPictures(const ModelArguments& arguments, const PredictionPage& page,
                          const Calibration& calibration) {
  const perfmodel::StepTime& parts = page.expected.parts;
  if (!arguments.roofline.empty()) {
    GALEN_ASSIGN_OR_RETURN(const double peak,
                           perfmodel::PeakOf(page.machine, page.job.shape.precision));
    const double operations = parts.work.flops + parts.work.odd_flops;
    const perfmodel::RoofPoint work = {"work of the step", operations / parts.work.bytes,
                                       operations / (parts.compute + parts.memory)};
    const perfmodel::RoofPoint whole = {"whole step", operations / parts.work.bytes,
                                        operations / parts.total};
    const perfmodel::Roofs roofs = {page.machine.gpu, peak, parts.matrix_rate, page.machine.memory,
                                    parts.memory_rate};
    GALEN_RETURN_IF_ERROR(
        WriteFile(arguments.roofline, perfmodel::RooflineSvg(roofs, {work, whole})));
  }
  if (!arguments.mix.empty()) {
    GALEN_ASSIGN_OR_RETURN(const double overlap, calibration.factors.At("overlap"));
    GALEN_RETURN_IF_ERROR(WriteFile(arguments.mix, perfmodel::MixSvg(overlap)));
  }
  return absl::OkStatus();
}

absl::Status Test(const ModelArguments& arguments, const std::vector<Measurement>& measurements,
                  Console& console) {
  GALEN_ASSIGN_OR_RETURN(const perfmodel::Trial trial,
                         perfmodel::TryHalf(measurements, arguments.confidence));
  std::vector<perfmodel::Trial> drawn;
  for (std::uint32_t seed = 1; seed <= arguments.splits; ++seed) {
    GALEN_ASSIGN_OR_RETURN(perfmodel::Trial one,
                           perfmodel::TryHalf(measurements, arguments.confidence, seed));
    drawn.push_back(std::move(one));
  }
  Print(console,
        arguments.json ? TrialJson(trial, drawn) : TrialText(trial, drawn, console.terminal));
  return absl::OkStatus();
}

absl::Status Steady(const ModelArguments& arguments, Console& console) {
  const perfmodel::StopRule& rule = arguments.steady;
  if (!(rule.confidence > 0 && rule.confidence < 1 && rule.half_width > 0)) {
    return absl::InvalidArgumentError(
        "--confidence: lies between 0 and 1, and --within is a share of the mean above 0");
  }
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(arguments.samples, kMostBytes));
  GALEN_ASSIGN_OR_RETURN(const std::vector<double> samples,
                         ReadSamples(text, arguments.samples, arguments.column));
  Print(console,
        arguments.json ? SteadyJson(samples, rule) : SteadyText(samples, rule, console.terminal));
  return absl::OkStatus();
}

absl::Status Run(const CLI::App& model, const ModelArguments& arguments, Console& console) {
  if (model.got_subcommand("steady")) return Steady(arguments, console);
  if (!(arguments.confidence > 0 && arguments.confidence < 1)) {
    return absl::InvalidArgumentError("--confidence: lies between 0 and 1");
  }
  GALEN_ASSIGN_OR_RETURN(auto knowledge, LoadKnowledge(arguments.knowledge));
  const Hardware hardware(std::move(knowledge));
  GALEN_ASSIGN_OR_RETURN(const std::vector<Measurement> measurements,
                         MeasurementsOf(arguments, hardware));
  if (model.got_subcommand("calibrate") && arguments.test) {
    return Test(arguments, measurements, console);
  }
  GALEN_ASSIGN_OR_RETURN(const Calibration calibration, perfmodel::Calibrate(measurements));
  if (model.got_subcommand("calibrate")) {
    Print(console, arguments.json
                       ? CalibrationJson(calibration, arguments.confidence)
                       : CalibrationText(calibration, arguments.confidence, console.terminal));
    return absl::OkStatus();
  }
  GALEN_ASSIGN_OR_RETURN(const perfmodel::JobOnMachine asked, JobOf(arguments, hardware));
  PredictionPage page;
  page.job = asked.job;
  page.machine = asked.machine;
  page.took = arguments.took;
  page.explained = model.got_subcommand("explain");
  GALEN_ASSIGN_OR_RETURN(page.expected, perfmodel::Expect(asked.job, asked.machine, calibration,
                                                          arguments.confidence));
  GALEN_RETURN_IF_ERROR(DrawPictures(arguments, page, calibration));
  Print(console, arguments.json ? PredictionJson(page) : PredictionText(page, console.terminal));
  return absl::OkStatus();
}

}  // namespace

CLI::App* DeclareModel(CLI::App& app, ModelArguments& arguments) {
  CLI::App* model = app.add_subcommand(
      "model", "Predict what a training job should achieve on given hardware (docs/perfmodel.md)");
  model->require_subcommand(1);
  CLI::App* predict =
      model->add_subcommand("predict", "Predict the seconds of a step, with an interval");
  CLI::App* explain =
      model->add_subcommand("explain", "The same, with where the time goes; can draw it");
  CLI::App* calibrate = model->add_subcommand(
      "calibrate",
      "Fit factors to the published measurements and your own, and print their quality");
  CLI::App* steady = model->add_subcommand(
      "steady",
      "Test whether the mean of repeated samples is known, and from which sample on they count");
  for (CLI::App* command : {predict, explain}) {
    CLI::Option* job =
        command
            ->add_option("--job", arguments.job,
                         "A file of the job that defines shape, GPU and machine alone")
            ->type_name("FILE");
    CLI::Option* shape =
        command
            ->add_option("--shape", arguments.shape,
                         "The model and its layout: layers=32,hidden=4096,...,gpus=64,tp=8,pp=1")
            ->type_name("FIELDS");
    CLI::Option* gpu = command->add_option("--gpu", arguments.gpu, "A model of knowledge/hardware")
                           ->type_name("MODEL");
    CLI::Option* gpus_per_node = command
                                     ->add_option("--gpus-per-node", arguments.gpus_per_node,
                                                  "GPUs of a machine; default: 8")
                                     ->check(CLI::Range(1, 4096));
    CLI::Option* nics =
        command->add_option("--nics", arguments.nics, "Network adapters of a node: 8x400")
            ->type_name("COUNTxGBITS");
    CLI::Option* fabric =
        command->add_option("--fabric", arguments.fabric, "infiniband, roce, efa, opa")
            ->type_name("NAME");
    // Options that repeat the job's file are refused: neither silently wins.
    for (CLI::Option* one : {shape, gpu, gpus_per_node, nics, fabric}) one->excludes(job);
    command
        ->add_option("--took", arguments.took,
                     "Measured seconds of a step, which are compared with the prediction")
        ->check(CLI::PositiveNumber)
        ->type_name("SECONDS");
    command
        ->add_option("--measured", arguments.measured,
                     "Own measurements that calibrate the model; repeatable")
        ->type_name("FILE");
  }
  explain->add_option("--roofline", arguments.roofline, "Draw a roofline of it")->type_name("FILE");
  explain->add_option("--mix", arguments.mix, "Draw the joint use of resources")->type_name("FILE");
  calibrate->add_option("measured", arguments.measured, "Own measurements; repeatable")
      ->type_name("FILE");
  calibrate->add_flag("--test", arguments.test,
                      "Calibrate with one half of them and test with the other");
  calibrate
      ->add_option("--splits", arguments.splits,
                   "With --test: also test this number of random halves")
      ->check(CLI::Range(0, 1000));
  for (CLI::App* command : {predict, explain, calibrate}) {
    command->add_flag("--alone", arguments.alone, "Without the published measurements");
    command
        ->add_option("--confidence", arguments.confidence,
                     "Confidence of the intervals; default: 0.9")
        ->type_name("SHARE");
    DeclareAnswer(*command, arguments.json, arguments.knowledge);
  }
  steady->add_option("samples", arguments.samples, "Samples in the order in which they were taken")
      ->required()
      ->type_name("FILE");
  steady
      ->add_option(
          "--column", arguments.column,
          "Name, or number from 1 on, of a field in a file with fields separated by commas")
      ->type_name("NAME");
  steady
      ->add_option("--within", arguments.steady.half_width,
                   "Half width around the mean, as a share of it; default: 0.01")
      ->type_name("SHARE");
  steady
      ->add_option("--confidence", arguments.steady.confidence,
                   "Confidence of the interval; default: 0.95")
      ->type_name("SHARE");
  steady->add_flag("--json", arguments.json, "Print only JSON");
  return model;
}

ExitCode RunModel(const CLI::App& model, const ModelArguments& arguments, Console& console) {
  return ExitWith(Run(model, arguments, console), console);
}

}  // namespace galen::cli
