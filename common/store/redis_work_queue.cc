#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/store/redis_keys.h"
#include "common/store/redis_parts.h"

namespace galen::store {
namespace {

constexpr std::size_t kMaxPayload = std::size_t{1} << 20;
constexpr int kMostAtOnce = 100;

// KEYS items tickets; ARGV key payload. A key that is there already is left as it is.
const redis::Script& PushScript() {
  static const auto* const script = new redis::Script(R"lua(
    local id = redis.call('HGET', KEYS[2], ARGV[1])
    if not id then id = redis.call('XADD', KEYS[1], '*', 'k', ARGV[1], 'p', ARGV[2]) end
    redis.call('HSET', KEYS[2], ARGV[1], id)
    return {'ok'}
  )lua");
  return *script;
}

// KEYS items tickets; ARGV worker most idle-milliseconds -> ok, then id key payload deliveries
// each.
const redis::Script& TakeScript() {
  static const auto* const script = new redis::Script(R"lua(
    if redis.call('EXISTS', KEYS[1]) == 0 then return {'ok'} end
    redis.pcall('XGROUP', 'CREATE', KEYS[1], 'workers', '0')
    local answer = {'ok'}
    local left = tonumber(ARGV[2])
    local function add(entries)
      for _, entry in ipairs(entries) do
        local pending = redis.call('XPENDING', KEYS[1], 'workers', entry[1], entry[1], '1')[1]
        answer[#answer + 1] = entry[1]
        answer[#answer + 1] = entry[2][2]
        answer[#answer + 1] = entry[2][4]
        answer[#answer + 1] = tostring(pending and pending[4] or 1)
        left = left - 1
      end
    end
    local cursor = '0-0'
    repeat
      local claimed = redis.call('XAUTOCLAIM', KEYS[1], 'workers', ARGV[1], ARGV[3], cursor,
                                 'COUNT', tostring(left))
      cursor = claimed[1]
      add(claimed[2])
    until left == 0 or cursor == '0-0'
    if left > 0 then
      local new = redis.call('XREADGROUP', 'GROUP', 'workers', ARGV[1], 'COUNT', tostring(left),
                             'STREAMS', KEYS[1], '>')
      if new then add(new[1][2]) end
    end
    return answer
  )lua");
  return *script;
}

// KEYS items tickets; ARGV worker id -> ok | lost
const redis::Script& KeepScript() {
  static const auto* const script = new redis::Script(R"lua(
    local pending = redis.pcall('XPENDING', KEYS[1], 'workers', ARGV[2], ARGV[2], '1')[1]
    if not pending or pending[2] ~= ARGV[1] then return {'lost'} end
    redis.call('XCLAIM', KEYS[1], 'workers', ARGV[1], '0', ARGV[2], 'JUSTID')
    return {'ok'}
  )lua");
  return *script;
}

// KEYS items tickets; ARGV worker id key -> ok | lost
const redis::Script& FinishScript() {
  static const auto* const script = new redis::Script(R"lua(
    local pending = redis.pcall('XPENDING', KEYS[1], 'workers', ARGV[2], ARGV[2], '1')[1]
    if not pending or pending[2] ~= ARGV[1] then return {'lost'} end
    redis.call('XACK', KEYS[1], 'workers', ARGV[2])
    redis.call('XDEL', KEYS[1], ARGV[2])
    redis.call('HDEL', KEYS[2], ARGV[3])
    return {'ok'}
  )lua");
  return *script;
}

class RedisWorkQueue final : public WorkQueue {
 public:
  explicit RedisWorkQueue(redis::Client& client) : client_(client), keys_(client.config().prefix) {}

  absl::Status Push(absl::string_view queue, absl::string_view key,
                    absl::string_view payload) override {
    if (payload.size() > kMaxPayload) {
      return absl::InvalidArgumentError(absl::StrCat(queue, ": ", key, ": has ", payload.size(),
                                                     " bytes, at most ", kMaxPayload,
                                                     " are taken"));
    }
    return AskScript(client_, redis::Eval(PushScript(), /*write=*/true, Keys(queue),
                                          {std::string(key), std::string(payload)}))
        .status();
  }

  absl::StatusOr<std::vector<WorkItem>> Take(absl::string_view queue, absl::string_view worker,
                                             int most, absl::Duration abandoned_after) override {
    if (most < 1) return std::vector<WorkItem>();
    GALEN_ASSIGN_OR_RETURN(
        std::vector<std::string> answer,
        AskScript(client_,
                  redis::Eval(TakeScript(), /*write=*/true, Keys(queue),
                              {std::string(worker), absl::StrCat(std::min(most, kMostAtOnce)),
                               absl::StrCat(absl::ToInt64Milliseconds(abandoned_after))})));
    std::vector<WorkItem> items;
    for (std::size_t i = 1; i + 3 < answer.size(); i += 4) {
      WorkItem item{std::move(answer[i + 1]), std::move(answer[i + 2]), std::move(answer[i]), 0};
      if (!absl::SimpleAtoi(answer[i + 3], &item.deliveries)) item.deliveries = 1;
      items.push_back(std::move(item));
    }
    return items;
  }

  absl::Status Keep(absl::string_view queue, absl::string_view worker,
                    const WorkItem& item) override {
    return Mine(KeepScript(), queue, worker, item);
  }
  absl::Status Finish(absl::string_view queue, absl::string_view worker,
                      const WorkItem& item) override {
    return Mine(FinishScript(), queue, worker, item);
  }

  absl::StatusOr<std::int64_t> Size(absl::string_view queue) override {
    const std::string key = keys_.QueueItems(queue);
    GALEN_ASSIGN_OR_RETURN(const redis::Reply reply, client_.Run(redis::Read(key, {"XLEN", key})));
    return reply.integer;
  }

 private:
  std::vector<std::string> Keys(absl::string_view queue) const {
    return {keys_.QueueItems(queue), keys_.QueueTickets(queue)};
  }

  absl::Status Mine(const redis::Script& script, absl::string_view queue, absl::string_view worker,
                    const WorkItem& item) {
    GALEN_ASSIGN_OR_RETURN(
        const std::vector<std::string> answer,
        AskScript(client_, redis::Eval(script, /*write=*/true, Keys(queue),
                                       {std::string(worker), item.ticket, item.key})));
    if (answer[0] == "ok") return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(queue, ": ", item.key, " is not ", worker, "'s any more"));
  }

  redis::Client& client_;
  const RedisKeys keys_;
};

}  // namespace

std::unique_ptr<WorkQueue> MakeRedisWorkQueue(redis::Client& client) {
  return std::make_unique<RedisWorkQueue>(client);
}

absl::StatusOr<std::vector<std::string>> AskScript(redis::Client& client, redis::Command command) {
  GALEN_ASSIGN_OR_RETURN(redis::Reply reply, client.Run(std::move(command)));
  if (reply.elements.empty() || !reply.HasTexts(reply.elements.size())) {
    return absl::UnavailableError(absl::StrCat(redis::Describe(client.config()),
                                               ": Redis answers a script with \"",
                                               CleanText(reply.text, 80), "\""));
  }
  std::vector<std::string> texts;
  texts.reserve(reply.elements.size());
  for (redis::Reply& element : reply.elements) texts.push_back(std::move(element.text));
  return texts;
}

}  // namespace galen::store
