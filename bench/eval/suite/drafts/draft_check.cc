#include "bench/eval/suite/drafts/draft_check.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/eval/suite/drafts/condition.h"
#include "bench/eval/suite/drafts/description.h"
#include "bench/eval/suite/drafts/find_check.h"
#include "bench/eval/suite/drafts/trial.h"
#include "bench/eval/suite/drafts/value_pattern.h"
#include "common/base/text.h"

namespace galen::drafts {
namespace {

using knowledge::v1::KnowledgeBase;
using knowledge::v1::Rule;

constexpr std::size_t kMostTitle = 80;
constexpr std::size_t kMostName = 40;
constexpr std::int64_t kFileCostNanos = 100'000'000;

// "mem_available"
std::string NameOf(const std::string& field, const Source& source) {
  std::string from = field;
  if (from.empty()) {
    from = source.file.empty() ? absl::StrJoin(source.command, "_")
                               : source.file.substr(source.file.rfind('/') + 1);
  }
  std::string slug;
  for (const char c : absl::AsciiStrToLower(from)) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c));
    if (plain)
      slug += c;
    else if (!slug.empty() && slug.back() != '_')
      slug += '_';
  }
  while (!slug.empty() && slug.back() == '_') slug.pop_back();
  if (slug.size() > kMostName) slug.resize(kMostName);
  return slug.empty() ? "value" : slug;
}

absl::Status CheckSizes(const CheckRequest& request) {
  if (request.description.size() > kMostDescriptionBytes) {
    return absl::InvalidArgumentError(absl::StrCat("description: ", request.description.size(),
                                                   " bytes; at most ", kMostDescriptionBytes));
  }
  if (request.shown.has_value() && request.shown->text.size() > kMostShownBytes) {
    return absl::InvalidArgumentError(absl::StrCat("shown output: ", request.shown->text.size(),
                                                   " bytes; at most ", kMostShownBytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<CheckDraft> CallOf(const KnowledgeBase& base, const std::string& description,
                                  const DescriptionWords& words, const Drafting& drafting) {
  const knowledge::v1::Check* found =
      drafting.retrieval ? FindCheckByWords(base, description, words) : nullptr;
  if (found == nullptr) {
    return absl::InvalidArgumentError(
        "description: names neither a file nor a command, and no check of the catalogue does what "
        "it asks; write the path, or the command in `marks`");
  }
  CheckDraft draft;
  draft.call = found->name();
  draft.parameters = ParametersFrom(*found, description);
  draft.remarks.push_back(absl::StrCat(found->name(), " does it already: ", found->title()));
  return draft;
}

// Drafts a check of kind extract from a description whose source and condition are known.
class Drafter {
 public:
  Drafter(const CheckRequest& request, Source source, Condition condition,
          const DescriptionWords& words, const Drafting& drafting)
      : request_(request),
        lower_(absl::AsciiStrToLower(request.description)),
        source_(std::move(source)),
        condition_(std::move(condition)),
        bound_(condition_.value),
        words_(words),
        drafting_(drafting) {}

  CheckDraft Draft(const std::vector<Quoted>& quoted) {
    if (condition_.presence)
      FindText(quoted);
    else
      FindValue(quoted);
    Choose();
    WriteCheck();
    return std::move(draft_);
  }

 private:
  // The text that must be present or absent.
  void FindText(const std::vector<Quoted>& quoted) {
    for (const Quoted& each : quoted) {
      if (each.text == source_.words || each.at < condition_.at) continue;
      field_ = each.text;
      break;
    }
    patterns_ = PresencePatterns(field_, drafting_.critique);
  }

  void FindValue(const std::vector<Quoted>& quoted) {
    ValuePlace place;
    if (drafting_.critique) place.section = SectionIn(request_.description, quoted, words_);
    std::vector<Quoted> fields = quoted;
    if (!place.section.empty()) {
      fields.erase(std::remove_if(fields.begin(), fields.end(),
                                  [&](const Quoted& each) { return each.text == place.section; }),
                   fields.end());
    }
    field_ = FieldIn(fields, source_.words, condition_);
    place.field = field_;
    place.column = ColumnIn(lower_, words_);
    place.bracketed = words_.bracketed.In(lower_);
    patterns_ = ValuePatterns(place, condition_, drafting_.critique);
    if (!drafting_.critique || !condition_.number) return;
    bound_ = BoundInUnitOf(request_.shown.has_value() ? request_.shown->text : "", field_, lower_,
                           condition_, words_);
    if (bound_ == condition_.value) return;
    draft_.remarks.push_back(absl::StrCat(condition_.value, " ", condition_.unit, " is ", bound_,
                                          " in the unit of the source"));
  }

  // Chooses the first pattern that agrees with the shown output. If none does, one finds the value
  // and the machine's state is known, the condition was misread.
  void Choose() {
    chosen_ = patterns_.front();
    if (!drafting_.self_check || !request_.shown.has_value()) return;
    const std::string* contradicted = nullptr;
    for (const std::string& pattern : patterns_) {
      const Trial trial = Try(pattern, condition_, bound_, *request_.shown);
      if (trial == Trial::kAgrees) {
        chosen_ = pattern;
        return;
      }
      if (trial == Trial::kContradicts && contradicted == nullptr) contradicted = &pattern;
    }
    if (contradicted == nullptr) return;
    chosen_ = *contradicted;
    condition_.fault = Opposite(condition_.fault);
    draft_.remarks.push_back(
        "the shown output contradicted the condition as read, so it is turned round");
  }

  void WriteCheck() {
    const std::string name = NameOf(field_, source_);
    knowledge::v1::Check& check = draft_.check;
    check.set_name(absl::StrCat("site.", name));
    check.set_title(CleanText(
        absl::string_view(request_.description).substr(0, request_.description.find('\n')),
        kMostTitle));
    check.set_kind(knowledge::v1::Check::EXTRACT);
    check.set_file(source_.file);
    for (const std::string& word : source_.command) check.add_command(word);
    if (source_.command.empty())
      check.mutable_cost()->set_nanos(kFileCostNanos);
    else
      check.mutable_cost()->set_seconds(1);
    check.set_in_job(words_.in_job.In(lower_));
    const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(name[0]));
    WriteFinding(digit ? absl::StrCat("v_", name) : name, *check.add_findings());
  }

  void WriteFinding(const std::string& name, knowledge::v1::FindingSpec& finding) const {
    finding.set_name(name);
    finding.set_subject("node");
    finding.set_pattern(chosen_);
    Rule& abnormal = *finding.mutable_abnormal();
    if (condition_.presence) {
      finding.set_type("bool");
      abnormal.set_op(Rule::EQ);
      abnormal.set_value(condition_.fault == Rule::EQ ? "true" : "false");
    } else {
      finding.set_type(condition_.number ? "float" : "text");
      abnormal.set_op(condition_.fault);
      abnormal.set_value(bound_);
    }
  }

  const CheckRequest& request_;
  const std::string lower_;  // the description
  const Source source_;
  Condition condition_;
  std::string bound_;
  const DescriptionWords& words_;
  const Drafting drafting_;
  std::string field_;
  std::vector<std::string> patterns_;
  std::string chosen_;
  CheckDraft draft_;
};

}  // namespace

absl::StatusOr<CheckDraft> DraftCheck(const KnowledgeBase& base, const CheckRequest& request,
                                      const DescriptionWords& words, const Drafting& drafting) {
  if (absl::Status status = CheckSizes(request); !status.ok()) return status;
  const std::string& description = request.description;
  const std::vector<Quoted> quoted = QuotedIn(description);
  Source source = SourceIn(base, description, quoted, words);
  if (source.none()) return CallOf(base, description, words, drafting);
  std::optional<Condition> condition = ReadCondition(description, words, drafting.critique);
  if (!condition.has_value()) {
    return absl::InvalidArgumentError(
        "description: says of no value when it is a fault; write \"must be at least 8\", or \"a "
        "fault when it is above 90\"");
  }
  return Drafter(request, std::move(source), *std::move(condition), words, drafting).Draft(quoted);
}

}  // namespace galen::drafts
