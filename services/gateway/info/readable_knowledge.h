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

// What people may read of the knowledge (KnowledgeJson), kept as new as its files. Thread-safe.
class ReadableKnowledge {
 public:
  using OnKnowledge = std::function<void(const knowledge::Knowledge&)>;

  // `tell` gets what was read anew, and what could not be; `on_knowledge` the knowledge, at once
  // and each time that it was read anew. Null where the knowledge cannot be read, which is told:
  // what is shown of it is then missing.
  static std::unique_ptr<ReadableKnowledge> Open(const std::vector<std::string>& directories,
                                                 std::function<void(const std::string&)> tell,
                                                 OnKnowledge on_knowledge = nullptr);

  HotSwap<http::Asset>& shown() { return shown_; }

 private:
  explicit ReadableKnowledge(const knowledge::Knowledge& knowledge);

  HotSwap<http::Asset> shown_;
  std::unique_ptr<knowledge::Reloader> reloader_;  // goes first: it sets the other
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_INFO_READABLE_KNOWLEDGE_H_
