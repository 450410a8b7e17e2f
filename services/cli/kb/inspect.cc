#include "services/cli/kb/inspect.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/curation/difference.h"
#include "common/curation/find.h"
#include "common/curation/json.h"
#include "common/curation/statistics.h"
#include "common/knowledge/cache.h"
#include "common/knowledge/load.h"
#include "services/cli/kb/refuse.h"
#include "services/cli/kb/table.h"

namespace galen::cli {
namespace {

using curation::JsonList;
using curation::JsonObject;

// Mistakes do not hinder looking.
absl::StatusOr<knowledge::v1::KnowledgeBase> Read(const std::vector<std::string>& directories) {
  const absl::StatusOr<std::vector<std::string>> found = knowledge::FindDirectories(directories);
  if (!found.ok()) return found.status();
  std::vector<knowledge::Problem> ignored;
  return knowledge::Parse(*found, ignored);
}

std::string Place(const knowledge::v1::SourceRef& source) {
  return absl::StrCat(source.file(), ":", source.line());
}

constexpr std::size_t kLeastDigits = 8;

bool IsDigest(absl::string_view text) {
  return text.size() >= kLeastDigits && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); });
}

// The one loaded knowledge of the cache whose digest begins so.
absl::StatusOr<knowledge::v1::KnowledgeBase> FromCache(const std::string& digits) {
  const std::string directory = knowledge::DefaultCacheDirectory();
  std::vector<std::string> digests;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string file = it->path().filename();
    absl::string_view name = file;
    if (!absl::ConsumePrefix(&name, "knowledge-") || !absl::ConsumeSuffix(&name, ".pb")) continue;
    if (absl::StartsWith(name, digits)) digests.emplace_back(name);
  }
  if (digests.size() == 1) {
    auto base = knowledge::ReadFromCache(directory, digests[0]);
    if (base.has_value()) return *std::move(base);
  }
  if (digests.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(digits, ": ", digests.size(), " digests begin so; give more digits"));
  }
  return absl::NotFoundError(absl::StrCat(digits, ": no knowledge of this digest was loaded here (",
                                          directory, "); give its directories"));
}

absl::StatusOr<knowledge::v1::KnowledgeBase> Version(const std::string& text) {
  std::error_code ignored;
  if (IsDigest(text) && !std::filesystem::exists(text, ignored)) {
    return FromCache(absl::AsciiStrToLower(text));
  }
  const std::vector<std::string> directories =
      absl::StrSplit(text, absl::ByAnyChar(",:"), absl::SkipEmpty());
  if (directories.empty()) return absl::InvalidArgumentError("name a directory or a digest");
  std::vector<knowledge::Problem> ignored_problems;
  return knowledge::Parse(directories, ignored_problems);
}

std::string CategoryJson(const curation::CategoryStatistics& category) {
  return JsonObject()
      .Add("name", category.name)
      .Add("labels", category.labels)
      .Add("incidents", category.incidents)
      .Add("fault_types", category.fault_types)
      .AddRaw("recurrence", absl::StrFormat("%.4f", category.recurrence()))
      .Text();
}

std::string StatisticsJson(const curation::Statistics& statistics) {
  std::vector<std::string> categories;
  for (const auto& category : statistics.categories) categories.push_back(CategoryJson(category));
  std::vector<std::string> months;
  for (const auto& month : statistics.months) {
    months.push_back(JsonObject()
                         .Add("month", month.month)
                         .Add("incidents", month.incidents)
                         .Add("new_labels", month.new_labels)
                         .Text());
  }
  return JsonObject()
      .AddRaw("categories", JsonList(categories))
      .AddRaw("total", CategoryJson(statistics.total))
      .AddRaw("months", JsonList(months))
      .Add("undated_incidents", statistics.undated_incidents)
      .Add("undated_labels", statistics.undated_labels)
      .Text();
}

std::vector<std::string> CategoryRow(const curation::CategoryStatistics& category) {
  return {category.name, absl::StrCat(category.labels), absl::StrCat(category.incidents),
          absl::StrCat(category.fault_types),
          category.fault_types == 0 ? "–" : absl::StrFormat("%.2f", category.recurrence())};
}

absl::string_view Sign(curation::Change::Sort sort) {
  switch (sort) {
    case curation::Change::Sort::kAdded:
      return "+";
    case curation::Change::Sort::kRemoved:
      return "-";
    case curation::Change::Sort::kChanged:
      break;
  }
  return "~";
}

Colour ColourOf(curation::Change::Sort sort) {
  if (sort == curation::Change::Sort::kAdded) return Colour::kGreen;
  return sort == curation::Change::Sort::kRemoved ? Colour::kRed : Colour::kYellow;
}

std::string SortName(curation::Change::Sort sort) {
  if (sort == curation::Change::Sort::kAdded) return "added";
  return sort == curation::Change::Sort::kRemoved ? "removed" : "changed";
}

}  // namespace

ExitCode SearchKnowledge(const SearchArguments& arguments, Console& console) {
  const auto base = Read(arguments.knowledge);
  if (!base.ok()) return Refuse(base.status(), console);
  const std::vector<curation::Found> found =
      curation::Find(*base, absl::StrJoin(arguments.words, " "), arguments.kind, arguments.limit);
  if (arguments.json) {
    for (const curation::Found& entry : found) {
      console.out << JsonObject()
                         .Add("kind", entry.kind)
                         .Add("name", entry.name)
                         .Add("text", entry.text)
                         .Add("words", static_cast<std::int64_t>(entry.words))
                         .Add("file", entry.source.file())
                         .Add("line", entry.source.line())
                         .Text()
                  << '\n';
    }
  } else if (found.empty()) {
    console.out << "nothing holds these words\n";
  } else {
    std::vector<std::vector<std::string>> rows;
    rows.reserve(found.size());
    for (const curation::Found& entry : found) {
      rows.push_back({entry.kind, entry.name, Place(entry.source), Shorten(entry.text, 80)});
    }
    console.out << Table({"kind", "name", "where", "text"}, rows, console.terminal);
  }
  console.out.flush();
  return found.empty() ? kNoCause : kOk;
}

ExitCode TellStatistics(const std::vector<std::string>& directories, bool json, Console& console) {
  const auto base = Read(directories);
  if (!base.ok()) return Refuse(base.status(), console);
  const curation::Statistics statistics = curation::StatisticsOf(*base);
  if (json) {
    console.out << StatisticsJson(statistics) << std::endl;
    return kOk;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& category : statistics.categories) rows.push_back(CategoryRow(category));
  rows.push_back(CategoryRow(statistics.total));
  console.out << "Past incidents by category (recurrence: incidents for each distinct cause)\n"
              << Table({"category", ">labels", ">incidents", ">causes", ">recurrence"}, rows,
                       console.terminal)
              << "\nNew labels by month\n";
  rows.clear();
  for (const auto& month : statistics.months) {
    rows.push_back({month.month, absl::StrCat(month.new_labels.size()),
                    absl::StrCat(month.incidents),
                    std::string(std::min<std::size_t>(month.new_labels.size(), 60), '#')});
  }
  if (rows.empty()) {
    console.out << "no entry has a day; write `date:` to incidents and `added:` to labels\n";
  } else {
    console.out << Table({"month", ">new labels", ">incidents", ""}, rows, console.terminal);
  }
  console.out << statistics.undated_incidents << " incidents and " << statistics.undated_labels
              << " labels have no day" << std::endl;
  return kOk;
}

ExitCode DiffKnowledge(const DiffArguments& arguments, Console& console) {
  const auto before = Version(arguments.before);
  if (!before.ok()) return Refuse(before.status(), console);
  const auto after = Version(arguments.after);
  if (!after.ok()) return Refuse(after.status(), console);
  const std::vector<curation::Change> changes = curation::Difference(*before, *after);
  std::map<std::string, int> counts;
  std::vector<std::string> json;
  for (const curation::Change& change : changes) {
    ++counts[SortName(change.sort)];
    if (arguments.json) {
      json.push_back(JsonObject()
                         .Add("change", SortName(change.sort))
                         .Add("kind", change.kind)
                         .Add("name", change.name)
                         .Add("details", change.details)
                         .Add("file", change.source.file())
                         .Add("line", change.source.line())
                         .Text());
      continue;
    }
    console.out << Paint(console.terminal, ColourOf(change.sort),
                         absl::StrCat(Sign(change.sort), " ", change.kind, " ", change.name))
                << "  " << Place(change.source) << '\n';
    for (const std::string& detail : change.details) {
      std::string line = absl::StrJoin(absl::StrSplit(detail, '\n'), " ");
      console.out << "    " << Shorten(line, 300) << '\n';
    }
  }
  if (arguments.json) {
    console.out << JsonObject()
                       .Add("before", before->digest())
                       .Add("after", after->digest())
                       .AddRaw("changes", JsonList(json))
                       .Text()
                << std::endl;
    return kOk;
  }
  console.out << before->digest().substr(0, 12) << " -> " << after->digest().substr(0, 12) << ": "
              << counts["added"] << " added, " << counts["removed"] << " removed, "
              << counts["changed"] << " changed" << std::endl;
  return kOk;
}

}  // namespace galen::cli
