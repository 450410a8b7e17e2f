#include "common/curation/tickets.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "common/base/text.h"

namespace galen::curation {
namespace {

using google::protobuf::Value;

constexpr std::size_t kMaxText = 64 << 10;
constexpr std::size_t kMaxTicketTitle = 300;
constexpr std::size_t kMaxLogLine = 2048;
constexpr std::size_t kMaxItems = 200;
constexpr std::size_t kMaxTicketId = 200;
constexpr std::size_t kMaxProblems = 200;
constexpr std::size_t kMaxColumns = 200;

enum class Part {
  kId,
  kTitle,
  kDescription,
  kLogs,
  kEnvironment,
  kDate,
  kLabel,
  kResolution,
  kDiscussion,
  kVerification,
  kReference,
};

std::optional<Part> PartOf(absl::string_view member) {
  static const auto& parts = *new std::map<std::string, Part, std::less<>>{
      {"id", Part::kId},
      {"key", Part::kId},
      {"number", Part::kId},
      {"ticket", Part::kId},
      {"title", Part::kTitle},
      {"summary", Part::kTitle},
      {"subject", Part::kTitle},
      {"short_description", Part::kTitle},
      {"description", Part::kDescription},
      {"body", Part::kDescription},
      {"text", Part::kDescription},
      {"logs", Part::kLogs},
      {"log", Part::kLogs},
      {"environment", Part::kEnvironment},
      {"date", Part::kDate},
      {"created", Part::kDate},
      {"created_at", Part::kDate},
      {"opened", Part::kDate},
      {"opened_at", Part::kDate},
      {"reported", Part::kDate},
      {"label", Part::kLabel},
      {"root_cause_label", Part::kLabel},
      {"category", Part::kLabel},
      {"cause_label", Part::kLabel},
      {"resolution", Part::kResolution},
      {"fix", Part::kResolution},
      {"close_notes", Part::kResolution},
      {"root_cause", Part::kResolution},
      {"discussion", Part::kDiscussion},
      {"comments", Part::kDiscussion},
      {"work_notes", Part::kDiscussion},
      {"notes", Part::kDiscussion},
      {"verification", Part::kVerification},
      {"steps", Part::kVerification},
      {"reference", Part::kReference},
      {"url", Part::kReference},
      {"link", Part::kReference},
      {"source", Part::kReference},
  };
  std::string name = absl::AsciiStrToLower(absl::StripAsciiWhitespace(member));
  absl::StrReplaceAll({{" ", "_"}}, &name);
  const auto it = parts.find(name);
  if (it == parts.end()) return std::nullopt;
  return it->second;
}

// Collects the content of one file.
class TicketReader {
 public:
  explicit TicketReader(const std::string& name) : name_(name) {}

  void Problem(int line, absl::string_view text) {
    if (result_.problems.size() == kMaxProblems) {
      result_.problems.push_back(absl::StrCat(name_, ": more problems than are listed"));
    }
    if (result_.problems.size() > kMaxProblems) return;
    result_.problems.push_back(absl::StrCat(name_, ":", line, ": ", text));
  }

  // False: no further ticket is accepted.
  bool Add(Ticket ticket) {
    if (result_.tickets.size() >= kMaxTickets) {
      Problem(ticket.line, absl::StrCat("only the first ", kMaxTickets, " tickets are read"));
      return false;
    }
    if (ticket.title.empty() && ticket.description.empty()) {
      Problem(ticket.line, "a ticket without title and description is left out");
      return true;
    }
    if (ticket.id.empty()) ticket.id = absl::StrCat("ticket-", ticket.line);
    if (!ids_.insert(ticket.id).second) {
      Problem(ticket.line, absl::StrCat("a second ticket ", ticket.id, " is left out"));
      return true;
    }
    result_.tickets.push_back(std::move(ticket));
    return true;
  }

  void Set(Ticket& ticket, Part part, const std::vector<std::string>& texts) {
    for (const std::string& raw : texts) {
      if (absl::StripAsciiWhitespace(raw).empty()) continue;
      switch (part) {
        case Part::kId:
          SetOnce(ticket.id, raw, kMaxTicketId);
          break;
        case Part::kTitle:
          SetOnce(ticket.title, raw, kMaxTicketTitle);
          break;
        case Part::kDescription:
          SetOnce(ticket.description, raw, kMaxText);
          break;
        case Part::kLabel:
          SetOnce(ticket.label, raw, kMaxTicketTitle);
          break;
        case Part::kReference:
          SetOnce(ticket.reference, raw, kMaxTicketTitle);
          break;
        case Part::kDate:
          SetDate(ticket, raw);
          break;
        case Part::kResolution:
          absl::StrAppend(&ticket.resolution, ticket.resolution.empty() ? "" : "\n",
                          Clean(raw, kMaxText));
          break;
        case Part::kLogs:
          AddItem(ticket.logs, raw, kMaxLogLine);
          break;
        case Part::kDiscussion:
          AddItem(ticket.discussion, raw, kMaxText);
          break;
        case Part::kVerification:
          AddItem(ticket.verification, raw, kMaxLogLine);
          break;
        case Part::kEnvironment:
          AddEnvironment(ticket, "words", raw);
          break;
      }
    }
  }

  void AddEnvironment(Ticket& ticket, const std::string& key, const std::string& value) {
    if (ticket.environment.size() < kMaxItems && !value.empty()) {
      ticket.environment[Clean(key, 64)] = Clean(value, kMaxLogLine);
    }
  }

  Tickets Result() { return std::move(result_); }

 private:
  static std::string Clean(absl::string_view raw, std::size_t most) {
    return std::string(absl::StripAsciiWhitespace(CleanText(raw, most)));
  }
  static void SetOnce(std::string& text, absl::string_view raw, std::size_t most) {
    if (text.empty()) text = Clean(raw, most);
  }
  static void AddItem(std::vector<std::string>& items, absl::string_view raw, std::size_t most) {
    if (items.size() < kMaxItems) items.push_back(Clean(raw, most));
  }
  // A date at the start: "2025-03-14", "2025-03-14T10:00:00Z". Other orders of the numbers mean
  // different dates in different countries.
  void SetDate(Ticket& ticket, absl::string_view raw) {
    absl::CivilDay day;
    const absl::string_view text = absl::StripAsciiWhitespace(raw).substr(0, 10);
    if (text.size() == 10 && absl::ParseCivilTime(text, &day) && day.year() >= 1970) {
      if (ticket.date.empty()) ticket.date = absl::FormatCivilTime(day);
    } else {
      Problem(ticket.line,
              absl::StrCat("the date \"", CleanText(raw, 40), "\" is left out; write YYYY-MM-DD"));
    }
  }

  const std::string& name_;
  absl::flat_hash_set<std::string> ids_;
  Tickets result_;
};

// Reads one line without its end, bounded: the rest of a longer line is skipped, and `cut` set.
bool ReadLine(std::istream& in, std::string& line, bool& cut) {
  line.clear();
  cut = false;
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') return true;
    if (line.size() < kMaxTicketBytes) {
      line += static_cast<char>(c);
    } else {
      cut = true;
    }
  }
  return !line.empty();
}

// Texts of a value: a text, a number, a list of them, or of objects such as {tool, observation} or
// {author, body}, whose texts are joined.
void TextsOf(const Value& value, std::vector<std::string>& texts, int depth = 0) {
  if (value.has_string_value()) {
    texts.push_back(value.string_value());
  } else if (value.has_number_value()) {
    texts.push_back(absl::StrCat(value.number_value()));
  } else if (value.has_list_value() && depth < 2) {
    for (const Value& item : value.list_value().values()) TextsOf(item, texts, depth + 1);
  } else if (value.has_struct_value() && depth < 3) {
    const auto& fields = value.struct_value().fields();
    // In a fixed order, unlike that of a map.
    const std::map<std::string, Value> sorted(fields.begin(), fields.end());
    std::string joined;
    const auto add = [&](const Value& part) {
      if (part.has_string_value()) {
        absl::StrAppend(&joined, joined.empty() ? "" : ": ", part.string_value());
      }
    };
    if (const auto tool = sorted.find("tool"); tool != sorted.end()) add(tool->second);
    for (const auto& [key, part] : sorted) {
      if (key != "tool" && key != "author" && key != "id") add(part);
    }
    texts.push_back(std::move(joined));
  }
}

Ticket FromObject(const google::protobuf::Struct& object, int line, TicketReader& reader) {
  Ticket ticket;
  ticket.line = line;
  const std::map<std::string, Value> sorted(object.fields().begin(), object.fields().end());
  for (const auto& [member, value] : sorted) {
    const std::optional<Part> part = PartOf(member);
    if (!part.has_value()) continue;
    if (*part == Part::kEnvironment && value.has_struct_value()) {
      for (const auto& [key, each] : value.struct_value().fields()) {
        std::vector<std::string> texts;
        TextsOf(each, texts);
        if (!texts.empty()) reader.AddEnvironment(ticket, key, texts[0]);
      }
      continue;
    }
    std::vector<std::string> texts;
    TextsOf(value, texts);
    reader.Set(ticket, *part, texts);
  }
  return ticket;
}

// One record of CSV. False at the end of the file.
class CsvReader {
 public:
  explicit CsvReader(std::istream& in) : in_(in) {}

  bool Next(std::vector<std::string>& fields, int& line, bool& cut) {
    fields.assign(1, "");
    cut = false;
    line = line_;
    bool quoted = false;
    bool any = false;
    std::size_t size = 0;
    for (int c = in_.get(); c != std::istream::traits_type::eof(); c = in_.get()) {
      any = true;
      if (c == '\n') ++line_;
      if (quoted) {
        if (c == '"' && in_.peek() == '"') {
          in_.get();
        } else if (c == '"') {
          quoted = false;
          continue;
        }
        Put(fields, static_cast<char>(c), size, cut);
      } else if (c == '"' && fields.back().empty()) {
        quoted = true;
      } else if (c == ',') {
        if (fields.size() < kMaxColumns) fields.emplace_back();
      } else if (c == '\n') {
        return true;
      } else if (c != '\r') {
        Put(fields, static_cast<char>(c), size, cut);
      }
    }
    return any;
  }

 private:
  static void Put(std::vector<std::string>& fields, char c, std::size_t& size, bool& cut) {
    if (size >= kMaxTicketBytes) {
      cut = true;
      return;
    }
    ++size;
    fields.back() += c;
  }

  std::istream& in_;
  int line_ = 1;
};

}  // namespace

Tickets ReadJsonLines(std::istream& in, const std::string& name) {
  TicketReader reader(name);
  std::string line;
  bool cut = false;
  for (int number = 1; ReadLine(in, line, cut); ++number) {
    if (cut) {
      reader.Problem(number, absl::StrCat("longer than ", kMaxTicketBytes, " bytes; left out"));
      continue;
    }
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    google::protobuf::Struct object;
    const auto status = google::protobuf::util::JsonStringToMessage(line, &object);
    if (!status.ok()) {
      std::string why(status.message().data(), status.message().size());
      reader.Problem(
          number, absl::StrCat("no JSON object: ", CleanText(why.substr(0, why.find('\n')), 200)));
      continue;
    }
    if (!reader.Add(FromObject(object, number, reader))) break;
  }
  return reader.Result();
}

Tickets ReadCsv(std::istream& in, const std::string& name) {
  TicketReader reader(name);
  CsvReader csv(in);
  std::vector<std::string> fields;
  int line = 0;
  bool cut = false;
  std::vector<std::optional<Part>> columns;
  if (csv.Next(fields, line, cut)) {
    if (absl::StartsWith(fields[0], "\xEF\xBB\xBF")) fields[0].erase(0, 3);
    for (const std::string& head : fields) columns.push_back(PartOf(head));
  }
  const auto has = [&](Part part) {
    for (const auto& column : columns) {
      if (column == part) return true;
    }
    return false;
  };
  if (!has(Part::kTitle) && !has(Part::kDescription)) {
    reader.Problem(1, "the head line names no column title or description; nothing is read");
    return reader.Result();
  }
  while (csv.Next(fields, line, cut)) {
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (cut) {
      reader.Problem(line, absl::StrCat("longer than ", kMaxTicketBytes,
                                        " bytes; is a quote left open? left out"));
      continue;
    }
    if (fields.size() > columns.size()) {
      reader.Problem(line, absl::StrCat(fields.size(), " fields, and the head line has ",
                                        columns.size(), "; left out"));
      continue;
    }
    Ticket ticket;
    ticket.line = line;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (columns[i].has_value()) reader.Set(ticket, *columns[i], {fields[i]});
    }
    if (!reader.Add(std::move(ticket))) break;
  }
  return reader.Result();
}

absl::StatusOr<Tickets> ReadTickets(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open() || in.peek() == std::ifstream::traits_type::eof()) {
    return absl::NotFoundError(
        absl::StrCat(path, ": no tickets can be read from it; name a file of JSON lines or CSV"));
  }
  return absl::EndsWithIgnoreCase(path, ".csv") ? ReadCsv(in, path) : ReadJsonLines(in, path);
}

}  // namespace galen::curation
