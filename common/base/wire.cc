#include "common/base/wire.h"

#include <cstring>

namespace galen {

double WireField::Double() const {
  double result = 0;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

float WireField::Float() const {
  const auto bits = static_cast<std::uint32_t>(value);
  float result = 0;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

bool Wire::Next(WireField& field) {
  if (rest_.empty() || broken_) return false;
  std::uint64_t tag = 0;
  if (!Varint(tag)) return Break();
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.bytes = {};
  field.value = 0;
  switch (tag & 7) {
    case 0:
      return Varint(field.value) || Break();
    case 1:
      return Fixed(8, field.value);
    case 2: {
      std::uint64_t size = 0;
      if (!Varint(size) || size > rest_.size()) return Break();
      field.bytes = rest_.substr(0, static_cast<std::size_t>(size));
      rest_.remove_prefix(static_cast<std::size_t>(size));
      return true;
    }
    case 5:
      return Fixed(4, field.value);
    default:
      return Break();
  }
}

bool Wire::Break() {
  broken_ = true;
  return false;
}

bool Wire::Fixed(std::size_t size, std::uint64_t& value) {
  if (rest_.size() < size) return Break();
  for (std::size_t i = size; i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(rest_[i - 1]);
  }
  rest_.remove_prefix(size);
  return true;
}

bool Wire::Varint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace galen
