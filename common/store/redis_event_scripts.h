#ifndef COMMON_STORE_REDIS_EVENT_SCRIPTS_H_
#define COMMON_STORE_REDIS_EVENT_SCRIPTS_H_

#include "common/store/redis/command.h"

namespace galen::store {

// The scripts that change a diagnosis in Redis, each wholly or not at all. Every script returns an
// array of texts whose first is the outcome, and may be repeated when its reply got lost. Numbers
// go up to 2^53, as Lua counts in doubles: sequences, and microseconds since 1970. `none` has the
// time of the deletion behind it, "" when there never was such a diagnosis.

// KEYS head log open; ARGV name, request id, id of this creation, event.
// -> made | same (this request made it before) | taken | deleted TIME
const redis::Script& CreateScript();
// KEYS head log open accounts...; ARGV name, owner, token, expected last, id of this append, for
// each account calls input output cost, events...
// -> ok LAST | none TIME | lease (is another's) | moved LAST
const redis::Script& AppendScript();
// KEYS head log; ARGV after, limit, bytes after which it stops
// -> none TIME | ok SEQUENCE EVENT SEQUENCE EVENT ...
const redis::Script& ReadScript();
// KEYS head open; ARGV name, owner, now, expires, proposed token
// -> ok TOKEN | none TIME | held OWNER EXPIRES
const redis::Script& AcquireScript();
// KEYS head open; ARGV name, token -> ok | lease
const redis::Script& ReleaseScript();
// KEYS head open; ARGV name, last sequence -> ok | none TIME
const redis::Script& SetOverScript();
// KEYS births, listing of the parent, listing of all; ARGV name -> ok
const redis::Script& ListScript();
// KEYS request; ARGV name -> NAME that the request is for: this one, when it is new
const redis::Script& ClaimScript();
// KEYS request; ARGV old name, new name or "" -> ok. Changes the claim where it is still the old
// one.
const redis::Script& ReclaimScript();

// KEYS head log open accounts...; ARGV name, owner, token, expected last, time
// -> ok | none TIME | lease (is another's) | moved LAST. Leaves a head with the time and the
// request id alone.
const redis::Script& DeleteScript();
// KEYS listing of the parent, listing of all; ARGV name -> ok
const redis::Script& UnlistScript();
// KEYS head; ARGV milliseconds -> ok. Forgets a deletion after that time; leaves others alone.
const redis::Script& ForgetDeletedScript();

}  // namespace galen::store

#endif  // COMMON_STORE_REDIS_EVENT_SCRIPTS_H_
