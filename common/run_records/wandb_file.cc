#include "common/run_records/wandb_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/wire.h"
#include "common/run_records/checksums.h"
#include "common/run_records/metric_lines.h"

namespace galen::run_records {
namespace {

constexpr std::size_t kBlock = 32 << 10;
constexpr std::size_t kFileHead = 7;
constexpr std::size_t kChunkHead = 7;
constexpr std::size_t kMostRecord = std::size_t{16} << 20;
constexpr std::size_t kMostItems = 10'000;

enum class Chunk : unsigned char { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// The chunks of a file, put together to records.
class RecordReader {
 public:
  explicit RecordReader(ByteSource source) : bytes_(std::move(source)) { bytes_.Skip(kFileHead); }

  // False at the end; a chunk that is damaged loses its record and the rest of its block.
  bool Next(std::string& record) {
    record.clear();
    bool begun = false;
    for (;;) {
      const std::size_t left = kBlock - static_cast<std::size_t>(bytes_.at() % kBlock);
      if (left < kChunkHead) {
        if (!bytes_.Skip(left)) return false;
        continue;
      }
      const std::string head = bytes_.Read(kChunkHead);
      if (head.size() < kChunkHead) return End(begun || !head.empty());
      const auto size = static_cast<std::size_t>(NumberOf(absl::string_view(head).substr(4, 2)));
      const auto type = static_cast<unsigned char>(head[6]);
      if (size > left - kChunkHead || type < 1 || type > 4) {
        begun = false;
        record.clear();
        if (type != 0 || size != 0) ++damaged_;  // zeros fill a block that was allocated before
        if (!bytes_.Skip(left - kChunkHead)) return false;
        continue;
      }
      const std::string data = bytes_.Read(size);
      if (data.size() < size) return End(true);
      const std::uint32_t crc = Crc32(data, Crc32(absl::string_view(head).substr(6, 1)));
      if (crc != NumberOf(absl::string_view(head).substr(0, 4))) {
        ++damaged_;
        begun = false;
        record.clear();
        continue;
      }
      const auto chunk = static_cast<Chunk>(type);
      if (chunk == Chunk::kFull || chunk == Chunk::kFirst) {
        record.clear();
        begun = true;
        too_long_ = false;
      }
      if (!begun) continue;
      too_long_ = too_long_ || record.size() + data.size() > kMostRecord;
      if (!too_long_) record += data;
      if (chunk != Chunk::kFull && chunk != Chunk::kLast) continue;
      begun = false;
      if (!too_long_) return true;
      record.clear();
    }
  }

  std::size_t damaged() const { return damaged_; }
  bool cut() const { return cut_; }
  const absl::Status& status() const { return bytes_.status(); }

 private:
  bool End(bool cut) {
    cut_ = cut;
    return false;
  }

  Bytes bytes_;
  std::size_t damaged_ = 0;
  bool too_long_ = false;
  bool cut_ = false;
};

// key, or nested_key joined; and the number of value_json.
struct Item {
  std::string key;
  std::optional<double> number;
};

Item ItemOf(absl::string_view bytes) {
  Item item;
  Wire wire(bytes);
  WireField field;
  std::string nested;
  while (wire.Next(field)) {
    if (field.number == 1) item.key = std::string(field.bytes);
    if (field.number == 2 && nested.size() < 1024) {
      absl::StrAppend(&nested, nested.empty() ? "" : ".", field.bytes);
    }
    if (field.number == 16) item.number = NumberOfJson(field.bytes);
  }
  if (item.key.empty()) item.key = nested;
  return item;
}

void TakeHistory(absl::string_view bytes, absl::string_view run, RunRecords& records) {
  Wire wire(bytes);
  WireField field;
  std::vector<Item> items;
  std::int64_t step = -1;
  std::optional<double> time;
  while (wire.Next(field)) {
    if (field.number == 2) {
      Wire of(field.bytes);
      WireField number;
      while (of.Next(number)) {
        if (number.number == 1) step = static_cast<std::int64_t>(number.value);
      }
    }
    if (field.number != 1 || items.size() >= kMostItems) continue;
    Item item = ItemOf(field.bytes);
    if (!item.number.has_value()) continue;
    if (item.key == "_timestamp") time = item.number;
    if (item.key == "_step" && *item.number >= 0 && *item.number < 9e15) {
      step = static_cast<std::int64_t>(*item.number);
    }
    if (!absl::StartsWith(item.key, "_")) items.push_back(std::move(item));
  }
  if (!time.has_value() || !(*time > 0 && *time < 1e11)) return;
  for (const Item& item : items) {
    records.Add(run, item.key, {static_cast<std::int64_t>(*time * 1e3), step, *item.number});
  }
}

// run_id of a RunRecord.
std::string RunOf(absl::string_view bytes) {
  Wire wire(bytes);
  WireField field;
  while (wire.Next(field)) {
    if (field.number == 1) return std::string(field.bytes);
  }
  return "";
}

}  // namespace

bool LooksLikeWandbFile(absl::string_view head) {
  // ":W&B", 0xBEE1, and the version of the format.
  return absl::StartsWith(head, absl::string_view(":W&B\xe1\xbe\x00", 7));
}

void ReadWandbFile(const std::string& path, ByteSource source, RunRecords& records) {
  RecordReader reader(std::move(source));
  std::string run = path.substr(path.rfind('/') + 1);
  std::string record;
  while (reader.Next(record)) {
    Wire wire(record);
    WireField field;
    while (wire.Next(field)) {
      if (field.number == 17) {
        const std::string id = RunOf(field.bytes);
        if (!id.empty()) run = id;
      }
      if (field.number == 2) TakeHistory(field.bytes, run, records);
    }
  }
  if (reader.damaged() > 0) {
    records.Note(absl::StrCat(path, ": ", reader.damaged(), " damaged chunks are left out"));
  }
  // A run that goes on, or that was killed, ends so.
  if (reader.cut()) records.Note(absl::StrCat(path, ": ends within a record"));
  if (!reader.status().ok()) records.Note(absl::StrCat(path, ": ", reader.status().message()));
}

}  // namespace galen::run_records
