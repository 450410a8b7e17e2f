#ifndef SERVICES_GATEWAY_INFO_READABLE_KNOWLEDGE_H_
#define SERVICES_GATEWAY_INFO_READABLE_KNOWLEDGE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/hot_swap.h"
#include "common/knowledge/knowledge.h"
#include "common/knowledge/reload.h"
#include "services/gateway/http/asset.h"

namespace galen::gateway {

// The part of the knowledge that people may read (KnowledgeJson), reloaded when its files change.
// Thread-safe.
class ReadableKnowledge {
 public:
  using OnKnowledge = std::function<void(const knowledge::Knowledge&)>;

  // `tell` gets a sentence about each reload and each failure; `on_knowledge` gets the knowledge,
  // at once and after each reload. Null if the knowledge cannot be read, which is reported: the
  // gateway then shows none.
  static std::unique_ptr<ReadableKnowledge> Open(const std::vector<std::string>& directories,
                                                 std::function<void(const std::string&)> tell,
                                                 OnKnowledge on_knowledge = nullptr);

  HotSwap<http::Asset>& shown() { return shown_; }

 private:
  explicit ReadableKnowledge(const knowledge::Knowledge& knowledge);

  HotSwap<http::Asset> shown_;
  std::unique_ptr<knowledge::Reloader> reloader_;  // ends first: it sets the other
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_INFO_READABLE_KNOWLEDGE_H_
