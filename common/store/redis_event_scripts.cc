#include "common/store/redis_event_scripts.h"

namespace galen::store {

// A repetition writes a field again unchanged: WAIT counts the replicas that have the last write of
// this connection, and the first attempt may have used another one.
const redis::Script& CreateScript() {
  static const auto* const script = new redis::Script(R"lua(
    local made = redis.call('HMGET', KEYS[1], 'create', 'request', 'deleted')
    if made[3] then return {'deleted', made[3]} end
    if made[1] then
      if made[1] == ARGV[3] or (ARGV[2] ~= '' and made[2] == ARGV[2]) then
        redis.call('HSET', KEYS[1], 'create', made[1])
        return {made[1] == ARGV[3] and 'made' or 'same'}
      end
      return {'taken'}
    end
    redis.call('HSET', KEYS[1], 'create', ARGV[3], 'request', ARGV[2], 'last', '1', 'over', '0',
               'owner', '', 'token', '0', 'expires', '0')
    redis.call('XADD', KEYS[2], '1-0', 'e', ARGV[4])
    redis.call('ZADD', KEYS[3], '0', ARGV[1])
    return {'made'}
  )lua");
  return *script;
}

// The first event of an append carries its id, so that a repetition is recognised however late it
// comes. An append reopens a diagnosis that was over. An account stops at the largest number.
const redis::Script& AppendScript() {
  static const auto* const script = new redis::Script(R"lua(
    local head = redis.call('HMGET', KEYS[1], 'last', 'owner', 'token', 'over', 'expires', 'deleted')
    if not head[1] then return {'none', head[6] or ''} end
    local sequence = tonumber(ARGV[4])
    local before = 5 + 4 * (#KEYS - 3)
    local first = string.format('%.0f-0', sequence + 1)
    local there = redis.call('XRANGE', KEYS[2], first, first)[1]
    if there and there[2][4] == ARGV[5] then
      redis.call('HSET', KEYS[1], 'last', head[1])
      return {'ok', string.format('%.0f', sequence + #ARGV - before)}
    end
    if head[2] ~= ARGV[2] or head[3] ~= ARGV[3] then return {'lease'} end
    if tonumber(head[1]) ~= sequence then return {'moved', head[1]} end
    for i = before + 1, #ARGV do
      sequence = sequence + 1
      local id = string.format('%.0f-0', sequence)
      if i == before + 1 then
        redis.call('XADD', KEYS[2], id, 'e', ARGV[i], 'a', ARGV[5])
      else
        redis.call('XADD', KEYS[2], id, 'e', ARGV[i])
      end
    end
    for i = 4, #KEYS do
      for j, field in ipairs({'calls', 'input', 'output', 'cost'}) do
        local sum = redis.pcall('HINCRBY', KEYS[i], field, ARGV[4 * i - 11 + j])
        if type(sum) == 'table' and sum.err then
          redis.call('HSET', KEYS[i], field, '9223372036854775807')
        end
      end
    end
    local last = string.format('%.0f', sequence)
    redis.call('HSET', KEYS[1], 'last', last, 'over', '0')
    if head[4] ~= '0' then redis.call('ZADD', KEYS[3], head[5], ARGV[1]) end
    return {'ok', last}
  )lua");
  return *script;
}

// A few at a time, so that one script never holds much more than the bytes it was given.
const redis::Script& ReadScript() {
  static const auto* const script = new redis::Script(R"lua(
    local head = redis.call('HMGET', KEYS[1], 'last', 'deleted')
    if not head[1] then return {'none', head[2] or ''} end
    local answer = {'ok'}
    local after, left, bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), 0
    while left > 0 and bytes < tonumber(ARGV[3]) do
      local count = math.min(left, 4)
      local part = redis.call('XRANGE', KEYS[2], string.format('(%.0f-0', after), '+',
                              'COUNT', string.format('%.0f', count))
      for _, entry in ipairs(part) do
        local sequence = string.match(entry[1], '^%d+')
        answer[#answer + 1] = sequence
        answer[#answer + 1] = entry[2][2] or ''
        bytes = bytes + #answer[#answer]
        after = tonumber(sequence)
      end
      if #part < count then break end
      left = left - count
    end
    return answer
  )lua");
  return *script;
}

// The token is the time when the lease was asked for, or one more than the last: so a repetition is
// recognised, and a token that a failover made Redis forget is not given out again to another.
const redis::Script& AcquireScript() {
  static const auto* const script = new redis::Script(R"lua(
    local head = redis.call('HMGET', KEYS[1], 'last', 'owner', 'token', 'expires', 'over', 'deleted')
    if not head[1] then return {'none', head[6] or ''} end
    local token = ARGV[5]
    if head[2] ~= ARGV[2] or head[3] ~= token then
      if head[2] ~= ARGV[2] and tonumber(head[4]) > tonumber(ARGV[3]) then
        return {'held', head[2], head[4]}
      end
      token = string.format('%.0f', math.max(tonumber(head[3]) + 1, tonumber(token)))
    end
    redis.call('HSET', KEYS[1], 'owner', ARGV[2], 'token', token, 'expires', ARGV[4])
    if head[5] == '0' then redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1]) end
    return {'ok', token}
  )lua");
  return *script;
}

const redis::Script& ReleaseScript() {
  static const auto* const script = new redis::Script(R"lua(
    local head = redis.call('HMGET', KEYS[1], 'token', 'over')
    if head[1] ~= ARGV[2] then return {'lease'} end
    redis.call('HSET', KEYS[1], 'expires', '0')
    if head[2] == '0' then redis.call('ZADD', KEYS[2], '0', ARGV[1]) end
    return {'ok'}
  )lua");
  return *script;
}

const redis::Script& SetOverScript() {
  static const auto* const script = new redis::Script(R"lua(
    local head = redis.call('HMGET', KEYS[1], 'last', 'deleted')
    if not head[1] then return {'none', head[2] or ''} end
    if head[1] == ARGV[2] then
      redis.call('HSET', KEYS[1], 'over', '1')
      redis.call('ZREM', KEYS[2], ARGV[1])
    end
    return {'ok'}
  )lua");
  return *script;
}

const redis::Script& ListScript() {
  static const auto* const script = new redis::Script(R"lua(
    local birth = redis.call('ZSCORE', KEYS[3], ARGV[1])
    if not birth then birth = redis.call('INCR', KEYS[1]) end
    redis.call('ZADD', KEYS[2], birth, ARGV[1])
    redis.call('ZADD', KEYS[3], birth, ARGV[1])
    return {'ok'}
  )lua");
  return *script;
}

const redis::Script& ClaimScript() {
  static const auto* const script = new redis::Script(R"lua(
    local name = redis.call('GET', KEYS[1]) or ARGV[1]
    if name == ARGV[1] then redis.call('SET', KEYS[1], name) end
    return {name}
  )lua");
  return *script;
}

const redis::Script& ReclaimScript() {
  static const auto* const script = new redis::Script(R"lua(
    if redis.call('GET', KEYS[1]) == ARGV[1] then
      if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
    end
    return {'ok'}
  )lua");
  return *script;
}

// The accounts are those of days whose budget nobody asks for any more.
const redis::Script& DeleteScript() {
  static const auto* const script = new redis::Script(R"lua(
    local head = redis.call('HMGET', KEYS[1], 'last', 'owner', 'token', 'request', 'deleted')
    if not head[1] then
      if head[5] then redis.call('HSET', KEYS[1], 'deleted', head[5]) end
      return {'none', head[5] or ''}
    end
    if head[2] ~= ARGV[2] or head[3] ~= ARGV[3] then return {'lease'} end
    if head[1] ~= ARGV[4] then return {'moved', head[1]} end
    redis.call('ZREM', KEYS[3], ARGV[1])
    redis.call('DEL', KEYS[2])
    for i = 4, #KEYS do redis.call('DEL', KEYS[i]) end
    redis.call('DEL', KEYS[1])
    redis.call('HSET', KEYS[1], 'deleted', ARGV[5], 'request', head[4] or '')
    return {'ok'}
  )lua");
  return *script;
}

const redis::Script& UnlistScript() {
  static const auto* const script = new redis::Script(R"lua(
    redis.call('ZREM', KEYS[1], ARGV[1])
    redis.call('ZREM', KEYS[2], ARGV[1])
    return {'ok'}
  )lua");
  return *script;
}

const redis::Script& ForgetDeletedScript() {
  static const auto* const script = new redis::Script(R"lua(
    local head = redis.call('HMGET', KEYS[1], 'last', 'deleted')
    if not head[1] and head[2] then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
    return {'ok'}
  )lua");
  return *script;
}

}  // namespace galen::store
