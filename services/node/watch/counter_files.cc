#include "services/node/watch/counter_files.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::node {
namespace {

// The largest file that a list may name is /proc/stat, whose last lines follow one line of each
// processor and one of every interrupt: more than 32 KiB with 256 processors.
constexpr std::size_t kFirstBytes = 32 << 10;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostRows = 1024;

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Takes the next word off the front of a line; empty at its end.
absl::string_view NextWord(absl::string_view& line) {
  std::size_t begin = 0;
  while (begin < line.size() && IsBlank(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && !IsBlank(line[end])) ++end;
  const absl::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

absl::string_view NextLine(absl::string_view& text) {
  const void* const newline = std::memchr(text.data(), '\n', text.size());
  const std::size_t length =
      newline == nullptr
          ? text.size()
          : static_cast<std::size_t>(static_cast<const char*>(newline) - text.data());
  const absl::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(text.size(), length + 1));
  return line;
}

// Parses "123", "123ms", "total=123"; kUnknownCount if it is not a number, or is too large for one.
std::uint64_t Number(absl::string_view word) {
  if (const std::size_t equals = word.find('='); equals != absl::string_view::npos) {
    word.remove_prefix(equals + 1);
  }
  std::uint64_t number = 0;
  std::size_t digits = 0;
  while (digits < word.size() && word[digits] >= '0' && word[digits] <= '9') {
    if (number > kUnknownCount / 10 - 1) return kUnknownCount;
    number = number * 10 + static_cast<std::uint64_t>(word[digits] - '0');
    ++digits;
  }
  return digits == 0 ? kUnknownCount : number;
}

// Word `n`, 1 and up, without a colon at its end.
absl::string_view WordAt(absl::string_view line, int n) {
  absl::string_view word;
  for (int i = 0; i < n; ++i) word = NextWord(line);
  return absl::StripSuffix(word, ":");
}

// The number in word `column` after the first one.
std::uint64_t ColumnOf(absl::string_view line, int column) {
  return Number(WordAt(line, column + 1));
}

std::string DeviceOf(const MovementRule& rule, const std::vector<std::string>& stars,
                     absl::string_view row) {
  std::string device = absl::StrReplaceAll(rule.device, {{"{row}", std::string(row)}});
  for (std::size_t i = 0; i < stars.size(); ++i) {
    device = absl::StrReplaceAll(device, {{absl::StrCat("{", i + 1, "}"), stars[i]}});
  }
  return device;
}

}  // namespace

std::vector<std::string> StarsOf(absl::string_view glob, absl::string_view path) {
  std::vector<std::string> stars;
  const std::vector<absl::string_view> patterns = absl::StrSplit(glob, '/');
  const std::vector<absl::string_view> names = absl::StrSplit(path, '/');
  for (std::size_t i = 0; i < patterns.size() && i < names.size(); ++i) {
    const std::size_t star = patterns[i].find('*');
    if (star == absl::string_view::npos) continue;
    absl::string_view name = absl::StripPrefix(names[i], patterns[i].substr(0, star));
    stars.emplace_back(absl::StripSuffix(name, patterns[i].substr(star + 1)));
  }
  return stars;
}

CounterFiles::CounterFiles(std::vector<CounterSpec> specs, std::string root, std::size_t max_files,
                           std::size_t max_series)
    : specs_(std::move(specs)),
      root_(std::move(root)),
      max_files_(max_files),
      max_series_(max_series),
      buffer_(kFirstBytes) {}

void CounterFiles::Discover() {
  files_.clear();
  left_out_ = 0;
  // Files in the order of the list; all counters of one file are read together.
  std::vector<std::string> order;
  std::map<std::string, std::vector<const CounterSpec*>> of_file;
  for (const CounterSpec& spec : specs_) {
    glob_t found = {};
    if (glob(absl::StrCat(root_, spec.path).c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc; ++i) {
        const std::string path = found.gl_pathv[i] + root_.size();
        std::vector<const CounterSpec*>& specs = of_file[path];
        if (specs.empty()) order.push_back(path);
        specs.push_back(&spec);
      }
    }
    globfree(&found);
  }
  for (const std::string& path : order) {
    if (files_.size() == max_files_) {
      ++left_out_;
    } else {
      AddFile(path, of_file[path]);
    }
  }
}

void CounterFiles::AddFile(const std::string& path, const std::vector<const CounterSpec*>& specs) {
  File file;
  file.descriptor = host::FileDescriptor(
      open(absl::StrCat(root_, path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.descriptor.is_open()) return;
  absl::string_view text = Content(file);
  while (text.size() == buffer_.size() && buffer_.size() < kMostBytes) {
    buffer_.resize(buffer_.size() * 2);
    text = Content(file);
  }
  for (const CounterSpec* spec : specs) AddSlots(path, *spec, text, file);
  if (file.slots.empty()) return;
  std::stable_sort(file.slots.begin(), file.slots.end(),
                   [](const Slot& a, const Slot& b) { return a.line < b.line; });
  files_.push_back(std::move(file));
}

void CounterFiles::AddSlots(const std::string& path, const CounterSpec& spec,
                            absl::string_view text, File& file) {
  const auto add = [&](std::size_t line, absl::string_view key, int key_word, int column,
                       absl::string_view row) {
    const std::size_t series = SeriesOf(path, spec, row);
    if (series == series_.size()) return;  // too many
    file.slots.push_back({line, std::string(key), key_word, column, series});
  };
  if (spec.layout == CounterSpec::Layout::kNumber) {
    file.number = true;
    if (Number(WordAt(text, 1)) != kUnknownCount) add(0, "", 1, 0, "");
    return;
  }
  int column = spec.column;
  std::size_t number = 0;
  bool named = false;
  while (!text.empty() && number < kMostRows) {
    ++number;
    absl::string_view line = NextLine(text);
    const absl::string_view key = WordAt(line, spec.name_word);
    if (key.empty()) continue;
    if (spec.layout == CounterSpec::Layout::kRows) {
      if (ColumnOf(line, column) != kUnknownCount) add(number, key, spec.name_word, column, key);
      continue;
    }
    if (key != spec.row) continue;
    if (spec.layout == CounterSpec::Layout::kPairs && !named) {
      NextWord(line);
      column = 0;
      for (absl::string_view word = NextWord(line); !word.empty() && !named;
           word = NextWord(line)) {
        ++column;
        named = word == spec.name;
      }
      if (!named) return;  // this kernel does not count it
      continue;
    }
    if (ColumnOf(line, column) == kUnknownCount) continue;
    add(number, key, 1, column, "");
    return;
  }
}

std::size_t CounterFiles::SeriesOf(const std::string& path, const CounterSpec& spec,
                                   absl::string_view row) {
  const auto key = std::make_tuple(path, spec.field, std::string(row));
  const auto known = index_.find(key);
  if (known != index_.end()) return known->second;
  if (series_.size() == max_series_) {
    ++left_out_;
    return series_.size();
  }
  Series series{path, spec.field, std::string(row), "", nullptr};
  if (spec.rule.has_value()) {
    series.rule = &*spec.rule;
    series.device = DeviceOf(*spec.rule, StarsOf(spec.path, path), row);
  }
  series_.push_back(std::move(series));
  index_[key] = series_.size() - 1;
  return series_.size() - 1;
}

absl::string_view CounterFiles::Content(const File& file) {
  std::size_t size = 0;
  while (size < buffer_.size()) {
    const ssize_t got = pread(file.descriptor.get(), buffer_.data() + size, buffer_.size() - size,
                              static_cast<off_t>(size));
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
    // A file of a page or less comes whole, and asking for its end would make the kernel write it
    // again.
    if (size < 4096 && buffer_[size - 1] == '\n') break;
  }
  return absl::string_view(buffer_.data(), size);
}

bool CounterFiles::ReadFile(const File& file, absl::Span<std::uint64_t> values) {
  absl::string_view text = Content(file);
  if (file.number) {
    const std::uint64_t value = Number(WordAt(text, 1));
    for (const Slot& slot : file.slots) values[slot.series] = value;
    return value != kUnknownCount;
  }
  std::size_t next = 0;
  while (next < file.slots.size() && !text.empty()) {
    const absl::string_view line = NextLine(text);
    while (next < file.slots.size()) {
      const Slot& slot = file.slots[next];
      if (WordAt(line, slot.key_word) != slot.key) break;
      const std::uint64_t value = ColumnOf(line, slot.column);
      if (value == kUnknownCount) break;
      values[slot.series] = value;
      ++next;
    }
  }
  return next == file.slots.size();
}

bool CounterFiles::Read(absl::Span<std::uint64_t> values) {
  std::fill(values.begin(), values.end(), kUnknownCount);
  bool as_before = true;
  for (const File& file : files_) as_before = ReadFile(file, values) && as_before;
  return as_before;
}

}  // namespace galen::node
