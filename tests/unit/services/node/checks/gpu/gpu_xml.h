#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_GPU_GPU_XML_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_GPU_GPU_XML_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

// Outputs of `nvidia-smi -q -x` with no more in them than a test is about.
namespace galen::node {

// One GPU; `fields` is XML inside of its element.
inline std::string GpuXml(absl::string_view bus, absl::string_view fields,
                          absl::string_view product = "NVIDIA A100-SXM4-80GB") {
  return absl::StrCat("<gpu id=\"00000000:", bus, ":00.0\"><product_name>", product,
                      "</product_name><uuid>GPU-", bus, "</uuid>", fields, "</gpu>");
}

inline std::string SmiXml(const std::vector<std::string>& gpus) {
  std::string xml = absl::StrCat(
      "<?xml version=\"1.0\" ?>\n"
      "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n"
      "<driver_version>550.54.14</driver_version><cuda_version>12.4</cuda_version>"
      "<attached_gpus>",
      gpus.size(), "</attached_gpus>\n");
  for (const std::string& gpu : gpus) absl::StrAppend(&xml, gpu, "\n");
  return absl::StrCat(xml, "</nvidia_smi_log>\n");
}

}  // namespace galen::node

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_GPU_GPU_XML_H_
