#include "services/advisor/learning/mix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::advisor {
namespace {

// Sorted.
constexpr std::array<absl::string_view, 22> kOperators = {
    "all_gather",    "all_reduce",  "all_to_all", "attention",    "broadcast",      "collective",
    "convolution",   "elementwise", "embedding",  "gemm",         "inductor",       "memory",
    "normalization", "optimizer",   "other",      "quantization", "reduce_scatter", "reduction",
    "routing",       "send_recv",   "softmax",    "sort_scan"};

// Parts of the names of collective kernels: of NCCL and RCCL (AllReduce), XLA (all-reduce), others
// (all_reduce).
constexpr std::array<std::pair<absl::string_view, absl::string_view>, 8> kCollectives = {
    {{"allreduce", "all_reduce"},
     {"allgather", "all_gather"},
     {"reducescatter", "reduce_scatter"},
     {"alltoall", "all_to_all"},
     {"sendrecv", "send_recv"},
     {"collectivepermute", "send_recv"},
     {"broadcast", "broadcast"},
     {"crossdevicereduce", "all_reduce"}}};

absl::string_view CollectiveOf(absl::string_view kernel) {
  std::string name;
  for (const char c : kernel) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      name.push_back(absl::ascii_tolower(static_cast<unsigned char>(c)));
    }
  }
  for (const auto& [part, word] : kCollectives) {
    if (absl::StrContains(name, part)) return word;
  }
  return "collective";
}

absl::StatusOr<OperatorMix> Normalised(OperatorMix mix) {
  double sum = 0;
  for (const auto& [word, time] : mix) sum += time;
  if (!(sum > 0) || !std::isfinite(sum)) {
    return absl::InvalidArgumentError("the workload does nothing on a GPU: there is no mix of it");
  }
  for (auto& [word, time] : mix) time /= sum;
  return mix;
}

// The reference machine: practical rates of one H100 SXM5 (../shared/facts/hardware.yaml: 989
// TFLOPS dense of bf16, of which large multiplications reach some 70 % and attention half of that;
// HBM 3,350 GB/s; NVLink 450 GB/s a direction; 400 Gb/s a GPU between nodes).
constexpr double kGemmRate = 0.7 * 989e12;
constexpr double kAttentionRate = 0.35 * 989e12;
constexpr double kMemoryRate = 0.8 * 3350e9;
constexpr double kNearRate = 0.75 * 450e9;
constexpr double kFarRate = 0.9 * 50e9;
constexpr double kNode = 8;  // GPUs of a node

double RateOf(double group) { return group <= kNode ? kNearRate : kFarRate; }

}  // namespace

bool IsOperator(absl::string_view word) {
  return std::find(kOperators.begin(), kOperators.end(), word) != kOperators.end();
}

absl::StatusOr<OperatorMix> MixOf(const profile::TraceReport& trace,
                                  const profile::Families& families) {
  OperatorMix mix;
  for (const profile::DeviceReport& device : trace.devices) {
    double collectives = 0;
    for (const profile::FamilyTime& each : device.families) {
      if (each.family >= families.all().size()) continue;
      const profile::Family& family = families.all()[each.family];
      const double time = static_cast<double>(each.time);
      if (family.kind == profile::Kind::kCommunication) {
        collectives += time;
      } else if (family.kind == profile::Kind::kMemory) {
        mix["memory"] += time;
      } else {
        // A site's own family would reveal more than the closed list does.
        mix[IsOperator(family.name) ? family.name : "other"] += time;
      }
    }
    for (const profile::KernelTime& each : device.kernels) {
      if (each.family >= families.all().size() ||
          families.all()[each.family].kind != profile::Kind::kCommunication) {
        continue;
      }
      const double time = std::min(collectives, static_cast<double>(each.time));
      mix[std::string(CollectiveOf(each.name))] += time;
      collectives -= time;
    }
    if (collectives > 0) mix["collective"] += collectives;
  }
  return Normalised(std::move(mix));
}

absl::StatusOr<OperatorMix> MixOf(const Declared& d) {
  const std::pair<absl::string_view, std::int64_t> fields[] = {
      {"layers", d.layers},           {"hidden", d.hidden},   {"sequence", d.sequence},
      {"vocabulary", d.vocabulary},   {"experts", d.experts}, {"active", d.active},
      {"micro_batch", d.micro_batch}, {"tensor", d.tensor},   {"accumulation", d.accumulation},
      {"pipeline", d.pipeline},       {"data", d.data},       {"expert", d.expert},
      {"context", d.context}};
  for (const auto& [name, value] : fields) {
    if (value < 1 || value > 100'000'000) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " ", value, ": must be between 1 and 100,000,000"));
    }
  }
  if (d.ffn < 0 || d.ffn > 100'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("ffn ", d.ffn, ": must be between 0 and 100,000,000"));
  }
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double h = number(d.hidden);
  const double ffn = d.ffn > 0 ? number(d.ffn) : 4 * h;
  const double s = number(d.sequence) / number(d.context);
  const double tokens = number(d.micro_batch) * s;  // of a micro-batch on one GPU
  const double layers = number(d.layers) / number(d.pipeline);
  const double tensor = number(d.tensor);
  const double passes = d.training ? 3 : 1;  // backward computes twice as much as forward
  const double ways = d.training ? 2 : 1;    // and sends the same amount
  const double active = number(std::min(d.active, d.experts));
  const double weights = layers * (4 * h * h + 2 * h * ffn * number(d.experts)) / tensor;
  const double used = layers * (4 * h * h + 2 * h * ffn * active) / tensor;
  OperatorMix mix;
  // For one micro-batch.
  mix["gemm"] =
      passes *
      (2 * tokens * used + 2 * tokens * h * number(d.vocabulary) / tensor / number(d.pipeline)) /
      kGemmRate;
  mix["attention"] =
      passes * layers * 4 * tokens * number(d.sequence) / 2 * h / tensor / kAttentionRate;
  mix["elementwise"] =
      passes * layers * tokens * (2 * ffn * active + 6 * h) * 2 / tensor / kMemoryRate;
  mix["normalization"] = passes * layers * tokens * 4 * h * 2 / kMemoryRate;
  mix["embedding"] = passes * tokens * h * 2 / kMemoryRate;
  if (d.tensor > 1) {
    const double bytes = ways * layers * 2 * tokens * h * 2 * 2 * (tensor - 1) / tensor;
    mix["all_reduce"] += bytes / RateOf(tensor);
  }
  if (d.pipeline > 1) mix["send_recv"] += ways * tokens * h * 2 / kFarRate;
  if (d.context > 1) {
    mix["send_recv"] += ways * layers * 2 * tokens * h * 2 / RateOf(tensor * number(d.context));
  }
  if (d.experts > 1) {
    mix["routing"] += passes * layers * tokens * number(d.experts) * 4 / kMemoryRate;
    if (d.expert > 1) {
      mix["all_to_all"] +=
          ways * layers * 2 * tokens * h * 2 * active / RateOf(tensor * number(d.expert));
    }
  }
  // Once per step, spread over its micro-batches; experts are held by `expert` groups.
  const double steps = number(d.accumulation);
  const double held = weights / (d.experts > 1 ? number(d.expert) : 1);
  if (d.training) {
    mix["optimizer"] = held * 16 / (d.sharded ? number(d.data) : 1) / kMemoryRate / steps;
  }
  if (d.data > 1) {
    const double far = RateOf(tensor * number(d.data));
    if (d.sharded) {
      mix["all_gather"] += (d.training ? 2 : 1) * held * 2 / far;
      if (d.training) mix["reduce_scatter"] += held * 2 / far;
    } else if (d.training) {
      mix["all_reduce"] += 2 * held * 2 / far / steps;
    }
  }
  return Normalised(std::move(mix));
}

}  // namespace galen::advisor
