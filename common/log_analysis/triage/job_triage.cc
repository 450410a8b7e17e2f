#include "common/log_analysis/triage/job_triage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/text.h"
#include "common/log_analysis/scan/byte_scan.h"
#include "common/log_analysis/scan/line_blocks.h"
#include "common/log_analysis/triage/collected.h"
#include "common/log_analysis/triage/compiled.h"
#include "common/log_analysis/triage/line_reader.h"
#include "common/log_analysis/triage/lines.h"
#include "common/log_analysis/triage/log_times.h"
#include "common/log_analysis/triage/strange_lines.h"
#include "common/log_analysis/triage/writer.h"

namespace galen::triage {
namespace {

// Bytes at the end of a log that are kept for its strange lines and its last time.
constexpr std::size_t kTail = StrangeLines::kEnd;

}  // namespace

class JobTriage::Pass {
 public:
  Pass(const CompiledCatalogue::Inside& inside, TriageOptions options)
      : inside_(inside),
        options_(options),
        scratch_(inside.database->NewScratch()),
        times_(options_),
        reader_(inside, options_, times_, found_) {}

  void BeginLog(absl::string_view name, std::optional<int> rank) {
    if (found_.logs.size() < kMaxLogs) {
      found_.logs.push_back({CleanText(name, 1024), 0, 0, ""});
      found_.of_logs.emplace_back();
    }
    log_ = found_.logs.size() - 1;
    lines_ = 0;
    tail_.clear();
    place_ = 0;
    known_.clear();
    times_.BeginLog(found_.of_logs[log_]);
    reader_.BeginLog(log_, name, rank);
  }

  void Feed(absl::string_view chunk) {
    found_.logs[log_].bytes += static_cast<std::int64_t>(chunk.size());
    blocks_.Feed(chunk,
                 [this](absl::string_view block, std::int64_t lines) { Read(block, lines); });
  }

  void EndLog(absl::string_view trouble) {
    blocks_.Finish([this](absl::string_view block, std::int64_t lines) { Read(block, lines); });
    found_.logs[log_].lines += lines_;
    found_.logs[log_].trouble = CleanText(trouble, LineReader::kMostText);
    ReadEnd();
    times_.EndLog(tail_);
  }

  const StrangeLines& strange() const { return strange_; }

  Collected Take() {
    reader_.Finish();
    return std::move(found_);
  }

 private:
  void Read(absl::string_view block, std::int64_t lines) {
    times_.ReadBlock(block);
    matches_.clear();
    bool sorted = true;
    std::size_t begin = 1;
    std::size_t end = 0;
    inside_.database->Scan(block, scratch_, [&](std::size_t expression, std::size_t match_end) {
      // The last byte of a match says which line it is in.
      const std::size_t last = match_end == 0 ? 0 : match_end - 1;
      if (last < begin || last > end) {
        begin = LineBegin(block, last);
        end = LineEnd(block, last);
      }
      if (!matches_.empty()) {
        const LineReader::Match& before = matches_.back();
        // An expression may match at several places of a line.
        if (before.begin == begin && before.expression == expression) return;
        sorted = sorted && (before.begin < begin ||
                            (before.begin == begin && before.expression < expression));
      }
      matches_.push_back({begin, end, expression});
    });
    if (!sorted) {
      std::sort(matches_.begin(), matches_.end(),
                [](const LineReader::Match& a, const LineReader::Match& b) {
                  return a.begin != b.begin ? a.begin < b.begin : a.expression < b.expression;
                });
    }
    LineReader::Line line;
    line.before = tail_;
    line.block = block;
    line.number = lines_ + 1;
    std::size_t counted = 0;
    std::size_t step_end = absl::string_view::npos;  // of the last line with a step
    for (std::size_t i = 0; i < matches_.size();) {
      std::size_t next = i + 1;
      while (next < matches_.size() && matches_[next].begin == matches_[i].begin) ++next;
      line.begin = matches_[i].begin;
      line.end = matches_[i].end;
      line.number += static_cast<std::int64_t>(
          log_scan::CountNewlines(block.substr(counted, line.begin - counted)));
      counted = line.begin;
      line.text =
          block.substr(line.begin, std::min(line.end - line.begin, LineReader::kMostOfLine));
      const auto matches = absl::MakeConstSpan(matches_).subspan(i, next - i);
      if (reader_.Read(line, matches)) step_end = line.end;
      known_.push_back(place_ + line.begin);
      i = next;
    }
    Sample(block);
    lines_ += lines;
    place_ += block.size();
    ForgetKnown();
    if (step_end != absl::string_view::npos) {
      times_.NoteStep(block.substr(std::min(step_end + 1, block.size())));
    }
    KeepTail(block);
  }

  // Keeps only the known lines near the end of the log.
  void ForgetKnown() {
    if (known_.size() < kTail || place_ < kTail) return;
    known_.erase(known_.begin(), std::lower_bound(known_.begin(), known_.end(), place_ - kTail));
  }

  void AddStrange(absl::string_view text, std::uint64_t place, std::int64_t number) {
    if (std::binary_search(known_.begin(), known_.end(), place)) return;
    StrangeLines::Line line;
    line.text = text.substr(0, LineReader::kMostOfLine);
    line.place = place;
    line.log = log_;
    line.number = number;
    line.writer = reader_.WriterOf(line.text, WriterPrefix(line.text));
    line.time = times_.TimeOfLine(line.text);
    strange_.Add(line);
  }

  // Reads the lines of the block that begin at sampled places.
  void Sample(absl::string_view block) {
    std::uint64_t place = std::max<std::uint64_t>(place_, StrangeLines::kEnd);
    std::int64_t number = lines_ + 1;
    std::size_t counted = 0;
    while (place < place_ + block.size()) {
      if (!StrangeLines::IsSample(place)) {
        place += StrangeLines::kEnd - place % StrangeLines::kEnd;
        continue;
      }
      std::size_t at = static_cast<std::size_t>(place - place_);
      if (at > 0 && block[at - 1] != '\n') at = LineEnd(block, at) + 1;
      if (at >= block.size()) return;
      place = place_ + at;
      if (!StrangeLines::IsSample(place)) continue;
      const std::size_t end = LineEnd(block, at);
      number +=
          static_cast<std::int64_t>(log_scan::CountNewlines(block.substr(counted, at - counted)));
      counted = at;
      AddStrange(block.substr(at, end - at), place, number);
      place = place_ + end + 1;
    }
  }

  // Reads the lines at the end of the log that are not samples.
  void ReadEnd() {
    absl::string_view rest = tail_;
    if (place_ > kTail) {
      rest.remove_prefix(rest.size() - kTail);
      // A line that begins before it is skipped.
      rest.remove_prefix(std::min(LineEnd(rest, 0) + 1, rest.size()));
    }
    std::int64_t number = lines_ - static_cast<std::int64_t>(log_scan::CountNewlines(rest)) + 1 -
                          static_cast<std::int64_t>(!rest.empty() && rest.back() != '\n');
    std::uint64_t place = place_ - rest.size();
    for (; !rest.empty(); ++number) {
      const std::size_t end = LineEnd(rest, 0);
      if (!StrangeLines::IsSample(place)) AddStrange(rest.substr(0, end), place, number);
      const std::size_t whole = std::min(end + 1, rest.size());
      place += whole;
      rest.remove_prefix(whole);
    }
    strange_.EndLog(place_);
  }

  // Keeps in tail_ at least the last kTail bytes of the log.
  void KeepTail(absl::string_view block) {
    if (block.size() >= kTail) {
      block.remove_prefix(block.size() - kTail);
      tail_.assign(block.data(), block.size());
      return;
    }
    tail_.append(block.data(), block.size());
    if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail);
  }

  const CompiledCatalogue::Inside& inside_;
  const TriageOptions options_;
  log_scan::PatternDatabase::Scratch scratch_;
  Collected found_;
  LogTimes times_;
  LineReader reader_;
  StrangeLines strange_;
  log_scan::LineBlocks blocks_;
  std::vector<LineReader::Match> matches_;
  std::size_t log_ = 0;
  std::int64_t lines_ = 0;
  std::string tail_;
  std::uint64_t place_ = 0;           // of the block, in bytes of the normalized log
  std::vector<std::uint64_t> known_;  // places of the last known lines
};

JobTriage::JobTriage(const CompiledCatalogue& compiled, TriageOptions options)
    : pass_(std::make_unique<Pass>(*compiled.inside_, options)),
      catalogue_(compiled.catalogue()),
      options_(options) {}
JobTriage::~JobTriage() = default;

void JobTriage::BeginLog(absl::string_view name, std::optional<int> rank) {
  pass_->BeginLog(name, rank);
}
void JobTriage::Feed(absl::string_view chunk) { pass_->Feed(chunk); }
void JobTriage::EndLog(absl::string_view trouble) { pass_->EndLog(trouble); }
JobReport JobTriage::Finish() {
  JobReport report = Assemble(catalogue_, options_, pass_->Take());
  report.leads = pass_->strange().Leads(
      report.logs, report.primary.has_value() ? &report.primary->first : nullptr);
  return report;
}

}  // namespace galen::triage
