#include "common/log_analysis/scan/line_blocks.h"

#include <algorithm>

#include "common/log_analysis/scan/byte_scan.h"
#include "common/log_analysis/scan/line_text.h"
#include "common/log_analysis/scan/timestamp.h"

namespace galen::log_scan {

void LineBlocks::Feed(absl::string_view chunk, OnBlock on_block) {
  if (!pending_.empty()) {
    const std::size_t end = chunk.find('\n');
    const absl::string_view part = chunk.substr(0, end == absl::string_view::npos ? end : end + 1);
    Keep(part);
    chunk.remove_prefix(part.size());
    if (end == absl::string_view::npos) return;
    Give(pending_, on_block);
    pending_.clear();
  }
  const std::size_t end = chunk.rfind('\n');
  if (end != absl::string_view::npos) {
    Give(chunk.substr(0, end + 1), on_block);
    chunk.remove_prefix(end + 1);
  }
  Keep(chunk);
}

void LineBlocks::Finish(OnBlock on_block) {
  if (pending_.empty()) return;
  Give(pending_, on_block);
  pending_.clear();
}

void LineBlocks::Keep(absl::string_view part) {
  if (pending_.size() >= kMostOfLine) {
    // Keep the newline of the cut line.
    if (!part.empty() && part.back() == '\n') pending_.back() = '\n';
    return;
  }
  pending_.append(part.data(), part.size());
}

void LineBlocks::Give(absl::string_view block, OnBlock on_block) {
  const BlockBytes bytes = LookAtBytes(block);
  const bool unfinished = block.back() != '\n';
  if (bytes.needs_cleaning) {
    clean_.assign(block.data(), block.size());
    clean_.resize(Normalize(clean_.data(), clean_.size(), true, false).size);
    block = clean_;
  }
  on_block(block, static_cast<std::int64_t>(bytes.newlines) + (unfinished ? 1 : 0));
}

absl::string_view DatedLine(absl::string_view block, std::size_t begin, std::size_t end,
                            int* lines_back) {
  constexpr std::size_t kHead = 256;
  int own = kLinesBack;
  for (int& left = lines_back == nullptr ? own : *lines_back; left > 0; --left) {
    const absl::string_view head = block.substr(begin, std::min(end - begin, kHead));
    if (FindTimeStamp(head).has_value()) return head;
    if (begin == 0) break;
    end = begin - 1;
    const std::size_t before = end == 0 ? absl::string_view::npos : block.rfind('\n', end - 1);
    begin = before == absl::string_view::npos ? 0 : before + 1;
  }
  return "";
}

}  // namespace galen::log_scan
