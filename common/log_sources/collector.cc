#include "common/log_sources/collector.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"
#include "common/base/time_text.h"

namespace galen::log_sources {
namespace {

constexpr std::size_t kMostName = 200;
constexpr std::size_t kMostLine = std::size_t{1} << 20;
constexpr std::size_t kMostCuts = 16;

// "node-1:9100" is node-1.
std::string WithoutPort(std::string host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string::npos || colon == 0 || host.find(':') != colon) return host;
  const bool port = std::all_of(host.begin() + static_cast<std::ptrdiff_t>(colon) + 1, host.end(),
                                [](unsigned char c) { return absl::ascii_isdigit(c); });
  return port ? host.substr(0, colon) : host;
}

}  // namespace

std::string SizeText(std::size_t bytes) {
  if (bytes >= (std::size_t{1} << 20)) return absl::StrCat(bytes >> 20, " MiB");
  return absl::StrCat(bytes, " bytes");
}

std::string LogNameOf(absl::string_view name, absl::string_view part) {
  std::string whole = CleanText(absl::StrCat(name, part.empty() ? "" : ".", part), kMostName);
  for (char& c : whole) {
    if (absl::ascii_isspace(static_cast<unsigned char>(c))) c = '-';
  }
  // A file of a machine: its folders say little.
  whole = whole.substr(whole.rfind('/') + 1);
  if (whole.empty()) whole = "lines";
  return absl::EndsWith(whole, ".log") ? whole : absl::StrCat(whole, ".log");
}

std::optional<std::size_t> Collector::LogOf(const LabelOf& label) {
  std::string node = WithoutPort(FirstOf(names_.node, label));
  const std::string name = FirstOf(names_.name, label);
  const std::string part = FirstOf(names_.part, label);
  const auto [at, added] = known_.try_emplace({node, name, part}, logs_.size());
  if (!added) return at->second;
  if (logs_.size() >= limits_.logs) {
    known_.erase(at);
    Miss(absl::StrCat("there are more than ", limits_.logs,
                      " logs; the others are left out: narrow the query"));
    return std::nullopt;
  }
  logs_.push_back({LogNameOf(name.empty() ? node : name, part), std::move(node), {}});
  return at->second;
}

bool Collector::Add(std::size_t log, std::int64_t at, absl::string_view line) {
  if (cut_) return false;
  line = absl::StripSuffix(absl::StripSuffix(line, "\n"), "\r");
  if (line.size() > kMostLine) {
    line = line.substr(0, kMostLine);
    Miss(absl::StrCat("lines of more than ", SizeText(kMostLine), " are cut"));
  }
  if (lines_ >= limits_.lines) {
    CutAt(absl::StrCat(limits_.lines, " lines"));
    return false;
  }
  if (bytes_ + line.size() + 1 > limits_.bytes) {
    CutAt(SizeText(limits_.bytes));
    return false;
  }
  ++lines_;
  bytes_ += line.size() + 1;
  oldest_ = oldest_.has_value() ? std::min(*oldest_, at) : at;
  logs_[log].lines.emplace_back(at, std::string(line));
  return true;
}

void Collector::OutOfTime() { CutAt(absl::FormatDuration(limits_.time)); }

void Collector::CutAt(absl::string_view limit) {
  if (cut_) return;
  cut_ = true;
  cuts_.insert(
      cuts_.begin(),
      absl::StrCat(
          "lines older than ",
          oldest_.has_value() ? TimeText(absl::FromUnixNanos(*oldest_)) : "the window's end",
          " are left out: there is more than ", limit, "; narrow the query or the time"));
}

void Collector::Miss(const std::string& what) {
  if (cuts_.size() < kMostCuts && std::find(cuts_.begin(), cuts_.end(), what) == cuts_.end()) {
    cuts_.push_back(what);
  }
}

absl::StatusOr<Fetched> Collector::Take(absl::string_view store, const Window& window) {
  if (lines_ == 0) {
    return absl::NotFoundError(absl::StrCat(
        store, ": no line from ", TimeText(window.start), " to ", TimeText(window.end),
        " matches the query", cuts_.empty() ? "" : absl::StrCat(" (", cuts_.front(), ")"),
        "; name another time (--start, --end), or change the query"));
  }
  Fetched fetched;
  for (Log& log : logs_) {
    if (log.lines.empty()) continue;
    // Stores give lines of the same time in the reverse of their order, too.
    std::reverse(log.lines.begin(), log.lines.end());
    std::stable_sort(log.lines.begin(), log.lines.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    FetchedLog& made = fetched.logs.emplace_back();
    made.name = std::move(log.name);
    made.node = std::move(log.node);
    for (std::pair<std::int64_t, std::string>& line : log.lines) {
      absl::StrAppend(&made.text, line.second, "\n");
      line.second = std::string();
    }
  }
  std::stable_sort(fetched.logs.begin(), fetched.logs.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.node) < std::tie(b.name, b.node);
  });
  fetched.cuts = std::move(cuts_);
  return fetched;
}

}  // namespace galen::log_sources
