#include "services/node/checks/log/safetensors.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/text.h"

namespace galen::node {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxTensors = 1'000'000;

std::uint64_t Little(absl::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return number;
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensors(absl::string_view start) {
  if (start.size() < 8) return absl::DataLossError("shorter than a header's length");
  const std::uint64_t length = Little(start, 0, 8);
  if (length > kMaxHeader) return absl::DataLossError("the header claims to be too large");
  if (start.size() - 8 < length) return absl::OutOfRangeError("the header is cut off");
  const nlohmann::json tree = ParseJson(start.substr(8, length));
  if (!tree.is_object()) return absl::DataLossError("the header is not a JSON object");
  SafetensorsHeader header;
  std::int64_t end = 0;
  for (const auto& [name, tensor] : tree.items()) {
    if (name == "__metadata__") continue;
    const nlohmann::json* offsets = At(tensor, {"data_offsets"});
    if (offsets == nullptr || !offsets->is_array() || offsets->size() != 2 ||
        !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
      return absl::DataLossError(absl::StrCat(CleanText(name, 128), ": has no place in the file"));
    }
    const auto from = (*offsets)[0].get<std::uint64_t>();
    const auto to = (*offsets)[1].get<std::uint64_t>();
    if (from > to || to > (std::uint64_t{1} << 60)) {
      return absl::DataLossError(absl::StrCat(CleanText(name, 128), ": has an impossible place"));
    }
    end = std::max(end, static_cast<std::int64_t>(to));
    if (header.tensors.size() < kMaxTensors) header.tensors.insert(CleanText(name, 512));
  }
  header.file_bytes = static_cast<std::int64_t>(8 + length) + end;
  return header;
}

absl::StatusOr<std::map<std::string, std::string>> ParseShardIndex(absl::string_view json) {
  const nlohmann::json tree = ParseJson(json);
  const nlohmann::json* map = At(tree, {"weight_map"});
  if (map == nullptr || !map->is_object()) return absl::DataLossError("has no weight_map");
  std::map<std::string, std::string> shards;
  for (const auto& [tensor, file] : map->items()) {
    if (shards.size() >= kMaxTensors) break;
    if (!file.is_string()) return absl::DataLossError("names a shard that is not a string");
    const std::string name = file.get<std::string>();
    if (name.empty() || name.size() > 255 || absl::StrContains(name, "/") || name[0] == '.' ||
        name.find_first_of("*?[") != std::string::npos) {
      return absl::DataLossError("names a shard outside of its folder");
    }
    shards[CleanText(tensor, 512)] = name;
  }
  return shards;
}

absl::Status CheckZipEnd(absl::string_view end, std::int64_t file_bytes) {
  constexpr std::size_t kEnd = 22;         // end of central directory
  constexpr std::size_t kEnd64 = 20 + 56;  // its locator and record of ZIP64
  const std::size_t at = end.rfind("PK\x05\x06");
  if (at == absl::string_view::npos || end.size() - at < kEnd) {
    return absl::DataLossError("the archive has no end: it was cut off");
  }
  const std::uint64_t size = Little(end, at + 12, 4);
  const std::uint64_t offset = Little(end, at + 16, 4);
  const std::uint64_t end_at = static_cast<std::uint64_t>(file_bytes) - (end.size() - at);
  // ZIP64 has its numbers elsewhere; a locator before the end is enough here.
  if (size == 0xffffffff || offset == 0xffffffff) {
    const absl::string_view before = end.substr(at < kEnd64 ? 0 : at - kEnd64, kEnd64);
    if (!absl::StrContains(before, absl::string_view("PK\x06\x07", 4))) {
      return absl::DataLossError("the archive's directory is lost");
    }
    return absl::OkStatus();
  }
  if (offset + size > end_at) return absl::DataLossError("the archive's directory is lost");
  return absl::OkStatus();
}

}  // namespace galen::node
