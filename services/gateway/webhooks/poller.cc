#include "services/gateway/webhooks/poller.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/http/curl_transport.h"
#include "services/gateway/webhooks/payload_parser.h"

namespace galen::gateway::webhooks {
namespace {

constexpr absl::Duration kFetchTime = absl::Seconds(30);
constexpr std::size_t kMostPageBytes = std::size_t{8} << 20;
constexpr int kMostPages = 50;  // in one poll; the next one continues
// Polled again: recent changes, and clocks that disagree.
constexpr absl::Duration kOverlap = absl::Minutes(2);

std::string PercentEncode(absl::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// WebhookJournal::Take() for a thread that may block.
absl::Status TakeAndWait(WebhookJournal& webhook_journal, const std::string& endpoint,
                         std::vector<v1::WebhookEvent> events) {
  struct Answer {
    Mutex mu;
    std::condition_variable changed;
    std::optional<absl::Status> status ABSL_GUARDED_BY(mu);
  };
  const auto answer = std::make_shared<Answer>();
  webhook_journal.Take(endpoint, std::move(events),
                       [answer](const absl::StatusOr<std::vector<Outcome>>& outcomes) {
                         const MutexLock lock(answer->mu);
                         answer->status = outcomes.status();
                         answer->changed.notify_all();
                       });
  const MutexLock lock(answer->mu);
  while (!answer->status.has_value()) answer->mu.Wait(answer->changed);
  return *answer->status;
}

// Takes the events of one page. Returns the number of its items, and sets `latest` to their last
// change.
absl::StatusOr<int> TakePage(const Endpoint& endpoint, const std::string& page,
                             WebhookJournal& webhook_journal, absl::Time& latest) {
  const Poll& poll = *endpoint.sender->poll;
  GALEN_ASSIGN_OR_RETURN(const Document whole, Document::FromJson(page));
  const std::vector<Document> lists = whole.Parts(poll.items);
  GALEN_ASSIGN_OR_RETURN(const Pointer each, Pointer::Parse("/*"));
  if (lists.empty()) return absl::DataLossError("the answer has no list of items in it");
  const std::vector<Document> items = lists[0].Parts(each);
  std::vector<v1::WebhookEvent> events;
  for (const Document& item : items) {
    Event at;
    at.body = item;
    for (const std::string& text : poll.updated.Texts(at)) {
      const std::optional<absl::Time> time = ParseEventTime(text);
      if (time.has_value()) latest = std::max(latest, *time);
    }
    // An unreadable item is not a reason to lose the others.
    absl::StatusOr<ParsedDelivery> reading = ParsePolledItem(endpoint, item);
    if (!reading.ok()) continue;
    for (v1::WebhookEvent& event : reading->events) events.push_back(std::move(event));
  }
  if (!events.empty()) {
    GALEN_RETURN_IF_ERROR(TakeAndWait(webhook_journal, endpoint.name, std::move(events)));
  }
  return static_cast<int>(items.size());
}

}  // namespace

Fetch MakeHttpFetch(const EndpointPoll& poll) {
  const auto transport = std::make_shared<galen::http::CurlTransport>(
      galen::http::Options{.ca_file = poll.ca_file, .proxy = "environment", .most_at_once = 1});
  const auto token = std::make_shared<const galen::http::Secret>(poll.token);
  return [transport, token](const std::string& url) -> absl::StatusOr<std::string> {
    galen::http::Request request;
    request.target = url;
    request.deadline = SteadyNow() + kFetchTime;
    request.most_bytes = kMostPageBytes;
    GALEN_ASSIGN_OR_RETURN(galen::http::Reply reply, transport->Send(request, *token));
    if (reply.code == 200) return std::move(reply.body);
    const std::string what = absl::StrCat("the sender's interface answers ", reply.code);
    if (reply.code == 401 || reply.code == 403) {
      return absl::PermissionDeniedError(absl::StrCat(what, ": see whether the token is good"));
    }
    return absl::UnavailableError(what);
  };
}

std::string FillUrl(const std::string& template_url,
                    const std::map<std::string, std::string>& settings,
                    const std::map<std::string, std::string>& values) {
  std::vector<std::pair<std::string, std::string>> replacements;
  for (const auto& [name, value] : settings) {
    replacements.emplace_back(absl::StrCat("{", name, "}"), value);
  }
  for (const auto& [name, value] : values) {
    replacements.emplace_back(absl::StrCat("{", name, "}"), PercentEncode(value));
  }
  return absl::StrReplaceAll(template_url, replacements);
}

absl::StatusOr<int> PollOnce(const Endpoint& endpoint, const Fetch& fetch,
                             WebhookJournal& webhook_journal, const Clock& clock) {
  const Poll& poll = *endpoint.sender->poll;
  const auto save = [&](absl::Time time) {
    return webhook_journal.SetCursor(
        endpoint.name, absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone()));
  };
  const std::optional<absl::Time> cursor = ParseEventTime(webhook_journal.CursorOf(endpoint.name));
  if (!cursor.has_value()) {
    GALEN_RETURN_IF_ERROR(save(clock.Now()));
    return 0;
  }
  absl::Time latest = *cursor;
  int found = 0;
  for (int page = 0; page < kMostPages; ++page) {
    const std::map<std::string, std::string> values = {
        {"since", absl::FormatTime(poll.since, *cursor - kOverlap, absl::UTCTimeZone())},
        {"page", absl::StrCat(page + poll.first_page)},
        {"offset", absl::StrCat(page * poll.page_size)},
        {"page_size", absl::StrCat(poll.page_size)}};
    GALEN_ASSIGN_OR_RETURN(const std::string body,
                           fetch(FillUrl(poll.url, endpoint.poll->settings, values)));
    GALEN_ASSIGN_OR_RETURN(const int items, TakePage(endpoint, body, webhook_journal, latest));
    found += items;
    // A time in the future would hide earlier changes.
    GALEN_RETURN_IF_ERROR(save(std::min(latest, clock.Now())));
    if (items < poll.page_size) break;
  }
  return found;
}

Poller::Poller(const Site& site, std::function<Fetch(const EndpointPoll&)> make_fetch,
               WebhookJournal& webhook_journal, const Clock& clock, WebhookCounters& counters,
               const std::function<void(const std::string&)>& tell) {
  for (const auto& [name, endpoint] : site.endpoints) {
    if (!endpoint.poll.has_value()) continue;
    tasks_.push_back(std::make_unique<PeriodicTask>(
        [&webhook_journal, &clock, &counters, tell, &endpoint = endpoint,
         fetch = make_fetch(*endpoint.poll), failed = false]() mutable {
          const absl::StatusOr<int> found = PollOnce(endpoint, fetch, webhook_journal, clock);
          counters.Polled(endpoint.name, found.ok() ? "ok" : "failed");
          if (!found.ok() && !failed) {
            tell(absl::StrCat("endpoint ", endpoint.name,
                              " cannot be polled: ", found.status().message()));
          } else if (found.ok() && failed) {
            tell(absl::StrCat("endpoint ", endpoint.name, " can be polled again"));
          }
          failed = !found.ok();
          return endpoint.poll->every;
        }));
  }
}

Poller::~Poller() {
  for (const std::unique_ptr<PeriodicTask>& task : tasks_) task->Halt();
}

}  // namespace galen::gateway::webhooks
