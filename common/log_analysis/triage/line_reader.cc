#include "common/log_analysis/triage/line_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "common/base/re2_piece.h"
#include "common/base/text.h"
#include "common/log_analysis/scan/line_blocks.h"
#include "common/log_analysis/scan/line_facts.h"
#include "common/log_analysis/triage/compiled.h"
#include "common/log_analysis/triage/lines.h"
#include "common/log_analysis/triage/writer.h"
#include "re2/re2.h"

namespace galen::triage {
namespace {

// The line, or the closest of some lines before it, that has a time.
absl::string_view Dated(const LineReader::Line& line) {
  int lines_back = log_scan::kLinesBack;
  const absl::string_view dated =
      log_scan::DatedLine(line.block, line.begin, line.end, &lines_back);
  --lines_back;  // the one that the block begins with
  if (!dated.empty() || lines_back <= 0 || line.before.empty()) return dated;
  const std::size_t end = line.before.back() == '\n' ? line.before.size() - 1 : line.before.size();
  return log_scan::DatedLine(line.before, LineBegin(line.before, end), end, &lines_back);
}

}  // namespace

LineReader::LineReader(const CompiledCatalogue::Inside& inside, const TriageOptions& options,
                       LogTimes& times, Collected& found)
    : inside_(inside),
      options_(options),
      times_(times),
      found_(found),
      failures_(
          inside.signature_names, [this](absl::string_view line) { return FirstSignature(line); },
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

void LineReader::BeginLog(std::size_t log, absl::string_view path, std::optional<int> rank) {
  log_ = log;
  rank_ = rank.has_value() ? rank : RankOfPath(path);
  std::fill(steps_of_track_.begin(), steps_of_track_.end(), 0);
  std::fill(first_writer_.begin(), first_writer_.end(), std::nullopt);
  found_.of_logs[log_].steps = 0;
}

bool LineReader::Read(const Line& line, absl::Span<const Match> matches) {
  bool failure = false;
  bool read = false;
  bool stepped = false;
  std::size_t best_class = std::numeric_limits<std::size_t>::max();
  for (const Match& match : matches) {
    const Owner& owner = inside_.owners[match.expression];
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

void LineReader::Finish() {
  for (const auto& track : found_.tracks) track->Finish();
  // A launcher's report about a rank takes precedence over that of a container.
  std::map<int, ExitReport> exits = failures_.exits();
  exits.merge(found_.exits);
  found_.exits = std::move(exits);
}

std::string LineReader::WriterOf(absl::string_view line, absl::string_view prefix) const {
  Writer writer = ParseWriter(prefix);
  if (!writer.rank.has_value()) {
    if (const auto rank = log_scan::FindRank(line); rank.has_value()) writer.rank = *rank;
  }
  if (!writer.rank.has_value()) writer.rank = rank_;
  return ToString(writer);
}

std::optional<int> LineReader::RankOfPath(absl::string_view path) const {
  for (std::size_t i = 0; i < inside_.facts.size(); ++i) {
    if (inside_.catalogue.facts[i].kind != FactKind::kRankFile) continue;
    re2::StringPiece groups[8];
    const FactReader& reader = *inside_.facts[i];
    int rank = 0;
    if (reader.number > 0 && reader.number < 8 &&
        reader.expression.Match(Piece(path), 0, path.size(), RE2::UNANCHORED, groups,
                                reader.number + 1) &&
        absl::SimpleAtoi(
            absl::string_view(groups[reader.number].data(), groups[reader.number].size()), &rank)) {
      return rank;
    }
  }
  return std::nullopt;
}

int LineReader::FirstSignature(absl::string_view line) {
  signature_places_.clear();
  if (!inside_.signatures->Match(Piece(line), &signature_places_)) return -1;
  return *std::min_element(signature_places_.begin(), signature_places_.end());
}

Collected::Mark LineReader::MarkOf(const Line& line, std::optional<absl::Time> time) const {
  return {log_, line.number, found_.of_logs[log_].steps, time};
}

std::optional<absl::Time> LineReader::TimeNear(const Line& line) const {
  const absl::string_view dated = Dated(line);
  if (dated.empty()) return std::nullopt;
  return times_.TimeOf(dated);
}

bool LineReader::ReadStep(const Line& line, std::size_t index, bool* stepped) {
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
                [this](absl::string_view whole) { return times_.TimeOfLine(whole); });
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
      options_.on_step({&*step, log_, times_.TimeOfLine(line.text), TimeNear(line)});
    }
  }
  return true;
}

// Programs draw progress bars of many things. A bar counts steps if its total was declared;
// otherwise if it has no name or a name for steps, and runs longest of these: evaluations and
// preparations are shorter than the training that they are part of.
bool LineReader::IsBarOfSteps(std::size_t index, const StepLine& step, absl::string_view text) {
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
    track = std::make_unique<StepTrack>(inside_.catalogue.formats[index], inside_.catalogue.limits);
    steps_of_track_[index] = 0;
    first_writer_[index].reset();
    bar_elapsed_[index] = -1;
  }
  bar_elapsed_[index] = std::max(bar_elapsed_[index], elapsed);
  found_.guessed[index] = !found_.marks.contains(FactKind::kTrains);
  return true;
}

void LineReader::ReadFact(const Line& line, std::size_t index) {
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
  if (reader.time > 0) time = times_.Note(times_.TimeOf(group(reader.time)));
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

void LineReader::NoteExit(int code) {
  if (found_.exits.size() >= FirstFailures::kMaxRanks) return;
  ExitReport end;
  end.exit_code = code;
  end.signal = code > 128 && code < 128 + 65 ? code - 128 : 0;
  // If several exits have an unknown rank, keep one with an error.
  ExitReport& known = found_.exits[rank_.value_or(-1)];
  if (known.exit_code.value_or(0) == 0) known = end;
}

void LineReader::ReadFailure(const Line& line, std::size_t best_class) {
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
  hit.last = MarkOf(line, dated.empty() ? std::nullopt : times_.TimeOf(dated));
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

}  // namespace galen::triage
