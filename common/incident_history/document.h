#ifndef COMMON_INCIDENT_HISTORY_DOCUMENT_H_
#define COMMON_INCIDENT_HISTORY_DOCUMENT_H_

#include <string>

namespace galen::incident_history {

// A past incident as an index keeps it.
struct Document {
  std::string id;       // unique in an index, not empty, at most kMaxIdBytes
  std::string label;    // its established cause, at most kMaxIdBytes
  std::string text;     // the text that a search compares
  std::string payload;  // the caller's own, returned with a hit and never read
};

inline constexpr size_t kMaxIdBytes = 1024;
// Limit of text and of payload each.
inline constexpr size_t kMaxDocumentBytes = 1 << 20;

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_DOCUMENT_H_
