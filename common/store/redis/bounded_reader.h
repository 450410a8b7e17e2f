#ifndef COMMON_STORE_REDIS_BOUNDED_READER_H_
#define COMMON_STORE_REDIS_BOUNDED_READER_H_

#include <hiredis/hiredis.h>

#include <cstddef>
#include <functional>
#include <utility>

#include "common/store/redis/reply.h"

namespace galen::store::redis {

// Makes hiredis's reader refuse replies that exceed its limits while they are being read, and
// replies that nobody asked for. hiredis itself accepts any length that a server names, and aborts
// the process on a reply without a request. Must outlive the reader it is installed in; not
// thread-safe, like the reader.
class BoundedReader {
 public:
  // `expected` says whether an answer is awaited.
  BoundedReader(const ReplyLimits& limits, std::function<bool()> expected)
      : limits_(limits), expected_(std::move(expected)) {}
  BoundedReader(const BoundedReader&) = delete;
  BoundedReader& operator=(const BoundedReader&) = delete;

  // Before the reader has been fed anything.
  void InstallIn(redisReader& reader);
  // True once the reader has refused a reply, or holds more unread bytes than a reply may have.
  // To be asked after every read.
  bool Exceeded(const redisReader& reader) const;

 private:
  static BoundedReader& Of(const redisReadTask* task);
  bool Take(const redisReadTask* task, std::size_t bytes, std::size_t elements);
  static void* CreateString(const redisReadTask* task, char* bytes, std::size_t size);
  // hiredis counts with an int up to release 0.14, later with a std::size_t.
  template <typename Count>
  static void* CreateArray(const redisReadTask* task, Count elements);
  static void* CreateInteger(const redisReadTask* task, long long value);
  static void* CreateNil(const redisReadTask* task);
  // Doubles and booleans, which hiredis knows from release 1.0 on.
  template <typename Functions>
  static void AddTypesOfResp3(Functions& functions);

  const ReplyLimits limits_;
  const std::function<bool()> expected_;
  redisReplyObjectFunctions functions_{};
  redisReplyObjectFunctions* plain_ = nullptr;  // hiredis's own
  std::size_t bytes_ = 0;                       // of the reply that is being read
  std::size_t elements_ = 0;
  bool exceeded_ = false;
};

}  // namespace galen::store::redis

#endif  // COMMON_STORE_REDIS_BOUNDED_READER_H_
