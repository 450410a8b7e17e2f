#include "common/knowledge/write_yaml.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/knowledge/words.h"

namespace galen::knowledge {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kShort = 80;

using Texts = google::protobuf::RepeatedPtrField<std::string>;

bool IsPlainCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' ||
         c == '-';
}

// Letters, digits and characters that have no meaning in YAML in any position.
bool IsPlain(absl::string_view text) {
  if (text.empty()) return false;
  if (text[0] != '/' && !absl::ascii_isalnum(static_cast<unsigned char>(text[0]))) return false;
  if (text.back() == ' ' || absl::EqualsIgnoreCase(text, "null")) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsPlainCharacter(c) || c == ' '; });
}

// The code point of a two or three byte sequence that YAML takes for a line end or refuses, and
// its length; {0, 0} for any other.
std::pair<unsigned, std::size_t> SpecialAt(absl::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) return {byte(1), 2};
  if (byte(0) == 0xE2 && byte(1) == 0x80 && (byte(2) == 0xA8 || byte(2) == 0xA9)) {
    return {0x2000 + byte(2) - 0x80, 3};
  }
  if (byte(0) == 0xEF && byte(1) == 0xBB && byte(2) == 0xBF) return {0xFEFF, 3};
  if (byte(0) == 0xEF && byte(1) == 0xBF && byte(2) >= 0xBE) return {0xFFC0 + byte(2) - 0x80, 3};
  return {0, 0};
}

// Nothing but printable characters, and those of `besides`.
bool IsPrintable(absl::string_view text, absl::string_view besides) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 || c == 0x7F) && !absl::StrContains(besides, text[i])) return false;
    if (SpecialAt(text, i).second != 0) return false;
  }
  return true;
}

std::string InDoubleQuotes(absl::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto code = static_cast<unsigned char>(c);
    if (const auto [special, length] = SpecialAt(text, i); length != 0) {
      absl::StrAppendFormat(&out, "\\u%04X", special);
      i += length - 1;
    } else if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", absl::string_view(&c, 1));
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (code < 0x20 || code == 0x7F) {
      absl::StrAppendFormat(&out, "\\x%02X", code);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Lines of at most kWidth columns that fold back into `text`: it has no two spaces in a row.
std::vector<std::string> Folded(absl::string_view text, int indent) {
  std::vector<std::string> lines(1);
  const std::size_t room = kWidth - static_cast<std::size_t>(indent);
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > room) lines.emplace_back();
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

bool IsFoldable(absl::string_view text) {
  return IsPrintable(text, "") && text.front() != ' ' && text.back() != ' ' &&
         !absl::StrContains(text, "  ");
}

bool IsLiteralBlock(absl::string_view text) {
  return IsPrintable(text, "\n\t") && text.front() != ' ' && text.front() != '\n' &&
         text.front() != '\t' && text.back() != '\n';
}

std::string Spaces(int count) { return std::string(static_cast<std::size_t>(count), ' '); }

std::string Block(int indent, absl::string_view mark, const std::vector<std::string>& lines) {
  std::string out = absl::StrCat(mark, "\n");
  for (const std::string& line : lines) {
    absl::StrAppend(&out, line.empty() ? "" : Spaces(indent), line, "\n");
  }
  return out;
}

// The text after "key: " or "- ", with its line end; a block is indented by `indent` columns.
std::string Value(int indent, absl::string_view text) {
  const bool many_lines = absl::StrContains(text, '\n');
  if (many_lines && IsLiteralBlock(text)) return Block(indent, "|-", absl::StrSplit(text, '\n'));
  if (text.size() > kShort && !many_lines && IsFoldable(text)) {
    return Block(indent, ">-", Folded(text, indent));
  }
  return absl::StrCat(YamlScalar(text), "\n");
}

std::string TextLine(int indent, absl::string_view key, absl::string_view text) {
  return text.empty() ? "" : YamlText(indent, key, text);
}

std::string List(int indent, absl::string_view key, const Texts& texts) {
  if (texts.empty()) return "";
  std::string out = absl::StrCat(Spaces(indent), key, ":\n");
  for (const std::string& text : texts) {
    absl::StrAppend(&out, Spaces(indent + 2), "- ", Value(indent + 4, text));
  }
  return out;
}

// "{a: b, c: d}" of the pairs with a value.
class Flow {
 public:
  Flow& Add(absl::string_view key, absl::string_view text) {
    if (!text.empty()) AddRaw(key, YamlScalar(text));
    return *this;
  }
  Flow& AddRaw(absl::string_view key, absl::string_view yaml) {
    absl::StrAppend(&inside_, inside_.empty() ? "" : ", ", key, ": ", yaml);
    return *this;
  }
  std::string Done() const { return absl::StrCat("{", inside_, "}"); }

 private:
  std::string inside_;
};

std::string FlowList(const std::vector<std::string>& texts) {
  return absl::StrCat("[",
                      absl::StrJoin(texts, ", ",
                                    [](std::string* out, const std::string& text) {
                                      absl::StrAppend(out, YamlScalar(text));
                                    }),
                      "]");
}

std::string FlowList(const Texts& texts) {
  return FlowList(std::vector<std::string>(texts.begin(), texts.end()));
}

template <typename Enum>
std::string WordOf(absl::Span<const Word<Enum>> words, int value) {
  for (const Word<Enum>& word : words) {
    if (static_cast<int>(word.value) == value) return std::string(word.text);
  }
  return "";
}

void AddCondition(const v1::Rule& rule, Flow& flow) {
  flow.Add("op", WordOf(OpWords(), rule.op()));
  if (rule.op() == v1::Rule::IN || rule.op() == v1::Rule::NOT_IN) {
    flow.AddRaw("value", FlowList(std::vector<std::string>(absl::StrSplit(rule.value(), ','))));
  } else {
    flow.Add("value", rule.value());
  }
  flow.Add("observation", rule.observation());
}

std::string Rules(int indent, absl::string_view key,
                  const google::protobuf::RepeatedPtrField<v1::Rule>& rules) {
  if (rules.empty()) return "";
  std::string out = absl::StrCat(Spaces(indent), key, ":\n");
  for (const v1::Rule& rule : rules) {
    Flow flow;
    flow.Add("check", rule.check()).Add("finding", rule.finding());
    AddCondition(rule, flow);
    if (rule.context()) flow.AddRaw("context", "true");
    if (rule.defining()) flow.AddRaw("defining", "true");
    absl::StrAppend(&out, Spaces(indent + 2), "- ", flow.Done(), "\n");
  }
  return out;
}

void AddSignal(const v1::SignalPattern& signal, Flow& flow) {
  flow.AddRaw("pattern", YamlScalar(signal.pattern()));
  std::vector<std::string> where;
  for (const int place : signal.where()) where.push_back(WordOf(WhereWords(), place));
  flow.AddRaw("where", where.size() == 1 ? where[0] : FlowList(where));
  flow.Add("strength", WordOf(StrengthWords(), signal.strength()));
  flow.Add("role", WordOf(RoleWords(), signal.role()));
  if (signal.outcome() != v1::OUTCOME_UNSPECIFIED) {
    flow.Add("outcome", WordOf(OutcomeWords(), signal.outcome()));
  }
}

std::string Signals(int indent, const std::vector<const v1::SignalPattern*>& signals) {
  if (signals.empty()) return "";
  std::string out = absl::StrCat(Spaces(indent), "signals:\n");
  for (const v1::SignalPattern* signal : signals) {
    Flow flow;
    flow.Add("id", signal->id());
    AddSignal(*signal, flow);
    if (!signal->id().empty() && !signal->labels().empty()) {
      flow.AddRaw("labels", FlowList(signal->labels()));
    }
    if (!signal->refutes().empty()) flow.AddRaw("refutes", FlowList(signal->refutes()));
    flow.Add("meaning", signal->meaning());
    absl::StrAppend(&out, Spaces(indent + 2), "- ", flow.Done(), "\n");
  }
  return out;
}

std::string LabelText(const v1::Label& label,
                      const std::vector<const v1::SignalPattern*>& signals) {
  constexpr int kIn = 4;
  std::string out = absl::StrCat("  - label: ", YamlScalar(label.label()), "\n");
  absl::StrAppend(&out, TextLine(kIn, "title", label.title()),
                  TextLine(kIn, "description", label.description()),
                  List(kIn, "first_checks", label.first_checks()),
                  List(kIn, "symptoms", label.symptoms()), Signals(kIn, signals));
  absl::StrAppend(&out, Rules(kIn, "confirm", label.confirm()),
                  Rules(kIn, "refute", label.refute()),
                  List(kIn, "secondary_effects", label.secondary_effects()),
                  List(kIn, "confused_with", label.confused_with()));
  absl::StrAppend(&out, TextLine(kIn, "owner", label.owner()),
                  TextLine(kIn, "severity", label.severity()),
                  TextLine(kIn, "prior", label.prior()),
                  label.residual() ? absl::StrCat(Spaces(kIn), "residual: true\n") : "",
                  TextLine(kIn, "mitigation", label.mitigation()));
  absl::StrAppend(&out, List(kIn, "aliases", label.aliases()),
                  List(kIn, "sources", label.sources()), TextLine(kIn, "added", label.added()));
  return out;
}

std::string DurationText(const google::protobuf::Duration& duration) {
  return absl::FormatDuration(ToDuration(duration));
}

std::string ExecText(const v1::ExecSpec& exec) {
  Flow flow;
  flow.AddRaw("argv", FlowList(exec.argv()));
  if (exec.has_time_limit()) flow.Add("time", DurationText(exec.time_limit()));
  if (exec.memory_limit_bytes() > 0) {
    flow.Add("memory_mib", absl::StrCat(exec.memory_limit_bytes() >> 20));
  }
  if (exec.output_limit_bytes() > 0) {
    flow.Add("output_kib", absl::StrCat(exec.output_limit_bytes() >> 10));
  }
  if (exec.process_limit() > 0) flow.Add("processes", absl::StrCat(exec.process_limit()));
  flow.Add("output", exec.output());
  if (!exec.exit_codes().empty()) {
    flow.AddRaw("exit_codes", absl::StrCat("[", absl::StrJoin(exec.exit_codes(), ", "), "]"));
  }
  return flow.Done();
}

std::string FindingText(const v1::FindingSpec& finding) {
  Flow flow;
  flow.Add("name", finding.name()).Add("type", finding.type()).Add("unit", finding.unit());
  flow.Add("subject", finding.subject()).Add("pattern", finding.pattern());
  if (finding.has_abnormal()) {
    Flow limit;
    AddCondition(finding.abnormal(), limit);
    flow.AddRaw("abnormal", limit.Done());
  }
  return flow.Done();
}

std::string CheckText(const v1::Check& check) {
  constexpr int kIn = 4;
  std::string out = absl::StrCat("  - name: ", YamlScalar(check.name()), "\n");
  absl::StrAppend(
      &out, TextLine(kIn, "title", check.title()),
      TextLine(kIn, "kind", WordOf(KindWords(), check.kind())),
      check.has_cost() ? TextLine(kIn, "cost", DurationText(check.cost())) : "",
      check.has_time_limit() ? TextLine(kIn, "time_limit", DurationText(check.time_limit())) : "",
      List(kIn, "reads", check.reads()));
  if (!check.needs().empty()) {
    absl::StrAppend(&out, Spaces(kIn), "needs: ", FlowList(check.needs()), "\n");
  }
  if (check.intrusive()) absl::StrAppend(&out, Spaces(kIn), "intrusive: true\n");
  absl::StrAppend(&out, TextLine(kIn, "occupies", check.occupies()),
                  TextLine(kIn, "family", check.family()),
                  TextLine(kIn, "customer_sees", WordOf(AudienceWords(), check.customer_sees())),
                  TextLine(kIn, "file", check.file()));
  if (!check.command().empty()) {
    absl::StrAppend(&out, Spaces(kIn), "command: ", FlowList(check.command()), "\n");
  }
  if (check.in_job()) absl::StrAppend(&out, Spaces(kIn), "in_job: true\n");
  if (check.has_exec()) absl::StrAppend(&out, Spaces(kIn), "exec: ", ExecText(check.exec()), "\n");
  absl::StrAppend(&out, Spaces(kIn), "findings:\n");
  for (const v1::FindingSpec& finding : check.findings()) {
    absl::StrAppend(&out, Spaces(kIn + 2), "- ", FindingText(finding), "\n");
  }
  return out;
}

std::string EnvironmentText(int indent,
                            const google::protobuf::Map<std::string, std::string>& environment) {
  if (environment.empty()) return "";
  std::string out = absl::StrCat(Spaces(indent), "environment:\n");
  const std::map<std::string, std::string> sorted(environment.begin(), environment.end());
  for (const auto& [key, value] : sorted) {
    absl::StrAppend(&out, YamlText(indent + 2, YamlScalar(key), value));
  }
  return out;
}

std::string IncidentText(const v1::PastIncident& incident) {
  constexpr int kIn = 4;
  std::string out = absl::StrCat("  - id: ", YamlScalar(incident.id()), "\n");
  absl::StrAppend(
      &out, TextLine(kIn, "date", incident.date()), TextLine(kIn, "title", incident.title()),
      TextLine(kIn, "description", incident.description()), List(kIn, "logs", incident.logs()));
  absl::StrAppend(&out, EnvironmentText(kIn, incident.environment()));
  absl::StrAppend(&out, TextLine(kIn, "label", incident.label()),
                  List(kIn, "labels_secondary", incident.labels_secondary()),
                  List(kIn, "verification", incident.verification()),
                  TextLine(kIn, "resolution", incident.resolution()),
                  TextLine(kIn, "reference", incident.reference()));
  if (!incident.has_tenant_texts()) return out;
  const v1::TenantTexts& own = incident.tenant_texts();
  constexpr int kBelow = kIn + 2;
  absl::StrAppend(&out, Spaces(kIn), "tenant_texts:\n", TextLine(kBelow, "tenant", own.tenant()),
                  TextLine(kBelow, "title", own.title()),
                  TextLine(kBelow, "description", own.description()),
                  List(kBelow, "logs", own.logs()), EnvironmentText(kBelow, own.environment()),
                  List(kBelow, "verification", own.verification()),
                  TextLine(kBelow, "resolution", own.resolution()),
                  TextLine(kBelow, "reference", own.reference()));
  return out;
}

}  // namespace

std::string YamlScalar(absl::string_view text) {
  if (IsPlain(text)) return std::string(text);
  if (!IsPrintable(text, "")) return InDoubleQuotes(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

std::string YamlText(int indent, absl::string_view key, absl::string_view text) {
  return absl::StrCat(Spaces(indent), key, ": ", Value(indent + 2, text));
}

std::string ToYaml(const v1::KnowledgeBase& base) {
  std::map<std::string, std::vector<const v1::SignalPattern*>> inside;
  std::vector<const v1::SignalPattern*> catalogue;
  for (const v1::SignalPattern& signal : base.signals()) {
    const bool has_place = signal.id().empty() && !signal.labels().empty();
    (has_place ? inside[signal.labels(0)] : catalogue).push_back(&signal);
  }
  std::string out;
  if (!base.labels().empty()) absl::StrAppend(&out, "labels:\n");
  for (const v1::Label& label : base.labels()) {
    absl::StrAppend(&out, LabelText(label, inside[label.label()]));
  }
  if (!base.checks().empty()) absl::StrAppend(&out, "checks:\n");
  for (const v1::Check& check : base.checks()) absl::StrAppend(&out, CheckText(check));
  absl::StrAppend(&out, Signals(0, catalogue));
  if (!base.incidents().empty()) absl::StrAppend(&out, "incidents:\n");
  for (const v1::PastIncident& incident : base.incidents()) {
    absl::StrAppend(&out, IncidentText(incident));
  }
  return out;
}

}  // namespace galen::knowledge
