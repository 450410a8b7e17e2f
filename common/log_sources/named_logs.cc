#include "common/log_sources/named_logs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::log_sources {
namespace {

constexpr absl::string_view kFrom = "from:";
constexpr std::size_t kMostNamed = 4;
constexpr std::size_t kMostJobName = 128;
constexpr Limits kMost = {
    .bytes = std::size_t{16} << 20, .lines = 200'000, .logs = 100, .time = absl::Seconds(20)};
constexpr absl::Duration kUsualHour = absl::Hours(1);
constexpr absl::Duration kLongest = absl::Hours(24);

bool NamesASource(const v1::LogSource& log) {
  return log.content().empty() && absl::StartsWith(log.path(), kFrom);
}

bool IsFor(const SiteSource& source, const std::string& tenant) {
  return std::any_of(source.tenants.begin(), source.tenants.end(),
                     [&](const std::string& each) { return each == "*" || each == tenant; });
}

// The time of the incident, at most a day before its end.
Window WindowOfIncident(const v1::Incident& incident, absl::Time now, bool& shortened) {
  Window window;
  window.end = incident.has_end_time() ? std::min(ToTime(incident.end_time()), now) : now;
  window.start =
      incident.has_start_time() ? ToTime(incident.start_time()) : window.end - kUsualHour;
  shortened = window.start < window.end - kLongest;
  if (shortened) window.start = window.end - kLongest;
  return window;
}

// Characters that end neither a quotation nor a word in any of the query languages.
bool IsJobName(absl::string_view name) {
  return !name.empty() && name.size() <= kMostJobName &&
         absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

// "train-0.log" becomes "train-0.incomplete.log".
std::string Marked(const std::string& name) {
  return absl::StrCat(absl::StripSuffix(name, ".log"), ".incomplete.log");
}

absl::Status Refuse(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("diagnosis.incident.logs: ", why));
}

}  // namespace

absl::StatusOr<NamedLogs> NamedLogs::Load(const std::string& file,
                                          const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(std::vector<SiteSource> sources, LoadSiteSources(file));
  GALEN_ASSIGN_OR_RETURN(LabelNames names, LoadLabelNames(directories));
  // Mistakes of the site's files show at the start.
  for (const SiteSource& source : sources) {
    const auto opened = OpenStore(source.address, source.files, source.ca_file, names);
    if (!opened.ok()) {
      return absl::Status(opened.status().code(),
                          absl::StrCat(file, ": ", source.name, ": ", opened.status().message()));
    }
  }
  return NamedLogs(std::move(sources), std::move(names));
}

absl::Status NamedLogs::FetchOne(const std::string& tenant, const std::string& name,
                                 const v1::Incident& asked, absl::Time now, std::size_t sources,
                                 v1::Incident& incident) const {
  const auto source = std::find_if(sources_.begin(), sources_.end(), [&](const SiteSource& each) {
    return each.name == name && IsFor(each, tenant);
  });
  if (source == sources_.end()) {
    return Refuse(absl::StrCat("from:", CleanText(name, 64), ": the site has no such log source"));
  }
  StoreAddress address = source->address;
  if (absl::StrContains(address.query, kJobName)) {
    if (!IsJobName(asked.workload().name())) {
      return absl::InvalidArgumentError(
          absl::StrCat("diagnosis.incident.workload.name: from:", name,
                       " asks for the job's name: letters, digits, \".\", \"_\" and \"-\""));
    }
    address.query = absl::StrReplaceAll(address.query, {{kJobName, asked.workload().name()}});
  }
  GALEN_RETURN_IF_ERROR(CheckQuery(address));
  bool shortened = false;
  const Window window = WindowOfIncident(asked, now, shortened);
  if (window.start >= window.end) return Refuse("the incident's time is empty, or in the future");
  Limits limits = kMost;
  limits.bytes /= sources;
  limits.lines /= sources;
  limits.logs /= sources;
  limits.time /= static_cast<double>(sources);
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<LogStore> store,
                         OpenStore(address, source->files, source->ca_file, names_));
  absl::StatusOr<Fetched> fetched = store->Fetch(window, limits, nullptr);
  if (!fetched.ok()) {
    // The address is the site's own.
    return absl::Status(fetched.status().code(),
                        absl::StrCat("from:", name, ": ",
                                     absl::IsNotFound(fetched.status())
                                         ? "it has no line of the incident's time; name the time"
                                         : "it does not answer as it should; leave it out, or try "
                                           "again later"));
  }
  for (FetchedLog& log : fetched->logs) {
    v1::LogSource& made = *incident.add_logs();
    const bool whole = fetched->cuts.empty() && !shortened;
    made.set_path(whole ? log.name : Marked(log.name));
    made.set_node(log.node);
    made.set_kind(v1::LogSource::JOB);
    made.set_content(std::move(log.text));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Incident> NamedLogs::Fetch(const std::string& parent,
                                              const v1::Incident& incident, absl::Time now) const {
  const std::string tenant(absl::StripPrefix(parent, "tenants/"));
  v1::Incident filled = incident;
  filled.clear_logs();
  std::set<std::string> names;
  bool by_path = false;
  for (const v1::LogSource& log : incident.logs()) {
    if (NamesASource(log)) {
      names.insert(log.path().substr(kFrom.size()));
    } else {
      by_path = by_path || log.content().empty();
      *filled.add_logs() = log;
    }
  }
  if (names.empty()) return incident;
  if (by_path || !incident.bundle().empty()) {
    return Refuse(
        "has a source of the site beside a file or a bundle of the server; use one of "
        "them");
  }
  if (names.size() > kMostNamed) {
    return Refuse(absl::StrCat("names more than ", kMostNamed, " log sources"));
  }
  for (const std::string& name : names) {
    GALEN_RETURN_IF_ERROR(FetchOne(tenant, name, incident, now, names.size(), filled));
  }
  return filled;
}

}  // namespace galen::log_sources
