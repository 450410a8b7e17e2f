#ifndef COMMON_KNOWLEDGE_FINDINGS_H_
#define COMMON_KNOWLEDGE_FINDINGS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "galen/v1/evidence.pb.h"

namespace galen::knowledge {

// Builders of findings: `device` as in galen.v1.Device ("gpu:1", "" for the node). They fill
// name, subject and value; unit and limits come from the catalogue.
galen::v1::Finding BoolFinding(absl::string_view name, absl::string_view node,
                               absl::string_view device, bool value);
galen::v1::Finding IntFinding(absl::string_view name, absl::string_view node,
                              absl::string_view device, std::int64_t value);
galen::v1::Finding FloatFinding(absl::string_view name, absl::string_view node,
                                absl::string_view device, double value);
galen::v1::Finding TextFinding(absl::string_view name, absl::string_view node,
                               absl::string_view device, absl::string_view value);
// A finding whose value could not be determined.
galen::v1::Finding UnknownFinding(absl::string_view name, absl::string_view node,
                                  absl::string_view device);
galen::v1::Finding EventFinding(absl::string_view name, absl::string_view node,
                                absl::string_view device, galen::v1::LogEvent event);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_FINDINGS_H_
