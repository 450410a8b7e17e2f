#include "common/log_analysis/triage/job_triage.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "common/base/re2_piece.h"
#include "common/base/text.h"
#include "common/log_analysis/scan/byte_scan.h"
#include "common/log_analysis/scan/line_blocks.h"
#include "common/log_analysis/scan/line_facts.h"
#include "common/log_analysis/scan/timestamp.h"
#include "common/log_analysis/triage/collected.h"
#include "common/log_analysis/triage/compiled.h"
#include "common/log_analysis/triage/lines.h"
#include "common/log_analysis/triage/step_line.h"
#include "common/log_analysis/triage/strange_lines.h"
#include "common/log_analysis/triage/writer.h"
#include "re2/re2.h"

namespace galen::triage {
namespace {

// Bytes of a line that are read.
constexpr std::size_t kMostOfLine = 8192;
constexpr std::size_t kMostText = 512;
// Lines at the beginning of a log that are searched for its first time, and bytes at its end that
// are searched for its last.
constexpr int kLinesOfBegin = 2000;
constexpr std::size_t kTail = StrangeLines::kEnd;
// Lines after the last step that are searched for a time.
constexpr int kLinesBehind = 256;

}  // namespace

class JobTriage::Pass {
 public:
  Pass(const CompiledCatalogue::Inside& inside, TriageOptions options)
      : inside_(inside),
        options_(options),
        scratch_(inside.database->NewScratch()),
        failures_(
            inside.signature_names, [this](absl::string_view line) { return First(line); },
            options.near.value_or(options.now.value_or(absl::InfiniteFuture()))) {
    found_.classes.resize(inside.catalogue.classes.size());
    for (const StepFormat& format : inside.catalogue.formats) {
      found_.tracks.push_back(std::make_unique<StepTrack>(format, inside.catalogue.limits));
    }
    steps_of_track_.resize(found_.tracks.size());
    bar_elapsed_.resize(found_.tracks.size(), -1);
    found_.guessed.resize(found_.tracks.size(), false);
    first_writer_.resize(found_.tracks.size());
  }

  void BeginLog(absl::string_view name, std::optional<int> rank) {
    if (found_.logs.size() < kMaxLogs) {
      found_.logs.push_back({CleanText(name, 1024), 0, 0, ""});
      found_.of_logs.emplace_back();
    }
    log_ = found_.logs.size() - 1;
    rank_ = rank.has_value() ? rank : RankOfPath(name);
    lines_ = 0;
    begin_looked_ = 0;
    tail_.clear();
    place_ = 0;
    known_.clear();
    behind_left_ = 0;
    std::fill(steps_of_track_.begin(), steps_of_track_.end(), 0);
    std::fill(first_writer_.begin(), first_writer_.end(), std::nullopt);
    found_.of_logs[log_].steps = 0;
  }

  void Feed(absl::string_view chunk) {
    found_.logs[log_].bytes += static_cast<std::int64_t>(chunk.size());
    blocks_.Feed(chunk,
                 [this](absl::string_view block, std::int64_t lines) { Read(block, lines); });
  }

  void EndLog(absl::string_view trouble) {
    blocks_.Finish([this](absl::string_view block, std::int64_t lines) { Read(block, lines); });
    found_.logs[log_].lines += lines_;
    found_.logs[log_].trouble = CleanText(trouble, kMostText);
    ReadEnd();
    // The last time of the log: the closest one before its end.
    absl::string_view rest = tail_;
    while (!rest.empty()) {
      const std::size_t end = rest.back() == '\n' ? rest.size() - 1 : rest.size();
      const std::size_t begin = LineBegin(rest, end);
      if (NoteTime(TimeOf(rest.substr(begin, std::min(end - begin, kHead)))).has_value()) break;
      rest = rest.substr(0, begin);
    }
  }

  const StrangeLines& strange() const { return strange_; }

  Collected Take() {
    for (const auto& track : found_.tracks) track->Finish();
    // A launcher's report about a rank takes precedence over that of a container.
    std::map<int, ExitReport> exits = failures_.exits();
    exits.merge(found_.exits);
    found_.exits = std::move(exits);
    return std::move(found_);
  }

 private:
  static constexpr std::size_t kHead = 256;

  struct Match {
    std::size_t begin;
    std::size_t end;
    std::size_t expression;
  };

  // The current line.
  struct Line {
    absl::string_view block;
    std::size_t begin = 0;
    std::size_t end = 0;
    absl::string_view text;
    std::int64_t number = 0;
  };

  std::optional<int> RankOfPath(absl::string_view path) const {
    for (std::size_t i = 0; i < inside_.facts.size(); ++i) {
      if (inside_.catalogue.facts[i].kind != FactKind::kRankFile) continue;
      re2::StringPiece groups[8];
      const FactReader& reader = *inside_.facts[i];
      int rank = 0;
      if (reader.number > 0 && reader.number < 8 &&
          reader.expression.Match(Piece(path), 0, path.size(), RE2::UNANCHORED, groups,
                                  reader.number + 1) &&
          absl::SimpleAtoi(
              absl::string_view(groups[reader.number].data(), groups[reader.number].size()),
              &rank)) {
        return rank;
      }
    }
    return std::nullopt;
  }

  int First(absl::string_view line) {
    signature_places_.clear();
    if (!inside_.signatures->Match(Piece(line), &signature_places_)) return -1;
    return *std::min_element(signature_places_.begin(), signature_places_.end());
  }

  std::optional<absl::Time> TimeOf(absl::string_view line) {
    const std::optional<log_scan::TimeStamp> stamp = log_scan::FindTimeStamp(line);
    if (!stamp.has_value()) return std::nullopt;
    log_scan::TimeContext context;
    context.near = near_.has_value() ? near_ : options_.near;
    if (!context.near.has_value()) context.near = options_.now;
    // No line was written after now.
    context.latest = options_.latest.value_or(absl::Now());
    return log_scan::Resolve(*stamp, context);
  }

  std::optional<absl::Time> NoteTime(std::optional<absl::Time> time) {
    if (!time.has_value()) return time;
    Collected::OfLog& of_log = found_.of_logs[log_];
    if (!of_log.begin.has_value() || *time < *of_log.begin) of_log.begin = time;
    if (!of_log.end.has_value() || *time > *of_log.end) of_log.end = time;
    return time;
  }

  void Read(absl::string_view block, std::int64_t lines) {
    LookForBegin(block);
    if (behind_left_ > 0) LookBehindStep(block);
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
        const Match& before = matches_.back();
        // An expression may match at several places of a line.
        if (before.begin == begin && before.expression == expression) return;
        sorted = sorted && (before.begin < begin ||
                            (before.begin == begin && before.expression < expression));
      }
      matches_.push_back({begin, end, expression});
    });
    if (!sorted) {
      std::sort(matches_.begin(), matches_.end(), [](const Match& a, const Match& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.expression < b.expression;
      });
    }
    Line line;
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
      line.text = block.substr(line.begin, std::min(line.end - line.begin, kMostOfLine));
      if (ReadLine(line, i, next)) step_end = line.end;
      known_.push_back(place_ + line.begin);
      i = next;
    }
    Sample(block);
    lines_ += lines;
    place_ += block.size();
    ForgetKnown();
    if (step_end != absl::string_view::npos) {
      behind_left_ = kLinesBehind;
      found_.of_logs[log_].after_step.reset();
      if (step_end + 1 < block.size()) LookBehindStep(block.substr(step_end + 1));
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
    line.text = text.substr(0, kMostOfLine);
    line.place = place;
    line.log = log_;
    line.number = number;
    line.writer = WriterOf(line.text, WriterPrefix(line.text));
    line.time = TimeOf(line.text.substr(0, kHead));
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

  // The line, or the closest of some lines before it, that has a time.
  absl::string_view Dated(const Line& line) const {
    int lines_back = log_scan::kLinesBack;
    const absl::string_view dated =
        log_scan::DatedLine(line.block, line.begin, line.end, &lines_back);
    --lines_back;  // the one that the block begins with
    if (!dated.empty() || lines_back <= 0 || tail_.empty()) return dated;
    const std::size_t end = tail_.back() == '\n' ? tail_.size() - 1 : tail_.size();
    return log_scan::DatedLine(tail_, LineBegin(tail_, end), end, &lines_back);
  }

  void LookForBegin(absl::string_view block) {
    if (begin_looked_ == 0 && !block.empty()) {
      if (const auto year = YearOf(block, kLinesOfBegin, kHead); year.has_value()) near_ = year;
    }
    while (begin_looked_ < kLinesOfBegin && !block.empty()) {
      const std::size_t end = LineEnd(block, 0);
      ++begin_looked_;
      const absl::string_view head = block.substr(0, std::min(end, kHead));
      if (const auto time = NoteTime(TimeOf(head)); time.has_value()) {
        begin_looked_ = kLinesOfBegin;
        if (log_scan::FindTimeStamp(head)->has_year) near_ = time;
      }
      block.remove_prefix(std::min(end + 1, block.size()));
    }
  }

  // Searches for the first time after the last step.
  void LookBehindStep(absl::string_view block) {
    for (; behind_left_ > 0 && !block.empty(); --behind_left_) {
      const std::size_t end = LineEnd(block, 0);
      if (const auto time = TimeOf(block.substr(0, std::min(end, kHead))); time.has_value()) {
        found_.of_logs[log_].after_step = time;
        behind_left_ = 0;
        return;
      }
      block.remove_prefix(std::min(end + 1, block.size()));
    }
  }

  // True if the line reported a new step.
  bool ReadLine(const Line& line, std::size_t from, std::size_t to) {
    bool failure = false;
    bool read = false;
    bool stepped = false;
    std::size_t best_class = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = from; i < to; ++i) {
      const Owner& owner = inside_.owners[matches_[i].expression];
      switch (owner.kind) {
        case Owner::Kind::kFormat:
          if (!read) read = ReadStep(line, owner.index, &stepped);
          break;
        case Owner::Kind::kFact:
          ReadFact(line, owner.index);
          break;
        case Owner::Kind::kClass:
          best_class = std::min(best_class, owner.index);
          failure = true;
          break;
        case Owner::Kind::kFailure:
          failure = true;
          break;
      }
    }
    if (failure) ReadFailure(line, best_class);
    return stepped;
  }

  bool ReadStep(const Line& line, std::size_t index, bool* stepped) {
    const StepFormat& format = inside_.catalogue.formats[index];
    // A line that is redrawn repeatedly shows its end.
    const std::size_t size = line.end - line.begin;
    const absl::string_view text = format.last_of_line && size > kMostOfLine
                                       ? line.block.substr(line.end - kMostOfLine, kMostOfLine)
                                       : line.text;
    const std::optional<StepLine> step = ReadStepLine(format, text);
    if (!step.has_value()) return false;
    const absl::string_view prefix = WriterPrefix(line.text);
    if (format.declared_total && !IsBarOfSteps(index, *step, text)) return false;
    StepTrack& track = *found_.tracks[index];
    const std::int64_t added =
        track.Add(*step, log_, line.number, line.text, prefix,
                  [this](absl::string_view whole) { return TimeOf(whole.substr(0, kHead)); });
    if (added == 0) return true;
    *stepped = true;
    // The first writer of a log defines its progress: another rank may only report the same step
    // later.
    std::optional<std::string>& first = first_writer_[index];
    if (!first.has_value()) first = std::string(prefix);
    if (*first == prefix) {
      Collected::OfLog& of_log = found_.of_logs[log_];
      of_log.steps = std::max(of_log.steps, ++steps_of_track_[index]);
      if (options_.on_step != nullptr && !format.serving) {
        options_.on_step({&*step, log_, TimeOf(line.text.substr(0, kHead)), TimeNear(line)});
      }
    }
    return true;
  }

  // Programs draw progress bars of many things. A bar counts steps if its total was declared;
  // otherwise if it has no name or a name for steps, and runs longest of these: evaluations and
  // preparations are shorter than the training that they are part of.
  bool IsBarOfSteps(std::size_t index, const StepLine& step, absl::string_view text) {
    const auto declared = found_.numbers.find(FactKind::kTotalSteps);
    if (declared != found_.numbers.end()) return declared->second.value == step.total;
    const RE2* const names = inside_.bars[index].get();
    if (names == nullptr) return false;
    absl::string_view name = BarName(text);
    const absl::string_view prefix = WriterPrefix(name);
    name.remove_prefix(prefix.size());
    if (!RE2::FullMatch(Piece(name), *names)) return false;
    const double elapsed = step.Get(Quantity::kElapsed).value_or(0);
    std::unique_ptr<StepTrack>& track = found_.tracks[index];
    if (track->total() != step.total) {
      if (track->reports() > 0 && elapsed <= bar_elapsed_[index]) return false;
      track =
          std::make_unique<StepTrack>(inside_.catalogue.formats[index], inside_.catalogue.limits);
      steps_of_track_[index] = 0;
      first_writer_[index].reset();
      bar_elapsed_[index] = -1;
    }
    bar_elapsed_[index] = std::max(bar_elapsed_[index], elapsed);
    found_.guessed[index] = !found_.marks.contains(FactKind::kTrains);
    return true;
  }

  Collected::Mark MarkOf(const Line& line, std::optional<absl::Time> time) const {
    return {log_, line.number, found_.of_logs[log_].steps, time};
  }

  std::optional<absl::Time> TimeNear(const Line& line) {
    const absl::string_view dated = Dated(line);
    if (dated.empty()) return std::nullopt;
    return TimeOf(dated);
  }

  void ReadFact(const Line& line, std::size_t index) {
    constexpr int kMostGroups = 8;
    const FactPattern& fact = inside_.catalogue.facts[index];
    const FactReader& reader = *inside_.facts[index];
    re2::StringPiece groups[kMostGroups];
    const int wanted = std::min(kMostGroups - 1, reader.expression.NumberOfCapturingGroups());
    if (!reader.expression.Match(Piece(line.text), 0, line.text.size(), RE2::UNANCHORED, groups,
                                 wanted + 1)) {
      return;
    }
    const auto group = [&](int number) -> absl::string_view {
      if (number <= 0 || number > wanted || groups[number].data() == nullptr) return "";
      return {groups[number].data(), groups[number].size()};
    };
    std::optional<absl::Time> time;
    if (reader.time > 0) time = NoteTime(TimeOf(group(reader.time)));
    if (!time.has_value()) time = TimeNear(line);
    Collected::Mark mark = MarkOf(line, time);
    if (reader.number > 0) {
      std::int64_t value = 0;
      const std::string plain = absl::StrReplaceAll(group(reader.number), {{",", ""}});
      if (absl::SimpleAtoi(plain, &value) && value >= 0 && value <= kMostSteps) {
        found_.numbers[fact.kind] = {value, mark};
        if (fact.kind == FactKind::kExit)
          NoteExit(static_cast<int>(std::min<std::int64_t>(value, 255)));
      } else {
        return;
      }
    }
    if (reader.text > 0 && !group(reader.text).empty()) {
      found_.texts.try_emplace(fact.kind, CleanText(group(reader.text), 253));
    }
    if (options_.on_fact != nullptr) {
      ToldFact told{fact.kind, std::nullopt, std::string(group(reader.text)), time};
      if (reader.number > 0) told.number = found_.numbers[fact.kind].value;
      options_.on_fact(told);
    }
    if (fact.kind == FactKind::kBegins) found_.of_logs[log_].begun = line.number;
    // The last of several appended runs counts.
    if (fact.kind == FactKind::kJob && reader.text > 0) {
      const std::string job = CleanText(group(reader.text), 253);
      if (!job.empty() && found_.texts[fact.kind] != job) {
        found_.texts[fact.kind] = job;
        found_.of_logs[log_].begun = line.number;
      }
    }
    found_.marks[fact.kind] = mark;
    found_.mark_texts[fact.kind] = CleanText(line.text.substr(0, kMostText), kMostText);
  }

  void NoteExit(int code) {
    if (found_.exits.size() >= FirstFailures::kMaxRanks) return;
    ExitReport end;
    end.exit_code = code;
    end.signal = code > 128 && code < 128 + 65 ? code - 128 : 0;
    // If several exits have an unknown rank, keep one with an error.
    ExitReport& known = found_.exits[rank_.value_or(-1)];
    if (known.exit_code.value_or(0) == 0) known = end;
  }

  void ReadFailure(const Line& line, std::size_t best_class) {
    if (inside_.harmless != nullptr && inside_.harmless->Match(Piece(line.text), nullptr)) return;
    const absl::string_view prefix = WriterPrefix(line.text);
    const absl::string_view dated = Dated(line);
    JobLine job_line;
    job_line.log_id = log_ + 1;
    job_line.log = found_.logs[log_].name;
    job_line.rank = rank_;
    job_line.number = line.number;
    job_line.text = line.text;
    job_line.dated = dated;
    const absl::string_view signature = failures_.Add(job_line);
    std::string shown_by;
    if (!signature.empty()) {
      const auto known = inside_.class_of.find(signature);
      if (known != inside_.class_of.end() && known->second < best_class) {
        best_class = known->second;
        shown_by = std::string(signature);
      }
    }
    if (best_class >= found_.classes.size()) return;
    Collected::ClassHit& hit = found_.classes[best_class];
    hit.last = MarkOf(line, dated.empty() ? std::nullopt : TimeOf(dated));
    const std::string writer = WriterOf(line.text, prefix);
    if (!writer.empty() && hit.writers.size() < Collected::ClassHit::kMaxWriters) {
      hit.writers.insert(writer);
    }
    if (++hit.count > 1 && !(hit.last.time.has_value() && hit.first.time.has_value() &&
                             *hit.last.time < *hit.first.time)) {
      return;
    }
    hit.first = hit.last;
    hit.signature = shown_by;
    hit.writer = writer;
    hit.text = CleanText(line.text.substr(0, kMostText), kMostText);
  }

  std::string WriterOf(absl::string_view line, absl::string_view prefix) const {
    Writer writer = ParseWriter(prefix);
    if (!writer.rank.has_value()) {
      if (const auto rank = log_scan::FindRank(line); rank.has_value()) writer.rank = *rank;
    }
    if (!writer.rank.has_value()) writer.rank = rank_;
    return ToString(writer);
  }

  const CompiledCatalogue::Inside& inside_;
  const TriageOptions options_;
  log_scan::PatternDatabase::Scratch scratch_;
  FirstFailures failures_;
  log_scan::LineBlocks blocks_;
  std::vector<Match> matches_;
  std::vector<int> signature_places_;
  std::optional<absl::Time> near_;  // the first time of the logs, if it has a year
  Collected found_;
  std::size_t log_ = 0;
  std::optional<int> rank_;
  std::int64_t lines_ = 0;
  int begin_looked_ = 0;
  std::string tail_;
  std::uint64_t place_ = 0;           // of the block, in bytes of the normalized log
  std::vector<std::uint64_t> known_;  // places of the last known lines
  StrangeLines strange_;
  int behind_left_ = 0;  // lines left to search for a time after the last step
  std::vector<std::int64_t> steps_of_track_;
  std::vector<double> bar_elapsed_;  // longest time of a bar per track; -1: none
  std::vector<std::optional<std::string>> first_writer_;
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
