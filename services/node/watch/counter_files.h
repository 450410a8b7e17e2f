#ifndef SERVICES_NODE_WATCH_COUNTER_FILES_H_
#define SERVICES_NODE_WATCH_COUNTER_FILES_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/host/file_descriptor.h"
#include "services/node/watch/watch_list.h"

namespace galen::node {

// The value of a counter that could not be read; no kernel counts that far.
inline constexpr std::uint64_t kUnknownCount = std::numeric_limits<std::uint64_t>::max();

// One counter of one device.
struct Series {
  std::string path;
  std::string field;
  std::string row;     // of a file with a row for each device
  std::string device;  // as in galen.v1.Device; of a counter with a rule
  const MovementRule* rule = nullptr;
};

// The counters of a machine, read again and again: the files stay open and nothing is allocated
// to read them. Not thread-safe.
class CounterFiles {
 public:
  // `root` is prepended to every path; "" for the machine itself. Files beyond `max_files`, and
  // counters beyond `max_series`, are left out, and left_out() has their number.
  CounterFiles(std::vector<CounterSpec> specs, std::string root, std::size_t max_files = 512,
               std::size_t max_series = 4096);

  // Looks which files and rows there are. A counter keeps its place in series() for good; new ones
  // come behind. Slow: opens files.
  void Discover();

  // Writes the value of each of series() to `values`, which must be as long; kUnknownCount where it
  // cannot be read. False when files are not as they were when Discover() looked.
  bool Read(absl::Span<std::uint64_t> values);

  const std::vector<Series>& series() const { return series_; }
  std::size_t file_count() const { return files_.size(); }
  std::size_t left_out() const { return left_out_; }

 private:
  // The position of a value in its file.
  struct Slot {
    std::size_t line = 0;  // at discovery; slots are in this order
    std::string key;       // word number key_word of the line; empty: any
    int key_word = 1;
    int column = 1;  // words after the first one
    std::size_t series = 0;
  };
  struct File {
    host::FileDescriptor descriptor;
    bool number = false;  // the file is one number
    std::vector<Slot> slots;
  };

  void AddFile(const std::string& path, const std::vector<const CounterSpec*>& specs);
  void AddSlots(const std::string& path, const CounterSpec& spec, absl::string_view text,
                File& file);
  // Gives the place of a counter, or npos when there are too many.
  std::size_t SeriesOf(const std::string& path, const CounterSpec& spec, absl::string_view row);
  bool ReadFile(const File& file, absl::Span<std::uint64_t> values);
  // The whole file, in buffer_; a file that is larger is cut.
  absl::string_view Content(const File& file);

  const std::vector<CounterSpec> specs_;
  const std::string root_;
  const std::size_t max_files_;
  const std::size_t max_series_;
  std::vector<File> files_;
  std::vector<Series> series_;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index_;
  std::size_t left_out_ = 0;
  std::vector<char> buffer_;
};

// The text in `path` that each `*` of `glob` matches; `glob` matches `path`. For globs without
// other special characters in the components that hold a `*`.
std::vector<std::string> StarsOf(absl::string_view glob, absl::string_view path);

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_COUNTER_FILES_H_
