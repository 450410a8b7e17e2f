#include "services/node/checks/gpu/gpu_findings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxSpecialTold = 8;
constexpr std::size_t kMaxListed = 16;

std::int64_t Signed(std::size_t number) { return static_cast<std::int64_t>(number); }

// "0, 3 and 5".
std::string Listed(std::vector<std::string> devices) {
  if (devices.size() == 1) return devices.front();
  if (devices.size() > kMaxListed) {
    const std::size_t left_out = devices.size() - kMaxListed;
    devices.resize(kMaxListed);
    devices.push_back(absl::StrCat(left_out, " more"));
  }
  const std::string last = std::move(devices.back());
  devices.pop_back();
  return absl::StrCat(absl::StrJoin(devices, ", "), " and ", last);
}

// The readings of a source without XML for the GPU and that section.
std::string ReadingsExcerpt(const GpuState& state, const Gpu& gpu, absl::string_view tag) {
  std::string text;
  for (const GpuReading& reading : state.readings) {
    if (reading.gpu == gpu.index && reading.section == tag) {
      absl::StrAppend(&text, "\n", reading.text);
    }
  }
  if (text.empty()) return "";
  return absl::StrCat("GPU ", gpu.index, " (", gpu.pci_address, ")", text);
}

}  // namespace

v1::Device GpuFindings::Node() const {
  v1::Device device;
  device.set_node(node_);
  return device;
}

v1::Device GpuFindings::Of(const Gpu& gpu) const {
  v1::Device device = Node();
  device.set_device(DeviceName(gpu));
  device.set_pci_address(gpu.pci_address);
  device.set_serial(gpu.serial.empty() ? gpu.uuid : gpu.serial);
  return device;
}

v1::Device GpuFindings::OfPci(absl::string_view address) const {
  v1::Device device = Node();
  device.set_device(absl::StrCat("pci:", address));
  device.set_pci_address(std::string(address));
  return device;
}

v1::Device GpuFindings::OfLink(const Gpu& gpu, int link) const {
  v1::Device device = Of(gpu);
  device.set_device(absl::StrCat(DeviceName(gpu), "/link:", link));
  return device;
}

v1::Finding& GpuFindings::Add(absl::string_view name, v1::Device subject, bool known) {
  any_known_ = any_known_ || known;
  bool& told = told_[subject.device()];
  told = told || known;
  v1::Finding& finding = findings_.emplace_back();
  finding.set_name(std::string(name));
  *finding.mutable_subject() = std::move(subject);
  return finding;
}

v1::Finding& GpuFindings::Bool(absl::string_view name, v1::Device subject,
                               std::optional<bool> value) {
  v1::Finding& finding = Add(name, std::move(subject), value.has_value());
  if (value.has_value()) finding.set_bool_value(*value);
  return finding;
}

v1::Finding& GpuFindings::Int(absl::string_view name, v1::Device subject,
                              std::optional<std::int64_t> value) {
  v1::Finding& finding = Add(name, std::move(subject), value.has_value());
  if (value.has_value()) finding.set_int_value(*value);
  return finding;
}

v1::Finding& GpuFindings::Float(absl::string_view name, v1::Device subject,
                                std::optional<double> value) {
  v1::Finding& finding = Add(name, std::move(subject), value.has_value());
  if (value.has_value()) finding.set_double_value(*value);
  return finding;
}

v1::Finding& GpuFindings::Text(absl::string_view name, v1::Device subject,
                               std::optional<std::string> value) {
  v1::Finding& finding = Add(name, std::move(subject), value.has_value());
  if (value.has_value()) finding.set_text_value(*std::move(value));
  return finding;
}

CheckOutput GpuFindings::Finish(std::string message, std::string excerpt) && {
  return {.findings = std::move(findings_),
          .message = std::move(message),
          .excerpt = std::move(excerpt)};
}

CheckOutput GpuFindings::Finish(const Sentence& sentence, absl::string_view others,
                                std::string excerpt) && {
  const auto silent = std::count_if(told_.begin(), told_.end(), [](const auto& each) {
    return absl::StartsWith(each.first, "gpu:") && !absl::StrContains(each.first, '/') &&
           !each.second;
  });
  std::string message = sentence.Tell(others, static_cast<std::size_t>(silent));
  return std::move(*this).Finish(std::move(message), std::move(excerpt));
}

void Sentence::Special(absl::string_view device, absl::string_view text) {
  ++special_devices_;
  for (auto& [known, devices] : special_) {
    if (known == text) {
      devices.emplace_back(device);
      return;
    }
  }
  special_.push_back({std::string(text), {std::string(device)}});
}

void Sentence::Special(const Gpu& gpu, absl::string_view text) {
  Special(absl::StrCat(gpu.index), text);
}

std::string Sentence::Tell(absl::string_view others, std::size_t silent) const {
  const std::string all = total_ == 1 ? absl::StrCat("the only ", what_)
                                      : absl::StrCat("all ", Count(Signed(total_), what_));
  const auto number = [&](std::size_t some) {
    return some == 1 ? what_ : Count(Signed(some), what_);
  };
  std::vector<std::string> parts;
  for (const auto& [text, devices] : special_) {
    if (parts.size() == kMaxSpecialTold) {
      parts.push_back(absl::StrCat(special_.size() - kMaxSpecialTold, " more kinds"));
      break;
    }
    if (total_ > 1 && devices.size() == total_) {
      parts.push_back(absl::StrCat(all, ": ", text));
    } else {
      parts.push_back(
          absl::StrCat(what_, devices.size() == 1 ? " " : "s ", Listed(devices), ": ", text));
    }
  }
  // A device with a remark may have no value of its own.
  const std::size_t unknown = std::min(silent, total_ - std::min(total_, special_devices_));
  const std::size_t rest = total_ - std::min(total_, special_devices_ + unknown);
  if (rest > 0) {
    parts.push_back(absl::StrCat(rest == total_     ? all
                                 : special_.empty() ? Count(Signed(rest), what_)
                                                    : absl::StrCat("the other ", number(rest)),
                                 ": ", others));
  }
  if (unknown > 0) {
    parts.push_back(absl::StrCat(Count(Signed(unknown), what_), " not shown"));
  }
  return absl::StrJoin(parts, "; ");
}

std::optional<double> HardwareFact(const knowledge::Knowledge& knowledge, absl::string_view product,
                                   absl::string_view name) {
  const knowledge::v1::Hardware* const model =
      product.empty() ? nullptr : knowledge.FindHardware(product);
  if (model == nullptr) return std::nullopt;
  const auto fact = model->facts().find(std::string(name));
  if (fact == model->facts().end()) return std::nullopt;
  return fact->second;
}

std::optional<std::string> Known(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

std::string Count(std::int64_t number, absl::string_view what) {
  return absl::StrCat(number, " ", what, number == 1 ? "" : "s");
}

std::string Short(double number) { return absl::StrCat(number); }

std::string Excerpt(const GpuState& state, const Gpu& gpu, absl::string_view tag) {
  if (state.raw.empty()) return ReadingsExcerpt(state, gpu, tag);
  // The XML lists the GPUs in the order of their indexes.
  const absl::string_view raw = state.raw;
  std::size_t at = 0;
  for (int seen = 0; seen <= gpu.index; ++seen) {
    at = raw.find("<gpu ", seen == 0 ? 0 : at + 1);
    if (at == absl::string_view::npos) return "";
  }
  const std::string open = absl::StrCat("<", tag, ">");
  const std::string close = absl::StrCat("</", tag, ">");
  const std::size_t begin = raw.find(open, at);
  if (begin == absl::string_view::npos || begin > raw.find("<gpu ", at + 1)) return "";
  const std::size_t end = raw.find(close, begin);
  if (end == absl::string_view::npos) return "";
  std::vector<absl::string_view> lines;
  for (const absl::string_view line :
       absl::StrSplit(raw.substr(begin, end + close.size() - begin), '\n')) {
    lines.push_back(absl::StripAsciiWhitespace(line));
  }
  return absl::StrCat("GPU ", gpu.index, " (", gpu.pci_address, ")\n", absl::StrJoin(lines, "\n"));
}

}  // namespace galen::node
