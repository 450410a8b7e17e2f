#include "services/advisor/learning/known_mismatches.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::advisor {
namespace {

constexpr std::size_t kMostRules = 1024;
constexpr std::size_t kMostGpus = 256;
constexpr std::size_t kMostConditions = 16;
constexpr std::size_t kMostNameMatched = 256;

constexpr std::array<absl::string_view, 20> kNeeds = {
    "all_gather", "all_reduce", "all_to_all",     "bf16",      "fp16",      "fp4",        "fp6",
    "fp8",        "fp64",       "gpudirect_rdma", "int8",      "multi_gpu", "multi_node", "nvlink",
    "p2p",        "rdma",       "reduce_scatter", "send_recv", "sharp",     "tf32"};

// Without the local part, which describes the build: "2.19.3" of "2.19.3+cuda12.2".
absl::string_view Released(absl::string_view version) {
  return version.substr(0, version.find('+'));
}

// The first parts, this many.
absl::string_view Parts(absl::string_view version, std::ptrdiff_t count) {
  for (std::size_t i = 0; i < version.size(); ++i) {
    if (version[i] == '.' && --count == 0) return version.substr(0, i);
  }
  return version;
}

// Like OrderVersions(), in the parts that both have: a missing part is not 0.
int OrderShared(absl::string_view a, absl::string_view b) {
  const auto parts =
      1 + std::min(std::count(a.begin(), a.end(), '.'), std::count(b.begin(), b.end(), '.'));
  return OrderVersions(Parts(a, parts), Parts(b, parts));
}

}  // namespace

bool IsNeed(absl::string_view word) {
  return std::find(kNeeds.begin(), kNeeds.end(), word) != kNeeds.end();
}

int OrderVersions(absl::string_view a, absl::string_view b) {
  const auto next = [](absl::string_view& rest) {
    const std::size_t end = rest.find_first_of(".-+_");
    const absl::string_view part = rest.substr(0, end);
    rest = end == absl::string_view::npos ? absl::string_view() : rest.substr(end + 1);
    return part;
  };
  while (!a.empty() || !b.empty()) {
    const absl::string_view x = next(a);
    const absl::string_view y = next(b);
    std::int64_t number_x = 0;
    std::int64_t number_y = 0;
    if ((x.empty() || absl::SimpleAtoi(x, &number_x)) &&
        (y.empty() || absl::SimpleAtoi(y, &number_y))) {
      if (number_x != number_y) return number_x < number_y ? -1 : 1;
    } else if (x != y) {
      return x < y ? -1 : 1;
    }
  }
  return 0;
}

absl::StatusOr<KnownMismatches::Condition> KnownMismatches::ReadCondition(const std::string& text) {
  using Kind = Condition::Kind;
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipWhitespace());
  Condition condition;
  if (words.size() == 2 && words[0] == "needs") {
    if (!IsNeed(words[1])) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", words[1], "\" is not a need that a job can have (docs/advisor.md)"));
    }
    condition.kind = Kind::kNeeds;
    condition.word = words[1];
    return condition;
  }
  if (words.size() == 2 && (words[0] == "setting" || words[0] == "differs")) {
    condition.kind = words[0] == "setting" ? Kind::kSetting : Kind::kDiffers;
    condition.word = words[1];
    return condition;
  }
  if (words.size() == 3 && words[0] == "gpu" && (words[1] == "has" || words[1] == "lacks")) {
    condition.kind = words[1] == "has" ? Kind::kGpuHas : Kind::kGpuLacks;
    condition.word = words[2];
    return condition;
  }
  for (const auto& [name, kind] :
       {std::pair{"unequal", Kind::kUnequal}, std::pair{"newer", Kind::kNewer},
        std::pair{"newer_major", Kind::kNewerMajor}, std::pair{"newer_minor", Kind::kNewerMinor}}) {
    if (words.size() != 3 || words[0] != name) continue;
    condition.kind = kind;
    condition.word = words[1];
    condition.other = words[2];
    return condition;
  }
  if (words.size() == 3 && words[0] == "version") {
    condition.kind = Kind::kVersion;
    condition.word = words[1];
    for (absl::string_view part : absl::StrSplit(words[2], ',')) {
      Bound bound;
      if (absl::ConsumePrefix(&part, ">=")) {
        bound.is = Bound::Is::kAtLeast;
      } else if (absl::ConsumePrefix(&part, "<=")) {
        bound.is = Bound::Is::kAtMost;
      } else if (absl::ConsumePrefix(&part, "==")) {
        bound.is = Bound::Is::kEqual;
      } else if (absl::ConsumePrefix(&part, "<")) {
        bound.is = Bound::Is::kBelow;
      } else if (absl::ConsumePrefix(&part, ">")) {
        bound.is = Bound::Is::kAbove;
      } else {
        part = "";
      }
      if (part.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(part[0]))) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", words[2], "\" is not a range of versions: write >=2.19,<2.19.4"));
      }
      bound.version = std::string(part);
      condition.range.push_back(std::move(bound));
    }
    return condition;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text,
                   "\" is not a condition: needs, gpu has, gpu lacks, "
                   "setting, version, differs, unequal, newer, "
                   "newer_major or newer_minor"));
}

absl::Status KnownMismatches::AddGpus(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  if (document.kind == Yaml::Kind::kNull) return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(YamlFields(document, file, {"gpus"}));
  if (document.Find("gpus") == nullptr) return YamlError(document, file, "needs gpus");
  GALEN_ASSIGN_OR_RETURN(const absl::Span<const Yaml> gpus, YamlItems(document, file, "gpus"));
  std::vector<Gpu> added;
  for (const Yaml& entry : gpus) {
    GALEN_RETURN_IF_ERROR(YamlFields(entry, file, {"match", "has", "source"}));
    GALEN_ASSIGN_OR_RETURN(const std::string match, YamlNeeded(entry, file, "match"));
    GALEN_RETURN_IF_ERROR(YamlNeeded(entry, file, "source").status());
    const Yaml* has = entry.Find("has");
    if (has == nullptr) return YamlError(entry, file, "needs has");
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> words, YamlTexts(*has, file, "has"));
    Gpu gpu{std::make_unique<const RE2>(match, RE2::Quiet), {words.begin(), words.end()}};
    if (!gpu.match->ok()) {
      return YamlError(entry, file, absl::StrCat("match ", match, ": ", gpu.match->error()));
    }
    added.push_back(std::move(gpu));
  }
  gpus_.insert(gpus_.begin(), std::make_move_iterator(added.begin()),
               std::make_move_iterator(added.end()));
  if (gpus_.size() > kMostGpus) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": more than 256 GPUs"));
  }
  return absl::OkStatus();
}

absl::Status KnownMismatches::AddRules(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  if (document.kind == Yaml::Kind::kNull) return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(YamlFields(document, file, {"mismatches"}));
  if (document.Find("mismatches") == nullptr) return YamlError(document, file, "needs mismatches");
  GALEN_ASSIGN_OR_RETURN(const absl::Span<const Yaml> mismatches,
                         YamlItems(document, file, "mismatches"));
  for (const Yaml& entry : mismatches) {
    GALEN_RETURN_IF_ERROR(
        YamlFields(entry, file, {"name", "title", "severity", "all", "check", "advice", "source"}));
    Rule rule;
    std::string severity;
    for (const auto& [name, into] :
         {std::pair<const char*, std::string*>{"name", &rule.mismatch.name},
          {"title", &rule.mismatch.title},
          {"severity", &severity},
          {"check", &rule.mismatch.check},
          {"advice", &rule.mismatch.advice},
          {"source", &rule.mismatch.source}}) {
      GALEN_ASSIGN_OR_RETURN(*into, YamlNeeded(entry, file, name));
    }
    if (severity != "error" && severity != "warning") {
      return YamlError(entry, file, "severity: is error or warning");
    }
    rule.mismatch.error = severity == "error";
    const Yaml* all = entry.Find("all");
    if (all == nullptr || all->items.empty() || all->items.size() > kMostConditions) {
      return YamlError(entry, file, "needs all: between 1 and 16 conditions");
    }
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> texts, YamlTexts(*all, file, "all"));
    for (const std::string& condition : texts) {
      absl::StatusOr<Condition> read = ReadCondition(condition);
      if (!read.ok()) return YamlError(*all, file, read.status().message());
      rule.all.push_back(*std::move(read));
    }
    const auto same = std::find_if(rules_.begin(), rules_.end(), [&](const Rule& other) {
      return other.mismatch.name == rule.mismatch.name;
    });
    if (same != rules_.end()) {
      *same = std::move(rule);
    } else {
      rules_.push_back(std::move(rule));
    }
    if (rules_.size() > kMostRules) return YamlError(entry, file, "is one rule too many");
  }
  return absl::OkStatus();
}

absl::StatusOr<KnownMismatches> KnownMismatches::Parse(absl::string_view gpus,
                                                       absl::string_view mismatches) {
  KnownMismatches known;
  GALEN_RETURN_IF_ERROR(known.AddGpus(gpus, "advisor/gpus.yaml"));
  GALEN_RETURN_IF_ERROR(known.AddRules(mismatches, "advisor/mismatches.yaml"));
  return known;
}

absl::StatusOr<KnownMismatches> KnownMismatches::Load(const std::vector<std::string>& directories) {
  KnownMismatches known;
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> gpus,
                         KnowledgeFiles(directories, "advisor/gpus.yaml"));
  for (const KnowledgeFile& file : gpus) {
    GALEN_RETURN_IF_ERROR(known.AddGpus(file.text, file.path));
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> rules,
                         KnowledgeFiles(directories, "advisor/mismatches.yaml"));
  for (const KnowledgeFile& file : rules) {
    GALEN_RETURN_IF_ERROR(known.AddRules(file.text, file.path));
  }
  return known;
}

const KnownMismatches::Gpu* KnownMismatches::GpuOf(const std::string& name) const {
  if (name.empty() || name.size() > kMostNameMatched) return nullptr;
  for (const Gpu& gpu : gpus_) {
    if (RE2::PartialMatch(name, *gpu.match)) return &gpu;
  }
  return nullptr;
}

bool KnownMismatches::Holds(const Condition& condition, const JobFacts& facts, const Gpu* gpu) {
  using Kind = Condition::Kind;
  static const std::set<std::string> kNone;
  const auto versions = [&](const std::string& component) -> const std::set<std::string>& {
    const auto it = facts.versions.find(component);
    return it == facts.versions.end() ? kNone : it->second;
  };
  const std::set<std::string>& of = versions(condition.word);
  switch (condition.kind) {
    case Kind::kNeeds:
      return facts.needs.contains(condition.word);
    case Kind::kGpuHas:
      return gpu != nullptr && gpu->has.contains(condition.word);
    case Kind::kGpuLacks:
      return gpu != nullptr && !gpu->has.contains(condition.word);
    case Kind::kSetting:
      return facts.settings.contains(condition.word);
    case Kind::kDiffers:
      return std::any_of(of.begin(), of.end(), [&](const std::string& version) {
        return OrderVersions(Released(version), Released(*of.begin())) != 0;
      });
    case Kind::kVersion:
      return std::any_of(of.begin(), of.end(), [&](const std::string& version) {
        return std::all_of(condition.range.begin(), condition.range.end(), [&](const Bound& bound) {
          const int order = OrderVersions(Released(version), Released(bound.version));
          switch (bound.is) {
            case Bound::Is::kBelow:
              return order < 0;
            case Bound::Is::kAtMost:
              return order <= 0;
            case Bound::Is::kAtLeast:
              return order >= 0;
            case Bound::Is::kAbove:
              return order > 0;
            case Bound::Is::kEqual:
              return order == 0;
          }
          return false;
        });
      });
    case Kind::kUnequal: {
      const std::set<std::string>& other = versions(condition.other);
      if (other.empty()) return false;
      return std::any_of(of.begin(), of.end(), [&](const std::string& version) {
        return std::all_of(other.begin(), other.end(), [&](const std::string& beside) {
          return OrderVersions(Released(version), Released(beside)) != 0;
        });
      });
    }
    case Kind::kNewer:
    case Kind::kNewerMajor:
    case Kind::kNewerMinor: {
      const std::set<std::string>& other = versions(condition.other);
      return std::any_of(of.begin(), of.end(), [&](const std::string& version) {
        return std::any_of(other.begin(), other.end(), [&](const std::string& beside) {
          const absl::string_view a = Released(version);
          const absl::string_view b = Released(beside);
          const int major = OrderVersions(Parts(a, 1), Parts(b, 1));
          if (condition.kind == Kind::kNewerMajor) return major > 0;
          if (condition.kind == Kind::kNewerMinor && major != 0) return false;
          return OrderShared(a, b) > 0;
        });
      });
    }
  }
  return false;
}

std::vector<const KnownMismatch*> KnownMismatches::Find(const JobFacts& facts) const {
  const Gpu* gpu = GpuOf(facts.gpu);
  std::vector<const KnownMismatch*> found;
  for (const Rule& rule : rules_) {
    if (std::all_of(rule.all.begin(), rule.all.end(),
                    [&](const Condition& condition) { return Holds(condition, facts, gpu); })) {
      found.push_back(&rule.mismatch);
    }
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const KnownMismatch* each) { return each->error; });
  return found;
}

std::vector<const KnownMismatch*> KnownMismatches::all() const {
  std::vector<const KnownMismatch*> all;
  for (const Rule& rule : rules_) all.push_back(&rule.mismatch);
  return all;
}

}  // namespace galen::advisor
