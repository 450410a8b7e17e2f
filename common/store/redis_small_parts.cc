// Values, rate limits and nodes in Redis.
#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/store/redis_keys.h"
#include "common/store/redis_parts.h"

namespace galen::store {
namespace {

constexpr absl::Duration kLongestTtl = absl::Hours(24 * 3650);

std::string UnixMicros(absl::Time time) { return absl::StrCat(absl::ToUnixMicros(time)); }

class RedisKeyValue final : public KeyValue {
 public:
  explicit RedisKeyValue(redis::Client& client) : client_(client), keys_(client.config().prefix) {}

  // The expiry is stored before the value: Redis expires keys by its own clock, readers use theirs.
  absl::Status Put(absl::string_view space, absl::string_view key, absl::string_view value,
                   absl::Time now, absl::Duration ttl) override {
    if (ttl <= absl::ZeroDuration() || value.size() > kMaxValueBytes) {
      return absl::InvalidArgumentError(absl::StrCat(space, ": ", key, ": a value has at most ",
                                                     kMaxValueBytes,
                                                     " bytes and is kept for more than no time"));
    }
    ttl = std::min(ttl, kLongestTtl);
    const std::string name = keys_.Value(space, key);
    return client_
        .Run(redis::Write(
            name, {"SET", name, absl::StrCat(UnixMicros(now + ttl), " ", value), "PX",
                   absl::StrCat(std::max<std::int64_t>(absl::ToInt64Milliseconds(ttl), 1))}))
        .status();
  }

  absl::StatusOr<std::optional<std::string>> Get(absl::string_view space, absl::string_view key,
                                                 absl::Time now) override {
    const std::string name = keys_.Value(space, key);
    GALEN_ASSIGN_OR_RETURN(const redis::Reply reply, client_.Run(redis::Read(name, {"GET", name})));
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(reply.text, absl::MaxSplits(' ', 1));
    std::int64_t expires = 0;
    if (!reply.IsText() || !absl::SimpleAtoi(parts.first, &expires) ||
        absl::FromUnixMicros(expires) <= now) {
      return std::nullopt;
    }
    return std::string(parts.second);
  }

  absl::Status Remove(absl::string_view space, absl::string_view key) override {
    const std::string name = keys_.Value(space, key);
    return client_.Run(redis::Write(name, {"DEL", name})).status();
  }

 private:
  redis::Client& client_;
  const RedisKeys keys_;
};

// KEYS rate; ARGV now, per second, burst, cost -> MICROSECONDS to wait, tokens LEFT
const redis::Script& TakeTokensScript() {
  static const auto* const script = new redis::Script(R"lua(
    local had = redis.call('HMGET', KEYS[1], 'tokens', 'at')
    local now, rate, burst, cost =
      tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
    local at = math.max(tonumber(had[2] or now), now)
    local tokens = burst
    if had[1] then
      tokens = math.min(burst, tonumber(had[1]) + (at - tonumber(had[2])) / 1e6 * rate)
    end
    if tokens + 1e-9 < cost then
      return {string.format('%.0f', math.max(1, math.ceil((cost - tokens) / rate * 1e6 - 1e-3))),
              string.format('%.17g', tokens)}
    end
    tokens = math.max(0, tokens - cost)
    redis.call('HSET', KEYS[1], 'tokens', string.format('%.17g', tokens),
               'at', string.format('%.0f', at))
    local full = math.min((burst - tokens) / rate * 1000 + 1000, 3e11)
    redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil(full)))
    return {'0', string.format('%.17g', tokens)}
  )lua");
  return *script;
}

class RedisRateLimits final : public RateLimits {
 public:
  explicit RedisRateLimits(redis::Client& client)
      : client_(client), keys_(client.config().prefix) {}

  absl::StatusOr<RateGrant> Take(absl::string_view key, const RateLimit& limit, double cost,
                                 absl::Time now) override {
    GALEN_RETURN_IF_ERROR(CheckRateLimit(key, limit, cost));
    GALEN_ASSIGN_OR_RETURN(
        const std::vector<std::string> answer,
        AskScript(client_, redis::Eval(TakeTokensScript(), /*write=*/true, {keys_.Rate(key)},
                                       {UnixMicros(now), absl::StrFormat("%.17g", limit.per_second),
                                        absl::StrFormat("%.17g", limit.burst),
                                        absl::StrFormat("%.17g", cost)})));
    std::int64_t micros = 0;
    RateGrant grant;
    if (answer.size() != 2 || !absl::SimpleAtoi(answer[0], &micros) || micros < 0 ||
        !absl::SimpleAtod(answer[1], &grant.left)) {
      return absl::UnavailableError(absl::StrCat(key, ": Redis gives no time to wait"));
    }
    grant.wait = absl::Microseconds(micros);
    return grant;
  }

 private:
  redis::Client& client_;
  const RedisKeys keys_;
};

// KEYS records expiry; ARGV name record expires ...
const redis::Script& AnnounceScript() {
  static const auto* const script = new redis::Script(R"lua(
    for i = 1, #ARGV, 3 do
      redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
      redis.call('ZADD', KEYS[2], ARGV[i + 2], ARGV[i])
    end
    return {'ok'}
  )lua");
  return *script;
}

// KEYS records expiry; ARGV name
const redis::Script& WithdrawScript() {
  static const auto* const script = new redis::Script(R"lua(
    redis.call('HDEL', KEYS[1], ARGV[1])
    redis.call('ZREM', KEYS[2], ARGV[1])
    return {'ok'}
  )lua");
  return *script;
}

// KEYS records expiry; ARGV now -> ok, then name record expires each
const redis::Script& ListNodesScript() {
  static const auto* const script = new redis::Script(R"lua(
    local answer = {'ok'}
    local there = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'WITHSCORES')
    for i = 1, #there, 2 do
      answer[#answer + 1] = there[i]
      answer[#answer + 1] = redis.call('HGET', KEYS[1], there[i]) or ''
      answer[#answer + 1] = string.format('%.0f', tonumber(there[i + 1]))
    end
    return answer
  )lua");
  return *script;
}

// KEYS records expiry; ARGV now -> COUNT
const redis::Script& SweepScript() {
  static const auto* const script = new redis::Script(R"lua(
    local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', '0', '10000')
    for _, name in ipairs(gone) do
      redis.call('HDEL', KEYS[1], name)
      redis.call('ZREM', KEYS[2], name)
    end
    return {tostring(#gone)}
  )lua");
  return *script;
}

class RedisNodeTable final : public NodeTable {
 public:
  explicit RedisNodeTable(redis::Client& client) : client_(client), keys_(client.config().prefix) {}

  absl::Status Announce(const std::vector<NodeEntry>& entries) override {
    if (entries.empty()) return absl::OkStatus();
    std::vector<std::string> arguments;
    for (const NodeEntry& entry : entries) {
      arguments.push_back(entry.name);
      arguments.push_back(entry.record);
      arguments.push_back(UnixMicros(entry.expires));
    }
    return Ask(AnnounceScript(), /*write=*/true, std::move(arguments)).status();
  }

  absl::Status Withdraw(absl::string_view name) override {
    return Ask(WithdrawScript(), /*write=*/true, {std::string(name)}).status();
  }

  absl::StatusOr<std::vector<NodeEntry>> List(absl::Time now) override {
    GALEN_ASSIGN_OR_RETURN(std::vector<std::string> answer,
                           Ask(ListNodesScript(), /*write=*/false, {UnixMicros(now)}));
    std::vector<NodeEntry> entries;
    for (std::size_t i = 1; i + 2 < answer.size(); i += 3) {
      std::int64_t expires = 0;
      if (!absl::SimpleAtoi(answer[i + 2], &expires)) continue;
      entries.push_back(
          {std::move(answer[i]), std::move(answer[i + 1]), absl::FromUnixMicros(expires)});
    }
    std::sort(entries.begin(), entries.end(),
              [](const NodeEntry& a, const NodeEntry& b) { return a.name < b.name; });
    return entries;
  }

  absl::StatusOr<std::int64_t> Sweep(absl::Time now) override {
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> answer,
                           Ask(SweepScript(), /*write=*/true, {UnixMicros(now)}));
    std::int64_t count = 0;
    if (absl::SimpleAtoi(answer[0], &count)) return count;
    return absl::UnavailableError("Redis gives no number of nodes");
  }

 private:
  absl::StatusOr<std::vector<std::string>> Ask(const redis::Script& script, bool write,
                                               std::vector<std::string> arguments) {
    return AskScript(client_, redis::Eval(script, write, {keys_.NodeRecords(), keys_.NodeExpiry()},
                                          std::move(arguments)));
  }

  redis::Client& client_;
  const RedisKeys keys_;
};

}  // namespace

std::unique_ptr<KeyValue> MakeRedisKeyValue(redis::Client& client) {
  return std::make_unique<RedisKeyValue>(client);
}
std::unique_ptr<RateLimits> MakeRedisRateLimits(redis::Client& client) {
  return std::make_unique<RedisRateLimits>(client);
}
std::unique_ptr<NodeTable> MakeRedisNodeTable(redis::Client& client) {
  return std::make_unique<RedisNodeTable>(client);
}

}  // namespace galen::store
