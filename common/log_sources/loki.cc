#include "common/log_sources/loki.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/log_sources/collector.h"

namespace galen::log_sources {
namespace {

using Json = nlohmann::json;

// Loki's own limit of a query, unless a site sets another one (max_entries_limit_per_query).
constexpr int kLokiPage = 5000;
constexpr int kLeastLokiPage = 100;
// Addresses longer than this are refused by some proxies.
constexpr std::size_t kMostTarget = 1500;

struct Entry {
  std::int64_t at = 0;
  std::size_t stream = 0;
  std::string line;
};

struct Page {
  std::vector<Json> streams;   // their labels
  std::vector<Entry> entries;  // the newest first
};

absl::StatusOr<Page> PageOf(const std::string& server, const Json& answer) {
  const std::string type = TextAt(answer, {"data", "resultType"});
  const Json* const result = At(answer, {"data", "result"});
  if (TextAt(answer, {"status"}) != "success" || result == nullptr) {
    return absl::DataLossError(absl::StrCat(server, ": the answer is not one of Loki's API"));
  }
  if (type != "streams") {
    return absl::InvalidArgumentError(absl::StrCat(server, ": the query is answered by ",
                                                   CleanText(type, 20),
                                                   ", not by lines; write a query of log lines"));
  }
  Page page;
  if (!result->is_array()) return page;  // null: nothing
  for (const Json& stream : *result) {
    const Json* const labels = At(stream, {"stream"});
    const Json* const values = At(stream, {"values"});
    if (labels == nullptr || !labels->is_object() || values == nullptr || !values->is_array()) {
      return absl::DataLossError(absl::StrCat(server, ": a stream of the answer is invalid"));
    }
    for (const Json& value : *values) {
      Entry entry;
      if (!value.is_array() || value.size() < 2 || !value[0].is_string() || !value[1].is_string() ||
          !absl::SimpleAtoi(value[0].get_ref<const std::string&>(), &entry.at)) {
        return absl::DataLossError(absl::StrCat(server, ": a line of the answer is invalid"));
      }
      entry.stream = page.streams.size();
      entry.line = value[1].get<std::string>();
      page.entries.push_back(std::move(entry));
    }
    page.streams.push_back(*labels);
  }
  std::stable_sort(page.entries.begin(), page.entries.end(),
                   [](const Entry& a, const Entry& b) { return a.at > b.at; });
  return page;
}

http::Request RequestOf(const std::string& query, std::int64_t start, std::int64_t end, int lines) {
  http::Request request;
  const std::string form = absl::StrCat("query=", http::Escaped(query), "&start=", start,
                                        "&end=", end, "&limit=", lines, "&direction=backward");
  request.target = "/loki/api/v1/query_range";
  if (request.target.size() + form.size() <= kMostTarget) {
    absl::StrAppend(&request.target, "?", form);
    return request;
  }
  request.method = "POST";
  request.content_type = "application/x-www-form-urlencoded";
  request.body = form;
  return request;
}

}  // namespace

absl::StatusOr<Fetched> Loki::Fetch(const Window& window, const Limits& limits,
                                    const Cancellation* cancellation) {
  const absl::Time deadline = SteadyNow() + limits.time;
  Collector collector(names_, limits);
  const std::int64_t start = absl::ToUnixNanos(window.start);
  // The end of a query is not part of it.
  std::int64_t end = absl::ToUnixNanos(window.end) + 1;
  int lines = kLokiPage;
  bool more = true;
  while (more && end > start) {
    http::Request request = RequestOf(query_, start, end, lines);
    request.deadline = deadline;
    request.cancellation = cancellation;
    const absl::StatusOr<Json> answer = server_->Ask(std::move(request));
    if (absl::IsResourceExhausted(answer.status()) && lines > kLeastLokiPage) {
      lines = std::max(kLeastLokiPage, lines / 5);
      continue;
    }
    if (absl::IsDeadlineExceeded(answer.status()) && collector.lines() > 0) {
      collector.OutOfTime();
      break;
    }
    GALEN_RETURN_IF_ERROR(answer.status());
    GALEN_ASSIGN_OR_RETURN(const Page page, PageOf(name(), *answer));
    if (const Json* const warnings = At(*answer, {"warnings"});
        warnings != nullptr && warnings->is_array()) {
      for (const Json& warning : *warnings) {
        if (warning.is_string()) {
          collector.Miss(absl::StrCat(name(), ": ", CleanText(warning.get<std::string>(), 200)));
        }
      }
    }
    std::vector<std::optional<std::size_t>> logs;
    for (const Json& labels : page.streams) {
      logs.push_back(collector.LogOf(
          [&labels](const std::string& label) { return TextAt(labels, {label.c_str()}); }));
    }
    const std::int64_t newest = end - 1;
    const std::int64_t oldest = page.entries.empty() ? start : page.entries.back().at;
    const bool full = page.entries.size() >= static_cast<std::size_t>(lines);
    for (const Entry& entry : page.entries) {
      // The next page begins with this time, of which this page may have only a part.
      if (full && oldest < newest && entry.at == oldest) break;
      if (entry.at < start || entry.at > newest) continue;  // it was not asked for
      if (!logs[entry.stream].has_value()) continue;
      if (!collector.Add(*logs[entry.stream], entry.at, entry.line)) {
        more = false;
        break;
      }
    }
    if (!full) break;
    if (oldest < newest) {
      end = oldest + 1;
    } else {
      collector.Miss(absl::StrCat("some lines of ", TimeText(absl::FromUnixNanos(newest), 9),
                                  " are left out: more than ", lines, " have this time"));
      end = newest;
    }
  }
  return collector.Take(name(), window);
}

}  // namespace galen::log_sources
