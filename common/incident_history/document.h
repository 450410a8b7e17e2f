#ifndef COMMON_INCIDENT_HISTORY_DOCUMENT_H_
#define COMMON_INCIDENT_HISTORY_DOCUMENT_H_

#include <string>

namespace galen::incident_history {

// What a past incident is to the index.
struct Document {
  std::string id;       // unique in a store, not empty, at most kMaxIdBytes
  std::string label;    // its established cause, at most kMaxIdBytes
  std::string text;     // what it is found by
  std::string payload;  // the caller's own, given back with a hit and never looked into
};

inline constexpr size_t kMaxIdBytes = 1024;
// Of text and of payload each.
inline constexpr size_t kMaxDocumentBytes = 1 << 20;

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_DOCUMENT_H_
