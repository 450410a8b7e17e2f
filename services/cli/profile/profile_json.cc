#include "services/cli/profile/profile_json.h"

#include <cstdint>

#include "nlohmann/json.hpp"
#include "services/cli/profile/difference_text.h"

namespace galen::cli {
namespace {

using Json = nlohmann::ordered_json;

double Seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

Json SplitJson(const profile::Split& split, bool host_known) {
  Json object = {{"wall", Seconds(split.wall)},
                 {"compute", Seconds(split.compute)},
                 {"exposed_communication", Seconds(split.exposed)},
                 {"memory", Seconds(split.memory)}};
  if (host_known) object["host"] = Seconds(split.host);
  object["idle"] = Seconds(split.idle);
  object["communication"] = Seconds(split.communication);
  object["kernels"] = Seconds(split.kernels);
  if (split.communication > 0) {
    object["overlap"] =
        static_cast<double>(split.Hidden()) / static_cast<double>(split.communication);
  }
  return object;
}

Json DeviceJson(const profile::DeviceReport& device, const ProfilePage& page, bool host_known) {
  const profile::Families& families = page.families;
  Json object = {{"name", device.name}, {"marked", device.marked}};
  if (!device.marks.empty()) object["marks"] = device.marks;
  object["outside"] = Seconds(device.outside);
  object["split"] = SplitJson(device.total, host_known);
  object["steps"] = Json::array();
  for (const profile::StepSplit& step : device.steps) {
    object["steps"].push_back({{"name", step.name}, {"split", SplitJson(step.split, host_known)}});
  }
  object["families"] = Json::array();
  for (const profile::FamilyTime& family : device.families) {
    const profile::Family& known = families.all()[family.family];
    object["families"].push_back({{"name", known.name},
                                  {"kind", profile::ToString(known.kind)},
                                  {"count", family.count},
                                  {"time", Seconds(family.time)}});
  }
  object["kernels"] = Json::array();
  std::size_t operators = 0;
  for (const profile::KernelTime& kernel : device.kernels) {
    if (operators++ == page.operators) break;
    object["kernels"].push_back({{"name", kernel.name},
                                 {"family", families.all()[kernel.family].name},
                                 {"count", kernel.count},
                                 {"time", Seconds(kernel.time)},
                                 {"longest", Seconds(kernel.longest)}});
  }
  return object;
}

Json RanksJson(const profile::RankComparison& ranks) {
  Json object = {{"matched_collectives", ranks.matched}};
  if (!ranks.not_matched.empty()) object["not_matched"] = ranks.not_matched;
  if (ranks.slowest.has_value()) {
    object["slowest"] = ranks.ranks[*ranks.slowest].who;
    object["because"] =
        ranks.lateness == profile::Lateness::kComputes ? "computes longer" : "arrives last";
    object["certain"] = ranks.certain;
  }
  object["ranks"] = Json::array();
  for (const profile::RankTimes& rank : ranks.ranks) {
    Json one = {{"who", rank.who},
                {"steps", rank.steps},
                {"step", rank.wall},
                {"compute", rank.compute},
                {"communication", rank.communication},
                {"exposed_communication", rank.exposed}};
    if (ranks.matched > 0) {
      one["waited"] = rank.waited;
      one["last"] = rank.last;
    }
    object["ranks"].push_back(std::move(one));
  }
  return object;
}

Json HangJson(const profile::Hang& hang) {
  Json object = {{"directory", hang.directory},
                 {"dumps", hang.ranks},
                 {"missing_ranks", hang.verdict.missing},
                 {"sequence_mismatch", hang.verdict.sequence_mismatch},
                 {"shape_mismatch", hang.verdict.shape_mismatch},
                 {"without_dump", hang.verdict.without_dump},
                 {"reasons", hang.verdict.reasons}};
  object["missed"] = Json::array();
  for (const hangs::MissedCollective& missed : hang.verdict.missed) {
    object["missed"].push_back({{"group", missed.group},
                                {"description", missed.description},
                                {"sequence", missed.sequence},
                                {"operation", missed.op},
                                {"sizes", missed.sizes},
                                {"waiting", missed.waiting},
                                {"missing", missed.missing},
                                {"first", missed.first}});
  }
  return object;
}

}  // namespace

std::string ProfileJson(const ProfilePage& page) {
  Json root = Json::object();
  root["traces"] = Json::array();
  for (const profile::TraceReport& trace : page.job.traces) {
    Json one = {{"file", trace.file}, {"xla", trace.xla}};
    if (trace.rank.has_value()) one["rank"] = *trace.rank;
    if (trace.world_size.has_value()) one["world_size"] = *trace.world_size;
    one["events"] = trace.events;
    one["bytes"] = trace.bytes;
    one["devices"] = Json::array();
    for (const profile::DeviceReport& device : trace.devices) {
      one["devices"].push_back(DeviceJson(device, page, trace.host_known));
    }
    if (!trace.remarks.empty()) one["remarks"] = trace.remarks;
    root["traces"].push_back(std::move(one));
  }
  root["comparison"] = RanksJson(page.job.ranks);
  if (page.difference.has_value()) root["difference"] = DifferenceJson(page);
  root["hangs"] = Json::array();
  for (const profile::Hang& hang : page.job.hangs) root["hangs"].push_back(HangJson(hang));
  root["ras"] = Json::array();
  for (const profile::RasAnswer& answer : page.job.answers) {
    root["ras"].push_back({{"file", answer.file},
                           {"sentences", answer.report.Sentences()},
                           {"suspects", answer.report.Suspects()}});
  }
  if (page.utilization.share.has_value()) {
    root["mfu"] = {
        {"share", *page.utilization.share}, {"flops_per_step", page.utilization.flops_per_step},
        {"peak", page.utilization.peak},    {"gpus", page.utilization.gpus},
        {"step", page.utilization.step},    {"gpu", page.utilization.gpu}};
  }
  if (!page.job.troubles.empty()) root["troubles"] = page.job.troubles;
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace galen::cli
