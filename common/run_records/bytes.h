#ifndef COMMON_RUN_RECORDS_BYTES_H_
#define COMMON_RUN_RECORDS_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::run_records {

// The next bytes of a file, valid until the next call; empty at its end.
using ByteSource = std::function<absl::StatusOr<absl::string_view>()>;

// Reads a file in pieces of the reader's choice.
class Bytes {
 public:
  explicit Bytes(ByteSource source) : source_(std::move(source)) {}

  // The next `size` bytes; fewer at the end of the file.
  std::string Read(std::size_t size);
  // False: the file ends before.
  bool Skip(std::uint64_t size);
  // The next line, without its end and at most `most` bytes of it. False: there is none.
  bool Line(std::size_t most, std::string& line);
  // Bytes that were read or skipped.
  std::uint64_t at() const { return at_; }
  // Why it ended, where the file was not at its end.
  const absl::Status& status() const { return status_; }

 private:
  bool Fill();

  ByteSource source_;
  absl::string_view rest_;
  std::uint64_t at_ = 0;
  bool over_ = false;
  absl::Status status_;
};

// Little endian.
std::uint64_t NumberOf(absl::string_view bytes);

}  // namespace galen::run_records

#endif  // COMMON_RUN_RECORDS_BYTES_H_
