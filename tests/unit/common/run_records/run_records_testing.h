#ifndef TESTS_UNIT_COMMON_RUN_RECORDS_RUN_RECORDS_TESTING_H_
#define TESTS_UNIT_COMMON_RUN_RECORDS_RUN_RECORDS_TESTING_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/run_records/checksums.h"
#include "common/run_records/read_run.h"

// Writers of the formats, after the programs' own sources.

namespace galen::run_records {

inline ByteSource InPieces(const std::string& bytes, std::size_t piece) {
  return [bytes, piece, at = std::size_t{0}]() mutable -> absl::StatusOr<absl::string_view> {
    const absl::string_view next =
        absl::string_view(bytes).substr(std::min(at, bytes.size()), piece);
    at += next.size();
    return next;
  };
}

inline std::string Fixed(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

inline std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

// Fields of a message.
inline std::string NumberField(int field, std::uint64_t value) {
  return Varint(static_cast<std::uint64_t>(field) << 3) + Varint(value);
}
inline std::string BytesField(int field, const std::string& bytes) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 2) + Varint(bytes.size()) + bytes;
}
inline std::string DoubleField(int field, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return Varint(static_cast<std::uint64_t>(field) << 3 | 1) + Fixed(bits, 8);
}
inline std::string FloatBits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return Fixed(bits, 4);
}
inline std::string FloatField(int field, float value) {
  return Varint(static_cast<std::uint64_t>(field) << 3 | 5) + FloatBits(value);
}

// A record of TFRecord.
inline std::string TfRecord(const std::string& record) {
  const std::string length = Fixed(record.size(), 8);
  return absl::StrCat(length, Fixed(MaskedCrc32c(length), 4), record,
                      Fixed(MaskedCrc32c(record), 4));
}

// An event of TensorBoard with one value.
inline std::string Event(double time, std::uint64_t step, const std::string& value) {
  return TfRecord(absl::StrCat(DoubleField(1, time), NumberField(2, step),
                               BytesField(5, BytesField(1, value))));
}
inline std::string Simple(const std::string& tag, float value) {
  return BytesField(1, tag) + FloatField(2, value);
}
// A tensor of no dimension, as TensorFlow 2 and tensorboard's own writer have scalars.
inline std::string Tensor(const std::string& tag, const std::string& tensor) {
  return absl::StrCat(BytesField(1, tag), BytesField(8, tensor),
                      BytesField(9, BytesField(1, BytesField(1, "scalars"))));
}
inline std::string EventFileHead(double time) {
  return TfRecord(DoubleField(1, time) + BytesField(3, "brain.Event:2"));
}

// The log of a run of W&B, of these records.
inline std::string WandbFile(const std::vector<std::string>& records) {
  constexpr std::size_t kBlock = 32 << 10;
  std::string file(":W&B\xe1\xbe\x00", 7);
  for (const std::string& record : records) {
    std::size_t at = 0;
    bool first = true;
    do {
      std::size_t left = kBlock - file.size() % kBlock;
      if (left < 7) {
        file.append(left, '\0');
        left = kBlock;
      }
      const std::size_t size = std::min(left - 7, record.size() - at);
      const bool last = at + size == record.size();
      const char type = first ? (last ? 1 : 2) : (last ? 4 : 3);
      const std::string data = record.substr(at, size);
      absl::StrAppend(&file, Fixed(Crc32(std::string(1, type) + data), 4), Fixed(size, 2),
                      std::string(1, type), data);
      at += size;
      first = false;
    } while (at < record.size());
  }
  return file;
}
inline std::string WandbItem(const std::string& key, const std::string& json) {
  return BytesField(1, BytesField(1, key) + BytesField(16, json));
}
inline std::string WandbHistory(std::uint64_t number, const std::string& items) {
  return NumberField(1, number) + BytesField(2, items);
}

// Series by "run/tag".
inline std::string Shown(const std::vector<RunSeries>& all) {
  std::string shown;
  for (const RunSeries& series : all) {
    absl::StrAppend(&shown, series.run, " ", series.tag, ":");
    for (const Point& point : series.points) {
      absl::StrAppend(&shown, " ", point.at, "/", point.step, "=", point.value);
    }
    absl::StrAppend(&shown, "\n");
  }
  return shown;
}
inline std::string ReadAs(Form form, const std::string& path, const std::string& bytes,
                          std::size_t piece = 1 << 20, std::vector<std::string>* notes = nullptr) {
  RunRecords records;
  ReadRun(form, path, InPieces(bytes, piece), records);
  if (notes != nullptr) *notes = records.notes();
  return Shown(std::move(records).Take());
}

}  // namespace galen::run_records

#endif  // TESTS_UNIT_COMMON_RUN_RECORDS_RUN_RECORDS_TESTING_H_
