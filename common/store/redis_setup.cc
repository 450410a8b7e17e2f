#include "common/store/redis_setup.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::store {
namespace {

constexpr char kFormat[] = "1";

// "key:value" by line.
std::map<std::string, std::string> ParseInfo(absl::string_view text) {
  std::map<std::string, std::string> info;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(absl::StripAsciiWhitespace(line), absl::MaxSplits(':', 1));
    info.emplace(pair.first, pair.second);
  }
  return info;
}

// XAUTOCLAIM came with 6.2 (https://redis.io/docs/latest/commands/xautoclaim/), scripts that are
// replicated by their effects alone with 7.0.
bool IsNewEnough(absl::string_view version) {
  int major = 0;
  return absl::SimpleAtoi(version.substr(0, version.find('.')), &major) && major >= 7;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckRedis(redis::Client& client) {
  const redis::Config& config = client.config();
  const std::string where = redis::Describe(config);
  const std::string key = absl::StrCat(config.prefix, ":format");
  std::vector<redis::Command> commands;
  commands.push_back(redis::Write(key, {"SET", key, kFormat, "NX"}));
  commands.push_back(redis::Read(key, {"GET", key}));
  commands.push_back(redis::Read(key, {"INFO"}));
  const std::vector<absl::StatusOr<redis::Reply>> replies = client.RunAll(std::move(commands));
  for (const absl::StatusOr<redis::Reply>& reply : replies) GALEN_RETURN_IF_ERROR(reply.status());
  if (replies[1]->text != kFormat) {
    return absl::DataLossError(
        absl::StrCat(where, ": ", key, ": written in format ", CleanText(replies[1]->text, 40),
                     ", this galen reads format ", kFormat, ": run the galen that wrote it"));
  }
  const std::map<std::string, std::string> info = ParseInfo(replies[2]->text);
  const auto get = [&info](const char* name) {
    const auto it = info.find(name);
    return it == info.end() ? std::string() : CleanText(it->second, 40);
  };
  if (!IsNewEnough(get("redis_version"))) {
    return absl::FailedPreconditionError(absl::StrCat(where, ": is Redis ", get("redis_version"),
                                                      ", galen needs 7.0 or newer: update it"));
  }
  if (absl::StartsWith(get("maxmemory_policy"), "allkeys")) {
    return absl::FailedPreconditionError(absl::StrCat(
        where, ": maxmemory-policy is ", get("maxmemory_policy"),
        ", so Redis would delete diagnoses when its memory is full: set it to noeviction, or to "
        "volatile-ttl, which gives up cached values alone"));
  }
  std::vector<std::string> warnings;
  if (get("aof_enabled") == "0") {
    warnings.push_back(
        "Redis keeps no append-only file: what it acknowledged is lost when it restarts; set "
        "appendonly yes");
  } else {
    // Managed services and ACLs may refuse this; then nothing is known, and nothing is said.
    const absl::StatusOr<redis::Reply> sync =
        client.Run(redis::Read(key, {"CONFIG", "GET", "appendfsync"}));
    if (sync.ok() && sync->HasTexts(2) && sync->elements[1].text != "always") {
      warnings.push_back(absl::StrCat(
          "Redis syncs its file with appendfsync ", CleanText(sync->elements[1].text, 20),
          ": a crash may take back the last seconds of what it acknowledged; \"always\" does not"));
    }
  }
  if (config.kind != redis::Config::Kind::kSingle && config.replicas == 0) {
    warnings.push_back(
        "a failover may take back what the replicas did not have yet; add replicas=1 to --store");
  }
  return warnings;
}

}  // namespace galen::store
