#include "common/run_records/event_file.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/wire.h"
#include "common/run_records/checksums.h"

namespace galen::run_records {
namespace {

constexpr std::size_t kLength = 8;
constexpr std::size_t kChecksum = 4;
// A larger record is a graph or an image; it is skipped.
constexpr std::uint64_t kMostEvent = std::uint64_t{16} << 20;

// Numbers of tensorflow/core/framework/types.proto.
enum class Type : std::uint64_t {
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kInt64 = 9,
  kBfloat16 = 14,
  kHalf = 19,
};

float FloatOfBits(std::uint32_t bits) {
  float number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

// IEEE 754 binary16.
double HalfOfBits(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const auto fraction = static_cast<double>(bits & 0x3ff);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x1f) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

// The first number of a field of numbers, packed or not.
std::optional<std::uint64_t> FirstNumber(const WireField& field, std::size_t fixed) {
  if (field.bytes.empty()) return field.value;
  if (fixed > 0) {
    if (field.bytes.size() < fixed) return std::nullopt;
    return NumberOf(field.bytes.substr(0, fixed));
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < field.bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(field.bytes[i]);
    if (i < 9 || byte < 2) value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

double DoubleOf(Type type, std::uint64_t bits) {
  switch (type) {
    case Type::kFloat:
      return FloatOfBits(static_cast<std::uint32_t>(bits));
    case Type::kDouble: {
      WireField field;
      field.value = bits;
      return field.Double();
    }
    case Type::kInt32:
      return static_cast<std::int32_t>(bits);
    case Type::kInt64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case Type::kBfloat16:
      return FloatOfBits(static_cast<std::uint32_t>(bits) << 16);
    case Type::kHalf:
      return HalfOfBits(static_cast<std::uint32_t>(bits));
  }
  return std::nan("");
}

std::size_t SizeOf(Type type) {
  switch (type) {
    case Type::kDouble:
    case Type::kInt64:
      return 8;
    case Type::kBfloat16:
    case Type::kHalf:
      return 2;
    case Type::kFloat:
    case Type::kInt32:
      break;
  }
  return 4;
}

// Whether a shape is of one number: without dimensions, or each of size one.
bool IsOfOne(absl::string_view shape) {
  Wire wire(shape);
  WireField field;
  while (wire.Next(field)) {
    if (field.number != 2) continue;
    Wire dimension(field.bytes);
    WireField size;
    std::uint64_t number = 0;
    while (dimension.Next(size)) {
      if (size.number == 1) number = size.value;
    }
    if (number != 1) return false;
  }
  return !wire.broken();
}

std::optional<double> ScalarOfTensor(absl::string_view tensor) {
  Wire wire(tensor);
  WireField field;
  std::optional<Type> type;
  absl::string_view content;
  std::optional<std::uint64_t> number;
  while (wire.Next(field)) {
    switch (field.number) {
      case 1:
        switch (static_cast<Type>(field.value)) {
          case Type::kFloat:
          case Type::kDouble:
          case Type::kInt32:
          case Type::kInt64:
          case Type::kBfloat16:
          case Type::kHalf:
            type = static_cast<Type>(field.value);
            break;
          default:
            return std::nullopt;
        }
        break;
      case 2:
        if (!IsOfOne(field.bytes)) return std::nullopt;
        break;
      case 4:
        content = field.bytes;
        break;
      case 5:  // float_val
        number = FirstNumber(field, 4);
        break;
      case 6:  // double_val
        number = FirstNumber(field, 8);
        break;
      case 7:   // int_val
      case 10:  // int64_val
      case 13:  // half_val
        number = FirstNumber(field, 0);
        break;
      default:
        break;
    }
  }
  if (wire.broken() || !type.has_value()) return std::nullopt;
  if (content.size() == SizeOf(*type)) number = NumberOf(content);
  // A tensor without content is zero.
  if (!number.has_value() && !content.empty()) return std::nullopt;
  return DoubleOf(*type, number.value_or(0));
}

struct Value {
  absl::string_view tag;
  std::optional<double> number;
};

Value ValueOf(absl::string_view bytes) {
  Value value;
  Wire wire(bytes);
  WireField field;
  while (wire.Next(field)) {
    if (field.number == 1) value.tag = field.bytes;
    if (field.number == 2 && field.bytes.empty()) value.number = field.Float();
    if (field.number == 8) value.number = ScalarOfTensor(field.bytes);
  }
  if (wire.broken()) value.number.reset();
  return value;
}

bool TakeEvent(absl::string_view bytes, absl::string_view run, RunRecords& records) {
  Wire wire(bytes);
  WireField field;
  double wall_time = 0;
  std::int64_t step = 0;
  absl::string_view summary;
  while (wire.Next(field)) {
    if (field.number == 1) wall_time = field.Double();
    if (field.number == 2) step = static_cast<std::int64_t>(field.value);
    if (field.number == 5) summary = field.bytes;
  }
  if (wire.broken()) return false;
  if (!(wall_time > 0 && wall_time < 1e11)) return true;
  const auto at = static_cast<std::int64_t>(wall_time * 1e3);
  Wire values(summary);
  while (values.Next(field)) {
    if (field.number != 1) continue;
    const Value value = ValueOf(field.bytes);
    if (value.number.has_value()) records.Add(run, value.tag, {at, step, *value.number});
  }
  return !values.broken();
}

}  // namespace

bool LooksLikeEventFile(absl::string_view head) {
  if (head.size() < kLength + kChecksum) return false;
  return MaskedCrc32c(head.substr(0, kLength)) == NumberOf(head.substr(kLength, kChecksum)) &&
         // The first record says what the file is.
         absl::StrContains(head.substr(kLength + kChecksum), "brain.Event:");
}

void ReadEventFile(const std::string& path, ByteSource source, RunRecords& records) {
  // The files of one folder are of one run, which was restarted.
  const std::size_t slash = path.rfind('/');
  const std::string run = slash == std::string::npos ? path : path.substr(0, slash);
  Bytes bytes(std::move(source));
  std::size_t damaged = 0;
  for (;;) {
    const std::string head = bytes.Read(kLength + kChecksum);
    if (head.empty()) break;
    if (head.size() < kLength + kChecksum) {
      records.Note(absl::StrCat(path, ": cut off after ", bytes.at(), " bytes"));
      break;
    }
    if (MaskedCrc32c(absl::string_view(head).substr(0, kLength)) !=
        NumberOf(absl::string_view(head).substr(kLength))) {
      records.Note(absl::StrCat(path, ": is damaged at byte ", bytes.at() - head.size(),
                                "; it is read up to there"));
      break;
    }
    const std::uint64_t size = NumberOf(absl::string_view(head).substr(0, kLength));
    if (size > kMostEvent) {
      if (size > UINT64_MAX - kChecksum || !bytes.Skip(size + kChecksum)) break;
      continue;
    }
    const std::string record = bytes.Read(static_cast<std::size_t>(size));
    const std::string checksum = bytes.Read(kChecksum);
    if (checksum.size() < kChecksum) {
      records.Note(absl::StrCat(path, ": cut off within a record"));
      break;
    }
    const bool whole = MaskedCrc32c(record) == NumberOf(checksum);
    if (!whole || !TakeEvent(record, run, records)) ++damaged;
  }
  if (damaged > 0) records.Note(absl::StrCat(path, ": ", damaged, " damaged records are left out"));
  if (!bytes.status().ok()) records.Note(absl::StrCat(path, ": ", bytes.status().message()));
}

}  // namespace galen::run_records
