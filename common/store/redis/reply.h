#ifndef COMMON_STORE_REDIS_REPLY_H_
#define COMMON_STORE_REDIS_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct redisReply;

namespace galen::store::redis {

// Redis's reply to one command. It may hold anything that a hostile server sends, so readers check
// the type of every part.
struct Reply {
  enum class Type { kNil, kInteger, kString, kStatus, kError, kArray };
  Type type = Type::kNil;
  std::int64_t integer = 0;
  std::string text;  // of a string, a status or an error
  std::vector<Reply> elements;

  bool IsNil() const { return type == Type::kNil; }
  bool IsInteger() const { return type == Type::kInteger; }
  bool IsText() const { return type == Type::kString || type == Type::kStatus; }
  bool IsError() const { return type == Type::kError; }
  bool IsArray() const { return type == Type::kArray; }
  // True when it is an array of `count` or more texts, which scripts of ours answer with.
  bool HasTexts(std::size_t count) const;
};

// Memory limits of one reply.
struct ReplyLimits {
  std::size_t bytes = std::size_t{128} << 20;
  std::size_t elements = 1'000'000;
};

// A copy of what hiredis parsed.
Reply ToReply(const redisReply& parsed);

}  // namespace galen::store::redis

#endif  // COMMON_STORE_REDIS_REPLY_H_
