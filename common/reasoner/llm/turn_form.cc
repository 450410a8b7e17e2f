#include "common/reasoner/llm/turn_form.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/reasoner/llm/forms.h"
#include "common/reasoner/llm/lines.h"
#include "common/reasoner/llm/schema.h"

namespace galen::reasoner::llm {
namespace {

using galen::v1::ModelVerdict;
using galen::v1::ToolCall;

constexpr std::size_t kMostNamed = 256;  // of an artefact, a check, a label
constexpr std::size_t kMostText = 200;   // a pattern, a query
constexpr std::size_t kMostOpinion = 400;
constexpr std::size_t kMostQuote = 400;
constexpr std::size_t kMostExplanation = 900;
constexpr std::size_t kMostSuggestions = 3;
constexpr std::size_t kMostTitle = 120;
constexpr std::size_t kMostRationale = 240;
constexpr std::size_t kMostSteps = 4;
constexpr std::size_t kMostStep = 200;
constexpr std::size_t kMostChecks = 4;  // of one call
constexpr std::size_t kMostPlaces = 8;  // machines of a verdict, and devices
constexpr char kNoFault[] = "no_fault";

// A tool and the arguments that it takes: object, node, text, line, byte.
struct ToolSpec {
  const char* name;
  const char* says;
  const char* words;  // the same for a model that writes calls as JSON
  const char* of;     // the name of `of` in tools of the protocol; null: not taken
  bool node;
  const char* text;  // the same of `text`
  bool place;        // takes a line, and a byte in it
};
constexpr char kRunChecks[] = "run_checks";
constexpr ToolSpec kTools[] = {
    {"list_artefacts", "List of artefacts to read: the report, logs, captured outputs of machines",
     "the artefacts to read", nullptr, false, nullptr, false},
    {"read_lines",
     "Lines of an artefact, from a line on; with a byte above 0, that line alone, from the byte on",
     "of = artefact, line = the first one; byte = 0, or the first byte of a long line", "artefact",
     false, nullptr, true},
    {"search",
     "Lines that a pattern (RE2, any case) matches, of one artefact, check or machine, or of all; "
     "and the artefacts whose name it matches",
     "text = a pattern (RE2, any case), of = artefact, check or machine, or \"\" for all",
     "artefact", false, "pattern", false},
    {"show_check", "Result of a check, with its raw excerpt",
     "of = check, node = a machine or \"\"", "check", true, nullptr, false},
    {kRunChecks, "Run passive checks that have not run; names separated by commas",
     "of = names of checks that have not run, separated by commas; read_taxonomy lists those of "
     "a cause",
     "checks", false, nullptr, false},
    {"compare_nodes", "One finding of a check, side by side for all nodes",
     "of = check, text = finding", "check", false, "finding", false},
    {"search_history", "Past incidents that resemble a text", "text; past incidents", nullptr,
     false, "query", false},
    {"search_playbooks", "Procedures for reading telemetry, by words; without words, their titles",
     "text; procedures for reading telemetry by words, or \"\" for their titles", nullptr, false,
     "query", false},
    {"search_taxonomy", "Root causes that a text speaks for", "text; root causes by words", nullptr,
     false, "query", false},
    {"read_taxonomy", "Meaning of a label, what shows it and what excludes it",
     "of = label; what shows it and what excludes it", "label", false, nullptr, false},
};

bool IsOffered(const ToolSpec& tool, const Allowed& allowed) {
  return allowed.run_checks || absl::string_view(tool.name) != kRunChecks;
}
constexpr char kConclude[] = "conclude";

Json Integer() { return {{"type", "integer"}}; }

Json QuotesSchema() {
  return ListOf(
      Object(
          {{"of", TextSchema(kMostNamed)}, {"line", Integer()}, {"quote", TextSchema(kMostQuote)}}),
      kMostCitations);
}

Json VerdictsSchema() {
  return ListOf(Object({{"label", TextSchema(kMostNamed)},
                        {"citations", QuotesSchema()},
                        {"reason", TextSchema(kMostOpinion)},
                        {"verdict", OneOf({"confirm", "reject", "open", kNoFault})},
                        {"nodes", ListOf(TextSchema(kMostNamed), kMostPlaces)},
                        {"devices", ListOf(TextSchema(kMostNamed), kMostPlaces)}}),
                kMostVerdicts);
}

Json SuggestionsSchema() {
  return ListOf(Object({{"title", TextSchema(kMostTitle)},
                        {"rationale", TextSchema(kMostRationale)},
                        {"steps", ListOf(TextSchema(kMostStep), kMostSteps)}}),
                kMostSuggestions);
}

Json CallsSchema(const Allowed& allowed) {
  std::set<std::string> names;
  for (const ToolSpec& tool : kTools) {
    if (IsOffered(tool, allowed)) names.insert(tool.name);
  }
  return ListOf(Object({{"tool", OneOf(names)},
                        {"of", TextSchema(kMostNamed)},
                        {"node", TextSchema(kMostNamed)},
                        {"text", TextSchema(kMostText)},
                        {"line", Integer()},
                        {"byte", Integer()}}),
                kMostCalls);
}

absl::StatusOr<std::int64_t> NumberOf(const Json& object, const char* name) {
  const auto number = object.find(name);
  if (number == object.end() || number->is_null()) return 0;
  if (!number->is_number_integer()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" must be a whole number"));
  }
  return std::clamp<std::int64_t>(number->get<std::int64_t>(), 0, std::int64_t{1} << 40);
}

absl::StatusOr<ToolCall> CallOf(const Json& json) {
  std::set<std::string> names;
  for (const ToolSpec& tool : kTools) names.insert(tool.name);
  GALEN_ASSIGN_OR_RETURN(const std::string tool, ChoiceOf(json, "tool", names));
  GALEN_ASSIGN_OR_RETURN(const std::string of, TextOf(json, "of", kMostNamed, true));
  GALEN_ASSIGN_OR_RETURN(const std::string node, TextOf(json, "node", kMostNamed, true));
  GALEN_ASSIGN_OR_RETURN(const std::string text, TextOf(json, "text", kMostText, true));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t line, NumberOf(json, "line"));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t byte, NumberOf(json, "byte"));
  ToolCall call;
  if (tool == "list_artefacts") call.mutable_list_artefacts();
  if (tool == "read_lines") {
    call.mutable_read_lines()->set_artefact(of);
    call.mutable_read_lines()->set_line(line);
    call.mutable_read_lines()->set_byte(byte);
  }
  if (tool == "search") {
    call.mutable_search()->set_artefact(of);
    call.mutable_search()->set_pattern(text);
  }
  if (tool == "show_check") {
    call.mutable_show_check()->set_check(of);
    call.mutable_show_check()->set_node(node);
  }
  if (tool == kRunChecks) {
    std::size_t count = 0;
    for (absl::string_view name : absl::StrSplit(of, absl::ByAnyChar(", "), absl::SkipEmpty())) {
      if (++count > kMostChecks) break;
      call.mutable_run_checks()->add_checks(std::string(name));
    }
    call.mutable_run_checks();
  }
  if (tool == "compare_nodes") {
    call.mutable_compare_nodes()->set_check(of);
    call.mutable_compare_nodes()->set_finding(text);
  }
  if (tool == "search_history") call.mutable_search_history()->set_query(text);
  if (tool == "search_playbooks") call.mutable_search_playbooks()->set_query(text);
  if (tool == "search_taxonomy") call.mutable_search_taxonomy()->set_query(text);
  if (tool == "read_taxonomy") call.mutable_read_taxonomy()->set_label(of);
  return call;
}

// The inverse of CallOf().
Json JsonOf(const ToolCall& call) {
  const auto json = [](const char* tool, const std::string& of, const std::string& node,
                       const std::string& text, std::int64_t line, std::int64_t byte = 0) {
    return Json{{"tool", tool}, {"of", of},     {"node", node},
                {"text", text}, {"line", line}, {"byte", byte}};
  };
  switch (call.call_case()) {
    case ToolCall::kReadLines:
      return json("read_lines", call.read_lines().artefact(), "", "", call.read_lines().line(),
                  call.read_lines().byte());
    case ToolCall::kSearch:
      return json("search", call.search().artefact(), "", call.search().pattern(), 0);
    case ToolCall::kShowCheck:
      return json("show_check", call.show_check().check(), call.show_check().node(), "", 0);
    case ToolCall::kRunChecks:
      return json(kRunChecks, absl::StrJoin(call.run_checks().checks(), ", "), "", "", 0);
    case ToolCall::kCompareNodes:
      return json("compare_nodes", call.compare_nodes().check(), "", call.compare_nodes().finding(),
                  0);
    case ToolCall::kSearchHistory:
      return json("search_history", "", "", call.search_history().query(), 0);
    case ToolCall::kSearchPlaybooks:
      return json("search_playbooks", "", "", call.search_playbooks().query(), 0);
    case ToolCall::kSearchTaxonomy:
      return json("search_taxonomy", "", "", call.search_taxonomy().query(), 0);
    case ToolCall::kReadTaxonomy:
      return json("read_taxonomy", call.read_taxonomy().label(), "", "", 0);
    default:
      return json("list_artefacts", "", "", "", 0);
  }
}

// Reads names from a list, or from one text.
absl::StatusOr<std::vector<std::string>> PlacesOf(const Json& json, const char* list,
                                                  const char* single) {
  std::vector<std::string> names;
  if (json.contains(list)) {
    GALEN_ASSIGN_OR_RETURN(names, TextsOf(json, list, kMostNamed, kMostPlaces));
  }
  GALEN_ASSIGN_OR_RETURN(const std::string one, TextOf(json, single, kMostNamed, true));
  names.push_back(one);
  return NamesByComma(absl::StrJoin(names, ","));
}

absl::StatusOr<Opinion> OpinionOf(const Json& json) {
  Opinion opinion;
  GALEN_ASSIGN_OR_RETURN(opinion.label, TextOf(json, "label", kMostNamed));
  GALEN_ASSIGN_OR_RETURN(const std::string verdict,
                         ChoiceOf(json, "verdict", {"confirm", "reject", "open", kNoFault}));
  opinion.outcome = verdict == "confirm" ? ModelVerdict::CONFIRMED
                    : verdict == "open"  ? ModelVerdict::OPEN
                                         : ModelVerdict::REJECTED;
  if (verdict == kNoFault && !opinion.label.empty()) {
    return absl::InvalidArgumentError("\"no_fault\" has no label: it says that nothing is broken");
  }
  if (verdict == "reject" && opinion.label.empty()) {
    return absl::InvalidArgumentError("\"reject\" needs the \"label\" that it rejects");
  }
  GALEN_ASSIGN_OR_RETURN(opinion.nodes, PlacesOf(json, "nodes", "node"));
  GALEN_ASSIGN_OR_RETURN(opinion.devices, PlacesOf(json, "devices", "device"));
  GALEN_ASSIGN_OR_RETURN(opinion.text, TextOf(json, "reason", kMostOpinion));
  GALEN_ASSIGN_OR_RETURN(const std::vector<Json> quotes,
                         ObjectsOf(json, "citations", kMostCitations));
  for (const Json& each : quotes) {
    Opinion::Quote quote;
    GALEN_ASSIGN_OR_RETURN(quote.of, TextOf(each, "of", kMostNamed));
    GALEN_ASSIGN_OR_RETURN(quote.line, NumberOf(each, "line"));
    GALEN_ASSIGN_OR_RETURN(quote.text, TextOf(each, "quote", kMostQuote));
    opinion.quotes.push_back(std::move(quote));
  }
  return opinion;
}

absl::StatusOr<galen::v1::Suggestion> SuggestionOf(const Json& json) {
  galen::v1::Suggestion suggestion;
  GALEN_ASSIGN_OR_RETURN(*suggestion.mutable_title(), TextOf(json, "title", kMostTitle));
  GALEN_ASSIGN_OR_RETURN(*suggestion.mutable_rationale(),
                         TextOf(json, "rationale", kMostRationale, true));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> steps,
                         TextsOf(json, "steps", kMostStep, kMostSteps));
  for (const std::string& step : steps) suggestion.add_steps(step);
  return suggestion;
}

// Reads an optional list.
absl::StatusOr<std::vector<Json>> Listed(const Json& answer, absl::string_view name,
                                         std::size_t most) {
  if (!answer.contains(std::string(name))) return std::vector<Json>();
  return ObjectsOf(answer, name, most);
}

Json ParsedArguments(const std::string& text) {
  const absl::StatusOr<Json> parsed = ParseObject(text.empty() ? "{}" : text);
  return parsed.ok() ? *parsed : Json::object();
}

std::string TextIn(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return "";
  std::vector<std::string> parts;
  for (const Json& part : *found) {
    if (part.is_string()) parts.push_back(part.get<std::string>());
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

Json TurnSchema(const Allowed& allowed) {
  Json members = Json::object();
  members["calls"] = CallsSchema(allowed);
  if (!allowed.calls) members["calls"]["maxItems"] = 0;
  members["verdicts"] = VerdictsSchema();
  members["explanation"] = TextSchema(kMostExplanation);
  members["suggestions"] = SuggestionsSchema();
  return WithThoughts(std::move(members));
}

Json EmptyTurn() {
  return {{"thoughts", NoThoughts()},
          {"calls", Json::array()},
          {"verdicts", Json::array()},
          {"explanation", ""},
          {"suggestions", Json::array()}};
}

std::string ToolsText(const Allowed& allowed) {
  std::string text;
  for (const ToolSpec& tool : kTools) {
    if (!IsOffered(tool, allowed)) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", tool.name, ": ", tool.words);
  }
  return text;
}

std::vector<galen::llm::Tool> TurnTools(const Allowed& allowed) {
  std::vector<galen::llm::Tool> tools;
  for (const ToolSpec& tool : kTools) {
    if (!allowed.calls) break;
    if (!IsOffered(tool, allowed)) continue;
    Json parameters = Json::object();
    if (tool.of != nullptr) parameters[tool.of] = TextSchema(kMostNamed);
    if (tool.node) parameters["node"] = TextSchema(kMostNamed);
    if (tool.text != nullptr) parameters[tool.text] = TextSchema(kMostText);
    if (tool.place) {
      parameters["line"] = Integer();
      parameters["byte"] = Integer();
    }
    tools.push_back({tool.name, tool.says, Dump(Object(std::move(parameters)))});
  }
  tools.push_back({kConclude, "The verdicts, once enough was seen",
                   Dump(Object({{"verdicts", VerdictsSchema()},
                                {"explanation", TextSchema(kMostExplanation)},
                                {"suggestions", SuggestionsSchema()}}))});
  return tools;
}

Json TurnOfTools(const galen::llm::ChatAnswer& answer) {
  Json turn = EmptyTurn();
  turn["thoughts"]["proposition"] = answer.text;
  for (const galen::llm::ToolUse& use : answer.tool_uses) {
    const Json arguments = ParsedArguments(use.arguments);
    if (use.name == kConclude) {
      for (const char* part : {"verdicts", "explanation", "suggestions"}) {
        if (arguments.contains(part)) turn[part] = arguments[part];
      }
      continue;
    }
    Json call = {{"tool", use.name}, {"of", ""},  {"node", ""},
                 {"text", ""},       {"line", 0}, {"byte", 0}};
    for (const ToolSpec& tool : kTools) {
      if (use.name != tool.name) continue;
      if (tool.of != nullptr) call["of"] = TextIn(arguments, tool.of);
      if (tool.node) call["node"] = TextIn(arguments, "node");
      if (tool.text != nullptr) call["text"] = TextIn(arguments, tool.text);
      for (const char* number : {"line", "byte"}) {
        if (tool.place && arguments.contains(number)) call[number] = arguments[number];
      }
    }
    if (turn["calls"].size() < kMostCalls) turn["calls"].push_back(std::move(call));
  }
  return turn;
}

absl::StatusOr<Turn> TurnOf(const Json& answer) {
  Turn turn;
  GALEN_ASSIGN_OR_RETURN(const std::vector<Json> calls, Listed(answer, "calls", kMostCalls));
  for (const Json& each : calls) {
    GALEN_ASSIGN_OR_RETURN(ToolCall call, CallOf(each));
    turn.calls.push_back(std::move(call));
  }
  if (!turn.calls.empty()) return turn;  // its other members are not final
  GALEN_ASSIGN_OR_RETURN(const std::vector<Json> verdicts,
                         ObjectsOf(answer, "verdicts", kMostVerdicts));
  for (const Json& each : verdicts) {
    GALEN_ASSIGN_OR_RETURN(Opinion opinion, OpinionOf(each));
    turn.opinions.push_back(std::move(opinion));
  }
  GALEN_ASSIGN_OR_RETURN(turn.explanation, TextOf(answer, "explanation", kMostExplanation, true));
  GALEN_ASSIGN_OR_RETURN(const std::vector<Json> suggestions,
                         Listed(answer, "suggestions", kMostSuggestions));
  for (const Json& each : suggestions) {
    GALEN_ASSIGN_OR_RETURN(galen::v1::Suggestion suggestion, SuggestionOf(each));
    if (!suggestion.title().empty()) turn.suggestions.push_back(std::move(suggestion));
  }
  return turn;
}

Json JsonOf(const galen::v1::InvestigationTurn& turn) {
  Json json = EmptyTurn();
  json.erase("thoughts");
  for (const ToolCall& call : turn.calls()) json["calls"].push_back(JsonOf(call));
  for (const ModelVerdict& verdict : turn.verdicts()) {
    Json citations = Json::array();
    for (const galen::v1::Citation& each : verdict.citations()) {
      citations.push_back(
          Json{{"of", each.artefact()}, {"line", each.line()}, {"quote", each.quote()}});
    }
    const char* said = "open";
    if (verdict.outcome() == ModelVerdict::CONFIRMED) said = "confirm";
    if (verdict.outcome() == ModelVerdict::REJECTED) {
      said = verdict.label().empty() ? kNoFault : "reject";
    }
    Json one = {{"label", verdict.label()},
                {"citations", std::move(citations)},
                {"reason", verdict.text()},
                {"verdict", said},
                {"nodes", NamesByComma(verdict.node())},
                {"devices", NamesByComma(verdict.device())}};
    // Shows the model that this differs from the verdict that it wrote.
    if (!verdict.objection().empty()) one["left_out"] = "what did not stand of it";
    json["verdicts"].push_back(std::move(one));
  }
  json["explanation"] = turn.explanation();
  return json;
}

std::string UseId(int turn, int call) { return absl::StrCat("t", turn, "c", call); }

std::vector<galen::llm::ToolUse> UsesOf(const galen::v1::InvestigationTurn& turn, int number) {
  std::vector<galen::llm::ToolUse> uses;
  for (const ToolCall& call : turn.calls()) {
    const Json json = JsonOf(call);
    Json arguments = Json::object();
    for (const ToolSpec& tool : kTools) {
      if (json["tool"] != tool.name) continue;
      if (tool.of != nullptr) arguments[tool.of] = json["of"];
      if (tool.node) arguments["node"] = json["node"];
      if (tool.text != nullptr) arguments[tool.text] = json["text"];
      for (const char* member : {"line", "byte"}) {
        if (tool.place) arguments[member] = json[member];
      }
    }
    uses.push_back({UseId(number, static_cast<int>(uses.size()) + 1),
                    json["tool"].get<std::string>(), Dump(arguments)});
  }
  if (uses.empty()) {
    Json said = JsonOf(turn);
    said.erase("calls");
    uses.push_back({UseId(number, 1), kConclude, Dump(said)});
  }
  return uses;
}

std::string DescribeCall(const ToolCall& call) {
  const Json json = JsonOf(call);
  std::string text = json["tool"].get<std::string>();
  for (const char* part : {"of", "node", "text"}) {
    const std::string value = json[part].get<std::string>();
    if (!value.empty()) absl::StrAppend(&text, " ", value);
  }
  if (const auto line = json["line"].get<std::int64_t>(); line > 0) {
    const auto byte = json["byte"].get<std::int64_t>();
    absl::StrAppend(&text, byte > 0 ? " line " : " from line ", line,
                    byte > 0 ? absl::StrCat(" from byte ", byte) : "");
  }
  return text;
}

}  // namespace galen::reasoner::llm
