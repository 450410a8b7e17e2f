#include "services/cli/source_options.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/http/credentials.h"
#include "common/knowledge/load.h"
#include "common/log_sources/open_store.h"
#include "common/log_sources/site.h"

namespace galen::cli {
namespace {

constexpr absl::Duration kUsualWindow = absl::Hours(1);
constexpr std::size_t kMostStores = 16;
constexpr std::size_t kMostNote = 400;
constexpr std::size_t kMostCut = 200;
constexpr std::size_t kMostForServer = std::size_t{2} << 20;

absl::StatusOr<absl::Time> GivenTime(absl::string_view flag, const std::string& text) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " \"", text, "\": is not a time as 2026-03-04T05:06:07Z"));
}

// A source that is named by its address, or by the site's name of it.
absl::StatusOr<std::unique_ptr<log_sources::LogStore>> OpenOne(
    const SourceOptions& options, const std::string& text, http::CredentialFiles files,
    const log_sources::LabelNames& names) {
  if (!log_sources::IsSourceName(text)) {
    GALEN_ASSIGN_OR_RETURN(const log_sources::StoreAddress address,
                           log_sources::ParseStoreAddress(text));
    return log_sources::OpenStore(address, files, options.logs_ca_file, names);
  }
  if (options.site_log_sources.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--logs-from ", text, ": is a name, and --log-sources names no file of names"));
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<log_sources::SiteSource> site,
                         log_sources::LoadSiteSources(options.site_log_sources));
  GALEN_ASSIGN_OR_RETURN(log_sources::SiteSource source, log_sources::FindSiteSource(site, text));
  if (!files.key.empty()) source.files.key = std::move(files.key);
  if (!files.headers.empty()) source.files.headers = std::move(files.headers);
  if (!options.logs_ca_file.empty()) source.ca_file = options.logs_ca_file;
  return log_sources::OpenStore(source.address, source.files, source.ca_file, names);
}

// The newest lines of a log, as many as a server takes.
void KeepNewest(intake::Text& text) {
  if (text.content.size() <= kMostForServer) return;
  const std::size_t least = text.content.size() - kMostForServer;
  const std::size_t end = text.content.find('\n', least);
  text.content.erase(0, end == std::string::npos ? least : end + 1);
  absl::StrAppend(&text.cut, text.cut.empty() ? "" : "; ", "a server takes its newest 2 MiB alone");
}

}  // namespace

absl::StatusOr<std::vector<telemetry::SourceAddress>> SourceOptions::Prometheus() const {
  return telemetry::PairSources(prometheus, prometheus_key_files, prometheus_headers_files,
                                "--prometheus-");
}

absl::StatusOr<std::shared_ptr<const log_sources::NamedLogs>> SourceOptions::NamedLogs(
    const std::vector<std::string>& knowledge) const {
  if (site_log_sources.empty()) return nullptr;
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(knowledge));
  GALEN_ASSIGN_OR_RETURN(log_sources::NamedLogs loaded,
                         log_sources::NamedLogs::Load(site_log_sources, directories));
  return std::make_shared<const log_sources::NamedLogs>(std::move(loaded));
}

CLI::Option* DeclarePrometheus(CLI::App& command, SourceOptions& options) {
  CLI::Option* const prometheus =
      command
          .add_option("--prometheus", options.prometheus,
                      "Time series: a Prometheus-compatible server, or its data folder; repeatable "
                      "(docs/telemetry.md)")
          ->delimiter(',')
          ->envname("GALEN_PROMETHEUS")
          ->type_name("URL|DIR");
  command
      .add_option("--prometheus-key-file", options.prometheus_key_files,
                  "File with the value of the Authorization header for that server; with several "
                  "servers one each, in their order, and \"none\" for one without")
      ->delimiter(',')
      ->type_name("FILE");
  command
      .add_option("--prometheus-headers-file", options.prometheus_headers_files,
                  "File with further headers for that server, such as X-Scope-OrgID, one on each "
                  "line; with several servers as above")
      ->delimiter(',')
      ->type_name("FILE");
  return prometheus;
}

void DeclareLogSources(CLI::App& command, SourceOptions& options) {
  command
      .add_option("--log-sources", options.site_log_sources,
                  "The site's YAML file of log sources, which people name instead of their address "
                  "(docs/intake.md)")
      ->envname("GALEN_LOG_SOURCES")
      ->type_name("FILE");
}

void DeclareLogsFrom(CLI::App& command, SourceOptions& options) {
  command
      .add_option(
          "--logs-from", options.logs_from,
          "Logs by a query, repeatable (docs/intake.md): loki+http://HOST:PORT?query=LOGQL, "
          "elasticsearch+http://HOST:PORT/INDEX?query=LUCENE (or opensearch+...), "
          "kubernetes+http://HOST:PORT/NAMESPACE?query=LABELS, kubernetes:NAMESPACE/POD, or "
          "a name of --log-sources")
      ->type_name("SOURCE");
  command
      .add_option("--logs-key-file", options.logs_key_files,
                  "File with the value of the Authorization header for that source; with several "
                  "sources one each, in their order, and \"none\" for one without")
      ->delimiter(',')
      ->type_name("FILE");
  command
      .add_option("--logs-headers-file", options.logs_headers_files,
                  "File with further headers for that source, such as X-Scope-OrgID, one on each "
                  "line; with several sources as above")
      ->delimiter(',')
      ->type_name("FILE");
  command
      .add_option("--logs-ca-file", options.logs_ca_file,
                  "Certificates of the authority of these sources, instead of the system's")
      ->type_name("FILE");
}

absl::StatusOr<log_sources::Window> WindowOfLogs(const DiagnoseArguments& arguments,
                                                 const host::Bundle* bundle, absl::Time now) {
  log_sources::Window window{absl::InfinitePast(), absl::InfiniteFuture()};
  if (bundle != nullptr) {
    const v1::Incident& incident = bundle->incident();
    if (incident.has_start_time()) window.start = ToTime(incident.start_time());
    if (incident.has_end_time()) window.end = ToTime(incident.end_time());
  }
  if (!arguments.start.empty()) {
    GALEN_ASSIGN_OR_RETURN(window.start, GivenTime("--start", arguments.start));
  }
  if (!arguments.end.empty()) {
    GALEN_ASSIGN_OR_RETURN(window.end, GivenTime("--end", arguments.end));
  }
  if (window.end == absl::InfiniteFuture()) window.end = now;
  if (window.start == absl::InfinitePast()) window.start = window.end - kUsualWindow;
  if (window.start >= window.end) {
    return absl::InvalidArgumentError(
        absl::StrCat("--logs-from: the time from ", TimeText(window.start), " to ",
                     TimeText(window.end), " is empty; look at --start and --end"));
  }
  return window;
}

absl::Status AddLogsFrom(const SourceOptions& options, const DiagnoseArguments& arguments,
                         const std::vector<std::string>& knowledge, const host::Bundle* bundle,
                         std::vector<intake::Text>& texts, std::ostream& notes) {
  const std::size_t count = options.logs_from.size();
  GALEN_ASSIGN_OR_RETURN(const std::vector<http::CredentialFiles> files,
                         http::PairFiles(count, options.logs_key_files, options.logs_headers_files,
                                         "--logs-key-file", "--logs-headers-file"));
  if (count == 0) return absl::OkStatus();
  if (count > kMostStores) {
    return absl::InvalidArgumentError(
        absl::StrCat("--logs-from: there are ", count, " sources; name at most ", kMostStores));
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         knowledge::FindDirectories(knowledge));
  GALEN_ASSIGN_OR_RETURN(const log_sources::LabelNames names,
                         log_sources::LoadLabelNames(directories));
  GALEN_ASSIGN_OR_RETURN(const log_sources::Window window,
                         WindowOfLogs(arguments, bundle, absl::Now()));
  // All sources together read no more than one may.
  log_sources::Limits limits;
  limits.bytes /= count;
  limits.lines /= count;
  limits.logs /= count;
  for (std::size_t i = 0; i < count; ++i) {
    GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<log_sources::LogStore> store,
                           OpenOne(options, options.logs_from[i], files[i], names));
    GALEN_ASSIGN_OR_RETURN(log_sources::Fetched fetched, store->Fetch(window, limits, nullptr));
    notes << "note: " << store->name() << ": " << fetched.logs.size()
          << (fetched.logs.size() == 1 ? " log" : " logs") << " from " << TimeText(window.start)
          << " to " << TimeText(window.end) << '\n';
    for (const std::string& cut : fetched.cuts) {
      notes << "note: " << store->name() << ": " << CleanText(cut, kMostNote) << '\n';
    }
    const std::string cut = CleanText(absl::StrJoin(fetched.cuts, "; "), kMostCut);
    for (log_sources::FetchedLog& log : fetched.logs) {
      intake::Text& text = texts.emplace_back();
      text.name = std::move(log.name);
      text.content = std::move(log.text);
      text.attached = true;
      text.host = std::move(log.node);
      text.cut = cut;
      if (arguments.server.empty()) continue;
      KeepNewest(text);
      if (text.cut != cut) notes << "note: " << text.name << ": " << text.cut << '\n';
    }
  }
  return absl::OkStatus();
}

}  // namespace galen::cli
