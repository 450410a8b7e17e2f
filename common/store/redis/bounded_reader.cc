#include "common/store/redis/bounded_reader.h"

#include <cstdint>
#include <utility>

namespace galen::store::redis {

void BoundedReader::InstallIn(redisReader& reader) {
  plain_ = reader.fn;
  functions_.createString = &CreateString;
  functions_.createArray = &CreateArray;
  functions_.createInteger = &CreateInteger;
  functions_.createNil = &CreateNil;
  functions_.freeObject = plain_->freeObject;
  AddTypesOfResp3(functions_);
  reader.fn = &functions_;
  reader.privdata = this;
}

bool BoundedReader::Exceeded(const redisReader& reader) const {
  return exceeded_ || reader.len > limits_.bytes;
}

// hiredis hands the reader's private data down to every task.
BoundedReader& BoundedReader::Of(const redisReadTask* task) {
  return *static_cast<BoundedReader*>(task->privdata);
}

bool BoundedReader::Take(const redisReadTask* task, std::size_t bytes, std::size_t elements) {
  if (task->parent == nullptr) {  // the root of a new reply
    bytes_ = elements_ = 0;
    if (!expected_()) exceeded_ = true;
  }
  bytes_ += bytes;
  elements_ += elements;
  if (bytes_ > limits_.bytes || elements_ > limits_.elements) exceeded_ = true;
  return !exceeded_;
}

template <typename Functions>
void BoundedReader::AddTypesOfResp3(Functions& functions) {
  if constexpr (requires { functions.createDouble; }) {
    functions.createDouble = [](const redisReadTask* task, double value, char* text,
                                std::size_t size) -> void* {
      BoundedReader& self = Of(task);
      const Functions& plain = *self.plain_;
      return self.Take(task, size, 1) ? plain.createDouble(task, value, text, size) : nullptr;
    };
    functions.createBool = [](const redisReadTask* task, int value) -> void* {
      BoundedReader& self = Of(task);
      const Functions& plain = *self.plain_;
      return self.Take(task, 0, 1) ? plain.createBool(task, value) : nullptr;
    };
  }
}

// Null makes the reader give up, as it does when memory is short.
void* BoundedReader::CreateString(const redisReadTask* task, char* bytes, std::size_t size) {
  BoundedReader& self = Of(task);
  return self.Take(task, size, 1) ? self.plain_->createString(task, bytes, size) : nullptr;
}

template <typename Count>
void* BoundedReader::CreateArray(const redisReadTask* task, Count elements) {
  BoundedReader& self = Of(task);
  const bool fits = std::in_range<std::uint32_t>(elements) &&
                    self.Take(task, 0, static_cast<std::size_t>(elements) + 1);
  return fits ? self.plain_->createArray(task, elements) : nullptr;
}

void* BoundedReader::CreateInteger(const redisReadTask* task, long long value) {
  BoundedReader& self = Of(task);
  return self.Take(task, 0, 1) ? self.plain_->createInteger(task, value) : nullptr;
}

void* BoundedReader::CreateNil(const redisReadTask* task) {
  BoundedReader& self = Of(task);
  return self.Take(task, 0, 1) ? self.plain_->createNil(task) : nullptr;
}

}  // namespace galen::store::redis
