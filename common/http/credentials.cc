#include "common/http/credentials.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::http {
namespace {

constexpr std::size_t kMostHeaders = 16;
constexpr std::size_t kMostHeaderValue = 8192;
constexpr std::size_t kMostShownAddress = 80;

// Headers that the transport or the key's file sets.
constexpr absl::string_view kOwn[] = {
    "accept", "authorization", "connection", "content-length",    "content-type", "cookie",
    "expect", "host",          "te",         "transfer-encoding", "upgrade",      "user-agent"};

// Headers that name a tenant and are not secrets: those of Mimir, Cortex and Loki
// (https://grafana.com/docs/mimir/latest/manage/secure/authentication-and-authorization/) and of
// Thanos (https://thanos.io/tip/components/query.md/).
constexpr absl::string_view kTenants[] = {"x-scope-orgid", "thanos-tenant"};

template <std::size_t N>
bool IsOneOf(const absl::string_view (&names)[N], absl::string_view name) {
  return std::find(std::begin(names), std::end(names), absl::AsciiStrToLower(name)) !=
         std::end(names);
}

bool IsToken(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  });
}

bool IsValue(absl::string_view value) {
  return !value.empty() && value.size() <= kMostHeaderValue &&
         std::all_of(value.begin(), value.end(), [](char c) {
           return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
         });
}

absl::StatusOr<std::string> ReadNamed(absl::string_view what, absl::string_view kind,
                                      const std::string& file) {
  absl::StatusOr<std::string> text = ReadSmallFile(file);
  if (text.ok()) return text;
  return absl::Status(text.status().code(),
                      absl::StrCat(what, " ", kind, " file ", text.status().message()));
}

// The host of "http://host:port/path".
absl::string_view HostOf(absl::string_view url) {
  const std::size_t begin = url.find("://") + 3;
  const absl::string_view host = url.substr(begin, url.find('/', begin) - begin);
  if (absl::StartsWith(host, "[")) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

absl::Status CheckCount(std::size_t servers, const std::vector<std::string>& files,
                        absl::string_view option) {
  if (files.empty() || files.size() == servers) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": ", files.size(), files.size() == 1 ? " file" : " files", " for ",
                   servers, servers == 1 ? " source" : " sources",
                   "; give one for each source, in their order, and \"none\" for one without"));
}

std::string FileAt(const std::vector<std::string>& files, std::size_t index) {
  return files.empty() || files[index] == "none" ? "" : files[index];
}

}  // namespace

absl::StatusOr<std::vector<CredentialFiles>> PairFiles(
    std::size_t servers, const std::vector<std::string>& key_files,
    const std::vector<std::string>& headers_files, absl::string_view key_option,
    absl::string_view headers_option) {
  GALEN_RETURN_IF_ERROR(CheckCount(servers, key_files, key_option));
  GALEN_RETURN_IF_ERROR(CheckCount(servers, headers_files, headers_option));
  std::vector<CredentialFiles> files;
  for (std::size_t i = 0; i < servers; ++i) {
    files.push_back({FileAt(key_files, i), FileAt(headers_files, i)});
  }
  return files;
}

absl::StatusOr<Headers> ParseHeaders(absl::string_view text, absl::string_view file) {
  Headers headers;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const auto refuse = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": ", why));
    };
    const std::size_t colon = line.find(':');
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, colon));
    if (colon == absl::string_view::npos || !IsToken(name)) {
      return refuse("is not a header; write \"X-Scope-OrgID: team-a\"");
    }
    if (IsOneOf(kOwn, name)) {
      return refuse(absl::StrCat(name, " cannot be set here; a key belongs into the key file"));
    }
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
    if (!IsValue(value)) return refuse(absl::StrCat(name, " has no value that a header may have"));
    if (headers.size() == kMostHeaders) {
      return refuse(absl::StrCat("there are more than ", kMostHeaders, " headers"));
    }
    headers.emplace_back(name, Secret(std::string(value)));
  }
  if (headers.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": has no header; write one on each line"));
  }
  return headers;
}

absl::StatusOr<Credentials> ReadCredentials(absl::string_view what, const std::string& key_file,
                                            const std::string& headers_file) {
  Credentials credentials;
  if (!key_file.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, ReadNamed(what, "key", key_file));
    absl::string_view key = absl::StripAsciiWhitespace(text);
    for (const absl::string_view scheme : {"Bearer ", "Basic "}) {
      if (absl::ConsumePrefix(&key, scheme)) {
        credentials.key_header = absl::StrCat("Authorization: ", scheme);
      }
    }
    if (key.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(what, " key file ", key_file, ": is empty"));
    }
    if (!IsValue(key)) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " key file ", key_file, ": is not one line; write only the key"));
    }
    credentials.key = Secret(std::string(key));
  }
  if (!headers_file.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, ReadNamed(what, "headers", headers_file));
    GALEN_ASSIGN_OR_RETURN(credentials.headers,
                           ParseHeaders(text, absl::StrCat(what, " headers file ", headers_file)));
  }
  return credentials;
}

absl::Status CheckServer(absl::string_view what, absl::string_view url, const Secret& key,
                         const Headers& headers) {
  const std::string shown = CleanText(url, kMostShownAddress);
  const bool secure = absl::StartsWith(url, "https://");
  if (!secure && !absl::StartsWith(url, "http://")) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " \"", shown, "\": write http:// or https:// and a host"));
  }
  const std::size_t begin = url.find("://") + 3;
  if (absl::StrContains(url.substr(begin, url.find('/', begin) - begin), '@')) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": name and password do not belong into its address; use the key file"));
  }
  const bool plain = std::all_of(url.begin(), url.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  const absl::string_view host = HostOf(url);
  if (host.empty() || !plain || absl::StrContains(url, '?') || absl::StrContains(url, '#')) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " \"", shown, "\": no host, or more than an address"));
  }
  if (secure || host == "127.0.0.1" || host == "localhost" || host == "[::1]") {
    return absl::OkStatus();
  }
  if (!key.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", shown, ": the key would go out unencrypted; use https"));
  }
  for (const auto& [name, value] : headers) {
    if (IsOneOf(kTenants, name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, " ", shown, ": the header ", name,
                                                   " would go out unencrypted; use https"));
  }
  return absl::OkStatus();
}

std::string WithoutSecrets(absl::string_view text, const Secret& key, const Headers& headers) {
  std::string clean = key.TakenOutOf(text);
  for (const auto& [name, value] : headers) {
    if (!IsOneOf(kTenants, name)) clean = value.TakenOutOf(clean);
  }
  return clean;
}

void AddHeaders(const Headers& headers, Request& request) {
  for (const auto& [name, value] : headers) request.headers.emplace_back(name, value.Reveal());
}

std::string Escaped(absl::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '_' || c == '.' || c == '~') {
      escaped += c;
    } else {
      escaped += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return escaped;
}

}  // namespace galen::http
