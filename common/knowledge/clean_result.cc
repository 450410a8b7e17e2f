#include "common/knowledge/clean_result.h"

#include <string>

#include "common/base/text.h"

namespace galen::knowledge {
namespace {

constexpr std::size_t kMaxValueBytes = 1024;
constexpr std::size_t kMaxNameBytes = 256;

void Clean(std::string& text, std::size_t max_bytes) {
  if (!text.empty()) text = CleanText(text, max_bytes);
}

}  // namespace

void CleanFinding(galen::v1::Finding& finding) {
  Clean(*finding.mutable_name(), kMaxNameBytes);
  if (finding.has_subject()) {
    galen::v1::Device& subject = *finding.mutable_subject();
    Clean(*subject.mutable_node(), kMaxNameBytes);
    Clean(*subject.mutable_device(), kMaxNameBytes);
    Clean(*subject.mutable_pci_address(), kMaxNameBytes);
    Clean(*subject.mutable_serial(), kMaxNameBytes);
  }
  Clean(*finding.mutable_unit(), kMaxNameBytes);
  Clean(*finding.mutable_expected(), kMaxValueBytes);
  if (finding.has_text_value()) Clean(*finding.mutable_text_value(), kMaxValueBytes);
  if (finding.has_event_value()) {
    Clean(*finding.mutable_event_value()->mutable_code(), kMaxNameBytes);
    Clean(*finding.mutable_event_value()->mutable_text(), kMaxValueBytes);
  }
}

void CleanResult(galen::v1::CheckResult& result) {
  Clean(*result.mutable_message(), kMaxMessageBytes);
  Clean(*result.mutable_excerpt(), kMaxExcerptBytes);
  for (galen::v1::Finding& finding : *result.mutable_findings()) CleanFinding(finding);
}

}  // namespace galen::knowledge
