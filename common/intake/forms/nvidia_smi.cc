// The XML of `nvidia-smi -q -x`, which the checks of GPUs read, as NVIDIA's driver writes it
// (nvsmi_device_v12.dtd). The converters of the other three outputs of nvidia-smi share it.
#include "common/intake/forms/nvidia_smi.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "common/intake/forms/pasted.h"

namespace galen::intake {
namespace {

// Limits for hostile texts; no machine has so many.
constexpr std::size_t kMostSmiGpus = 1024;
constexpr int kMostSmiNumber = 255;
constexpr std::size_t kMostChildren = 4096;
// Limits the search for one tag. Lists that may be longer only ever add elements.
constexpr int kMostTags = 128;
constexpr std::size_t kMostRemarks = 8;
constexpr std::size_t kLongestValue = 256;

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(CleanText(text, kLongestValue),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// The lines with which nvidia-smi refuses a request.
std::string RefusalIn(absl::string_view text) {
  std::vector<std::string> refusals;
  for (const absl::string_view line : PastedLines(text)) {
    for (const absl::string_view sentence :
         {"No devices were found", "NVIDIA-SMI has failed", "NVIDIA-SMI couldn't find",
          "Failed to initialize NVML", "Unable to determine the device handle"}) {
      if (!absl::StrContains(line, sentence) || refusals.size() == kMostRemarks) continue;
      refusals.emplace_back(line);
      break;
    }
  }
  return absl::StrJoin(refusals, "\n");
}

}  // namespace

XmlElement* XmlElement::Child(absl::string_view tag) {
  int looked = 0;
  for (XmlElement& child : children_) {
    if (child.tag_ == tag) return &child;
    if (++looked == kMostTags) return nullptr;
  }
  return Add(tag);
}

XmlElement* XmlElement::Add(absl::string_view tag) {
  if (children_.size() == kMostChildren) return nullptr;
  return &children_.emplace_back(tag);
}

XmlElement* XmlElement::Last() { return children_.empty() ? nullptr : &children_.back(); }

bool XmlElement::Has(absl::string_view tag) const {
  int looked = 0;
  return std::any_of(children_.begin(), children_.end(), [&](const XmlElement& child) {
    return ++looked <= kMostTags && child.tag_ == tag;
  });
}

absl::string_view XmlElement::TextOf(absl::string_view tag) const {
  int looked = 0;
  for (const XmlElement& child : children_) {
    if (child.tag_ == tag) return child.text_;
    if (++looked == kMostTags) break;
  }
  return "";
}

void XmlElement::Set(absl::string_view path, absl::string_view text) {
  XmlElement* at = this;
  for (const absl::string_view tag : absl::StrSplit(path, '/')) {
    at = at->Child(tag);
    if (at == nullptr) return;
  }
  if (at->text_.empty()) at->text_ = std::string(text);
}

void XmlElement::WriteContent(int depth, std::string* out) const {
  for (const XmlElement& child : children_) child.Write(depth, out);
}

void XmlElement::Write(int depth, std::string* out) const {
  out->append(static_cast<std::size_t>(depth), '\t');
  if (children_.empty() && !text_.empty()) {
    absl::StrAppend(out, "<", tag_, ">", Escaped(text_), "</", tag_, ">\n");
    return;
  }
  absl::StrAppend(out, "<", tag_, ">\n");
  WriteContent(depth + 1, out);
  out->append(static_cast<std::size_t>(depth), '\t');
  absl::StrAppend(out, "</", tag_, ">\n");
}

SmiLog::Gpu* SmiLog::AddGpu() {
  if (gpus_.size() == kMostSmiGpus) return nullptr;
  return &gpus_.emplace_back();
}

void SmiLog::AddRemark(absl::string_view line) {
  if (remarks_.size() < kMostRemarks) remarks_.emplace_back(line.substr(0, 2 * kLongestValue));
}

void SmiLog::Number(std::vector<const Gpu*>* places) {
  int attached = 0;
  if (!absl::SimpleAtoi(root_.TextOf("attached_gpus"), &attached)) attached = 0;
  const bool numbered = std::all_of(gpus_.begin(), gpus_.end(), [](const Gpu& gpu) {
    return gpu.number.has_value() && *gpu.number >= 0 && *gpu.number <= kMostSmiNumber;
  });
  if (!numbered) {
    for (const Gpu& gpu : gpus_) places->push_back(&gpu);
    partial_ |= attached > static_cast<int>(places->size());
    return;
  }
  int count = std::clamp(attached, 0, kMostSmiNumber + 1);
  for (const Gpu& gpu : gpus_) count = std::max(count, *gpu.number + 1);
  places->assign(static_cast<std::size_t>(count), nullptr);
  for (const Gpu& gpu : gpus_) {
    const Gpu*& place = (*places)[static_cast<std::size_t>(*gpu.number)];
    // A repeated number is another reading or another machine: the first one counts.
    if (place == nullptr) place = &gpu;
  }
  partial_ |= std::find(places->begin(), places->end(), nullptr) != places->end();
}

absl::StatusOr<Converted> SmiLog::Finish(absl::string_view form, absl::string_view text) && {
  gpus_.remove_if([](const Gpu& gpu) { return gpu.content.empty() && !gpu.shown; });
  if (gpus_.empty()) {
    std::string refusal = RefusalIn(text);
    if (refusal.empty()) return Unreadable(form, "the text shows no GPU with a value");
    return Converted{.text = std::move(refusal) + "\n", .files = {}};
  }
  std::vector<const Gpu*> places;
  Number(&places);
  Converted converted;
  std::string& xml = converted.text;
  xml = "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n";
  root_.WriteContent(1, &xml);
  for (const Gpu* const gpu : places) {
    absl::StrAppend(&xml, "\t<gpu id=\"", gpu == nullptr ? "" : Escaped(gpu->address), "\">\n");
    if (gpu != nullptr) gpu->content.WriteContent(2, &xml);
    absl::StrAppend(&xml, "\t</gpu>\n");
  }
  absl::StrAppend(&xml, "</nvidia_smi_log>\n");
  for (const std::string& remark : remarks_) absl::StrAppend(&xml, remark, "\n");
  converted.partial = partial_;
  return converted;
}

void NumberByCommand(absl::string_view command, SmiLog* log) {
  const TypedCommand typed(command, "nvidia-smi");
  const std::optional<std::string> ids = typed.ValueOf({"-i", "--id"});
  if (!ids.has_value()) return;
  log->set_partial();
  const std::vector<absl::string_view> numbers = absl::StrSplit(*ids, ',');
  if (numbers.size() != log->gpus().size()) return;
  // -i also takes addresses and UUIDs.
  if (!std::all_of(numbers.begin(), numbers.end(), IsNumber)) return;
  auto number = numbers.begin();
  for (SmiLog::Gpu& gpu : log->gpus()) {
    int value = 0;
    if (!gpu.number.has_value() && absl::SimpleAtoi(*number, &value)) gpu.number = value;
    ++number;
  }
}

void SetEccTotal(absl::string_view count, absl::string_view place, XmlElement* gpu) {
  gpu->Set(absl::StrCat("ecc_errors/", place, "/total"), count);
  if (count != "0") return;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(place, absl::MaxSplits('/', 1));
  const absl::string_view kind = parts.second == "single_bit" ? "correctable" : "uncorrectable";
  for (const absl::string_view memory : {"dram", "sram"}) {
    gpu->Set(absl::StrCat("ecc_errors/", parts.first, "/", memory, "_", kind), count);
  }
}

}  // namespace galen::intake
