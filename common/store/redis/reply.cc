#include "common/store/redis/reply.h"

#include <hiredis/hiredis.h>

namespace galen::store::redis {

bool Reply::HasTexts(std::size_t count) const {
  if (!IsArray() || elements.size() < count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!elements[i].IsText()) return false;
  }
  return true;
}

Reply ToReply(const redisReply& parsed) {
  Reply reply;
  switch (parsed.type) {
    case REDIS_REPLY_INTEGER:
      reply.type = Reply::Type::kInteger;
      reply.integer = parsed.integer;
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
      reply.type = parsed.type == REDIS_REPLY_STRING   ? Reply::Type::kString
                   : parsed.type == REDIS_REPLY_STATUS ? Reply::Type::kStatus
                                                       : Reply::Type::kError;
      reply.text.assign(parsed.str, parsed.len);
      break;
    case REDIS_REPLY_ARRAY:
      reply.type = Reply::Type::kArray;
      reply.elements.reserve(parsed.elements);
      for (std::size_t i = 0; i < parsed.elements; ++i) {
        reply.elements.push_back(ToReply(*parsed.element[i]));
      }
      break;
    default:
      break;
  }
  return reply;
}

}  // namespace galen::store::redis
