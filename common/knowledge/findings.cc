#include "common/knowledge/findings.h"

#include <string>
#include <utility>

namespace galen::knowledge {
namespace {

galen::v1::Finding Named(absl::string_view name, absl::string_view node, absl::string_view device) {
  galen::v1::Finding finding;
  finding.set_name(std::string(name));
  finding.mutable_subject()->set_node(std::string(node));
  finding.mutable_subject()->set_device(std::string(device));
  return finding;
}

}  // namespace

galen::v1::Finding BoolFinding(absl::string_view name, absl::string_view node,
                               absl::string_view device, bool value) {
  galen::v1::Finding finding = Named(name, node, device);
  finding.set_bool_value(value);
  return finding;
}

galen::v1::Finding IntFinding(absl::string_view name, absl::string_view node,
                              absl::string_view device, std::int64_t value) {
  galen::v1::Finding finding = Named(name, node, device);
  finding.set_int_value(value);
  return finding;
}

galen::v1::Finding FloatFinding(absl::string_view name, absl::string_view node,
                                absl::string_view device, double value) {
  galen::v1::Finding finding = Named(name, node, device);
  finding.set_double_value(value);
  return finding;
}

galen::v1::Finding TextFinding(absl::string_view name, absl::string_view node,
                               absl::string_view device, absl::string_view value) {
  galen::v1::Finding finding = Named(name, node, device);
  finding.set_text_value(std::string(value));
  return finding;
}

galen::v1::Finding UnknownFinding(absl::string_view name, absl::string_view node,
                                  absl::string_view device) {
  return Named(name, node, device);
}

galen::v1::Finding EventFinding(absl::string_view name, absl::string_view node,
                                absl::string_view device, galen::v1::LogEvent event) {
  galen::v1::Finding finding = Named(name, node, device);
  *finding.mutable_event_value() = std::move(event);
  return finding;
}

}  // namespace galen::knowledge
