#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/remediation/run_action.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::remediation {
namespace {

constexpr std::int64_t kMostSeconds = 3600;
constexpr std::size_t kMostSteps = 16;
constexpr std::size_t kMostText = 1000;
// Programs that run other programs, whatever their arguments are.
constexpr absl::string_view kShells[] = {"sh",   "bash", "dash",    "zsh",   "ksh",     "env",
                                         "sudo", "eval", "python3", "perl",  "python",  "ssh",
                                         "su",   "ruby", "xargs",   "nohup", "busybox", "awk"};

absl::StatusOr<Argv> ParseArgv(const Yaml& value, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(Argv argv, YamlTexts(value, file, "run"));
  if (argv.empty() || argv.front().empty()) {
    return YamlError(value, file, "run: is a program and its arguments, [systemctl, restart, X]");
  }
  const std::string& program = argv.front();
  const std::string name = program.substr(program.rfind('/') + 1);
  if (absl::StrContains(program, "${") ||
      std::find(std::begin(kShells), std::end(kShells), name) != std::end(kShells)) {
    return YamlError(value, file,
                     absl::StrCat("run: ", program,
                                  ": runs whatever it is told; name the program "
                                  "itself"));
  }
  return argv;
}

absl::Status ParseParameter(const Yaml& value, absl::string_view file, absl::string_view name,
                            std::string& given) {
  std::vector<std::string> choices;
  std::int64_t least = 1;
  std::int64_t most = 0;
  for (const Yaml::Field& field : value.fields) {
    if (field.name == "one_of") {
      GALEN_ASSIGN_OR_RETURN(choices, YamlTexts(field.value, file, field.name));
    } else if (field.name == "least") {
      GALEN_ASSIGN_OR_RETURN(least, YamlInteger(field.value, file, field.name));
    } else if (field.name == "most") {
      GALEN_ASSIGN_OR_RETURN(most, YamlInteger(field.value, file, field.name));
    } else if (field.name == "value") {
      GALEN_ASSIGN_OR_RETURN(given, YamlText(field.value, file, field.name));
    } else {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": unknown; there are value, one_of, least, most"));
    }
  }
  if (choices.empty() == (least > most)) {
    return YamlError(value, file, absl::StrCat(name, ": needs bounds: one_of, or least and most"));
  }
  std::int64_t number = 0;
  const bool within = choices.empty()
                          ? absl::SimpleAtoi(given, &number) && number >= least && number <= most
                          : std::count(choices.begin(), choices.end(), given) > 0;
  if (within) return absl::OkStatus();
  return YamlError(value, file,
                   absl::StrCat(name, ": ", given, ": is not within its bounds, ",
                                choices.empty() ? absl::StrCat(least, " to ", most)
                                                : absl::StrJoin(choices, ", ")));
}

absl::StatusOr<RunAction::Condition> ParseCondition(const Yaml& entry, absl::string_view file) {
  RunAction::Condition condition;
  for (const Yaml::Field& field : entry.fields) {
    if (field.name == "run") {
      GALEN_ASSIGN_OR_RETURN(condition.argv, ParseArgv(field.value, file));
    } else if (field.name == "prints") {
      if (field.value.kind == Yaml::Kind::kList) {
        GALEN_ASSIGN_OR_RETURN(condition.prints, YamlTexts(field.value, file, field.name));
      } else {
        GALEN_ASSIGN_OR_RETURN(std::string only, YamlText(field.value, file, field.name));
        condition.prints = {std::move(only)};
      }
    } else if (field.name == "text") {
      GALEN_ASSIGN_OR_RETURN(condition.text, YamlText(field.value, file, field.name));
    } else {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": unknown; there are run, prints, text"));
    }
  }
  if (condition.argv.empty() || condition.prints.empty() || condition.text.empty()) {
    return YamlError(entry, file, "before, after: need run, prints and text");
  }
  return condition;
}

absl::StatusOr<RunAction::Recovery> ParseRecovery(const Yaml& entry, absl::string_view file) {
  RunAction::Recovery recovery;
  for (const Yaml::Field& field : entry.fields) {
    std::string* const to = field.name == "check"     ? &recovery.check
                            : field.name == "finding" ? &recovery.finding
                            : field.name == "is"      ? &recovery.is
                                                      : nullptr;
    if (to == nullptr) {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": unknown; there are check, finding, is"));
    }
    GALEN_ASSIGN_OR_RETURN(*to, YamlText(field.value, file, field.name));
  }
  if (recovery.check.empty() || recovery.finding.empty() || recovery.is.empty()) {
    return YamlError(entry, file, "verify: needs check, finding and is");
  }
  return recovery;
}

// A placeholder that is not filled in would reach a command unchanged.
absl::Status CheckPlaceholders(const Yaml& entry, absl::string_view file, const RunAction& action) {
  std::vector<std::string> words = {action.text};
  for (const Argv& step : action.steps) words.insert(words.end(), step.begin(), step.end());
  for (const auto* conditions : {&action.before, &action.after}) {
    for (const RunAction::Condition& condition : *conditions) {
      words.insert(words.end(), condition.argv.begin(), condition.argv.end());
      words.insert(words.end(), condition.prints.begin(), condition.prints.end());
      words.push_back(condition.text);
    }
  }
  for (std::string& word : words) {
    word = absl::StrReplaceAll(word, {{"${node}", ""}});
    if (action.target == RunAction::Target::kGpu)
      word = absl::StrReplaceAll(word, {{"${pci}", ""}});
    for (const auto& [name, value] : action.parameters) {
      word = absl::StrReplaceAll(word, {{absl::StrCat("${", name, "}"), ""}});
    }
    if (absl::StrContains(word, "${")) {
      return YamlError(entry, file,
                       absl::StrCat(action.name, ": ", word,
                                    ": nothing fills that in; there are "
                                    "${node}, ${pci} for `target: gpu`, "
                                    "and the action's parameters"));
    }
  }
  return absl::OkStatus();
}

// A condition also runs in a dry run, which must not change anything.
absl::Status CheckLooks(const Yaml& entry, absl::string_view file, const RunAction& action) {
  for (const auto* conditions : {&action.before, &action.after}) {
    for (const RunAction::Condition& condition : *conditions) {
      if (std::count(action.steps.begin(), action.steps.end(), condition.argv) == 0) continue;
      return YamlError(entry, file,
                       absl::StrCat(action.name, ": ", condition.text,
                                    ": runs a command of the steps; conditions before and after "
                                    "must only read, since they also run without an approval"));
    }
  }
  return absl::OkStatus();
}

absl::Status ParseLists(const Yaml::Field& field, absl::string_view file, RunAction& action) {
  for (const Yaml& item : field.value.items) {
    if (field.name == "before" || field.name == "after") {
      GALEN_ASSIGN_OR_RETURN(RunAction::Condition condition, ParseCondition(item, file));
      (field.name == "before" ? action.before : action.after).push_back(std::move(condition));
    } else if (field.name == "steps") {
      GALEN_ASSIGN_OR_RETURN(Argv argv, ParseArgv(item, file));
      action.steps.push_back(std::move(argv));
    } else {
      GALEN_ASSIGN_OR_RETURN(RunAction::Recovery recovery, ParseRecovery(item, file));
      action.verify.push_back(std::move(recovery));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RunAction> ParseRunAction(const Yaml& entry, absl::string_view file) {
  RunAction action;
  for (const Yaml::Field& field : entry.fields) {
    if (field.name == "name") {
      GALEN_ASSIGN_OR_RETURN(action.name, YamlText(field.value, file, field.name));
    } else if (field.name == "text") {
      GALEN_ASSIGN_OR_RETURN(action.text, YamlText(field.value, file, field.name));
    } else if (field.name == "labels") {
      GALEN_ASSIGN_OR_RETURN(action.labels, YamlTexts(field.value, file, field.name));
    } else if (field.name == "target") {
      GALEN_ASSIGN_OR_RETURN(const std::string target, YamlText(field.value, file, field.name));
      if (target != "node" && target != "gpu") {
        return YamlError(field.value, file, "target: is node or gpu");
      }
      action.target = target == "gpu" ? RunAction::Target::kGpu : RunAction::Target::kNode;
    } else if (field.name == "seconds" || field.name == "settle_s" || field.name == "recover_s") {
      GALEN_ASSIGN_OR_RETURN(const std::int64_t seconds,
                             YamlInteger(field.value, file, field.name));
      if (seconds < 1 || seconds > kMostSeconds) {
        return YamlError(field.value, file, absl::StrCat(field.name, ": is within 1 to 3600"));
      }
      (field.name == "seconds"    ? action.time
       : field.name == "settle_s" ? action.settle
                                  : action.recover) = absl::Seconds(seconds);
    } else if (field.name == "parameters") {
      for (const Yaml::Field& parameter : field.value.fields) {
        std::string& value = action.parameters[parameter.name];
        GALEN_RETURN_IF_ERROR(ParseParameter(parameter.value, file, parameter.name, value));
      }
    } else if (field.name == "before" || field.name == "steps" || field.name == "after" ||
               field.name == "verify") {
      GALEN_RETURN_IF_ERROR(ParseLists(field, file, action));
    } else {
      return YamlError(field.value, file,
                       absl::StrCat(field.name,
                                    ": unknown; there are name, text, labels, target, parameters, "
                                    "before, steps, after, seconds, verify, settle_s, recover_s"));
    }
  }
  if (!absl::StartsWith(action.name, "node.") || action.labels.empty() ||
      !absl::StrContains(action.text, "${node}") || action.text.size() > kMostText) {
    return YamlError(entry, file,
                     "an action needs a name node.NAME, labels, and a text with ${node} of at most "
                     "1,000 bytes");
  }
  if (action.steps.empty() || action.steps.size() > kMostSteps ||
      (action.verify.empty() && action.after.empty())) {
    return YamlError(entry, file,
                     absl::StrCat(action.name, ": needs 1 to ", kMostSteps,
                                  " steps, and what is so afterwards (after, verify)"));
  }
  GALEN_RETURN_IF_ERROR(CheckPlaceholders(entry, file, action));
  GALEN_RETURN_IF_ERROR(CheckLooks(entry, file, action));
  return action;
}

}  // namespace

absl::StatusOr<std::vector<RunAction>> ParseRunActions(absl::string_view text,
                                                       absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  std::vector<RunAction> actions;
  std::set<std::string> names;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name != "actions") {
      return YamlError(field.value, file, absl::StrCat(field.name, ": unknown; there is actions"));
    }
    for (const Yaml& entry : field.value.items) {
      GALEN_ASSIGN_OR_RETURN(RunAction action, ParseRunAction(entry, file));
      if (!names.insert(action.name).second) {
        return YamlError(entry, file, absl::StrCat(action.name, ": is there twice"));
      }
      actions.push_back(std::move(action));
    }
  }
  if (actions.empty()) return YamlError(yaml, file, "has no actions; see docs/repair.md");
  return actions;
}

absl::StatusOr<std::vector<RunAction>> LoadRunActions(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFolder(directories, "actions"));
  std::vector<RunAction> all;
  for (const KnowledgeFile& file : files) {
    GALEN_ASSIGN_OR_RETURN(std::vector<RunAction> some, ParseRunActions(file.text, file.path));
    for (RunAction& action : some) {
      const auto same = std::find_if(all.begin(), all.end(),
                                     [&](const RunAction& one) { return one.name == action.name; });
      if (same == all.end()) {
        all.push_back(std::move(action));
      } else {
        *same = std::move(action);
      }
    }
  }
  return all;
}

}  // namespace galen::remediation
