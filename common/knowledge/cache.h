#ifndef COMMON_KNOWLEDGE_CACHE_H_
#define COMMON_KNOWLEDGE_CACHE_H_

#include <optional>
#include <string>

#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::knowledge {

// The parsed form of the knowledge with this digest, as StoreInCache left it. Nothing when there is
// none, or when the file is damaged.
std::optional<v1::KnowledgeBase> ReadFromCache(const std::string& directory,
                                               const std::string& digest);

// Keeps `base` under its digest, replacing what is there in one step. A cache that cannot be
// written costs time only, so nothing is reported.
void StoreInCache(const std::string& directory, const v1::KnowledgeBase& base);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_CACHE_H_
