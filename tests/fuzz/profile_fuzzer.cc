#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/perfmodel/model_shape.h"
#include "common/profile/analyse.h"
#include "common/profile/compare.h"
#include "common/profile/csv_trace.h"
#include "common/profile/families.h"
#include "common/profile/hangs/nccl_ras.h"
#include "common/profile/json_stream.h"
#include "common/profile/picture.h"
#include "common/profile/ranks.h"
#include "common/profile/read_trace.h"
#include "common/profile/rocprof_json.h"
#include "common/profile/sqlite_trace.h"
#include "common/profile/xplane.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

const profile::Families& Shipped() {
  static const profile::Families* const families = [] {
    auto loaded = profile::Families::Load({absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")});
    if (!loaded.ok()) std::abort();
    return new profile::Families(*std::move(loaded));
  }();
  return *families;
}

profile::JsonStream::Source InPieces(absl::string_view text, std::size_t piece) {
  return [text, piece, at = std::size_t{0}]() mutable -> absl::StatusOr<absl::string_view> {
    const absl::string_view next = text.substr(std::min(at, text.size()), piece);
    at += next.size();
    return next;
  };
}

absl::StatusOr<profile::TraceReport> ReportOfSource(profile::JsonStream::Source source) {
  profile::ReadLimits limits;
  limits.spans = 64;
  limits.devices = 4;
  limits.streams = 4;
  auto trace = profile::ReadTrace(std::move(source), Shipped(), limits);
  if (!trace.ok()) return trace.status();
  return profile::Analyse(*std::move(trace), Shipped());
}

absl::StatusOr<profile::TraceReport> ReportOf(absl::string_view text, std::size_t piece) {
  return ReportOfSource(InPieces(text, piece));
}

// A rewritten file of another profiler is always a trace, and the same however it is cut.
void Rewritten(profile::JsonStream::Source in_one, profile::JsonStream::Source in_pieces) {
  const auto whole = ReportOfSource(std::move(in_one));
  const auto cut = ReportOfSource(std::move(in_pieces));
  if (!whole.ok() || !cut.ok() || whole->devices.size() != cut->devices.size()) std::abort();
  for (std::size_t i = 0; i < whole->devices.size(); ++i) {
    if (whole->devices[i].total.compute != cut->devices[i].total.compute) std::abort();
  }
  profile::JobProfile job;
  job.traces.push_back(*whole);
  if (!profile::IsComparable(job)) return;
  const profile::Difference difference = profile::Compare(job, job);
  if (difference.step.Difference() != 0) std::abort();
}

void Rocprof(absl::string_view text) {
  Use(profile::LooksLikeRocprofJson(text));
  Rewritten(profile::RocprofJsonAsTrace(InPieces(text, 1 << 20), Shipped()),
            profile::RocprofJsonAsTrace(InPieces(text, 5), Shipped()));
}

void Csv(absl::string_view text) {
  Use(profile::TableOfCsv(text));
  const auto read = [&](std::size_t piece) {
    std::vector<profile::JsonStream::Source> tables = {InPieces(text, piece)};
    return profile::CsvAsTrace(std::move(tables), Shipped());
  };
  Rewritten(read(1 << 20), read(5));
}

void Database(absl::string_view text) {
  Use(profile::LooksLikeSqlite(text));
  auto source =
      profile::SqliteBytesAsTrace(std::string(text), Shipped(), {.operations = 1'000'000});
  if (source.ok()) Use(ReportOfSource(*std::move(source)).ok());
}

void Xplane(absl::string_view text) {
  Use(profile::LooksLikeXplane(text));
  auto source = profile::XplaneAsTrace(std::string(text));
  if (source.ok()) Use(ReportOfSource(*std::move(source)).ok());
}

// However the text is cut, the parts of a step add up to it and are the same.
void Trace(absl::string_view text) {
  const auto whole = ReportOf(text, 1 << 20);
  const auto cut = ReportOf(text, 5);
  if (whole.ok() != cut.ok()) std::abort();
  if (!whole.ok()) return;
  if (whole->events != cut->events || whole->devices.size() != cut->devices.size()) std::abort();
  for (std::size_t i = 0; i < whole->devices.size(); ++i) {
    const profile::Split& split = whole->devices[i].total;
    if (split.compute != cut->devices[i].total.compute) std::abort();
    if (split.compute + split.exposed + split.memory + split.host + split.idle != split.wall ||
        split.exposed > split.communication || split.host < 0 || split.idle < 0) {
      std::abort();
    }
  }
  profile::JobProfile job;
  job.traces.push_back(*whole);
  job.traces.push_back(*cut);
  job.ranks = profile::CompareRanks(job.traces);
  Use(profile::Picture(job));
}

void Json(absl::string_view text) {
  profile::JsonStream stream(InPieces(text, 7));
  using Token = profile::JsonStream::Token;
  for (Token token = stream.Next(); token != Token::kBroken && token != Token::kEnd;
       token = stream.Next()) {
    if (stream.depth() > profile::JsonStream::kMostDepth) std::abort();
    if (token == Token::kKey && stream.text() == "skip" && !stream.SkipValue()) break;
  }
}

void Ras(absl::string_view text) {
  Use(hangs::LooksLikeRas(text));
  const auto report = hangs::ParseRas(text);
  if (!report.ok()) return;
  Use(report->Sentences());
  Use(report->Suspects());
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"trace", Trace},
      {"json", Json},
      {"ras", Ras},
      {"rocprof", Rocprof},
      {"csv", Csv},
      {"database", Database},
      {"xplane", Xplane},
      {"families",
       [](absl::string_view text) { Use(profile::Families::Parse(text, "site.yaml")); }},
      {"shape", [](absl::string_view text) {
         const auto shape = perfmodel::ParseShape(text);
         if (shape.ok()) Use(perfmodel::FlopsPerStep(*shape));
       }}};
  return kParsers;
}

}  // namespace galen::fuzz
