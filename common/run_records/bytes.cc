#include "common/run_records/bytes.h"

#include <algorithm>

namespace galen::run_records {

bool Bytes::Fill() {
  if (!rest_.empty()) return true;
  if (over_) return false;
  const absl::StatusOr<absl::string_view> next = source_();
  if (!next.ok()) status_ = next.status();
  if (!next.ok() || next->empty()) {
    over_ = true;
    return false;
  }
  rest_ = *next;
  return true;
}

std::string Bytes::Read(std::size_t size) {
  std::string read;
  while (read.size() < size && Fill()) {
    const std::size_t part = std::min(size - read.size(), rest_.size());
    read.append(rest_.data(), part);
    rest_.remove_prefix(part);
    at_ += part;
  }
  return read;
}

bool Bytes::Skip(std::uint64_t size) {
  while (size > 0) {
    if (!Fill()) return false;
    const std::uint64_t part = std::min<std::uint64_t>(size, rest_.size());
    rest_.remove_prefix(static_cast<std::size_t>(part));
    at_ += part;
    size -= part;
  }
  return true;
}

bool Bytes::Line(std::size_t most, std::string& line) {
  line.clear();
  bool any = false;
  while (Fill()) {
    any = true;
    const std::size_t end = rest_.find('\n');
    const absl::string_view part = rest_.substr(0, end);
    line.append(part.data(), std::min(part.size(), most - std::min(most, line.size())));
    const std::size_t passed = part.size() + (end == absl::string_view::npos ? 0 : 1);
    rest_.remove_prefix(passed);
    at_ += passed;
    if (end != absl::string_view::npos) break;
  }
  return any;
}

std::uint64_t NumberOf(absl::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = std::min<std::size_t>(bytes.size(), 8); i > 0; --i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return number;
}

}  // namespace galen::run_records
