// Readers of what lies on a disk: archives of bundles and packed logs.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/host/archive.h"
#include "common/logs/reader.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

// A directory in memory with the file that is read, for the life of this process.
class Place {
 public:
  Place() : path_(absl::StrCat("/dev/shm/galen-fuzz-", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  // The file, with `text` as its content.
  std::string File(absl::string_view text) const {
    std::string file = absl::StrCat(path_, "/file");
    const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0 || write(descriptor, text.data(), text.size()) < 0) std::abort();
    close(descriptor);
    return file;
  }
  std::string Directory() const { return absl::StrCat(path_, "/unpacked"); }

 private:
  std::string path_;
};

const Place& ThePlace() {
  static const Place place;
  return place;
}

// Nothing appears beside the directory.
void Archive(absl::string_view text) {
  const std::string file = ThePlace().File(text);
  const std::string directory = ThePlace().Directory();
  std::filesystem::create_directory(directory);
  Use(host::Unpack(file, directory, {.files = 100, .bytes = 1 << 20}));
  std::filesystem::remove_all(directory);
}

void Log(absl::string_view text) {
  const auto reader = logs::LogReader::Open(ThePlace().File(text), {.max_bytes = 1 << 20});
  if (!reader.ok()) return;
  while (true) {
    const auto chunk = (*reader)->Next();
    if (!chunk.ok() || chunk->empty()) return;
  }
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {{"archive", Archive}, {"log", Log}};
  return kParsers;
}

}  // namespace galen::fuzz
