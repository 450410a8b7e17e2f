#ifndef TESTS_UNIT_COMMON_LOG_SOURCES_FAKE_STORES_H_
#define TESTS_UNIT_COMMON_LOG_SOURCES_FAKE_STORES_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/json_access.h"
#include "common/log_sources/labels.h"
#include "common/log_sources/log_store.h"
#include "tests/testing/llm/scripted_endpoint.h"

namespace galen::log_sources {

inline const LabelNames& Names() {
  static const auto* const names = new LabelNames(*LoadLabelNames({GALEN_SOURCE_DIR "/knowledge"}));
  return *names;
}

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStart = 1'700'000'000;  // seconds

inline Window Hour() {
  return {absl::FromUnixSeconds(kStart), absl::FromUnixSeconds(kStart + 3600)};
}

struct StoredLine {
  std::map<std::string, std::string> labels;
  std::int64_t at = 0;  // nanoseconds
  std::string line;
};

// The parameters of an address or a form.
inline std::map<std::string, std::string> ParametersOf(const testing::Recorded& request) {
  const std::string text =
      request.method == "POST" ? request.body : request.target.substr(request.target.find('?') + 1);
  std::map<std::string, std::string> parameters;
  for (const absl::string_view pair : absl::StrSplit(text, '&')) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::string value;
    for (std::size_t i = 0; i < parts.second.size(); ++i) {
      if (parts.second[i] == '%') {
        value += absl::HexStringToBytes(parts.second.substr(i + 1, 2));
        i += 2;
      } else {
        value += parts.second[i];
      }
    }
    parameters[parts.first] = value;
  }
  return parameters;
}

// Answers as Loki's query_range does: the newest lines of [start, end), at most `limit` of all
// streams together, each stream with its newest line first.
inline testing::Scripted AnswerOfLoki(const std::vector<StoredLine>& stored,
                                      const testing::Recorded& request, int most = 5000) {
  auto parameters = ParametersOf(request);
  const std::int64_t start = std::atoll(parameters["start"].c_str());
  const std::int64_t end = std::atoll(parameters["end"].c_str());
  const auto limit = static_cast<std::size_t>(std::atoi(parameters["limit"].c_str()));
  if (limit > static_cast<std::size_t>(most)) {
    return {.code = 400,
            .type = "text/plain; charset=utf-8",
            .body = absl::StrCat("max entries limit per query exceeded, limit > ",
                                 "max_entries_limit_per_query (", limit, " > ", most, ")")};
  }
  std::vector<const StoredLine*> found;
  for (const StoredLine& line : stored) {
    if (line.at >= start && line.at < end) found.push_back(&line);
  }
  std::reverse(found.begin(), found.end());
  std::stable_sort(found.begin(), found.end(),
                   [](const auto* a, const auto* b) { return a->at > b->at; });
  found.resize(std::min(found.size(), limit));
  std::map<std::map<std::string, std::string>, nlohmann::json> streams;
  for (const StoredLine* line : found) {
    nlohmann::json& values = streams[line->labels];
    values.push_back({absl::StrCat(line->at), line->line});
  }
  nlohmann::json result = nlohmann::json::array();
  for (const auto& [labels, values] : streams) {
    result.push_back({{"stream", labels}, {"values", values}});
  }
  const nlohmann::json body = {
      {"status", "success"},
      {"data", {{"resultType", "streams"}, {"result", result}, {"stats", {{"summary", {}}}}}}};
  return {.body = body.dump()};
}

// Answers as Elasticsearch's _search does: the newest documents of the range, at most `size`.
// `nanoseconds`: the time field has that type.
inline testing::Scripted AnswerOfElasticsearch(const std::vector<StoredLine>& stored,
                                               const testing::Recorded& request,
                                               bool nanoseconds = false) {
  const nlohmann::json asked = ParseJson(request.body);
  const nlohmann::json& range = asked["query"]["bool"]["filter"][1]["range"]["@timestamp"];
  const auto from = range["gte"].get<std::int64_t>() * 1'000'000;
  const auto before = range["lt"].get<std::int64_t>() * 1'000'000;
  const auto size = asked["size"].get<std::size_t>();
  if (size > 10'000) {
    return {.code = 400,
            .body = R"({"error":{"root_cause":[{"type":"illegal_argument_exception","reason":
  "Result window is too large, from + size must be less than or equal to: [10000]"}],
  "type":"search_phase_execution_exception","reason":"all shards failed"},"status":400})"};
  }
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i].at >= from && stored[i].at < before) found.push_back(i);
  }
  std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
    const std::int64_t unit = nanoseconds ? 1 : 1'000'000;
    return stored[a].at / unit > stored[b].at / unit;
  });
  found.resize(std::min(found.size(), size));
  nlohmann::json hits = nlohmann::json::array();
  for (const std::size_t i : found) {
    nlohmann::json source = {{"message", stored[i].line}};
    for (const auto& [name, value] : stored[i].labels) {
      nlohmann::json* at = &source;
      for (const absl::string_view part : absl::StrSplit(name, '.')) at = &(*at)[std::string(part)];
      *at = value;
    }
    hits.push_back({{"_index", "logs-1"},
                    {"_id", absl::StrCat("d", i)},
                    {"_score", nullptr},
                    {"_source", source},
                    {"sort", {nanoseconds ? stored[i].at : stored[i].at / 1'000'000, 1}}});
  }
  const nlohmann::json body = {
      {"took", 3},
      {"timed_out", false},
      {"_shards", {{"total", 2}, {"successful", 2}, {"skipped", 0}, {"failed", 0}}},
      {"hits", {{"max_score", nullptr}, {"hits", hits}}}};
  return {.body = body.dump()};
}

}  // namespace galen::log_sources

#endif  // TESTS_UNIT_COMMON_LOG_SOURCES_FAKE_STORES_H_
