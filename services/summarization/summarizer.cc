#include "services/summarization/summarizer.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/log_analysis/scan/entities.h"
#include "common/log_analysis/scan/line_facts.h"
#include "common/log_analysis/scan/reader.h"
#include "common/phrases/outcome.h"
#include "services/summarization/log_path.h"
#include "services/summarization/look.h"
#include "services/summarization/signals.h"

namespace galen::summarization {
namespace {

using galen::v1::Incident;
using galen::v1::LogSource;
using galen::v1::Signal;
using galen::v1::Summary;

constexpr std::size_t kMaxDescription = 1 << 20;
constexpr int kMaxLogs = 1000;
constexpr std::size_t kMaxText = 64 << 10;

absl::Status Validate(const v1::SummarizeRequest& request) {
  const Incident& incident = request.incident();
  if (absl::StripAsciiWhitespace(incident.description()).empty() && incident.logs().empty()) {
    return absl::InvalidArgumentError(
        "incident.description: empty; say in a sentence what went wrong, or add a log");
  }
  if (incident.description().size() > kMaxDescription) {
    return absl::InvalidArgumentError(
        absl::StrCat("incident.description: ", incident.description().size(),
                     " bytes; at most 1 MiB, add the rest as a log"));
  }
  if (incident.logs_size() > kMaxLogs) {
    return absl::InvalidArgumentError(
        absl::StrCat("incident.logs: ", incident.logs_size(), " logs; at most ", kMaxLogs));
  }
  for (int i = 0; i < incident.logs_size(); ++i) {
    if (incident.logs(i).path().empty() && incident.logs(i).content().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("incident.logs[", i, "]: neither path nor content; give one"));
    }
  }
  return absl::OkStatus();
}

// Supplies the year to logs that do not state it.
log_scan::TimeContext TimeContextOf(const Incident& incident) {
  log_scan::TimeContext context;
  if (incident.has_start_time()) {
    context.near = ToTime(incident.start_time());
  } else if (incident.has_end_time()) {
    context.near = ToTime(incident.end_time());
  } else if (incident.workload().has_start_time()) {
    context.near = ToTime(incident.workload().start_time());
  }
  return context;
}

std::string Counted(std::int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

log_scan::Mention MentionAt(absl::string_view text, std::size_t end,
                            const phrases::OutcomeWords& words) {
  log_scan::Mention mention;
  mention.name = std::string(phrases::NameAt(text, end));
  switch (phrases::OutcomeOf(text, end, words)) {
    case phrases::Outcome::kWorks:
      mention.outcome = knowledge::v1::WORKS;
      break;
    case phrases::Outcome::kFails:
      mention.outcome = knowledge::v1::FAILS;
      break;
    case phrases::Outcome::kUnknown:
      break;
  }
  return mention;
}

// One summary in the making.
class Reading {
 public:
  Reading(const log_scan::Scanner& scanner, const Clock& clock, const Incident& incident,
          std::string bundle, std::vector<std::string> nodes, absl::Time read_until,
          const Summarizer::Options& options)
      : scanner_(scanner),
        words_(options.words.get()),
        survived_(options.survived.get()),
        clock_(clock),
        time_(TimeContextOf(incident)),
        bundle_(std::move(bundle)),
        read_until_(read_until),
        entities_(nodes),
        nodes_(nodes.begin(), nodes.end()) {}

  // Words of a person.
  void ReadWords(absl::string_view name, absl::string_view text) {
    Source source;
    source.name = std::string(name);
    source.description = true;
    entities_.Add(text, source.name, 1);
    log_scan::LogScan::Options options;
    options.kind = log_scan::TextKind::kDescription;
    options.time = time_;
    if (words_ != nullptr) {
      options.mention = [this](absl::string_view said, std::size_t end) {
        return MentionAt(said, end, *words_);
      };
    }
    log_scan::LogScan scan(scanner_, options);
    // Reads whole lines with those around them.
    scan.Feed(absl::StrCat(text, "\n"));
    log_scan::ScanResult result = scan.Finish();
    result.bytes = static_cast<std::int64_t>(text.size());
    Take(result, source);
  }

  // Reads logs of one incident, which tell their names apart.
  absl::Status ReadLogs(const google::protobuf::RepeatedPtrField<LogSource>& logs,
                        absl::Span<const std::string> roots, std::size_t max_signals) {
    const std::vector<std::string> names = LogNames(logs);
    for (int i = 0; i < logs.size(); ++i) {
      GALEN_RETURN_IF_ERROR(ReadLog(logs[i], names[static_cast<std::size_t>(i)], roots));
      Trim(max_signals);
    }
    return absl::OkStatus();
  }

  absl::Status ReadLog(const LogSource& log, const std::string& name,
                       absl::Span<const std::string> roots) {
    const Source source = SourceOf(log, name);
    if (!log.content().empty()) {
      log_scan::LogScan scan(scanner_, {log_scan::TextKind::kLog, time_});
      scan.Feed(log.content());
      Take(scan.Finish(), source);
      return absl::OkStatus();
    }
    GALEN_ASSIGN_OR_RETURN(const std::string path, ResolveLog(log.path(), bundle_, roots));
    absl::StatusOr<std::unique_ptr<log_scan::LogReader>> reader = Open(path);
    if (!reader.ok()) return CannotOpen(log, source, reader.status());
    ReadFile(**reader, source);
    return absl::OkStatus();
  }

  // Messages in the captured logs of events of a bundle's machines, from the day of the incident.
  // The checks of the machine read its state.
  void ReadCaptures(const std::vector<std::string>& nodes, std::size_t max_signals) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (clock_.Now() >= read_until_) {
        Note("captures",
             absl::StrCat(
                 "those of ",
                 Counted(static_cast<std::int64_t>(nodes.size() - i), "machine", "machines"),
                 " were not searched for messages: half of the time for the answer was "
                 "used up"));
        return;
      }
      for (const Capture& capture : CapturesOf(bundle_, nodes[i])) ReadCapture(capture);
      Trim(max_signals);
    }
  }

  // Reads the files of a customer's answer, in a bundle of its own. If they can no longer be read,
  // the answer loses its logs, but the diagnosis keeps its summary.
  absl::Status ReadTold(const v1::SuppliedEvidence& told, absl::Span<const std::string> roots,
                        std::size_t max_signals) {
    const Incident& evidence = told.evidence();
    prefix_ = absl::StrCat(told.source(), "/");
    bundle_.clear();
    std::vector<std::string> captured;
    if (!evidence.bundle().empty()) {
      absl::StatusOr<std::string> bundle = ResolveBundle(evidence.bundle(), roots);
      if (!bundle.ok()) {
        Note(told.source(), absl::StrCat("its files can no longer be read: ",
                                         CleanText(bundle.status().message(), 1024)));
        return absl::OkStatus();
      }
      bundle_ = *std::move(bundle);
      captured = NodesOfBundle(bundle_);
      nodes_.insert(captured.begin(), captured.end());
    }
    GALEN_RETURN_IF_ERROR(ReadLogs(evidence.logs(), roots, max_signals));
    ReadCaptures(captured, max_signals);
    return absl::OkStatus();
  }

  // The summary without the incident's words, with at most `max_signals` signals.
  Summary Finish(std::size_t max_signals) && {
    LeaveOutQuoted();
    const std::size_t gone = KeepStrongest(signals_, max_signals) + dropped_;
    SortSignals(signals_);
    if (gone > 0) {
      Note("signals", absl::StrCat("the ", signals_.size(), " strongest are kept, ", gone,
                                   " weaker or later ones are left out"));
    }
    for (Signal& signal : signals_) *summary_.add_signals() = std::move(signal);
    for (galen::v1::Entity& entity : std::move(entities_).Take()) {
      *summary_.add_entities() = std::move(entity);
    }
    return std::move(summary_);
  }

  // Keeps memory bounded while many logs are read.
  void Trim(std::size_t max_signals) {
    if (signals_.size() > 4 * max_signals) dropped_ += KeepStrongest(signals_, max_signals);
  }

 private:
  void ReadCapture(const Capture& capture) {
    const absl::StatusOr<std::string> path = ResolveLog(capture.log.path(), bundle_, {});
    if (!path.ok()) return;
    const absl::StatusOr<std::unique_ptr<log_scan::LogReader>> reader = Open(*path);
    if (!reader.ok()) return;
    Source source = SourceOf(capture.log, capture.log.path());
    source.name = absl::StrCat(prefix_, CleanText(capture.name, 128), " of ",
                               CleanText(capture.log.node(), 256));
    source.capture = true;
    ReadFile(**reader, source);
  }

  // The name in the incident, made unique to keep evidence ids unique.
  Source SourceOf(const LogSource& log, const std::string& name) {
    Source source;
    source.kind = log.kind();
    source.node = log.node();
    if (log.has_rank()) source.rank = log.rank();
    const std::string full = absl::StrCat(prefix_, name);
    source.name = full;
    for (int n = 2; !names_.insert(source.name).second; ++n) {
      source.name = absl::StrCat(full, "#", n);
    }
    return source;
  }

  // `path` is resolved. PERMISSION_DENIED: it was changed since, and leads elsewhere.
  static absl::StatusOr<std::unique_ptr<log_scan::LogReader>> Open(const std::string& path) {
    GALEN_ASSIGN_OR_RETURN(std::unique_ptr<log_scan::LogReader> reader,
                           log_scan::LogReader::Open(path, {}));
    if (reader->real_path() != path) {
      return absl::PermissionDeniedError(absl::StrCat(path, ": leads elsewhere now"));
    }
    return reader;
  }

  // A bundle may be incomplete, and the rest of it is still worth reading; a missing log that
  // somebody named is that person's error.
  absl::Status CannotOpen(const LogSource& log, const Source& source, const absl::Status& why) {
    const bool of_bundle = !bundle_.empty() && log.path()[0] != '/';
    if (!of_bundle && !absl::IsDataLoss(why)) return why;
    if (absl::IsDataLoss(why)) {
      Note(source.name, absl::StrCat("not read: ", CleanText(why.message(), 1024)));
      return absl::OkStatus();
    }
    if (absl::IsNotFound(why)) {
      Note(absl::StrCat("logs/", source.name),
           "missing: listed in incident.yaml but not in the bundle");
    } else {
      Note(absl::StrCat("logs/", source.name),
           absl::StrCat("not read: ", CleanText(why.message(), 1024)));
    }
    return absl::OkStatus();
  }

  void ReadFile(log_scan::LogReader& reader, const Source& source) {
    log_scan::LogScan scan(scanner_, {log_scan::TextKind::kLog, time_});
    std::int64_t read = 0;
    for (;;) {
      if (clock_.Now() >= read_until_) {
        Note(source.name, absl::StrCat("read the first ", read,
                                       " bytes: ", "half of the time for the answer was used up"));
        break;
      }
      const absl::StatusOr<absl::string_view> chunk = reader.Next();
      if (!chunk.ok()) {
        Note(source.name, absl::StrCat("read the first ", read,
                                       " bytes: ", CleanText(chunk.status().message(), 1024)));
        break;
      }
      if (chunk->empty()) {
        if (read == 0 && !source.capture) Note(source.name, "empty");
        break;
      }
      read += static_cast<std::int64_t>(chunk->size());
      scan.Feed(*chunk);
    }
    if (reader.truncated()) {
      Note(source.name,
           absl::StrCat("read the first ", read, " bytes: there are more than allowed"));
    }
    Take(scan.Finish(), source);
  }

  void Take(const log_scan::ScanResult& result, const Source& source) {
    summary_.set_lines_read(summary_.lines_read() + result.lines);
    summary_.set_bytes_read(summary_.bytes_read() + result.bytes);
    const bool of_job = !source.description && !source.capture && survived_ != nullptr;
    const Survived::Until until =
        of_job ? Survived::UntilLine(scanner_, result) : Survived::Until();
    std::int64_t survived = 0;
    for (const log_scan::Hit& hit : result.hits) {
      const knowledge::v1::SignalPattern& pattern =
          scanner_.patterns()[static_cast<int>(hit.pattern)];
      if (Survived::IsOwn(pattern)) continue;
      if (of_job && survived_->Has(until, hit.last_line, hit.excerpt)) {
        survived_ids_.insert(pattern.id());
        ++survived;
        continue;
      }
      if (source.capture && (!BelongsToIncident(hit, source) || IsKnown(hit, source))) continue;
      Signal signal = MakeSignal(pattern, hit, source);
      if (signal.node().empty() && !source.description) {
        std::string host = log_scan::FindHost(hit.excerpt);
        if (nodes_.contains(host)) signal.set_node(std::move(host));
      }
      // The words themselves have been searched before.
      if (!source.description) entities_.Add(hit.excerpt, source.name, hit.first_line);
      signals_.push_back(std::move(signal));
    }
    if (survived > 0) {
      Note(source.name,
           absl::StrCat(Counted(survived, "message is", "messages are"),
                        " about failures that the program survived: ",
                        until.done > 0 ? "it ended normally" : "its processes were connected",
                        " in line ", std::max(until.done, until.connected)));
    }
    NoteOddities(result, source);
  }

  // A person may quote a message that the program survived in every log.
  void LeaveOutQuoted() {
    for (const Signal& signal : signals_) {
      if (signal.where() != galen::v1::DESCRIPTION) survived_ids_.erase(signal.signal());
    }
    std::erase_if(signals_,
                  [&](const Signal& signal) { return survived_ids_.contains(signal.signal()); });
  }

  // True if a log of this machine already has the message: somebody attached or pasted an excerpt.
  // The same message of another machine is another fact.
  bool IsKnown(const log_scan::Hit& hit, const Source& source) const {
    const std::string& id = scanner_.patterns()[static_cast<int>(hit.pattern)].id();
    return std::any_of(signals_.begin(), signals_.end(), [&](const Signal& each) {
      return each.signal() == id && each.where() != galen::v1::DESCRIPTION &&
             (each.node().empty() || each.node() == source.node);
    });
  }

  bool BelongsToIncident(const log_scan::Hit& hit, const Source& source) const {
    constexpr absl::Duration kBefore = absl::Hours(24);
    const auto& where = scanner_.patterns()[static_cast<int>(hit.pattern)].where();
    const auto own =
        source.kind == LogSource::SYSTEM ? galen::v1::KERNEL_LOG : galen::v1::TOOL_OUTPUT;
    if (std::find(where.begin(), where.end(), own) == where.end()) return false;
    return !time_.near.has_value() || !hit.last_time.has_value() ||
           *hit.last_time >= *time_.near - kBefore;
  }

  void NoteOddities(const log_scan::ScanResult& result, const Source& source) {
    if (result.binary_lines > 0) {
      Note(source.name, absl::StrCat(Counted(result.binary_lines, "line holds", "lines hold"),
                                     " binary data (NUL bytes), which was skipped"));
    }
    if (result.binary_matches > 0) {
      Note(source.name, absl::StrCat(Counted(result.binary_matches, "match", "matches"),
                                     " in binary data ignored"));
    }
    if (result.long_lines > 0) {
      Note(source.name, absl::StrCat(Counted(result.long_lines, "line is", "lines are"),
                                     " longer than 1 MiB and was read in pieces"));
    }
    if (result.undated_lines > 0) {
      Note(source.name,
           absl::StrCat(Counted(result.undated_lines, "matching line gives", "matching lines give"),
                        " a time without a year; say when the incident was to place them"));
    }
  }

  void Note(absl::string_view object, absl::string_view fact) {
    summary_.add_notes(absl::StrCat(object, ": ", fact));
  }

  const log_scan::Scanner& scanner_;
  const phrases::OutcomeWords* const words_;  // may be null
  const Survived* const survived_;            // may be null
  const Clock& clock_;
  const log_scan::TimeContext time_;
  std::string bundle_;
  std::string prefix_;  // of the names of the logs of an answer
  const absl::Time read_until_;
  log_scan::EntityCollector entities_;
  absl::flat_hash_set<std::string> nodes_;
  absl::flat_hash_set<std::string> names_ = {"description"};
  absl::flat_hash_set<std::string> survived_ids_;  // of messages that were left out
  std::vector<Signal> signals_;
  std::size_t dropped_ = 0;
  Summary summary_;
};

}  // namespace

Summarizer::Summarizer(const log_scan::Scanner& scanner, const reasoner::Reasoner& reasoner,
                       const Clock& clock, Options options)
    : scanner_(scanner), reasoner_(reasoner), clock_(clock), options_(std::move(options)) {}

absl::StatusOr<v1::SummarizeResponse> Summarizer::Summarize(const v1::SummarizeRequest& request,
                                                            absl::Time deadline) const {
  const absl::Time now = clock_.Now();
  if (now >= deadline) return absl::DeadlineExceededError("summarize: no time left");
  GALEN_RETURN_IF_ERROR(Validate(request));
  const Incident& incident = request.incident();
  std::string bundle;
  std::vector<std::string> captured;
  std::vector<std::string> nodes(incident.nodes().begin(), incident.nodes().end());
  if (!incident.bundle().empty()) {
    GALEN_ASSIGN_OR_RETURN(bundle, ResolveBundle(incident.bundle(), options_.roots));
    captured = NodesOfBundle(bundle);
    nodes.insert(nodes.end(), captured.begin(), captured.end());
  }

  Reading reading(scanner_, clock_, incident, std::move(bundle), std::move(nodes),
                  now + (deadline - now) / 2, options_);
  reading.ReadWords("description", incident.description());
  for (int i = 0; i < request.feedback_size(); ++i) {
    reading.ReadWords(absl::StrCat("feedback/", i + 1), request.feedback(i));
  }
  GALEN_RETURN_IF_ERROR(reading.ReadLogs(incident.logs(), options_.roots, options_.max_signals));
  reading.ReadCaptures(captured, options_.max_signals);
  for (const v1::SuppliedEvidence& told : request.supplied()) {
    GALEN_RETURN_IF_ERROR(reading.ReadTold(told, options_.roots, options_.max_signals));
  }

  reasoner::v1::SummarizeQuestion question;
  *question.mutable_found() = std::move(reading).Finish(options_.max_signals);
  *question.mutable_incident() = incident;
  for (LogSource& log : *question.mutable_incident()->mutable_logs()) log.clear_content();
  GALEN_ASSIGN_OR_RETURN(const reasoner::v1::SummarizeAnswer answer,
                         reasoner_.Summarize(question, deadline));
  v1::SummarizeResponse response;
  *response.mutable_summary() = std::move(*question.mutable_found());
  response.mutable_summary()->set_text(CleanText(answer.text(), kMaxText));
  response.mutable_summary()->set_failure_class(answer.failure_class());
  return response;
}

absl::StatusOr<v1::LookResponse> Summarizer::Look(const v1::LookRequest& request,
                                                  absl::Time deadline) const {
  return summarization::Look(request, options_.roots, clock_, deadline);
}

}  // namespace galen::summarization
