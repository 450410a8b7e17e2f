#include "common/profile/job.h"

#include <string.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/log_analysis/scan/reader.h"
#include "common/profile/csv_trace.h"
#include "common/profile/rocprof_json.h"
#include "common/profile/sqlite_trace.h"
#include "common/profile/xplane.h"
#include "re2/re2.h"

namespace galen::profile {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 6;
constexpr std::int64_t kMostDump = std::int64_t{32} << 20;
constexpr std::int64_t kMostXplane = std::int64_t{512} << 20;

std::string LowerName(const fs::path& path) {
  return absl::AsciiStrToLower(path.filename().string());
}

bool LooksLikeDump(absl::string_view name) {
  return absl::StrContains(name, "nccl_trace") || absl::StrContains(name, "_dump_") ||
         absl::StrContains(name, "flight");
}

// The table of kernels that rocprofv3 writes; tables of the same process are named after it.
constexpr absl::string_view kKernelTable = "kernel_trace.csv";
constexpr absl::string_view kTablesBeside[] = {"memory_copy_trace.csv", "hip_api_trace.csv",
                                               "marker_api_trace.csv"};

// Names that only traces, dumps and answers have.
bool IsNamedSo(absl::string_view name) {
  return NamedLikeTrace(name) || LooksLikeDump(name) || absl::StrContains(name, "ncclras") ||
         absl::StartsWith(name, "ras-") || absl::StartsWith(name, "ras_");
}

// Whether a file of a directory is one to look at, by its name.
bool IsWanted(const fs::path& path, bool json_too) {
  const std::string lower = LowerName(path);
  absl::string_view name = lower;
  for (const char* packed : {".gz", ".zst"}) absl::ConsumeSuffix(&name, packed);
  // JAX writes a trace twice; of the two XPlane has all events.
  if (absl::ConsumeSuffix(&name, ".trace.json")) {
    std::error_code error;
    const std::string stem = path.filename().string().substr(0, name.size());
    return !fs::exists(path.parent_path() / (stem + ".xplane.pb"), error);
  }
  return IsNamedSo(name) || (json_too && absl::EndsWith(name, ".json"));
}

std::optional<int> RankOfName(const std::string& path, const RE2& pattern) {
  int rank = 0;
  const std::string name = LowerName(path);
  if (!RE2::PartialMatch(name, pattern, &rank)) return std::nullopt;
  return rank;
}

// Whether the file itself, not what is packed in it, is a database.
bool IsDatabase(const std::string& path) {
  char head[16] = "";
  std::ifstream file(path, std::ios::binary);
  file.read(head, sizeof(head));
  return LooksLikeSqlite(absl::string_view(head, static_cast<std::size_t>(file.gcount())));
}

// The file of rocprofv3 beside `path` with another table of the same process; "" where `path` is
// not named as one.
std::string Beside(const std::string& path, absl::string_view from, absl::string_view to) {
  return absl::EndsWith(path, from) ? absl::StrCat(path.substr(0, path.size() - from.size()), to)
                                    : "";
}

// "nccl_trace_rank_3", "_dump_3", "rank3.json".
std::optional<int> RankOfDump(const std::string& path) {
  static const RE2 last(R"((\d{1,7})(?:\.(?:json|pkl|pickle|gz|zst))*$)");
  return RankOfName(path, last);
}

// "rank3.json", "trace-rank-03.json.gz": only where the name says that it is a rank.
std::optional<int> RankOfTrace(const std::string& path) {
  static const RE2 rank(R"(rank[-_ ]?(\d{1,7}))");
  return RankOfName(path, rank);
}

std::string Shown(const std::string& path) { return fs::path(path).filename().string(); }

// A file that is read once: its first bytes identify its kind.
class Input {
 public:
  static absl::StatusOr<Input> Open(const std::string& path) {
    Input input;
    GALEN_ASSIGN_OR_RETURN(input.reader_, log_scan::LogReader::Open(path, {}));
    GALEN_ASSIGN_OR_RETURN(const absl::string_view first, input.reader_->Next());
    input.first_ = std::string(first);
    return input;
  }

  absl::string_view first() const { return first_; }

  // All of it again, from the first byte.
  JsonStream::Source Source() {
    return [this]() -> absl::StatusOr<absl::string_view> {
      if (!given_) {
        given_ = true;
        return absl::string_view(first_);
      }
      return reader_->Next();
    };
  }

  absl::StatusOr<std::string> Whole(std::int64_t most = kMostDump) {
    std::string bytes = first_;
    while (static_cast<std::int64_t>(bytes.size()) <= most) {
      GALEN_ASSIGN_OR_RETURN(const absl::string_view more, reader_->Next());
      if (more.empty()) return bytes;
      bytes.append(more.data(), more.size());
    }
    return absl::DataLossError(absl::StrCat("more than ", most >> 20, " MiB, which is too much"));
  }

 private:
  Input() = default;
  std::unique_ptr<log_scan::LogReader> reader_;
  std::string first_;
  bool given_ = false;
};

class JobReader {
 public:
  JobReader(const std::vector<std::string>& files, const Families& families,
            const JobOptions& options)
      : files_(files.begin(), files.end()), families_(families), options_(options) {}

  void Read(const std::string& path) {
    if (const absl::Status status = Take(path); !status.ok()) {
      const absl::string_view why = status.message();
      job_.troubles.push_back(absl::StartsWith(why, path) ? std::string(why)
                                                          : absl::StrCat(path, ": ", why));
    }
  }

  JobProfile Finish() {
    for (auto& [directory, records] : dumps_) {
      Hang hang;
      hang.directory = directory;
      for (const auto& [rank, record] : records) hang.ranks.insert(rank);
      hang.verdict = hangs::JudgeTraces(records, options_.equal_sizes);
      job_.hangs.push_back(std::move(hang));
    }
    job_.ranks = CompareRanks(job_.traces);
    return std::move(job_);
  }

 private:
  absl::Status Take(const std::string& path) {
    GALEN_ASSIGN_OR_RETURN(Input input, Input::Open(path));
    if (absl::StrContains(LowerName(path), ".xplane.pb") && LooksLikeXplane(input.first())) {
      GALEN_ASSIGN_OR_RETURN(std::string bytes, input.Whole(kMostXplane));
      GALEN_ASSIGN_OR_RETURN(JsonStream::Source source, XplaneAsTrace(std::move(bytes)));
      return TakeTrace(path, std::move(source));
    }
    if (LooksLikeSqlite(input.first())) return TakeDatabase(path, input);
    const absl::string_view head = absl::StripLeadingAsciiWhitespace(input.first());
    if (head.empty()) return absl::DataLossError("is empty");
    if (head[0] == '\x80') return TakeDump(path, input);
    if (hangs::LooksLikeRas(head)) return TakeAnswer(path, input);
    if (head[0] != '{' && head[0] != '[') {
      const CsvTable table = TableOfCsv(head);
      if (table != CsvTable::kNone) return TakeTables(path, table, input);
      return absl::DataLossError("is not a trace, a dump or an answer of NCCL's RAS");
    }
    if (!absl::StrContains(head, "\"traceEvents\"") &&
        (absl::StrContains(head, "\"pg_config\"") ||
         absl::StrContains(head, "\"collective_seq_id\""))) {
      return TakeDump(path, input);
    }
    if (LooksLikeRocprofJson(head)) {
      return TakeTrace(path, RocprofJsonAsTrace(input.Source(), families_));
    }
    return TakeTrace(path, input.Source());
  }

  absl::Status TakeDatabase(const std::string& path, Input& input) {
    absl::StatusOr<JsonStream::Source> source = nullptr;
    if (IsDatabase(path)) {
      source = SqliteAsTrace(path, families_);
    } else {
      GALEN_ASSIGN_OR_RETURN(std::string bytes, input.Whole(kMostXplane));
      source = SqliteBytesAsTrace(std::move(bytes), families_);
    }
    GALEN_RETURN_IF_ERROR(source.status());
    return TakeTrace(path, *std::move(source));
  }

  // The tables of one process are one trace.
  absl::Status TakeTables(const std::string& path, CsvTable table, Input& input) {
    std::vector<Input> others;
    if (table == CsvTable::kKernels) {
      for (const absl::string_view beside : kTablesBeside) {
        const std::string other = Beside(path, kKernelTable, beside);
        std::error_code error;
        if (other.empty() || !fs::is_regular_file(other, error)) continue;
        absl::StatusOr<Input> opened = Input::Open(other);
        if (opened.ok()) others.push_back(*std::move(opened));
      }
    } else {
      for (const absl::string_view beside : kTablesBeside) {
        // Read with the kernels.
        if (files_.count(Beside(path, beside, kKernelTable)) > 0) return absl::OkStatus();
      }
    }
    std::vector<JsonStream::Source> sources = {input.Source()};
    for (Input& other : others) sources.push_back(other.Source());
    return TakeTrace(path, CsvAsTrace(std::move(sources), families_));
  }

  absl::Status TakeTrace(const std::string& path, JsonStream::Source source) {
    GALEN_ASSIGN_OR_RETURN(Trace trace, ReadTrace(std::move(source), families_, options_.limits));
    if (!trace.rank.has_value()) trace.rank = RankOfTrace(path);
    TraceReport report = Analyse(std::move(trace), families_, options_.analyse);
    report.file = Shown(path);
    Bound(report);
    job_.traces.push_back(std::move(report));
    return absl::OkStatus();
  }

  // However many traces there are, what is kept of all of them has a limit.
  void Bound(TraceReport& report) {
    for (DeviceReport& device : report.devices) {
      if (job_.traces.size() >= options_.drawn) device.drawn = {};
      if (met_ + device.met.size() > options_.met) {
        device.met = {};
        report.remarks.push_back(
            absl::StrCat(device.name,
                         ": its collectives are not compared: those of all traces "
                         "are more than are kept"));
      }
      met_ += device.met.size();
    }
  }

  absl::Status TakeDump(const std::string& path, Input& input) {
    GALEN_ASSIGN_OR_RETURN(const std::string bytes, input.Whole());
    GALEN_ASSIGN_OR_RETURN(hangs::FlightRecord record, hangs::ParseFlightRecord(bytes));
    const std::optional<int> rank = RankOfDump(path);
    if (!rank.has_value()) {
      return absl::DataLossError("its name does not end in the rank that wrote it");
    }
    const std::string directory = fs::path(path).parent_path().string();
    if (!dumps_[directory].emplace(*rank, std::move(record)).second) {
      return absl::DataLossError(
          absl::StrCat("a second dump of rank ", *rank, " in one directory"));
    }
    return absl::OkStatus();
  }

  absl::Status TakeAnswer(const std::string& path, Input& input) {
    GALEN_ASSIGN_OR_RETURN(const std::string bytes, input.Whole());
    GALEN_ASSIGN_OR_RETURN(hangs::RasReport report, hangs::ParseRas(bytes));
    job_.answers.push_back({Shown(path), std::move(report)});
    return absl::OkStatus();
  }

  const std::set<std::string> files_;
  const Families& families_;
  const JobOptions& options_;
  JobProfile job_;
  std::map<std::string, std::map<int, hangs::FlightRecord>> dumps_;
  std::size_t met_ = 0;
};

absl::StatusOr<std::vector<std::string>> FilesIn(const fs::path& directory, bool json_too) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator it(directory, fs::directory_options::skip_permission_denied,
                                      error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored) &&
        (it.depth() >= kMostDepth || absl::StartsWith(it->path().filename().string(), "."))) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file(ignored) && IsWanted(it->path(), json_too) &&
               files.size() <= kMostFiles) {
      files.push_back(it->path().string());
    }
  }
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat(directory.string(), ": cannot be read: ", error.message()));
  }
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat(directory.string(),
                                            ": holds no trace (*.json, *.json.gz, *.xplane.pb, "
                                            "*.sqlite, *_kernel_trace.csv), no dump and "
                                            "no answer; name the files"));
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return strverscmp(a.c_str(), b.c_str()) < 0;  // rank-2 before rank-10
  });
  return files;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FilesOf(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (error || !fs::exists(status)) {
      return absl::NotFoundError(
          absl::StrCat(path, ": is not there; name a trace, a dump or a directory"));
    }
    std::vector<std::string> found = {path};
    if (fs::is_directory(status)) {
      GALEN_ASSIGN_OR_RETURN(found, FilesIn(path, true));
    }
    for (std::string& file : found) {
      const fs::path real = fs::canonical(file, error);
      if (seen.insert(error ? file : real.string()).second) files.push_back(std::move(file));
    }
  }
  if (files.size() > kMostFiles) {
    return absl::ResourceExhaustedError(absl::StrCat(paths.front(), ": more than ", kMostFiles,
                                                     " files; name those of fewer ranks"));
  }
  return files;
}

bool NamedLikeTrace(absl::string_view path) {
  const std::string lower = absl::AsciiStrToLower(path);
  absl::string_view name = lower;
  for (const char* packed : {".gz", ".zst"}) absl::ConsumeSuffix(&name, packed);
  // rocprofv3 writes 1234_results.json and the like.
  static const RE2 rocprof(R"((?:^|/)\d+_results\.(?:json|db)$)");
  return absl::EndsWith(name, ".trace.json") || absl::EndsWith(name, ".xplane.pb") ||
         absl::EndsWith(name, ".sqlite") || absl::EndsWith(name, kKernelTable) ||
         RE2::PartialMatch(Piece(name), rocprof);
}

std::size_t CountProfiles(const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> files = FilesIn(directory, false);
  return files.ok() ? files->size() : 0;
}

absl::StatusOr<JobProfile> ReadJob(const std::vector<std::string>& paths, const Families& families,
                                   const JobOptions& options) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(paths));
  JobReader reader(files, families, options);
  for (const std::string& file : files) reader.Read(file);
  JobProfile job = reader.Finish();
  if (job.traces.empty() && job.hangs.empty() && job.answers.empty()) {
    return absl::NotFoundError(job.troubles.empty() ? "nothing could be read"
                                                    : job.troubles.front());
  }
  return job;
}

}  // namespace galen::profile
