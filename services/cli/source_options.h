#ifndef SERVICES_CLI_SOURCE_OPTIONS_H_
#define SERVICES_CLI_SOURCE_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/host/bundle.h"
#include "common/intake/recognise.h"
#include "common/log_sources/labels.h"
#include "common/log_sources/log_store.h"
#include "common/log_sources/named_logs.h"
#include "common/telemetry/open_source.h"
#include "services/cli/diagnose.h"

namespace galen::cli {

// The options that name sources of numbers and of logs.
struct SourceOptions {
  std::vector<std::string> prometheus;
  std::vector<std::string> prometheus_key_files;
  std::vector<std::string> prometheus_headers_files;
  std::vector<std::string> logs_from;
  std::vector<std::string> logs_key_files;
  std::vector<std::string> logs_headers_files;
  std::string logs_ca_file;
  std::string site_log_sources;  // the site's file (log_sources::LoadSiteSources); "": none

  absl::StatusOr<std::vector<telemetry::SourceAddress>> Prometheus() const;
  // The sources of --log-sources; null without it. `knowledge`: the directories of --knowledge.
  absl::StatusOr<std::shared_ptr<const log_sources::NamedLogs>> NamedLogs(
      const std::vector<std::string>& knowledge) const;
};

// Declares --prometheus and its files; gives --prometheus.
CLI::Option* DeclarePrometheus(CLI::App& command, SourceOptions& options);
// Declares --log-sources.
void DeclareLogSources(CLI::App& command, SourceOptions& options);
// Declares --logs-from and its files.
void DeclareLogsFrom(CLI::App& command, SourceOptions& options);

// The time that logs are asked for: that of the call, else that of the bundle. Without an end it is
// now; without a start, an hour before the end. INVALID_ARGUMENT: a time is not one, or the end is
// before the start.
absl::StatusOr<log_sources::Window> WindowOfLogs(const DiagnoseArguments& arguments,
                                                 const host::Bundle* bundle, absl::Time now);

// Adds the logs that --logs-from names to `texts`, each as an attached file. `knowledge`: the
// directories of --knowledge. Parts that a limit cut are told on `notes`, and in the texts for the
// report. The first error of a source is returned: without its logs there would be another answer.
absl::Status AddLogsFrom(const SourceOptions& options, const DiagnoseArguments& arguments,
                         const std::vector<std::string>& knowledge, const host::Bundle* bundle,
                         std::vector<intake::Text>& texts, std::ostream& notes);

}  // namespace galen::cli

#endif  // SERVICES_CLI_SOURCE_OPTIONS_H_
