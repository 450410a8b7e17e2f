#include <optional>

#include "nlohmann/json.hpp"
#include "services/cli/perfmodel/model_text.h"

namespace galen::cli {
namespace {

using Json = nlohmann::ordered_json;

Json IntervalJson(const perfmodel::Interval& interval) {
  return {{"expected", interval.expected},
          {"low", interval.low},
          {"high", interval.high},
          {"confidence", interval.confidence}};
}

Json ErrorsJson(const perfmodel::Errors& errors) {
  return {{"tested", errors.tested},
          {"median", errors.median},
          {"worst", errors.worst},
          {"covered", errors.covered}};
}

std::string Dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string PredictionJson(const PredictionPage& page) {
  const perfmodel::Expectation& expected = page.expected;
  const perfmodel::StepTime& time = expected.parts;
  Json json = {{"step_seconds", IntervalJson(expected.step)},
               {"tokens_per_second", IntervalJson(expected.throughput)},
               {"model_flops_utilization", expected.utilization},
               {"power_watts", nullptr},
               {"bound_by", BoundOf(time)}};
  if (expected.power.has_value()) json["power_watts"] = IntervalJson(*expected.power);
  json["seconds"] = {{"compute", time.compute},
                     {"memory", time.memory},
                     {"interconnect", time.interconnect},
                     {"bubble", time.bubble},
                     {"hidden_interconnect", time.hidden}};
  json["needs"] = {{"model_flops", time.work.model_flops},
                   {"flops_per_gpu", time.work.flops + time.work.odd_flops},
                   {"odd_flops_per_gpu", time.work.odd_flops},
                   {"memory_bytes_per_gpu", time.work.bytes},
                   {"weights", time.work.weights}};
  json["rates"] = {{"flops", time.matrix_rate}, {"memory_bytes", time.memory_rate}};
  if (page.took.has_value()) {
    json["took"] = {{"seconds", *page.took},
                    {"standing", StandingName(perfmodel::StandingOf(expected.step, *page.took))}};
  }
  json["traffic"] = Json::array();
  for (std::size_t i = 0; i < time.work.traffic.size(); ++i) {
    const perfmodel::Traffic& one = time.work.traffic[i];
    json["traffic"].push_back({{"for", one.what},
                               {"collective", std::string(perfmodel::ToString(one.kind))},
                               {"ranks", one.group.ranks},
                               {"nodes", one.group.Nodes()},
                               {"bytes", one.bytes},
                               {"times", one.times},
                               {"seconds", time.traffic[i]},
                               {"may_hide", one.hides}});
  }
  return Dumped(json);
}

std::string CalibrationJson(const perfmodel::Calibration& calibration, double confidence) {
  Json json = {{"factors", Json::object()},
               {"told_by", Json::object()},
               {"misses", Json::object()},
               {"intervals", Json::object()}};
  for (const auto& [name, value] : calibration.factors.all()) json["factors"][name] = value;
  for (const auto& [name, count] : calibration.told_by) json["told_by"][name] = count;
  for (const auto& [kin, misses] : calibration.misses) json["misses"][kin] = misses;
  // Relative intervals: those of a prediction of 1.
  for (const auto& [kin, misses] : calibration.misses) {
    const auto interval = perfmodel::IntervalOf(calibration, kin, 1, confidence);
    if (interval.ok()) json["intervals"][kin] = IntervalJson(*interval);
  }
  json["unused"] = calibration.unused;
  return Dumped(json);
}

std::string TrialJson(const perfmodel::Trial& trial, const std::vector<perfmodel::Trial>& drawn) {
  Json json = {{"calibrated", Json::array()}, {"tested", Json::array()}};
  for (const perfmodel::Measurement* one : trial.calibrated) json["calibrated"].push_back(one->id);
  for (const perfmodel::Tested& one : trial.tested) {
    json["tested"].push_back({{"id", one.measurement->id},
                              {"kind", std::string(perfmodel::ToString(one.measurement->kind))},
                              {"held_out", one.measurement->held_out},
                              {"measured", one.measurement->value},
                              {"predicted", IntervalJson(one.interval)},
                              {"error", one.error},
                              {"within", one.covered},
                              {"source", one.measurement->source}});
  }
  json["untested"] = trial.untested;
  json["errors"] = {{"all", ErrorsJson(perfmodel::ErrorsOf(trial, std::nullopt, false))}};
  for (const auto kind :
       {perfmodel::Measured::kRate, perfmodel::Measured::kTransfer, perfmodel::Measured::kStep}) {
    json["errors"][std::string(perfmodel::ToString(kind))] =
        ErrorsJson(perfmodel::ErrorsOf(trial, kind, false));
  }
  json["errors"]["held_out"] = ErrorsJson(perfmodel::ErrorsOf(trial, std::nullopt, true));
  json["drawn"] = Json::array();
  for (const perfmodel::Trial& one : drawn) {
    json["drawn"].push_back(ErrorsJson(perfmodel::ErrorsOf(one, std::nullopt, false)));
  }
  return Dumped(json);
}

}  // namespace galen::cli
