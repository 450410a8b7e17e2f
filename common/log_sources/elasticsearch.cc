#include "common/log_sources/elasticsearch.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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

constexpr char kTime[] = "@timestamp";
constexpr int kDocuments = 2000;
constexpr int kLeastDocuments = 100;
// The most that an index gives at once (index.max_result_window).
constexpr int kMostDocuments = 10'000;
constexpr std::size_t kMostIndex = 200;
// A time in milliseconds, or in nanoseconds if the field has that type: this one is of the year
// 5138 in the one and of 1970 in the other.
constexpr std::int64_t kLeastNanoseconds = 100'000'000'000'000;

// A field of a document, whether its dots are levels or part of the name.
const Json* FieldOf(const Json& document, absl::string_view name) {
  if (!document.is_object()) return nullptr;
  if (const auto found = document.find(std::string(name)); found != document.end()) return &*found;
  for (std::size_t dot = name.find('.'); dot != absl::string_view::npos;
       dot = name.find('.', dot + 1)) {
    const auto inner = document.find(std::string(name.substr(0, dot)));
    if (inner == document.end()) continue;
    if (const Json* const found = FieldOf(*inner, name.substr(dot + 1)); found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

std::string TextOf(const Json& document, const std::string& name) {
  const Json* value = FieldOf(document, name);
  if (value != nullptr && value->is_array() && !value->empty()) value = &value->front();
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  return value->is_number_integer() ? value->dump() : "";
}

struct Document {
  std::int64_t at = 0;     // milliseconds
  std::int64_t exact = 0;  // nanoseconds
  std::string order;       // the values that it was sorted by
  const Json* source = nullptr;
};

absl::StatusOr<std::vector<Document>> DocumentsOf(const std::string& server, const Json& answer) {
  const Json* const hits = At(answer, {"hits", "hits"});
  if (hits == nullptr || !hits->is_array()) {
    return absl::DataLossError(absl::StrCat(server, ": the answer is not one of its search API"));
  }
  std::vector<Document> documents;
  for (const Json& hit : *hits) {
    Document document;
    document.source = At(hit, {"_source"});
    const Json* const sort = At(hit, {"sort"});
    if (sort == nullptr || !sort->is_array() || sort->empty() || !(*sort)[0].is_number_integer()) {
      return absl::DataLossError(
          absl::StrCat(server, ": a document of the answer has no time in ", kTime));
    }
    const std::int64_t at = (*sort)[0].get<std::int64_t>();
    const bool nanoseconds = at >= kLeastNanoseconds;
    document.at = nanoseconds ? at / 1'000'000 : at;
    document.exact = nanoseconds ? at : at * 1'000'000;
    document.order = sort->dump(-1, ' ', false, Json::error_handler_t::replace);
    documents.push_back(std::move(document));
  }
  // Those that are sorted alike come in the order in which they were stored; all others, the newest
  // first.
  for (auto begin = documents.begin(); begin != documents.end();) {
    const auto end = std::find_if(begin, documents.end(), [&begin](const Document& each) {
      return each.order != begin->order;
    });
    std::reverse(begin, end);
    begin = end;
  }
  return documents;
}

}  // namespace

bool Elasticsearch::IsIndex(absl::string_view index) {
  if (index.empty() || index.size() > kMostIndex) return false;
  for (const absl::string_view first : {"_", "-", ".."}) {
    if (absl::StartsWith(index, first)) return false;
  }
  return std::all_of(index.begin(), index.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '*' || c == ',' ||
           c == ':';
  });
}

std::string Elasticsearch::BodyOf(std::int64_t start, std::int64_t end, int documents) const {
  Json fields = Json::array({kTime});
  for (const auto* names : {&names_.node, &names_.name, &names_.part, &names_.message}) {
    for (const std::string& name : *names) fields.push_back(name);
  }
  const Json by_time = {{kTime, {{"order", "desc"}, {"unmapped_type", "date"}}}};
  // Filebeat's position in the file: the order of lines of one time.
  const Json by_offset = {{"log.offset", {{"order", "desc"}, {"unmapped_type", "long"}}}};
  Json filter = Json::array();
  filter.push_back({{"query_string", {{"query", query_.empty() ? "*" : query_}}}});
  // (All of a millisecond, where the field counts nanoseconds.)
  filter.push_back(
      {{"range", {{kTime, {{"gte", start}, {"lt", end + 1}, {"format", "epoch_millis"}}}}}});
  Json body = Json::object();
  body["size"] = documents;
  body["track_total_hits"] = false;
  body["_source"] = std::move(fields);
  body["query"]["bool"]["filter"] = std::move(filter);
  body["sort"] = Json::array({by_time, by_offset});
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<Fetched> Elasticsearch::Fetch(const Window& window, const Limits& limits,
                                             const Cancellation* cancellation) {
  const absl::Time deadline = SteadyNow() + limits.time;
  Collector collector(names_, limits);
  const std::int64_t start = absl::ToUnixMillis(window.start);
  std::int64_t end = absl::ToUnixMillis(window.end);
  int size = kDocuments;
  bool largest = false;  // whether the largest page was asked for at the time `end`
  std::size_t without_message = 0;
  bool more = true;
  while (more && end >= start) {
    http::Request request;
    request.method = "POST";
    request.target = absl::StrCat("/", index_, "/_search?ignore_unavailable=true");
    request.content_type = "application/json";
    request.body = BodyOf(start, end, size);
    request.deadline = deadline;
    request.cancellation = cancellation;
    const absl::StatusOr<Json> answer = server_->Ask(std::move(request));
    if (absl::IsResourceExhausted(answer.status()) && size > kLeastDocuments) {
      size = std::max(kLeastDocuments, size / 5);
      continue;
    }
    if (absl::IsDeadlineExceeded(answer.status()) && collector.lines() > 0) {
      collector.OutOfTime();
      break;
    }
    GALEN_RETURN_IF_ERROR(answer.status());
    GALEN_ASSIGN_OR_RETURN(const std::vector<Document> documents, DocumentsOf(name(), *answer));
    if (BoolAt(*answer, {"timed_out"}).value_or(false)) {
      collector.Miss(absl::StrCat(name(), ": it did not search all in its own time"));
    }
    if (const std::int64_t failed = IntAt(*answer, {"_shards", "failed"}).value_or(0); failed > 0) {
      collector.Miss(absl::StrCat(name(), ": ", failed,
                                  " of its shards did not answer; lines may be missing"));
    }
    std::int64_t oldest = end;
    for (const Document& document : documents) oldest = std::min(oldest, document.at);
    const bool full = documents.size() >= static_cast<std::size_t>(size);
    if (full && oldest == end && size < kMostDocuments && !largest) {
      // All of the page has one time: a larger page shows whether that is all of it.
      size = kMostDocuments;
      largest = true;
      continue;
    }
    for (const Document& document : documents) {
      // The next page begins with this time, of which this page may have only a part.
      if (full && oldest < end && document.at == oldest) continue;
      if (document.at < start || document.at > end) continue;  // it was not asked for
      const Json empty;
      const Json& source = document.source == nullptr ? empty : *document.source;
      const LabelOf label = [&source](const std::string& name) { return TextOf(source, name); };
      const std::string message = FirstOf(names_.message, label);
      if (message.empty()) {
        ++without_message;
        continue;
      }
      const std::optional<std::size_t> log = collector.LogOf(label);
      if (!log.has_value()) continue;
      if (!collector.Add(*log, document.exact, message)) {
        more = false;
        break;
      }
    }
    if (!full) break;
    if (oldest < end) {
      end = oldest;
    } else {
      collector.Miss(absl::StrCat("some lines of ", TimeText(absl::FromUnixMillis(end), 3),
                                  " are left out: more than ", size, " have this time"));
      --end;
    }
    largest = false;
  }
  if (without_message > 0) {
    collector.Miss(
        absl::StrCat(without_message,
                     " documents have no message in a known field; add the field's name to "
                     "telemetry/logs.yaml of the site's knowledge"));
  }
  return collector.Take(name(), window);
}

}  // namespace galen::log_sources
