#include "common/log_analysis/triage/catalogue.h"

#include <algorithm>
#include <array>
#include <functional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/yaml/yaml.h"
#include "re2/re2.h"

namespace galen::triage {
namespace {

// Maximum number of entries of a kind; bounds the number of expressions in the scan.
constexpr std::size_t kMostEntries = 2000;

template <typename T>
struct Word {
  absl::string_view text;
  T value;
};

constexpr std::array<Word<Quantity>, kQuantities> kQuantityWords = {{
    {"step", Quantity::kStep},
    {"total", Quantity::kTotal},
    {"elapsed", Quantity::kElapsed},
    {"seconds", Quantity::kSeconds},
    {"milliseconds", Quantity::kMilliseconds},
    {"tokens_per_gpu", Quantity::kTokensPerGpu},
    {"tokens", Quantity::kTokens},
    {"samples", Quantity::kSamples},
    {"tflops", Quantity::kTflops},
    {"mfu", Quantity::kMfu},
    {"epoch", Quantity::kEpoch},
    {"epochs", Quantity::kEpochs},
    {"batch", Quantity::kBatch},
    {"loss", Quantity::kLoss},
}};

// A kind of fact, and the group that its pattern needs; "": none.
struct KindWord {
  absl::string_view text;
  FactKind value;
  absl::string_view group;
};
constexpr std::array<KindWord, 25> kKindWords = {{
    {"total_steps", FactKind::kTotalSteps, "n"},
    {"checkpoint_period", FactKind::kCheckpointPeriod, "n"},
    {"sequence_length", FactKind::kSequenceLength, "n"},
    {"world_size", FactKind::kWorldSize, "n"},
    {"checkpoint_saved", FactKind::kCheckpointSaved, ""},
    {"restored", FactKind::kRestored, ""},
    {"fresh_start", FactKind::kFreshStart, ""},
    {"training_begins", FactKind::kTrainingBegins, ""},
    {"finished", FactKind::kFinished, ""},
    {"planned_end", FactKind::kPlannedEnd, ""},
    {"summary", FactKind::kSummary, "code"},
    {"running", FactKind::kRunning, ""},
    {"ended", FactKind::kEnded, ""},
    {"job", FactKind::kJob, "text"},
    {"node", FactKind::kNode, "text"},
    {"partition", FactKind::kPartition, "text"},
    {"pod", FactKind::kPod, "text"},
    {"namespace", FactKind::kNamespace, "text"},
    {"exit", FactKind::kExit, "code"},
    {"rank_file", FactKind::kRankFile, "n"},
    {"accused", FactKind::kAccused, "n"},
    {"heartbeat_timeout", FactKind::kHeartbeatTimeout, "n"},
    {"task_host", FactKind::kTaskHost, "n"},
    {"begins", FactKind::kBegins, ""},
    {"trains", FactKind::kTrains, ""},
}};

constexpr std::array<Word<Relation>, 5> kRelationWords = {{
    {"cause", Relation::kCause},
    {"unspecific", Relation::kUnspecific},
    {"mechanism", Relation::kMechanism},
    {"consequence", Relation::kConsequence},
    {"note", Relation::kNote},
}};

constexpr std::array<Word<Ends>, 2> kEndsWords = {{
    {"failed", Ends::kFailed},
    {"cancelled", Ends::kCancelled},
}};

template <typename Words>
std::string Choices(const Words& words) {
  return absl::StrJoin(words, ", ",
                       [](std::string* out, const auto& word) { absl::StrAppend(out, word.text); });
}

// Reads the fields of one entry; an unknown field is an error.
class Entry {
 public:
  Entry(const Yaml& yaml, absl::string_view file, absl::string_view what)
      : yaml_(yaml), file_(file), what_(what) {}

  absl::Status Check(std::initializer_list<absl::string_view> known) const {
    if (yaml_.kind != Yaml::Kind::kMap) {
      return YamlError(yaml_, file_, absl::StrCat(what_, ": is not a map of fields"));
    }
    for (const Yaml::Field& field : yaml_.fields) {
      if (std::find(known.begin(), known.end(), field.name) == known.end()) {
        return YamlError(field.value, file_,
                         absl::StrCat(what_, ": ", field.name, ": unknown; there are ",
                                      absl::StrJoin(known, ", ")));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Text(absl::string_view name, bool required = false) const {
    const Yaml* value = yaml_.Find(name);
    if (value == nullptr) {
      if (!required) return std::string();
      return YamlError(yaml_, file_, absl::StrCat(what_, ": needs ", name));
    }
    return YamlText(*value, file_, name);
  }

  absl::StatusOr<std::vector<std::string>> Texts(absl::string_view name) const {
    const Yaml* value = yaml_.Find(name);
    if (value == nullptr) return std::vector<std::string>();
    if (value->kind == Yaml::Kind::kScalar) return std::vector<std::string>{value->scalar};
    return YamlTexts(*value, file_, name);
  }

  absl::StatusOr<bool> Bool(absl::string_view name) const {
    const Yaml* value = yaml_.Find(name);
    if (value == nullptr) return false;
    return YamlBool(*value, file_, name);
  }

  template <typename Words>
  auto WordOf(absl::string_view name, const Words& words) const
      -> absl::StatusOr<decltype(words[0].value)> {
    GALEN_ASSIGN_OR_RETURN(const std::string text, Text(name, true));
    for (const auto& word : words) {
      if (word.text == text) return word.value;
    }
    return YamlError(
        yaml_, file_,
        absl::StrCat(what_, ": ", name, ": \"", text, "\" is none of ", Choices(words)));
  }

  absl::Status Compiles(const std::string& pattern, absl::string_view group = "") const {
    RE2::Options quiet;
    quiet.set_log_errors(false);
    const RE2 compiled(pattern, quiet);
    if (pattern.empty() || !compiled.ok()) {
      return YamlError(yaml_, file_,
                       absl::StrCat(what_, ": \"", pattern, "\" is not a valid RE2 expression: ",
                                    pattern.empty() ? "it is empty" : compiled.error()));
    }
    if (!group.empty() && compiled.NamedCapturingGroups().count(std::string(group)) == 0) {
      return YamlError(yaml_, file_,
                       absl::StrCat(what_, ": the pattern needs a group (?P<", group, ">)"));
    }
    return absl::OkStatus();
  }

  absl::Status Error(absl::string_view text) const {
    return YamlError(yaml_, file_, absl::StrCat(what_, ": ", text));
  }

  const Yaml& yaml() const { return yaml_; }

 private:
  const Yaml& yaml_;
  absl::string_view file_;
  absl::string_view what_;
};

absl::StatusOr<StepFormat> ParseFormat(const Yaml& yaml, absl::string_view file) {
  const Entry entry(yaml, file, "formats");
  GALEN_RETURN_IF_ERROR(entry.Check({"name", "framework", "source", "line", "first_step",
                                     "first_epoch", "interval", "last_of_line", "all_fields",
                                     "declared_total", "serving", "any_order", "bar", "fields"}));
  StepFormat format;
  GALEN_ASSIGN_OR_RETURN(format.name, entry.Text("name", true));
  GALEN_ASSIGN_OR_RETURN(format.framework, entry.Text("framework", true));
  GALEN_ASSIGN_OR_RETURN(format.source, entry.Text("source", true));
  GALEN_ASSIGN_OR_RETURN(format.line, entry.Text("line", true));
  GALEN_RETURN_IF_ERROR(entry.Compiles(format.line));
  if (const Yaml* first = yaml.Find("first_step"); first != nullptr) {
    GALEN_ASSIGN_OR_RETURN(format.first_step, YamlInteger(*first, file, "first_step"));
  }
  if (const Yaml* first = yaml.Find("first_epoch"); first != nullptr) {
    GALEN_ASSIGN_OR_RETURN(format.first_epoch, YamlInteger(*first, file, "first_epoch"));
  }
  GALEN_ASSIGN_OR_RETURN(format.interval, entry.Bool("interval"));
  GALEN_ASSIGN_OR_RETURN(format.last_of_line, entry.Bool("last_of_line"));
  GALEN_ASSIGN_OR_RETURN(format.all_fields, entry.Bool("all_fields"));
  GALEN_ASSIGN_OR_RETURN(format.declared_total, entry.Bool("declared_total"));
  GALEN_ASSIGN_OR_RETURN(format.serving, entry.Bool("serving"));
  GALEN_ASSIGN_OR_RETURN(format.any_order, entry.Bool("any_order"));
  GALEN_ASSIGN_OR_RETURN(format.bar, entry.Text("bar", false));
  if (!format.bar.empty()) GALEN_RETURN_IF_ERROR(entry.Compiles(format.bar));
  const Yaml* fields = yaml.Find("fields");
  if (fields == nullptr || fields->kind != Yaml::Kind::kList || fields->items.size() > 32) {
    return entry.Error("needs a list of 1 to 32 fields");
  }
  bool has_step = format.serving;
  for (const Yaml& item : fields->items) {
    const Entry one(item, file, "fields");
    GALEN_RETURN_IF_ERROR(one.Check({"name", "after", "before"}));
    StepField field;
    GALEN_ASSIGN_OR_RETURN(field.quantity, one.WordOf("name", kQuantityWords));
    GALEN_ASSIGN_OR_RETURN(field.after, one.Texts("after"));
    GALEN_ASSIGN_OR_RETURN(field.before, one.Texts("before"));
    const auto empty = [](const std::vector<std::string>& texts) {
      return std::any_of(texts.begin(), texts.end(), std::mem_fn(&std::string::empty));
    };
    if ((field.after.empty() && field.before.empty()) || empty(field.after) ||
        empty(field.before)) {
      return one.Error("after: is the text before the number; before: that behind it");
    }
    has_step = has_step || field.quantity == Quantity::kStep;
    format.fields.push_back(std::move(field));
  }
  if (!has_step) return entry.Error("has no field that is the step");
  return format;
}

absl::StatusOr<FactPattern> ParseFact(const Yaml& yaml, absl::string_view file) {
  const Entry entry(yaml, file, "facts");
  GALEN_RETURN_IF_ERROR(entry.Check({"name", "is", "pattern", "source"}));
  FactPattern fact;
  GALEN_ASSIGN_OR_RETURN(fact.name, entry.Text("name", true));
  GALEN_ASSIGN_OR_RETURN(fact.kind, entry.WordOf("is", kKindWords));
  GALEN_ASSIGN_OR_RETURN(fact.pattern, entry.Text("pattern", true));
  GALEN_ASSIGN_OR_RETURN(fact.source, entry.Text("source", true));
  for (const KindWord& word : kKindWords) {
    if (word.value == fact.kind) {
      GALEN_RETURN_IF_ERROR(entry.Compiles(fact.pattern, word.group));
    }
  }
  return fact;
}

absl::StatusOr<FailureClass> ParseClass(const Yaml& yaml, absl::string_view file) {
  const Entry entry(yaml, file, "classes");
  GALEN_RETURN_IF_ERROR(entry.Check(
      {"name", "title", "relation", "ends", "stage", "signatures", "patterns", "next"}));
  FailureClass one;
  GALEN_ASSIGN_OR_RETURN(one.name, entry.Text("name", true));
  GALEN_ASSIGN_OR_RETURN(one.title, entry.Text("title", true));
  GALEN_ASSIGN_OR_RETURN(one.relation, entry.WordOf("relation", kRelationWords));
  if (yaml.Find("ends") != nullptr) {
    GALEN_ASSIGN_OR_RETURN(one.ends, entry.WordOf("ends", kEndsWords));
  }
  GALEN_ASSIGN_OR_RETURN(one.stage, entry.Text("stage"));
  GALEN_ASSIGN_OR_RETURN(one.signatures, entry.Texts("signatures"));
  GALEN_ASSIGN_OR_RETURN(one.patterns, entry.Texts("patterns"));
  GALEN_ASSIGN_OR_RETURN(one.next, entry.Texts("next"));
  for (const std::string& pattern : one.patterns) GALEN_RETURN_IF_ERROR(entry.Compiles(pattern));
  return one;
}

absl::Status ParseLimits(const Yaml& yaml, absl::string_view file, Limits& limits) {
  const Entry entry(yaml, file, "limits");
  GALEN_RETURN_IF_ERROR(entry.Check(
      {"stall_steps", "stall_seconds", "setup_seconds", "warmup_steps", "rate_drop_percent"}));
  for (const Yaml::Field& field : yaml.fields) {
    double value = 0;
    if (field.value.kind != Yaml::Kind::kScalar || !absl::SimpleAtod(field.value.scalar, &value) ||
        !(value >= 0 && value <= 1e9)) {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": is not a number from 0 to 1e9"));
    }
    if (field.name == "stall_steps") limits.stall_steps = value;
    if (field.name == "stall_seconds") limits.stall = absl::Seconds(value);
    if (field.name == "setup_seconds") limits.setup = absl::Seconds(value);
    if (field.name == "warmup_steps") limits.warmup_steps = static_cast<std::int64_t>(value);
    if (field.name == "rate_drop_percent") limits.rate_drop_percent = value;
  }
  return absl::OkStatus();
}

absl::Status ParseExits(const Yaml& yaml, absl::string_view file,
                        std::map<int, std::string>& exits) {
  for (const Yaml& item : yaml.items) {
    const Entry entry(item, file, "exits");
    GALEN_RETURN_IF_ERROR(entry.Check({"code", "meaning"}));
    const Yaml* code = item.Find("code");
    if (code == nullptr) return entry.Error("needs a code");
    GALEN_ASSIGN_OR_RETURN(const std::int64_t number, YamlInteger(*code, file, "code"));
    if (number < 0 || number > 255) return entry.Error("a code is from 0 to 255");
    GALEN_ASSIGN_OR_RETURN(exits[static_cast<int>(number)], entry.Text("meaning", true));
  }
  return absl::OkStatus();
}

// Inserts new entries before the existing ones, and replaces entries of the same name.
template <typename T>
absl::Status Merge(std::vector<T>& all, std::vector<T> more, absl::string_view file) {
  std::vector<T> fresh;
  for (T& one : more) {
    const auto same = [&](const T& other) { return other.name == one.name; };
    if (std::find_if(fresh.begin(), fresh.end(), same) != fresh.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": ", one.name, ": stands here twice; give one another name"));
    }
    if (const auto old = std::find_if(all.begin(), all.end(), same); old != all.end()) {
      *old = std::move(one);
    } else {
      fresh.push_back(std::move(one));
    }
  }
  for (T& old : all) fresh.push_back(std::move(old));
  all = std::move(fresh);
  if (all.size() > kMostEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": more than ", kMostEntries, " entries of a kind"));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status ParseList(const Yaml& yaml, absl::string_view file, std::vector<T>& all,
                       absl::StatusOr<T> (*parse)(const Yaml&, absl::string_view)) {
  std::vector<T> more;
  for (const Yaml& item : yaml.items) {
    GALEN_ASSIGN_OR_RETURN(T one, parse(item, file));
    more.push_back(std::move(one));
  }
  return Merge(all, std::move(more), file);
}

}  // namespace

const FailureClass* Catalogue::FindClass(absl::string_view name) const {
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&](const FailureClass& one) { return one.name == name; });
  return found == classes.end() ? nullptr : &*found;
}

absl::Status AddTo(Catalogue& catalogue, absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  if (yaml.kind != Yaml::Kind::kMap) {
    return YamlError(yaml, file,
                     "is not a map of formats, facts, classes, harmless, exits, limits");
  }
  for (const Yaml::Field& section : yaml.fields) {
    const Yaml& value = section.value;
    if (section.name == "limits") {
      GALEN_RETURN_IF_ERROR(ParseLimits(value, file, catalogue.limits));
      continue;
    }
    if (value.kind != Yaml::Kind::kList) {
      return YamlError(value, file, absl::StrCat(section.name, ": is not a list"));
    }
    if (section.name == "formats") {
      GALEN_RETURN_IF_ERROR(ParseList(value, file, catalogue.formats, ParseFormat));
    } else if (section.name == "facts") {
      GALEN_RETURN_IF_ERROR(ParseList(value, file, catalogue.facts, ParseFact));
    } else if (section.name == "classes") {
      GALEN_RETURN_IF_ERROR(ParseList(value, file, catalogue.classes, ParseClass));
    } else if (section.name == "exits") {
      GALEN_RETURN_IF_ERROR(ParseExits(value, file, catalogue.exits));
    } else if (section.name == "harmless") {
      for (const Yaml& item : value.items) {
        const Entry entry(item, file, "harmless");
        GALEN_RETURN_IF_ERROR(entry.Check({"pattern", "source"}));
        GALEN_ASSIGN_OR_RETURN(std::string pattern, entry.Text("pattern", true));
        GALEN_RETURN_IF_ERROR(entry.Compiles(pattern));
        catalogue.harmless.push_back(std::move(pattern));
      }
    } else {
      return YamlError(
          value, file,
          absl::StrCat(section.name,
                       ": unknown; there are formats, facts, classes, harmless, exits, limits"));
    }
  }
  return absl::OkStatus();
}

absl::string_view ToString(Relation relation) {
  return kRelationWords[static_cast<std::size_t>(relation)].text;
}

absl::string_view ToString(Quantity quantity) {
  return kQuantityWords[static_cast<std::size_t>(quantity)].text;
}

}  // namespace galen::triage
