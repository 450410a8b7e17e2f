#ifndef SERVICES_NODE_CHECKS_GPU_GPU_FINDINGS_H_
#define SERVICES_NODE_CHECKS_GPU_GPU_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "galen/v1/evidence.pb.h"
#include "services/node/checks/check.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {

class Sentence;

// Collects what a check found, and knows whether it found anything at all. A missing value becomes
// an unknown finding.
class GpuFindings {
 public:
  explicit GpuFindings(const CheckContext& context) : node_(context.host.name()) {}

  v1::Device Node() const;
  v1::Device Of(const Gpu& gpu) const;
  // A device that nvidia-smi does not list: "pci:0000:b3:00.0".
  v1::Device OfPci(absl::string_view address) const;
  v1::Device OfLink(const Gpu& gpu, int link) const;

  // The finding stays valid until the next call.
  v1::Finding& Bool(absl::string_view name, v1::Device subject, std::optional<bool> value);
  v1::Finding& Int(absl::string_view name, v1::Device subject, std::optional<std::int64_t> value);
  v1::Finding& Float(absl::string_view name, v1::Device subject, std::optional<double> value);
  v1::Finding& Text(absl::string_view name, v1::Device subject, std::optional<std::string> value);

  // True when some finding has a value.
  bool any_known() const { return any_known_; }

  CheckOutput Finish(std::string message, std::string excerpt) &&;
  // With a message about the GPUs; `others` is said only of those that have a value.
  CheckOutput Finish(const Sentence& sentence, absl::string_view others, std::string excerpt) &&;

 private:
  v1::Finding& Add(absl::string_view name, v1::Device subject, bool known);

  std::string node_;
  std::vector<v1::Finding> findings_;
  bool any_known_ = false;
  std::map<std::string, bool> told_;  // by device: whether a finding has a value
};

// Builds a sentence of what is special about some devices, and of what holds for all others.
// Devices with the same remark are named together.
class Sentence {
 public:
  // `what`: "GPU", "NVLink".
  Sentence(absl::string_view what, std::size_t total) : what_(what), total_(total) {}

  void Special(absl::string_view device, absl::string_view text);
  void Special(const Gpu& gpu, absl::string_view text);
  // "GPU 1: 3 errors; the other 7 GPUs: no error", or "all 8 GPUs: no error". `silent`: number of
  // devices of which nothing is known.
  std::string Tell(absl::string_view others, std::size_t silent = 0) const;
  bool has_special() const { return !special_.empty(); }

 private:
  std::string what_;
  std::size_t total_;
  std::size_t special_devices_ = 0;
  // Texts in the order in which they came, each with its devices.
  std::vector<std::pair<std::string, std::vector<std::string>>> special_;
};

// A fact of the GPU model that `product` names; nothing if the knowledge lacks the model or fact.
std::optional<double> HardwareFact(const knowledge::Knowledge& knowledge, absl::string_view product,
                                   absl::string_view name);

// The text for a value that is known only by empty or not.
std::optional<std::string> Known(absl::string_view text);

// "1 GPU", "2 GPUs".
std::string Count(std::int64_t number, absl::string_view what);

// 41 and 5.5 as people write them.
std::string Short(double number);

// The GPU's readings in section `tag` (an element of nvidia-smi's XML), under a line that names the
// GPU; "" when there are none.
std::string Excerpt(const GpuState& state, const Gpu& gpu, absl::string_view tag);

// The same for the first GPU that is `wanted`, or the first of all.
template <typename Wanted>
std::string ExcerptOfFirst(const GpuState& state, absl::string_view tag, Wanted wanted) {
  for (const Gpu& gpu : state.gpus) {
    if (wanted(gpu)) return Excerpt(state, gpu, tag);
  }
  return Excerpt(state, state.gpus.front(), tag);
}

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_GPU_FINDINGS_H_
