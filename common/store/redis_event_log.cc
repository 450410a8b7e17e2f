#include "common/store/redis_event_log.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/store/accounts.h"
#include "common/store/names.h"
#include "common/store/redis_event_scripts.h"
#include "common/store/redis_parts.h"

namespace galen::store {
namespace {

constexpr std::size_t kReadBytes = std::size_t{8} << 20;      // after which a read makes a pause
constexpr std::size_t kAppendBytes = std::size_t{256} << 20;  // of one batch
constexpr int kMostOrphans = 10'000;                          // of one bucket and one scan
constexpr int kDeletePage = 256;                              // events read at a time

// 32 hexadecimal digits that no other creation or append has.
std::string FreshId() {
  thread_local std::random_device random;
  return absl::StrFormat("%08x%08x%08x%08x", random(), random(), random(), random());
}

std::string Micros(absl::Time time) { return absl::StrCat(absl::ToUnixMicros(time)); }

absl::StatusOr<std::string> Serialize(const v1::DiagnosisEvent& event, std::int64_t sequence) {
  v1::DiagnosisEvent stored = event;
  stored.set_sequence(sequence);
  std::string bytes = stored.SerializeAsString();
  if (bytes.size() <= kMaxEventBytes) return bytes;
  return absl::InvalidArgumentError(absl::StrCat("event ", sequence, ": has ", bytes.size(),
                                                 " bytes, at most ", kMaxEventBytes,
                                                 " are stored"));
}

absl::Status Unexpected(absl::string_view name, absl::string_view answer) {
  return absl::UnavailableError(absl::StrCat(name, ": Redis answers a script with \"",
                                             CleanText(std::string(answer), 80), "\""));
}

absl::StatusOr<std::int64_t> Number(absl::string_view name, absl::string_view text) {
  std::int64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return Unexpected(name, text);
}

// The error of an answer that begins with "none".
absl::Status MissingError(absl::string_view name, const std::vector<std::string>& answer) {
  std::int64_t deleted = 0;
  if (answer.size() < 2 || !absl::SimpleAtoi(answer[1], &deleted)) return NoSuchLogError(name);
  return DeletedError(name, absl::FromUnixMicros(deleted));
}

}  // namespace

RedisEventLog::RedisEventLog(redis::Client& client)
    : client_(client), keys_(client.config().prefix) {}

absl::StatusOr<RedisEventLog::Made> RedisEventLog::Make(const v1::DiagnosisEvent& event,
                                                        const std::string& name,
                                                        const std::string& create_id) {
  v1::DiagnosisEvent created = event;
  created.mutable_created()->set_name(name);
  GALEN_ASSIGN_OR_RETURN(std::string bytes, Serialize(created, 1));
  // Into the listings first: readers skip a listed name without a log, but a log without a listing
  // would never be found.
  GALEN_RETURN_IF_ERROR(
      AskScript(
          client_,
          redis::Eval(ListScript(), /*write=*/true,
                      {keys_.Births(), keys_.Listing(ParentOf(name)), keys_.Listing("")}, {name}))
          .status());
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<std::string> answer,
      AskScript(
          client_,
          redis::Eval(CreateScript(), /*write=*/true,
                      {keys_.Head(name), keys_.Log(name), keys_.Open(RedisKeys::BucketOf(name))},
                      {name, event.created().request_id(), create_id, std::move(bytes)})));
  if (answer[0] == "made") return Made::kNow;
  if (answer[0] == "same") return Made::kForThisRequest;
  if (answer[0] == "taken") return Made::kTaken;
  if (answer[0] == "deleted" && answer.size() == 2) {
    GALEN_ASSIGN_OR_RETURN(const std::int64_t when, Number(name, answer[1]));
    return TakenByDeletedError(name, absl::FromUnixMicros(when));
  }
  return Unexpected(name, answer[0]);
}

absl::StatusOr<std::string> RedisEventLog::Create(const v1::DiagnosisEvent& event) {
  const std::string& name = event.created().name();
  const std::string parent(ParentOf(name));
  if (parent.empty()) return BadNameError(name);
  const std::string& request_id = event.created().request_id();
  const std::string create_id = FreshId();
  if (request_id.empty()) {
    GALEN_ASSIGN_OR_RETURN(const Made made, Make(event, name, create_id));
    if (made == Made::kTaken) return TakenError(name);
    return name;
  }
  // The request is on another node than the diagnosis, so this takes several steps; after a crash
  // between two of them the next attempt continues.
  const std::string request = keys_.Request(parent, request_id);
  for (int turn = 0; turn < 3; ++turn) {
    GALEN_ASSIGN_OR_RETURN(
        const std::vector<std::string> claim,
        AskScript(client_, redis::Eval(ClaimScript(), /*write=*/true, {request}, {name})));
    const std::string& claimed = claim[0];
    if (ParentOf(claimed) != parent) return Unexpected(name, claimed);
    // Also when an earlier request claimed it: it may have died before it made it.
    const absl::StatusOr<Made> made = Make(event, claimed, create_id);
    if (!made.ok() && !absl::IsAlreadyExists(made.status())) return made.status();
    if (made.ok() && *made != Made::kTaken) return claimed;
    // Another request had made that name, or it was deleted: the claim comes to nothing.
    const bool mine = claimed == name;
    GALEN_RETURN_IF_ERROR(AskScript(client_, redis::Eval(ReclaimScript(), /*write=*/true, {request},
                                                         {claimed, mine ? "" : name}))
                              .status());
    if (mine) return made.ok() ? TakenError(name) : made.status();
  }
  return absl::UnavailableError(
      absl::StrCat(name, ": others create under the same request id at the same time: try again"));
}

absl::StatusOr<std::int64_t> RedisEventLog::Append(const Lease& lease, std::int64_t expected_last,
                                                   absl::Span<const v1::DiagnosisEvent> events) {
  const std::string& name = lease.diagnosis;
  std::vector<std::string> arguments = {name, lease.owner, absl::StrCat(lease.token),
                                        absl::StrCat(expected_last), FreshId()};
  const int bucket = RedisKeys::BucketOf(name);
  std::vector<std::string> keys = {keys_.Head(name), keys_.Log(name), keys_.Open(bucket)};
  for (const auto& [day, spent] : SpentByDay(events)) {
    // Before the account, which is on another node: a reference without an account does no harm, an
    // account without a reference would not be found.
    const std::string accounts = keys_.Accounts(ParentOf(name), day);
    GALEN_RETURN_IF_ERROR(
        client_.Run(redis::Write(accounts, {"HSET", accounts, absl::StrCat(bucket), "1"}))
            .status());
    keys.push_back(keys_.Account(bucket, ParentOf(name), day));
    for (const std::int64_t count :
         {spent.calls(), spent.input_tokens(), spent.output_tokens(), spent.cost_nanos()}) {
      arguments.push_back(absl::StrCat(count));
    }
  }
  std::int64_t sequence = expected_last;
  std::size_t bytes = 0;
  for (const v1::DiagnosisEvent& event : events) {
    GALEN_ASSIGN_OR_RETURN(std::string one, Serialize(event, ++sequence));
    bytes += one.size();
    arguments.push_back(std::move(one));
  }
  if (bytes > kAppendBytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", events.size(), " events of ", bytes,
                                                   " bytes together, at most ", kAppendBytes,
                                                   " are stored at a time"));
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> answer,
                         AskScript(client_, redis::Eval(AppendScript(), /*write=*/true,
                                                        std::move(keys), std::move(arguments))));
  if (answer[0] == "ok" && answer.size() == 2) return Number(name, answer[1]);
  if (answer[0] == "none") return MissingError(name, answer);
  if (answer[0] == "lease") return LeaseLostError(lease);
  if (answer[0] == "moved" && answer.size() == 2) {
    GALEN_ASSIGN_OR_RETURN(const std::int64_t last, Number(name, answer[1]));
    return MovedOnError(name, last, expected_last);
  }
  return Unexpected(name, answer[0]);
}

absl::StatusOr<std::vector<v1::DiagnosisEvent>> RedisEventLog::Read(absl::string_view name,
                                                                    std::int64_t after_sequence,
                                                                    int limit) {
  std::vector<v1::DiagnosisEvent> events;
  after_sequence = std::max<std::int64_t>(after_sequence, 0);
  for (;;) {
    const std::int64_t after = after_sequence + static_cast<std::int64_t>(events.size());
    const int left = limit - static_cast<int>(events.size());
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> answer,
                           AskScript(client_, redis::Eval(ReadScript(), /*write=*/false,
                                                          {keys_.Head(name), keys_.Log(name)},
                                                          {absl::StrCat(after), absl::StrCat(left),
                                                           absl::StrCat(kReadBytes)})));
    if (answer[0] == "none") return MissingError(name, answer);
    const std::size_t count = (answer.size() - 1) / 2;
    if (answer[0] != "ok" || answer.size() % 2 != 1 || count > static_cast<std::size_t>(left)) {
      return Unexpected(name, answer[0]);
    }
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t expected = after + static_cast<std::int64_t>(i) + 1;
      const std::string& event = answer[2 * i + 2];
      if (answer[2 * i + 1] != absl::StrCat(expected) ||
          !events.emplace_back().ParseFromString(event) || events.back().sequence() != expected) {
        return absl::DataLossError(absl::StrCat(
            redis::Describe(client_.config()), ": event ", expected, " of ", name,
            " is missing or cannot be read: restore Redis from a backup; nothing was deleted"));
      }
      bytes += event.size();
    }
    if (count == static_cast<std::size_t>(left) || bytes < kReadBytes) return events;
  }
}

absl::StatusOr<std::vector<bool>> RedisEventLog::Exist(const std::vector<std::string>& names) {
  std::vector<redis::Command> commands;
  for (const std::string& name : names) {
    const std::string head = keys_.Head(name);
    commands.push_back(redis::Read(head, {"HEXISTS", head, "last"}));
  }
  std::vector<bool> exist;
  for (const absl::StatusOr<redis::Reply>& reply : client_.RunAll(std::move(commands))) {
    GALEN_RETURN_IF_ERROR(reply.status());
    exist.push_back(reply->IsInteger() && reply->integer == 1);
  }
  return exist;
}

absl::StatusOr<EventLog::Page> RedisEventLog::List(absl::string_view parent, int page_size,
                                                   absl::string_view page_token) {
  std::int64_t before = INT64_MAX;
  const std::string key = keys_.Listing(parent);
  if (!page_token.empty()) {
    // The last name of the page before: its rank among all tenants' diagnoses would reveal how many
    // the others have.
    const std::string name(page_token);
    GALEN_ASSIGN_OR_RETURN(const redis::Reply place,
                           client_.Run(redis::Read(key, {"ZSCORE", key, name})));
    if (!place.IsText()) return BadPageTokenError(page_token);
    GALEN_ASSIGN_OR_RETURN(before, Number(name, place.text));
  }
  const std::size_t wanted = static_cast<std::size_t>(page_size);
  Page page;
  for (;;) {
    // One more shows whether there is another page.
    GALEN_ASSIGN_OR_RETURN(
        const redis::Reply reply,
        client_.Run(redis::Read(key, {"ZREVRANGEBYSCORE", key, absl::StrCat("(", before), "-inf",
                                      "WITHSCORES", "LIMIT", "0", absl::StrCat(page_size + 1)})));
    if (!reply.IsArray() || !reply.HasTexts(reply.elements.size()) ||
        reply.elements.size() % 2 != 0) {
      return Unexpected(parent, reply.text);
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < reply.elements.size(); i += 2) {
      names.push_back(reply.elements[i].text);
    }
    GALEN_ASSIGN_OR_RETURN(const std::vector<bool> exist, Exist(names));
    for (std::size_t i = 0; i < names.size(); ++i) {
      GALEN_ASSIGN_OR_RETURN(before, Number(names[i], reply.elements[2 * i + 1].text));
      if (!exist[i]) continue;  // its creation never came to an end
      if (page.names.size() == wanted) {
        page.next_page_token = page.names.back();
        return page;
      }
      page.names.push_back(std::move(names[i]));
    }
    if (names.size() <= wanted) return page;
  }
}

absl::StatusOr<std::vector<std::string>> RedisEventLog::ListOrphans(absl::Time now) {
  const std::string until = now == absl::InfiniteFuture() ? "+inf" : Micros(now);
  std::vector<redis::Command> commands;
  for (int bucket = 0; bucket < kRedisBuckets; ++bucket) {
    const std::string key = keys_.Open(bucket);
    commands.push_back(redis::Read(
        key, {"ZRANGEBYSCORE", key, "-inf", until, "LIMIT", "0", absl::StrCat(kMostOrphans)}));
  }
  std::vector<std::string> names;
  for (absl::StatusOr<redis::Reply>& reply : client_.RunAll(std::move(commands))) {
    GALEN_RETURN_IF_ERROR(reply.status());
    for (redis::Reply& name : reply->elements) names.push_back(std::move(name.text));
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status RedisEventLog::SetOver(absl::string_view name, std::int64_t last_sequence) {
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<std::string> answer,
      AskScript(client_, redis::Eval(SetOverScript(), /*write=*/true,
                                     {keys_.Head(name), keys_.Open(RedisKeys::BucketOf(name))},
                                     {std::string(name), absl::StrCat(last_sequence)})));
  if (answer[0] == "ok") return absl::OkStatus();
  return answer[0] == "none" ? MissingError(name, answer) : Unexpected(name, answer[0]);
}

absl::StatusOr<Lease> RedisEventLog::AcquireLease(absl::string_view name, absl::string_view owner,
                                                  absl::Time now, absl::Duration ttl) {
  const absl::Time expires = now + ttl;
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<std::string> answer,
      AskScript(client_, redis::Eval(AcquireScript(), /*write=*/true,
                                     {keys_.Head(name), keys_.Open(RedisKeys::BucketOf(name))},
                                     {std::string(name), std::string(owner), Micros(now),
                                      Micros(expires), Micros(absl::Now())})));
  if (answer[0] == "none") return MissingError(name, answer);
  if (answer[0] == "held" && answer.size() == 3) {
    GALEN_ASSIGN_OR_RETURN(const std::int64_t until, Number(name, answer[2]));
    return HeldError(name, answer[1], absl::FromUnixMicros(until));
  }
  if (answer[0] != "ok" || answer.size() != 2) return Unexpected(name, answer[0]);
  GALEN_ASSIGN_OR_RETURN(const std::int64_t token, Number(name, answer[1]));
  return Lease{std::string(name), std::string(owner), token, expires};
}

absl::Status RedisEventLog::ReleaseLease(const Lease& lease) {
  const std::string& name = lease.diagnosis;
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<std::string> answer,
      AskScript(client_, redis::Eval(ReleaseScript(), /*write=*/true,
                                     {keys_.Head(name), keys_.Open(RedisKeys::BucketOf(name))},
                                     {name, absl::StrCat(lease.token)})));
  if (answer[0] == "ok") return absl::OkStatus();
  return answer[0] == "lease" ? LeaseLostError(lease) : Unexpected(name, answer[0]);
}

absl::StatusOr<v1::Spent> RedisEventLog::SpentOn(absl::string_view parent, absl::string_view day) {
  const std::string accounts = keys_.Accounts(parent, day);
  GALEN_ASSIGN_OR_RETURN(const redis::Reply buckets,
                         client_.Run(redis::Read(accounts, {"HKEYS", accounts})));
  std::vector<redis::Command> commands;
  for (const redis::Reply& field : buckets.elements) {
    int bucket = 0;
    if (!absl::SimpleAtoi(field.text, &bucket)) return Unexpected(parent, field.text);
    const std::string key = keys_.Account(bucket, parent, day);
    commands.push_back(redis::Read(key, {"HMGET", key, "calls", "input", "output", "cost"}));
  }
  v1::Spent sum;
  for (const absl::StatusOr<redis::Reply>& reply : client_.RunAll(std::move(commands))) {
    GALEN_RETURN_IF_ERROR(reply.status());
    if (!reply->IsArray() || reply->elements.size() != 4) return Unexpected(parent, reply->text);
    if (reply->elements[0].IsNil()) continue;
    std::int64_t counts[4];
    for (int i = 0; i < 4; ++i) {
      GALEN_ASSIGN_OR_RETURN(counts[i], Number(parent, reply->elements[i].text));
      if (counts[i] < 0) return Unexpected(parent, reply->elements[i].text);
    }
    v1::Spent spent;
    spent.set_calls(counts[0]);
    spent.set_input_tokens(counts[1]);
    spent.set_output_tokens(counts[2]);
    spent.set_cost_nanos(counts[3]);
    AddSpent(spent, sum);
  }
  return sum;
}

absl::StatusOr<EventLog::Oldest> RedisEventLog::ListOldest(absl::string_view parent,
                                                           std::int64_t position, int limit) {
  const std::string key = keys_.Listing(parent);
  GALEN_ASSIGN_OR_RETURN(
      const redis::Reply reply,
      client_.Run(redis::Read(key, {"ZRANGEBYSCORE", key, absl::StrCat("(", position), "+inf",
                                    "WITHSCORES", "LIMIT", "0", absl::StrCat(limit)})));
  if (!reply.IsArray() || !reply.HasTexts(reply.elements.size()) ||
      reply.elements.size() % 2 != 0) {
    return Unexpected(parent, reply.text);
  }
  Oldest oldest;
  oldest.position = position;
  for (std::size_t i = 0; i < reply.elements.size(); i += 2) {
    oldest.names.push_back(reply.elements[i].text);
    GALEN_ASSIGN_OR_RETURN(oldest.position, Number(parent, reply.elements[i + 1].text));
  }
  oldest.more = oldest.names.size() == static_cast<std::size_t>(limit);
  return oldest;
}

// The days before the first that is kept on which the log records model use.
absl::StatusOr<std::vector<std::string>> RedisEventLog::OldDaysOf(absl::string_view name,
                                                                  absl::Time now) {
  const std::string first_kept = FirstKeptDay(now);
  std::set<std::string> days;
  std::int64_t after = 0;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<v1::DiagnosisEvent> events,
                           Read(name, after, kDeletePage));
    for (const auto& [day, spent] : SpentByDay(events)) {
      if (day < first_kept) days.insert(day);
    }
    after += static_cast<std::int64_t>(events.size());
    if (events.size() < static_cast<std::size_t>(kDeletePage)) return {{days.begin(), days.end()}};
  }
}

absl::Status RedisEventLog::Delete(const Lease& lease, std::int64_t expected_last, absl::Time now) {
  const std::string& name = lease.diagnosis;
  const absl::string_view parent = ParentOf(name);
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> days, OldDaysOf(name, now));
  const int bucket = RedisKeys::BucketOf(name);
  std::vector<std::string> keys = {keys_.Head(name), keys_.Log(name), keys_.Open(bucket)};
  for (const std::string& day : days) keys.push_back(keys_.Account(bucket, parent, day));
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<std::string> answer,
      AskScript(client_, redis::Eval(DeleteScript(), /*write=*/true, keys,
                                     {name, lease.owner, absl::StrCat(lease.token),
                                      absl::StrCat(expected_last), Micros(now)})));
  if (answer[0] == "lease") return LeaseLostError(lease);
  if (answer[0] == "moved" && answer.size() == 2) {
    GALEN_ASSIGN_OR_RETURN(const std::int64_t last, Number(name, answer[1]));
    return MovedOnError(name, last, expected_last);
  }
  // (Deleted already: by this call, whose first answer got lost.)
  const bool again = answer[0] == "none" && answer.size() == 2 && !answer[1].empty();
  if (answer[0] == "none" && !again) return NoSuchLogError(name);
  if (answer[0] != "ok" && !again) return Unexpected(name, answer[0]);
  for (const std::string& day : days) {
    const std::string accounts = keys_.Accounts(parent, day);
    GALEN_RETURN_IF_ERROR(
        client_.Run(redis::Write(accounts, {"HDEL", accounts, absl::StrCat(bucket)})).status());
  }
  return FinishDeletion(name);
}

// The steps after the deletion are on other nodes. The head of a deleted log stays until all are
// done, and each may be repeated.
absl::Status RedisEventLog::FinishDeletion(absl::string_view name) {
  const std::string head = keys_.Head(name);
  GALEN_ASSIGN_OR_RETURN(
      const redis::Reply left,
      client_.Run(redis::Read(head, {"HMGET", head, "last", "deleted", "request"})));
  if (!left.IsArray() || left.elements.size() != 3) return Unexpected(name, left.text);
  if (!left.elements[0].IsNil() || left.elements[1].IsNil()) return absl::OkStatus();
  const absl::string_view parent = ParentOf(name);
  GALEN_RETURN_IF_ERROR(AskScript(client_, redis::Eval(UnlistScript(), /*write=*/true,
                                                       {keys_.Listing(parent), keys_.Listing("")},
                                                       {std::string(name)}))
                            .status());
  if (const std::string& request_id = left.elements[2].text; !request_id.empty()) {
    GALEN_RETURN_IF_ERROR(AskScript(client_, redis::Eval(ReclaimScript(), /*write=*/true,
                                                         {keys_.Request(parent, request_id)},
                                                         {std::string(name), ""}))
                              .status());
  }
  return AskScript(client_,
                   redis::Eval(ForgetDeletedScript(), /*write=*/true, {head},
                               {absl::StrCat(absl::ToInt64Milliseconds(kRememberDeleted))}))
      .status();
}

}  // namespace galen::store
