#include "services/gateway/redaction/customer_redactor.h"

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::gateway {
namespace {

using galen::v1::Cause;
using galen::v1::CheckResult;
using galen::v1::Evidence;
using galen::v1::Reason;
using galen::v1::Report;
using google::protobuf::DescriptorPool;
using google::protobuf::DynamicCastToGenerated;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using knowledge::v1::Check;

constexpr absl::string_view kTenants = "tenants/";
constexpr std::size_t kLeastNoted = 6;
constexpr absl::string_view kSignals = "signal/";
constexpr absl::string_view kForTheProvider = "the provider is shown what it saw";

bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; }

// "tenants/globex/..." in a text of acme's: a name that Galen gave to a resource of another tenant.
std::string WithoutOtherTenants(absl::string_view tenant, std::string text) {
  std::size_t at = 0;
  while ((at = text.find(kTenants.data(), at, kTenants.size())) != std::string::npos) {
    const std::size_t begin = at + kTenants.size();
    std::size_t end = begin;
    while (end < text.size() && IsNameChar(text[end])) ++end;
    at = end;
    const absl::string_view named = absl::string_view(text).substr(begin, end - begin);
    if (named.empty() || named == tenant) continue;
    // With all that the name has below it.
    while (end < text.size() && (IsNameChar(text[end]) || text[end] == '/')) ++end;
    text.replace(begin, end - begin, host::kRedacted.data(), host::kRedacted.size());
    at = begin + host::kRedacted.size();
  }
  return text;
}

}  // namespace

absl::StatusOr<CustomerRedactor> CustomerRedactor::Parse(absl::string_view text,
                                                         absl::string_view file) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  CustomerRedactor redactor;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ":", number, ": ", what, "; the head of knowledge/audience.txt says how"));
    };
    const std::pair<absl::string_view, absl::string_view> rule =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const std::string name(absl::StripAsciiWhitespace(rule.second));
    if (rule.first == "withhold") {
      if (pool.FindFieldByName(name) == nullptr)
        return wrong(absl::StrCat(name, ": no such field"));
      redactor.withheld_.insert(name);
    } else if (rule.first == "own") {
      if (pool.FindFieldByName(name) == nullptr && pool.FindMessageTypeByName(name) == nullptr) {
        return wrong(absl::StrCat(name, ": no such message or field"));
      }
      redactor.own_.insert(name);
    } else if (rule.first == "replace") {
      const std::pair<std::string, std::string> pattern =
          absl::StrSplit(name, absl::MaxSplits(' ', 1));
      if (pattern.second.empty())
        return wrong("the pattern is missing; write \"replace KIND PATTERN\"");
      const absl::Status added = redactor.redactor_.AddPattern(
          absl::StrReplaceAll(pattern.first, {{"-", " "}}), pattern.second);
      if (!added.ok()) return wrong(added.message());
    } else {
      return wrong(absl::StrCat("\"", rule.first, "\" is not a rule"));
    }
  }
  return redactor;
}

absl::StatusOr<CustomerRedactor> CustomerRedactor::Load(
    const std::vector<std::string>& knowledge_directories) {
  for (auto directory = knowledge_directories.rbegin(); directory != knowledge_directories.rend();
       ++directory) {
    const std::string path = absl::StrCat(*directory, "/audience.txt");
    const absl::StatusOr<std::string> text = ReadSmallFile(path);
    if (absl::IsNotFound(text.status())) continue;
    GALEN_RETURN_IF_ERROR(text.status());
    return Parse(*text, path);
  }
  return absl::NotFoundError(
      "knowledge: no directory holds audience.txt, which says what customers are not shown");
}

void CustomerRedactor::Use(const knowledge::v1::KnowledgeBase& knowledge) const {
  auto levels = std::make_shared<Levels>();
  for (const Check& check : knowledge.checks()) {
    (*levels)[check.name()] = check.customer_sees() == Check::AUDIENCE_UNSPECIFIED
                                  ? Check::FINDINGS
                                  : check.customer_sees();
  }
  levels_->Set(std::move(levels));
}

class CustomerRedactor::Filter {
 public:
  Filter(const CustomerRedactor& rules, absl::string_view tenant)
      : rules_(rules), tenant_(tenant), levels_(rules.levels_->Get()) {}

  // Removes the output of checks that they do not show to customers.
  void Reduce(Message& message) {
    if (rules_.own_.count(std::string(message.GetDescriptor()->full_name())) > 0) return;
    if (auto* result = DynamicCastToGenerated<CheckResult>(&message)) return Reduce(*result);
    if (auto* evidence = DynamicCastToGenerated<Evidence>(&message)) return Reduce(*evidence);
    if (auto* reason = DynamicCastToGenerated<Reason>(&message)) return Reduce(*reason);
    if (auto* cause = DynamicCastToGenerated<Cause>(&message)) return Reduce(*cause);
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
          rules_.own_.count(std::string(field->full_name())) > 0) {
        continue;
      }
      if (!field->is_repeated()) {
        Reduce(*reflection.MutableMessage(&message, field));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Reduce(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    }
    if (auto* report = DynamicCastToGenerated<Report>(&message)) CutQuotes(*report);
  }

  // Removes the withheld fields, and notes their texts.
  void Withhold(Message& message) {
    Walk(message, [this](Message& holder, const FieldDescriptor& field) {
      if (rules_.withheld_.count(std::string(field.full_name())) == 0) return true;
      Note(holder, field);
      holder.GetReflection()->ClearField(&holder, &field);
      return false;
    });
  }

  void Clean(Message& message) {
    Walk(message, [this](Message& holder, const FieldDescriptor& field) {
      // Bytes are a log from the customer; they appear in its own incident only.
      if (field.type() != FieldDescriptor::TYPE_STRING) return true;
      const Reflection& reflection = *holder.GetReflection();
      if (!field.is_repeated()) {
        const std::string text = reflection.GetString(holder, &field);
        std::string clean = Cleaned(text);
        if (clean != text) reflection.SetString(&holder, &field, std::move(clean));
        return false;
      }
      for (int i = 0; i < reflection.FieldSize(holder, &field); ++i) {
        const std::string text = reflection.GetRepeatedString(holder, &field, i);
        std::string clean = Cleaned(text);
        if (clean != text) reflection.SetRepeatedString(&holder, &field, i, std::move(clean));
      }
      return false;
    });
  }

 private:
  // The level of "net.firewall@n1", or of a check's name.
  Check::Audience LevelOf(absl::string_view id) const {
    const auto found = levels_->find(id.substr(0, id.find('@')));
    return found == levels_->end() ? Check::VERDICT : found->second;
  }
  static bool IsCheck(absl::string_view id) {
    return absl::StrContains(id, '@') && !absl::StartsWith(id, kSignals);
  }
  template <typename Ids>
  std::string FirstHidden(const Ids& ids) const {
    for (const std::string& id : ids) {
      if (IsCheck(id) && LevelOf(id) == Check::VERDICT) return id;
    }
    return "";
  }

  void Reduce(CheckResult& result) {
    const Check::Audience level = LevelOf(result.check());
    if (level != Check::EXCERPT) result.clear_excerpt();
    if (level != Check::VERDICT) return;
    // The reason that a check did not run is not its output.
    if (result.status() == CheckResult::PASS || result.status() == CheckResult::FAIL) {
      Note(result.message());
      result.set_message(std::string(kForTheProvider));
    }
    result.clear_courses();
    result.clear_wanted();
    for (galen::v1::Finding& finding : *result.mutable_findings()) Reduce(finding);
  }
  void Reduce(galen::v1::Finding& finding) {
    if (finding.has_text_value()) Note(finding.text_value());
    if (finding.has_event_value()) Note(finding.event_value().text());
    finding.clear_value();
    finding.clear_expected();
    Reduce(*finding.mutable_subject());
  }
  static void Reduce(galen::v1::Device& device) {
    std::string node = std::move(*device.mutable_node());
    device.Clear();
    device.set_node(std::move(node));
  }
  void Reduce(Evidence& evidence) {
    if (!IsCheck(evidence.id())) return;
    const Check::Audience level = LevelOf(evidence.id());
    if (level != Check::EXCERPT) {
      for (const absl::string_view line : absl::StrSplit(evidence.excerpt(), '\n')) {
        hidden_lines_.insert(absl::StrReplaceAll(line, {{"<", "&lt;"}}));
      }
      evidence.clear_excerpt();
    }
    if (level != Check::VERDICT) return;
    Note(evidence.text());
    evidence.set_text(std::string(kForTheProvider));
    Reduce(*evidence.mutable_subject());
  }
  void Reduce(Reason& reason) {
    const std::string id = FirstHidden(reason.evidence_ids());
    if (id.empty()) return;
    Note(reason.text());
    reason.set_text(absl::StrCat(
        id, reason.direction() == Reason::OPPOSES ? " speaks against it; " : " speaks for it; ",
        kForTheProvider));
    reason.clear_finding();
  }
  void Reduce(Cause& cause) {
    const std::string id = FirstHidden(cause.evidence_ids());
    if (id.empty()) return;
    Note(cause.explanation());
    cause.set_explanation(absl::StrCat("it rests on ", id, "; ", kForTheProvider));
  }

  // A ticket quotes the excerpts of its evidence, one line each, the last one cut.
  void CutQuotes(Report& report) const {
    if (hidden_lines_.empty() || report.ticket().empty()) return;
    std::vector<absl::string_view> kept;
    for (const absl::string_view line : absl::StrSplit(report.ticket(), '\n')) {
      if (!IsHiddenQuote(line)) kept.push_back(line);
    }
    report.set_ticket(absl::StrJoin(kept, "\n"));
  }
  bool IsHiddenQuote(absl::string_view line) const {
    if (!absl::ConsumePrefix(&line, "> ")) return false;
    if (hidden_lines_.count(line) > 0) return true;
    if (!absl::ConsumeSuffix(&line, "...")) return false;
    const auto next = hidden_lines_.lower_bound(line);
    return next != hidden_lines_.end() && absl::StartsWith(*next, line);
  }

  // `visit` gets every field that is set and not the customer's own; true: descends into it.
  void Walk(Message& message, const std::function<bool(Message&, const FieldDescriptor&)>& visit) {
    if (rules_.own_.count(std::string(message.GetDescriptor()->full_name())) > 0) return;
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (rules_.own_.count(std::string(field->full_name())) > 0 || !visit(message, *field))
        continue;
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      if (!field->is_repeated()) {
        Walk(*reflection.MutableMessage(&message, field), visit);
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        Walk(*reflection.MutableRepeatedMessage(&message, field, i), visit);
      }
    }
  }

  void Note(const Message& holder, const FieldDescriptor& field) {
    if (field.type() != FieldDescriptor::TYPE_STRING || field.is_repeated()) return;
    Note(holder.GetReflection()->GetString(holder, &field));
  }
  void Note(const std::string& said) {
    // A shorter text may be an ordinary word.
    if (said.size() >= kLeastNoted) said_.emplace(said, host::kRedacted);
  }

  std::string Cleaned(const std::string& text) const {
    std::map<std::string, int> counts;
    return WithoutOtherTenants(tenant_,
                               rules_.redactor_.Redact(absl::StrReplaceAll(text, said_), counts));
  }

  const CustomerRedactor& rules_;
  const absl::string_view tenant_;
  const std::shared_ptr<const Levels> levels_;
  std::map<std::string, std::string> said_;  // texts of withheld fields, and their replacement
  std::set<std::string, std::less<>> hidden_lines_;
};

void CustomerRedactor::ForCustomer(absl::string_view tenant, Message& message) const {
  Filter filter(*this, tenant);
  filter.Reduce(message);
  filter.Withhold(message);
  filter.Clean(message);
}

}  // namespace galen::gateway
