#ifndef COMMON_BASE_WIRE_H_
#define COMMON_BASE_WIRE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace galen {

// A field of a message in the encoding of protocol buffers.
struct WireField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // of a number; of a fixed one, its bits
  absl::string_view bytes;  // of a message, a text, or packed numbers

  double Double() const;  // of a fixed number of 64 bits
  float Float() const;    // of a fixed number of 32 bits
};

// Reads a foreign message field by field, without a schema. It copies nothing: `bytes` must outlive
// the fields. https://protobuf.dev/programming-guides/encoding
class Wire {
 public:
  explicit Wire(absl::string_view bytes) : rest_(bytes) {}

  // False at the end, and where the bytes are not a message.
  bool Next(WireField& field);
  bool broken() const { return broken_; }

 private:
  bool Break();
  bool Fixed(std::size_t size, std::uint64_t& value);
  bool Varint(std::uint64_t& value);

  absl::string_view rest_;
  bool broken_ = false;
};

}  // namespace galen

#endif  // COMMON_BASE_WIRE_H_
