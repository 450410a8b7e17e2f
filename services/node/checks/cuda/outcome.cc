#include "services/node/checks/cuda/outcome.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace galen::node {
namespace {

using End = GpuTestRun::End;

constexpr int kOutOfMemory = 2;
constexpr int kDeviceUnavailable = 46;

}  // namespace

bool TellsOfGpu(int code) { return code != kOutOfMemory && code != kDeviceUnavailable; }

v1::Finding& Outcome::Add(v1::Finding finding, bool known) {
  any_known_ = any_known_ || known;
  findings_.push_back(std::move(finding));
  return findings_.back();
}

v1::Finding& Outcome::Bool(absl::string_view name, absl::string_view device,
                           std::optional<bool> value) {
  return Add(value.has_value() ? BoolFinding(name, node_, device, *value)
                               : UnknownFinding(name, node_, device),
             value.has_value());
}

v1::Finding& Outcome::Int(absl::string_view name, absl::string_view device,
                          std::optional<std::int64_t> value) {
  return Add(value.has_value() ? IntFinding(name, node_, device, *value)
                               : UnknownFinding(name, node_, device),
             value.has_value());
}

v1::Finding& Outcome::Float(absl::string_view name, absl::string_view device,
                            std::optional<double> value) {
  return Add(value.has_value() ? FloatFinding(name, node_, device, *value)
                               : UnknownFinding(name, node_, device),
             value.has_value());
}

v1::Finding& Outcome::Text(absl::string_view name, absl::string_view device,
                           std::optional<std::string> value) {
  return Add(value.has_value() ? TextFinding(name, node_, device, *value)
                               : UnknownFinding(name, node_, device),
             value.has_value());
}

bool Outcome::Ended(const TestGpu& gpu, const GpuTestRun& run) {
  std::optional<std::int64_t> error;
  std::optional<bool> hung;
  switch (run.end) {
    case End::kDone:
      error = 0;
      hung = false;
      break;
    case End::kFailed:
      hung = false;
      if (TellsOfGpu(run.code)) error = run.code;
      Say(gpu.device, absl::StrCat(run.call, " gave ", run.text, " (", run.code, ")"));
      break;
    case End::kHung:
      hung = true;
      Say(gpu.device, absl::StrCat("hung in ", run.text));
      break;
    case End::kLate:
      reason_ = absl::StatusCode::kDeadlineExceeded;
      Say(gpu.device, absl::StrCat("not done in time; it was at ", run.text));
      break;
    case End::kDied:
      reason_ = absl::StatusCode::kInternal;
      Say(gpu.device, run.text);
      break;
    default:
      Say(gpu.device, run.text);
  }
  Int("cuda_error", gpu.device, error);
  Bool("hung", gpu.device, hung);
  return run.end == End::kDone;
}

void Outcome::Say(absl::string_view device, absl::string_view what) {
  for (auto& [text, devices] : said_) {
    if (text == what) {
      devices.emplace_back(device);
      return;
    }
  }
  said_.emplace_back(std::string(what), std::vector<std::string>{std::string(device)});
}

void Outcome::Show(absl::string_view line) { absl::StrAppend(&excerpt_, line, "\n"); }

absl::StatusOr<CheckOutput> Outcome::Finish(const TestGpus& gpus) && {
  std::vector<std::string> sentences;
  for (const auto& [text, devices] : said_) {
    sentences.push_back(absl::StrCat(absl::StrJoin(devices, ", "), ": ", text));
  }
  if (const std::string refused = gpus.Refusals(); !refused.empty()) {
    sentences.push_back(absl::StrCat("not tested: ", refused));
  }
  std::string message = absl::StrJoin(sentences, "; ");
  if (!any_known_) return absl::Status(reason_, message);
  return CheckOutput{.findings = std::move(findings_),
                     .message = std::move(message),
                     .excerpt = std::move(excerpt_)};
}

std::optional<double> BelowMedianPercent(std::optional<double> value,
                                         const std::vector<std::optional<double>>& all) {
  std::vector<double> known;
  for (const std::optional<double>& one : all) {
    if (one.has_value()) known.push_back(*one);
  }
  if (!value.has_value() || known.size() < 2) return std::nullopt;
  std::sort(known.begin(), known.end());
  const std::size_t half = known.size() / 2;
  const double median = known.size() % 2 == 1 ? known[half] : (known[half - 1] + known[half]) / 2;
  if (median <= 0) return std::nullopt;
  return std::max(0.0, (median - *value) / median * 100);
}

std::string Rounded(double number) { return absl::StrFormat("%.3g", number); }

}  // namespace galen::node
