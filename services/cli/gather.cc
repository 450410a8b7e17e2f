#include "services/cli/gather.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/host/edit.h"
#include "common/intake/evidence.h"
#include "common/log_analysis/scan/reader.h"
#include "common/run_records/read_run.h"

namespace galen::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kInlineBytes = 2 << 20;
constexpr std::size_t kMostFiles = 1000;
// The size of the text with the numbers of one run; a server takes less.
constexpr std::size_t kRunBytes = 8 << 20;
constexpr std::size_t kRunBytesForServer = 1 << 20;
constexpr std::size_t kMostRuns = 64;
constexpr std::uintmax_t kMostWhole = 64 << 20;             // of a file that is read whole
constexpr std::size_t kMostBytes = std::size_t{256} << 20;  // of what is piped in
constexpr char kStandardInput[] = "standard input";
// The name of a text that was given as a word of the command line.
constexpr char kTyped[] = "description";

absl::StatusOr<std::string> ReadAll(std::istream& in, const std::string& name) {
  std::string content;
  char block[64 << 10];
  while (in.read(block, sizeof(block)) || in.gcount() > 0) {
    content.append(block, static_cast<std::size_t>(in.gcount()));
    if (content.size() > kMostBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          name, ": more than 256 MiB; save it to a file and name that, which may have any size"));
    }
  }
  return content;
}

// Begins as gzip (RFC 1952), zstd (RFC 8878), xz or bzip2 do.
bool IsPacked(std::ifstream& file) {
  char head[6] = "";
  file.read(head, sizeof(head));
  const absl::string_view begun(head, static_cast<std::size_t>(file.gcount()));
  file.clear();
  file.seekg(0);
  return absl::StartsWith(begun, "\x1f\x8b") || absl::StartsWith(begun, "\x28\xb5\x2f\xfd") ||
         absl::StartsWith(begun,
                          "\xfd"
                          "7zXZ") ||
         absl::StartsWith(begun, "BZh");
}

// A mistyped name must not pass for a sentence.
bool LooksLikePath(absl::string_view word) {
  if (word.empty() || word.find_first_of(" \t\n") != absl::string_view::npos) return false;
  if (absl::StrContains(word, '/') && !absl::StrContains(word, "://")) return true;
  static constexpr absl::string_view kEndings[] = {".log",  ".txt",  ".md",  ".out", ".err",
                                                   ".json", ".yaml", ".yml", ".xml", ".csv",
                                                   ".gz",   ".zst",  ".eml", ".html"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](absl::string_view ending) { return absl::EndsWith(word, ending); });
}

// Whether MLflow keeps a file beside the metrics of a run. Its tags, parameters and artifacts are
// hundreds of small files.
bool IsBesideMetrics(const fs::path& path) {
  const fs::path run = path.parent_path();
  std::error_code error;
  return path.filename() != "metrics" && fs::is_directory(run / "metrics", error) &&
         fs::is_regular_file(run / "meta.yaml", error);
}

class Gatherer {
 public:
  Gatherer(std::istream& standard_input, std::size_t run_bytes)
      : standard_input_(standard_input), run_bytes_(run_bytes) {}

  absl::Status Add(const std::string& word, bool must_be_file) {
    if (word == "-") return AddStandardInput();
    std::error_code error;
    const fs::file_status status = fs::status(word, error);
    if (fs::is_directory(status)) return AddDirectory(word);
    if (fs::is_regular_file(status) || fs::is_fifo(status) || fs::is_character_file(status)) {
      return AddFile(word, word);
    }
    if (fs::exists(status)) {
      return absl::InvalidArgumentError(absl::StrCat(word, ": is not a file or a folder"));
    }
    if (must_be_file) return absl::NotFoundError(absl::StrCat("--log ", word, ": no such file"));
    if (LooksLikePath(word)) {
      return absl::NotFoundError(
          absl::StrCat(word, ": no such file; if it is a sentence, write more of it"));
    }
    texts_.push_back({.name = kTyped, .content = word});
    return absl::OkStatus();
  }

  std::vector<intake::Text> Take() {
    TakeRuns();
    return std::move(texts_);
  }

 private:
  absl::Status AddStandardInput() {
    if (std::exchange(read_input_, true)) {
      return absl::InvalidArgumentError("\"-\": standard input can be read once only");
    }
    GALEN_ASSIGN_OR_RETURN(std::string content, ReadAll(standard_input_, kStandardInput));
    texts_.push_back({.name = kStandardInput, .content = std::move(content)});
    return absl::OkStatus();
  }

  absl::Status AddFile(const std::string& path, const std::string& shown) {
    if (texts_.size() >= kMostFiles) {
      return absl::ResourceExhaustedError(absl::StrCat(shown, ": there are more than ", kMostFiles,
                                                       " files; name those that matter"));
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) return absl::PermissionDeniedError(absl::StrCat(shown, ": cannot be read"));
    std::error_code error;
    const bool regular = fs::is_regular_file(path, error);
    if (regular && AddRun(path, shown)) return absl::OkStatus();
    if (regular && (fs::file_size(path, error) > kMostWhole || IsPacked(file))) {
      return AddByName(path, shown);
    }
    GALEN_ASSIGN_OR_RETURN(std::string content, ReadAll(file, shown));
    const bool prose = absl::EndsWith(path, ".md") || absl::EndsWith(path, ".eml");
    texts_.push_back({.name = shown, .content = std::move(content), .attached = !prose});
    return absl::OkStatus();
  }

  // Reads a file in which a training program recorded numbers. False: it is another file, or has
  // none.
  bool AddRun(const std::string& path, const std::string& shown) {
    const auto reader = log_scan::LogReader::Open(path, {});
    if (!reader.ok()) return false;
    const absl::StatusOr<absl::string_view> first = (*reader)->Next();
    if (!first.ok()) return false;
    const run_records::Form form = run_records::FormOf(*first);
    if (form == run_records::Form::kNone) return false;
    const std::size_t before = runs_.points();
    std::string head(*first);
    bool given = false;
    run_records::ReadRun(
        form, shown,
        [&]() -> absl::StatusOr<absl::string_view> {
          if (!std::exchange(given, true)) return absl::string_view(head);
          return (*reader)->Next();
        },
        runs_);
    return runs_.points() > before;
  }

  // The numbers of each run as a text that is recognised as what it is.
  void TakeRuns() {
    if (runs_.empty()) return;
    std::string notes;
    for (const std::string& note : runs_.notes()) absl::StrAppend(&notes, "# ", note, "\n");
    std::map<std::string, std::vector<run_records::NamedSeries>> of_run;
    for (run_records::NamedSeries& series : run_records::Named(std::move(runs_).Take())) {
      of_run[series.run].push_back(std::move(series));
    }
    std::size_t count = 0;
    for (const auto& [run, series] : of_run) {
      if (++count > kMostRuns) break;
      std::string text = run_records::AsOpenMetrics(series, run_bytes_);
      text.insert(text.find('\n') + 1, notes);
      texts_.push_back({.name = run, .content = std::move(text), .attached = true});
    }
  }

  // Reads only the beginning, which shows the kind of file; the rest is read where logs are read,
  // in constant memory.
  absl::Status AddByName(const std::string& path, const std::string& shown) {
    std::error_code error;
    intake::Text text = {.name = shown,
                         .content = "",
                         .attached = true,
                         .path = fs::canonical(path, error).string()};
    GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<log_scan::LogReader> reader,
                           log_scan::LogReader::Open(text.path, {}));
    while (text.content.size() < intake::kLookedAt) {
      const absl::StatusOr<absl::string_view> chunk = reader->Next();
      if (!chunk.ok() || chunk->empty()) break;
      absl::StrAppend(&text.content, *chunk);
    }
    texts_.push_back(std::move(text));
    return absl::OkStatus();
  }

  absl::Status AddDirectory(const std::string& directory) {
    std::error_code error;
    std::vector<std::string> paths;
    for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (absl::StartsWith(name, ".")) {
        if (at->is_directory(error)) at.disable_recursion_pending();
        continue;
      }
      if (IsBesideMetrics(at->path())) {
        if (at->is_directory(error)) at.disable_recursion_pending();
        continue;
      }
      if (at->is_regular_file(error)) paths.push_back(at->path().string());
    }
    if (error) return absl::PermissionDeniedError(absl::StrCat(directory, ": ", error.message()));
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) GALEN_RETURN_IF_ERROR(AddFile(path, path));
    return absl::OkStatus();
  }

  std::istream& standard_input_;
  const std::size_t run_bytes_;
  std::vector<intake::Text> texts_;
  run_records::RunRecords runs_;
  bool read_input_ = false;
};

absl::Status ReadTime(absl::string_view flag, absl::string_view text,
                      google::protobuf::Timestamp& out) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " \"", text, "\": is not a time as 2026-03-04T05:06:07Z"));
  }
  out = ToTimestamp(time);
  return absl::OkStatus();
}

// Applies the options of the call to the incident.
absl::StatusOr<v1::Incident> WithOptions(const DiagnoseArguments& arguments,
                                         v1::Incident incident) {
  if (!arguments.nodes.empty()) {
    incident.clear_nodes();
    for (const std::string& node : arguments.nodes) incident.add_nodes(node);
  }
  if (!arguments.start.empty()) {
    GALEN_RETURN_IF_ERROR(ReadTime("--start", arguments.start, *incident.mutable_start_time()));
  }
  if (!arguments.end.empty()) {
    GALEN_RETURN_IF_ERROR(ReadTime("--end", arguments.end, *incident.mutable_end_time()));
  }
  if (arguments.baseline.empty()) return incident;
  const std::vector<std::string> ends = absl::StrSplit(arguments.baseline, ',');
  if (ends.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("--baseline \"", arguments.baseline, "\": is not START,END"));
  }
  v1::Baseline& baseline = *incident.mutable_baseline();
  GALEN_RETURN_IF_ERROR(ReadTime("--baseline", ends[0], *baseline.mutable_start_time()));
  GALEN_RETURN_IF_ERROR(ReadTime("--baseline", ends[1], *baseline.mutable_end_time()));
  return incident;
}

bool IsEmpty(const v1::Incident& incident) {
  return absl::StripAsciiWhitespace(incident.description()).empty() && incident.logs().empty();
}

absl::Status NothingToDiagnose() {
  return absl::InvalidArgumentError(
      "nothing to diagnose: describe the incident in a sentence, paste or name what you have "
      "(files, - for standard input), or give --log or --bundle");
}

// "node-1.example.org" is "node-1".
bool SameMachine(absl::string_view a, absl::string_view b) {
  return a.substr(0, a.find('.')) == b.substr(0, b.find('.'));
}

// Typed at the prompt, and short: it is about this machine. Pasted or piped text, and text in a
// file, came from somewhere else.
bool IsSentence(const intake::Text& text) {
  constexpr std::ptrdiff_t kMostBreaks = 1;
  const std::string& content = text.content;
  return text.name == kTyped && !text.attached &&
         std::count(content.begin(), content.end(), '\n') <= kMostBreaks;
}

bool SpeaksOf(const intake::Recognised& recognised, const std::string& own_name) {
  return std::any_of(recognised.artefacts.begin(), recognised.artefacts.end(),
                     [&](const intake::Artefact& artefact) {
                       return !artefact.host.empty() && SameMachine(artefact.host, own_name);
                     });
}

// A bundle of its own, to which evidence can be added.
// A new folder below `directory`, which is made where it is missing.
absl::StatusOr<std::string> PlaceIn(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  std::string place = absl::StrCat(directory, "/given-XXXXXX");
  if (error || mkdtemp(place.data()) == nullptr) {
    return absl::PermissionDeniedError(
        absl::StrCat(directory, ": what was given cannot be kept there; see who may write to it"));
  }
  return absl::StrCat(place, "/bundle");
}

absl::Status CopyBundle(const host::Bundle& bundle, const std::string& directory) {
  std::error_code error;
  fs::copy(bundle.root(), directory, fs::copy_options::recursive | fs::copy_options::copy_symlinks,
           error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(bundle.root(), ": cannot be copied: ", error.message()));
  }
  return absl::OkStatus();
}

}  // namespace

std::string OwnHostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string DefaultStore() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state != '\0') return absl::StrCat(state, "/galen/galen.db");
  if (home != nullptr && *home != '\0') return absl::StrCat(home, "/.local/state/galen/galen.db");
  return "galen.db";
}

std::string DefaultSocket() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') return absl::StrCat("unix:", runtime, "/galen.sock");
  std::error_code ignored;
  const fs::path folder = fs::absolute(DefaultStore(), ignored).parent_path();
  return absl::StrCat("unix:", (folder / "galen.sock").string());
}

std::string EvidenceBeside(const std::string& store) {
  const bool is_file = !absl::StrContains(store, "://") && store != ":memory:";
  std::error_code ignored;
  const fs::path beside =
      is_file ? fs::absolute(store, ignored) : fs::temp_directory_path(ignored) / "galen";
  return absl::StrCat(beside.string(), ".evidence");
}

absl::StatusOr<std::vector<intake::Text>> GatherTexts(const DiagnoseArguments& arguments,
                                                      std::istream& standard_input) {
  Gatherer gatherer(standard_input, arguments.server.empty() ? kRunBytes : kRunBytesForServer);
  for (const std::string& word : arguments.words) GALEN_RETURN_IF_ERROR(gatherer.Add(word, false));
  for (const std::string& log : arguments.logs) GALEN_RETURN_IF_ERROR(gatherer.Add(log, true));
  return gatherer.Take();
}

absl::StatusOr<Gathered> GatherIncident(const DiagnoseArguments& arguments,
                                        const std::vector<intake::Text>& texts,
                                        const host::Bundle* bundle, const intake::Kinds& kinds,
                                        const std::string& own_name) {
  GALEN_ASSIGN_OR_RETURN(
      v1::Incident reported,
      WithOptions(arguments, bundle == nullptr ? v1::Incident() : bundle->incident()));
  const intake::Recognised recognised = intake::Recognise(kinds, texts);
  Gathered gathered;
  if (bundle != nullptr && recognised.artefacts.empty()) {
    if (const auto words = absl::StripAsciiWhitespace(recognised.prose); !words.empty()) {
      reported.set_description(std::string(words));
    }
    gathered.incident = std::move(reported);
    return gathered;
  }
  const bool sentences =
      intake::IsOnlyWords(recognised) && std::all_of(texts.begin(), texts.end(), IsSentence);
  const bool here =
      bundle == nullptr && (sentences || arguments.here || SpeaksOf(recognised, own_name));
  std::string directory;
  if (arguments.keep_in.empty()) {
    GALEN_ASSIGN_OR_RETURN(gathered.directory, host::TemporaryDirectory::Create());
    directory = gathered.directory->path() + "/bundle";
  } else {
    GALEN_ASSIGN_OR_RETURN(directory, PlaceIn(arguments.keep_in));
  }
  if (bundle != nullptr) {
    GALEN_RETURN_IF_ERROR(CopyBundle(*bundle, directory));
    // The words of this call are the report; the bundle's own words follow them.
    const std::string own = reported.description();
    reported.clear_description();
    GALEN_ASSIGN_OR_RETURN(gathered.incident,
                           intake::AddEvidence(directory, recognised, texts, reported));
    if (gathered.incident.description().empty()) gathered.incident.set_description(own);
    return gathered;
  }
  GALEN_RETURN_IF_ERROR(host::NewBundle(directory, "", arguments.nodes, absl::Now()));
  GALEN_ASSIGN_OR_RETURN(gathered.incident,
                         intake::AddEvidence(directory, recognised, texts, reported));
  if (!here) {
    if (IsEmpty(gathered.incident)) return NothingToDiagnose();
    return gathered;
  }
  // About this machine: its checks run live, and the logs complement them.
  gathered.incident.clear_bundle();
  gathered.incident.clear_nodes();
  for (const std::string& node : arguments.nodes) gathered.incident.add_nodes(node);
  for (v1::LogSource& log : *gathered.incident.mutable_logs()) {
    const std::string path = absl::StrCat(directory, "/logs/", log.path());
    log.clear_node();
    if (log.kind() == v1::LogSource::JOB) gathered.job_logs.push_back(path);
    // Sent along, a small log is cited by the name that people gave it.
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    std::ifstream file(path, std::ios::binary);
    if (error || size > kInlineBytes) {
      log.set_path(path);
      continue;
    }
    GALEN_ASSIGN_OR_RETURN(*log.mutable_content(), ReadAll(file, path));
  }
  if (IsEmpty(gathered.incident)) return NothingToDiagnose();
  return gathered;
}

absl::StatusOr<v1::Incident> IncidentForServer(const DiagnoseArguments& arguments,
                                               const std::vector<intake::Text>& texts,
                                               const host::Bundle* bundle) {
  GALEN_ASSIGN_OR_RETURN(
      v1::Incident incident,
      WithOptions(arguments, bundle == nullptr ? v1::Incident() : bundle->incident()));
  const bool told = std::any_of(texts.begin(), texts.end(),
                                [](const intake::Text& text) { return !text.attached; });
  if (told) incident.clear_description();
  std::set<std::string> names;
  for (const intake::Text& text : texts) {
    if (text.name == kTyped && !text.attached && text.content.size() <= kInlineBytes / 2) {
      absl::StrAppend(incident.mutable_description(), incident.description().empty() ? "" : "\n",
                      text.content);
      continue;
    }
    if (text.content.size() > kInlineBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          text.name, ": ", text.content.size(),
          " bytes; at most 2 MiB travel to a server. Cut out the part around the failure, or put "
          "the log into a bundle below the server's --bundle_root"));
    }
    v1::LogSource& log = *incident.add_logs();
    std::string name = fs::path(text.name).filename().string();
    for (int number = 2; !names.insert(name).second; ++number) {
      name = absl::StrCat(fs::path(text.name).filename().string(), "~", number);
    }
    log.set_path(name);
    log.set_node(text.host);
    log.set_kind(v1::LogSource::JOB);
    log.set_content(text.content);
  }
  if (IsEmpty(incident)) return NothingToDiagnose();
  return incident;
}

}  // namespace galen::cli
