#include "common/store/redis/config.h"

#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace galen::store::redis {
namespace {

constexpr std::size_t kMaxAddresses = 100;
constexpr std::size_t kMaxSecret = 4096;
constexpr int kMaxReplicas = 100;

absl::Status Wrong(absl::string_view fact) {
  return absl::InvalidArgumentError(
      absl::StrCat("--store: ", fact, "; docs/store.md describes the URL"));
}

absl::StatusOr<std::string> Decode(absl::string_view text, absl::string_view what) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size() || !absl::ascii_isxdigit(text[i + 1]) ||
        !absl::ascii_isxdigit(text[i + 2])) {
      return Wrong(absl::StrCat(what, " holds a % without two hexadecimal digits behind it"));
    }
    decoded += absl::HexStringToBytes(text.substr(i + 1, 2));
    i += 2;
  }
  return decoded;
}

absl::StatusOr<Address> ParseAddress(absl::string_view text, int default_port) {
  Address address{std::string(text), default_port};
  absl::string_view port;
  if (absl::ConsumePrefix(&text, "[")) {
    const std::size_t close = text.find(']');
    if (close == absl::string_view::npos) return Wrong("an address lacks its \"]\"");
    address.host = std::string(text.substr(0, close));
    port = text.substr(close + 1);
    if (!port.empty() && !absl::ConsumePrefix(&port, ":")) {
      return Wrong("behind \"]\" of an address comes \":\" and the port");
    }
  } else if (const std::size_t colon = text.rfind(':'); colon != absl::string_view::npos) {
    address.host = std::string(text.substr(0, colon));
    port = text.substr(colon + 1);
    if (port.empty()) return Wrong("an address has no port behind its \":\"");
  }
  if (address.host.empty()) return Wrong("an address has no host");
  if (!port.empty() &&
      (!absl::SimpleAtoi(port, &address.port) || address.port < 1 || address.port > 65535)) {
    return Wrong(absl::StrCat("\"", port, "\" is not a port"));
  }
  return address;
}

absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string secret(kMaxSecret + 1, '\0');
  file.read(secret.data(), static_cast<std::streamsize>(secret.size()));
  secret.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  absl::StripTrailingAsciiWhitespace(&secret);
  if (secret.empty() || secret.size() > kMaxSecret) {
    return Wrong(absl::StrCat(path, ": holds no password: 1 to ", kMaxSecret,
                              " bytes in a file that this user can read"));
  }
  return secret;
}

absl::Status SetDuration(absl::string_view key, absl::string_view value, absl::Duration& into) {
  if (absl::ParseDuration(value, &into) && into >= absl::Milliseconds(10) &&
      into <= absl::Hours(1)) {
    return absl::OkStatus();
  }
  return Wrong(absl::StrCat(key, " is not a time from 10ms to 1h"));
}

absl::Status SetOption(absl::string_view key, const std::string& value, Config& config) {
  if (key == "password_file") {
    GALEN_ASSIGN_OR_RETURN(config.password, ReadSecret(value));
  } else if (key == "sentinel_password_file") {
    GALEN_ASSIGN_OR_RETURN(config.sentinel_password, ReadSecret(value));
  } else if (key == "sentinel_user") {
    config.sentinel_user = value;
  } else if (key == "prefix") {
    config.prefix = value;
    if (value.empty() || value.find_first_of("{}") != std::string::npos) {
      return Wrong("prefix is not empty and has neither { nor }");
    }
  } else if (key == "replicas") {
    if (!absl::SimpleAtoi(value, &config.replicas) || config.replicas < 0 ||
        config.replicas > kMaxReplicas) {
      return Wrong(absl::StrCat("replicas is not a number from 0 to ", kMaxReplicas));
    }
  } else if (key == "timeout") {
    return SetDuration(key, value, config.timeout);
  } else if (key == "answer") {
    return SetDuration(key, value, config.answer);
  } else {
    return Wrong(absl::StrCat("unknown option \"", key, "\""));
  }
  return absl::OkStatus();
}

absl::Status SetDatabase(absl::string_view text, Config& config) {
  if (text.empty()) return absl::OkStatus();
  if (absl::SimpleAtoi(text, &config.database) && config.database >= 0) return absl::OkStatus();
  return Wrong("the database is not a number from 0");
}

absl::Status SetPath(absl::string_view path, Config& config) {
  if (config.kind == Config::Kind::kCluster) {
    return path.empty() ? absl::OkStatus() : Wrong("a cluster has no database, so no path");
  }
  if (config.kind == Config::Kind::kSingle) return SetDatabase(path, config);
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(path, absl::MaxSplits('/', 1));
  if (parts.first.empty()) return Wrong("sentinels need the master's name: ...:26379/NAME");
  config.master = std::string(parts.first);
  return SetDatabase(parts.second, config);
}

}  // namespace

std::string ToString(const Address& address) {
  const bool v6 = absl::StrContains(address.host, ':');
  return absl::StrCat(v6 ? "[" : "", address.host, v6 ? "]:" : ":", address.port);
}

bool IsRedisUrl(absl::string_view store) {
  for (const absl::string_view scheme :
       {"redis://", "redis+sentinel://", "redis+cluster://", "rediss://"}) {
    if (absl::StartsWith(store, scheme)) return true;
  }
  return false;
}

absl::StatusOr<Config> ParseUrl(absl::string_view url) {
  Config config;
  if (absl::ConsumePrefix(&url, "redis+sentinel://")) {
    config.kind = Config::Kind::kSentinel;
  } else if (absl::ConsumePrefix(&url, "redis+cluster://")) {
    config.kind = Config::Kind::kCluster;
  } else if (absl::StartsWith(url, "rediss://")) {
    return Wrong(
        "rediss://: this galen speaks no TLS to Redis (hiredis 0.14 has none): put a TLS tunnel on "
        "this machine in front of Redis and name its address with redis://");
  } else if (!absl::ConsumePrefix(&url, "redis://")) {
    return Wrong("not a Redis URL");
  }
  const std::size_t question = url.find('?');
  const absl::string_view options =
      question == absl::string_view::npos ? absl::string_view() : url.substr(question + 1);
  url = url.substr(0, question);

  const std::size_t slash = url.find('/');
  absl::string_view authority = url.substr(0, slash);
  const absl::string_view path =
      slash == absl::string_view::npos ? absl::string_view() : url.substr(slash + 1);
  if (const std::size_t at = authority.rfind('@'); at != absl::string_view::npos) {
    const std::pair<absl::string_view, absl::string_view> login =
        absl::StrSplit(authority.substr(0, at), absl::MaxSplits(':', 1));
    GALEN_ASSIGN_OR_RETURN(config.user, Decode(login.first, "the user"));
    GALEN_ASSIGN_OR_RETURN(config.password, Decode(login.second, "the password"));
    authority = authority.substr(at + 1);
  }
  const int default_port = config.kind == Config::Kind::kSentinel ? 26379 : 6379;
  for (const absl::string_view text : absl::StrSplit(authority, ',')) {
    GALEN_ASSIGN_OR_RETURN(Address address, ParseAddress(text, default_port));
    config.addresses.push_back(std::move(address));
  }
  if (config.kind == Config::Kind::kSingle && config.addresses.size() > 1) {
    return Wrong("redis:// names one server; several are redis+sentinel:// or redis+cluster://");
  }
  if (config.addresses.size() > kMaxAddresses) return Wrong("more than 100 addresses");
  GALEN_RETURN_IF_ERROR(SetPath(path, config));
  for (const absl::string_view option : absl::StrSplit(options, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    GALEN_ASSIGN_OR_RETURN(const std::string value, Decode(pair.second, pair.first));
    GALEN_RETURN_IF_ERROR(SetOption(pair.first, value, config));
  }
  if (!config.user.empty() && config.password.empty()) {
    return Wrong("a user without a password: add it, or password_file=FILE");
  }
  return config;
}

std::string Describe(const Config& config) {
  std::vector<std::string> addresses;
  for (const Address& address : config.addresses) addresses.push_back(ToString(address));
  const std::string all = absl::StrJoin(addresses, ",");
  switch (config.kind) {
    case Config::Kind::kSentinel:
      return absl::StrCat("redis+sentinel://", all, "/", config.master);
    case Config::Kind::kCluster:
      return absl::StrCat("redis+cluster://", all);
    case Config::Kind::kSingle:
      break;
  }
  return absl::StrCat("redis://", all,
                      config.database == 0 ? "" : absl::StrCat("/", config.database));
}

}  // namespace galen::store::redis
