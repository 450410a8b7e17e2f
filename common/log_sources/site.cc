#include "common/log_sources/site.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/yaml/yaml.h"

namespace galen::log_sources {
namespace {

constexpr std::size_t kMostSources = 100;
constexpr absl::string_view kBeforeQuery = "?query=";

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_';
         });
}

absl::StatusOr<std::string> FileIn(const Yaml& entry, const std::string& file, const char* field) {
  const Yaml* const value = entry.Find(field);
  if (value == nullptr) return "";
  GALEN_ASSIGN_OR_RETURN(const std::string path, YamlText(*value, file, field));
  if (path.empty()) return "";
  return (std::filesystem::path(file).parent_path() / path).string();
}

absl::StatusOr<SiteSource> ParseSource(const Yaml& entry, const std::string& file) {
  GALEN_RETURN_IF_ERROR(YamlFields(
      entry, file, {"name", "address", "key_file", "headers_file", "ca_file", "tenants"}));
  SiteSource source;
  GALEN_ASSIGN_OR_RETURN(source.name, YamlNeeded(entry, file, "name"));
  if (!IsName(source.name)) {
    return YamlError(entry, file, "name: is not of letters, digits, - and _");
  }
  GALEN_ASSIGN_OR_RETURN(const std::string address, YamlNeeded(entry, file, "address"));
  absl::StatusOr<StoreAddress> parsed = ParseStoreAddress(address, /*needs_query=*/false);
  if (!parsed.ok()) return YamlError(entry, file, parsed.status().message());
  source.address = *std::move(parsed);
  GALEN_ASSIGN_OR_RETURN(source.files.key, FileIn(entry, file, "key_file"));
  GALEN_ASSIGN_OR_RETURN(source.files.headers, FileIn(entry, file, "headers_file"));
  GALEN_ASSIGN_OR_RETURN(source.ca_file, FileIn(entry, file, "ca_file"));
  if (const Yaml* const tenants = entry.Find("tenants"); tenants != nullptr) {
    GALEN_ASSIGN_OR_RETURN(source.tenants, YamlTexts(*tenants, file, "tenants"));
  }
  return source;
}

}  // namespace

absl::StatusOr<std::vector<SiteSource>> ParseSiteSources(absl::string_view text,
                                                         const std::string& file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  GALEN_RETURN_IF_ERROR(YamlFields(yaml, file, {"log_sources"}));
  GALEN_ASSIGN_OR_RETURN(const absl::Span<const Yaml> entries,
                         YamlItems(yaml, file, "log_sources"));
  if (entries.size() > kMostSources) {
    return YamlError(yaml, file, absl::StrCat("log_sources: more than ", kMostSources));
  }
  std::vector<SiteSource> sources;
  for (const Yaml& entry : entries) {
    GALEN_ASSIGN_OR_RETURN(SiteSource source, ParseSource(entry, file));
    if (std::any_of(sources.begin(), sources.end(),
                    [&](const SiteSource& other) { return other.name == source.name; })) {
      return YamlError(entry, file, absl::StrCat("name: ", source.name, " is there twice"));
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

absl::StatusOr<std::vector<SiteSource>> LoadSiteSources(const std::string& file) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file));
  return ParseSiteSources(text, file);
}

bool IsSourceName(absl::string_view text) { return IsName(text.substr(0, text.find('?'))); }

absl::StatusOr<SiteSource> FindSiteSource(const std::vector<SiteSource>& sources,
                                          absl::string_view text) {
  const std::size_t query = text.find('?');
  const absl::string_view name = text.substr(0, query);
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const SiteSource& each) { return each.name == name; });
  if (found == sources.end()) {
    return absl::NotFoundError(absl::StrCat(
        "--logs-from ", CleanText(name, 64),
        ": the site's log sources have no such name; they are ",
        absl::StrJoin(sources, ", ",
                      [](std::string* out, const SiteSource& each) { out->append(each.name); })));
  }
  SiteSource source = *found;
  if (query != absl::string_view::npos) {
    if (!absl::StartsWith(text.substr(query), kBeforeQuery)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--logs-from ", name, ": write ?query= and the query after the name"));
    }
    source.address.query = std::string(text.substr(query + kBeforeQuery.size()));
  }
  if (absl::StrContains(source.address.query, kJobName)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--logs-from ", name, ": its query has ", kJobName, "; write ?query= and the whole query"));
  }
  GALEN_RETURN_IF_ERROR(CheckQuery(source.address));
  return source;
}

}  // namespace galen::log_sources
