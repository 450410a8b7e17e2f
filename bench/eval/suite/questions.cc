#include "bench/eval/suite/questions.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/knowledge/yaml_document.h"

namespace galen::eval {
namespace {

namespace fs = std::filesystem;
using knowledge::YamlNode;

constexpr std::size_t kMostHosts = 16;
constexpr std::size_t kMostSources = 16;  // files and commands of a host
constexpr std::size_t kMostChoices = 10;
constexpr std::size_t kMostTargets = 64;
constexpr std::size_t kMostPath = 200;
constexpr std::size_t kMostNameBytes = 64;
constexpr std::size_t kMostFiles = 64;

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kMostNameBytes &&
         absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' ||
                  c == '.';
         });
}

// A path that can be written below a directory of our own and nowhere else.
bool IsPath(absl::string_view path) {
  if (path.size() < 2 || path.size() > kMostPath || path[0] != '/' || absl::EndsWith(path, "/"))
    return false;
  for (absl::string_view part : absl::StrSplit(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == "..") return false;
    for (const char c : part) {
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e)
        return false;
    }
  }
  return true;
}

class Parser {
 public:
  explicit Parser(std::string file) : file_(std::move(file)) {}

  absl::StatusOr<std::vector<Question>> Parse(const YamlNode& root) {
    if (root.kind != YamlNode::Kind::kMap) {
      return Wrong(root, "is no map", "begin with `suite: galen.suite/v1`");
    }
    GALEN_ASSIGN_OR_RETURN(const std::string format, TextOf(root, "suite"));
    if (format != "galen.suite/v1") {
      return Wrong(root, absl::StrCat("suite: \"", format, "\" is not known"),
                   "write galen.suite/v1");
    }
    GALEN_ASSIGN_OR_RETURN(const std::string metric, TextOf(root, "metric"));
    if (metric != "A" && metric != "B" && metric != "C") {
      return Wrong(root, absl::StrCat("metric: \"", metric, "\" is not known"), "write A, B or C");
    }
    metric_ = metric == "A" ? Metric::kTalk : metric == "B" ? Metric::kCheck : Metric::kCause;
    GALEN_RETURN_IF_ERROR(OnlyKeys(root, {"suite", "metric", "questions"}));
    const YamlNode* list = Find(root, "questions");
    if (list == nullptr || list->kind != YamlNode::Kind::kList) {
      return Wrong(root, "has no list `questions`", "add it");
    }
    if (list->items.size() > kMostQuestions) {
      return Wrong(*list, absl::StrCat(list->items.size(), " questions"),
                   absl::StrCat("keep ", kMostQuestions, " at most"));
    }
    std::vector<Question> questions;
    for (const YamlNode& node : list->items) {
      GALEN_ASSIGN_OR_RETURN(Question question, One(node));
      questions.push_back(std::move(question));
    }
    return questions;
  }

 private:
  absl::Status Wrong(const YamlNode& node, absl::string_view what, absl::string_view remedy) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ":", node.line, ": ", what, "; ", remedy));
  }

  static const YamlNode* Find(const YamlNode& map, absl::string_view key) { return map.Find(key); }

  absl::Status OnlyKeys(const YamlNode& map, const std::set<absl::string_view>& known) const {
    for (const auto& [key, value] : map.fields) {
      if (known.count(key) == 0) {
        return Wrong(value,
                     absl::StrCat("key \"", key.substr(0, kMostNameBytes), "\" is not known"),
                     absl::StrCat("use ", absl::StrJoin(known, ", ")));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Scalar(const YamlNode& node, absl::string_view what) const {
    if (node.kind != YamlNode::Kind::kScalar)
      return Wrong(node, absl::StrCat(what, ": is no text"), "write one");
    if (node.scalar.size() > kMostTextBytes) {
      return Wrong(node, absl::StrCat(what, ": ", node.scalar.size(), " bytes"),
                   absl::StrCat("keep ", kMostTextBytes, " at most"));
    }
    return node.scalar;
  }

  // A key that must be there.
  absl::StatusOr<std::string> TextOf(const YamlNode& map, absl::string_view key) const {
    const YamlNode* node = Find(map, key);
    if (node == nullptr) return Wrong(map, absl::StrCat("has no `", key, "`"), "add it");
    return Scalar(*node, key);
  }
  // One that may be missing.
  absl::StatusOr<std::string> MaybeText(const YamlNode& map, absl::string_view key) const {
    const YamlNode* node = Find(map, key);
    if (node == nullptr) return std::string();
    return Scalar(*node, key);
  }

  absl::StatusOr<std::vector<std::string>> Texts(const YamlNode& map, absl::string_view key,
                                                 std::size_t most) const {
    std::vector<std::string> texts;
    const YamlNode* node = Find(map, key);
    if (node == nullptr) return texts;
    if (node->kind != YamlNode::Kind::kList)
      return Wrong(*node, absl::StrCat(key, ": is no list"), "write one");
    if (node->items.size() > most) {
      return Wrong(*node, absl::StrCat(key, ": ", node->items.size(), " entries"),
                   absl::StrCat("keep ", most, " at most"));
    }
    for (const YamlNode& item : node->items) {
      GALEN_ASSIGN_OR_RETURN(std::string text, Scalar(item, key));
      texts.push_back(std::move(text));
    }
    return texts;
  }

  absl::StatusOr<QuestionHost> Host(const YamlNode& node) const {
    if (node.kind != YamlNode::Kind::kMap)
      return Wrong(node, "hosts: an entry is no map", "write {name, expect, files}");
    GALEN_RETURN_IF_ERROR(
        OnlyKeys(node, {"name", "files", "commands", "absent", "expect", "shown"}));
    QuestionHost host;
    GALEN_ASSIGN_OR_RETURN(host.name, TextOf(node, "name"));
    if (!IsName(host.name))
      return Wrong(node, "hosts: a name is invalid", "use letters, digits, '.', '_', '-'");
    GALEN_ASSIGN_OR_RETURN(host.expect, TextOf(node, "expect"));
    if (host.expect != "healthy" && host.expect != "faulty" && host.expect != "unknown") {
      return Wrong(node, absl::StrCat("expect: \"", host.expect, "\" is not known"),
                   "write healthy, faulty or unknown");
    }
    GALEN_ASSIGN_OR_RETURN(const std::string shown, MaybeText(node, "shown"));
    if (!shown.empty() && shown != "true" && shown != "false") {
      return Wrong(node, absl::StrCat("shown: \"", shown, "\" is not known"),
                   "write true or false");
    }
    host.shown = shown == "true";
    if (host.shown && host.expect == "unknown") {
      return Wrong(node, "shown: nobody can say of an output what it shows of an unknown state",
                   "show a healthy or a faulty host");
    }
    GALEN_ASSIGN_OR_RETURN(host.absent, Texts(node, "absent", kMostSources));
    for (const std::string& path : host.absent) {
      if (!IsPath(path))
        return Wrong(node, "absent: a path is invalid", "write an absolute one without \"..\"");
    }
    if (const YamlNode* files = Find(node, "files"); files != nullptr) {
      if (files->kind != YamlNode::Kind::kMap || files->fields.size() > kMostSources) {
        return Wrong(*files, "files: is no map, or too large a one",
                     absl::StrCat("map ", kMostSources, " paths at most to what they hold"));
      }
      for (std::size_t i = 0; i < files->fields.size(); ++i) {
        if (!IsPath(files->fields[i].name)) {
          return Wrong(files->fields[i].value, "files: a path is invalid",
                       "write an absolute one without \"..\"");
        }
        GALEN_ASSIGN_OR_RETURN(host.files[files->fields[i].name],
                               Scalar(files->fields[i].value, "files"));
      }
    }
    if (const YamlNode* commands = Find(node, "commands"); commands != nullptr) {
      if (commands->kind != YamlNode::Kind::kMap || commands->fields.size() > kMostSources) {
        return Wrong(*commands, "commands: is no map, or too large a one",
                     absl::StrCat("map ", kMostSources, " commands at most to what they print"));
      }
      for (std::size_t i = 0; i < commands->fields.size(); ++i) {
        std::vector<std::string> argv =
            absl::StrSplit(commands->fields[i].name, ' ', absl::SkipEmpty());
        if (argv.empty() || commands->fields[i].name.size() > kMostPath) {
          return Wrong(commands->fields[i].value, "commands: a command is invalid",
                       "write program and arguments");
        }
        GALEN_ASSIGN_OR_RETURN(std::string output, Scalar(commands->fields[i].value, "commands"));
        host.commands.emplace_back(std::move(argv), std::move(output));
      }
    }
    return host;
  }

  absl::StatusOr<Question> One(const YamlNode& node) const {
    if (node.kind != YamlNode::Kind::kMap)
      return Wrong(node, "a question is no map", "write {id, split, text, ...}");
    Question question;
    question.metric = metric_;
    GALEN_ASSIGN_OR_RETURN(question.id, TextOf(node, "id"));
    if (!IsName(question.id))
      return Wrong(node, "id is invalid", "use letters, digits, '.', '_', '-'");
    GALEN_ASSIGN_OR_RETURN(const std::string split, TextOf(node, "split"));
    if (split != "dev" && split != "test")
      return Wrong(node, absl::StrCat("split: \"", split, "\" is not known"), "write dev or test");
    question.split = split == "dev" ? Split::kDev : Split::kTest;
    GALEN_ASSIGN_OR_RETURN(question.text, TextOf(node, "text"));
    if (absl::StripAsciiWhitespace(question.text).empty())
      return Wrong(node, "text: is empty", "write the question");
    if (metric_ == Metric::kTalk) {
      GALEN_RETURN_IF_ERROR(OnlyKeys(node, {"id", "split", "text", "targets", "go_on"}));
      GALEN_ASSIGN_OR_RETURN(question.targets, Texts(node, "targets", kMostTargets));
      std::sort(question.targets.begin(), question.targets.end());
      GALEN_ASSIGN_OR_RETURN(question.go_on, TextOf(node, "go_on"));
      if (question.go_on != "yes" && question.go_on != "no" && question.go_on != "unsaid") {
        return Wrong(node, absl::StrCat("go_on: \"", question.go_on, "\" is not known"),
                     "write \"yes\", \"no\" or \"unsaid\"");
      }
    } else if (metric_ == Metric::kCheck) {
      GALEN_RETURN_IF_ERROR(OnlyKeys(node, {"id", "split", "text", "call", "parameters", "hosts"}));
      GALEN_ASSIGN_OR_RETURN(question.call, MaybeText(node, "call"));
      if (const YamlNode* parameters = Find(node, "parameters"); parameters != nullptr) {
        if (parameters->kind != YamlNode::Kind::kMap || parameters->fields.size() > kMostSources) {
          return Wrong(*parameters, "parameters: is no map", "map names to values");
        }
        for (std::size_t i = 0; i < parameters->fields.size(); ++i) {
          GALEN_ASSIGN_OR_RETURN(question.parameters[parameters->fields[i].name],
                                 Scalar(parameters->fields[i].value, "parameters"));
        }
      }
      const YamlNode* hosts = Find(node, "hosts");
      if (hosts != nullptr &&
          (hosts->kind != YamlNode::Kind::kList || hosts->items.size() > kMostHosts)) {
        return Wrong(*hosts, "hosts: is no list, or too long a one",
                     absl::StrCat("list ", kMostHosts, " at most"));
      }
      std::set<std::string> names;
      for (std::size_t i = 0; hosts != nullptr && i < hosts->items.size(); ++i) {
        GALEN_ASSIGN_OR_RETURN(QuestionHost host, Host(hosts->items[i]));
        if (!names.insert(host.name).second)
          return Wrong(hosts->items[i], absl::StrCat("host ", host.name, " stands twice"),
                       "rename one");
        question.hosts.push_back(std::move(host));
      }
      if (question.call.empty() && question.hosts.empty()) {
        return Wrong(node, "has neither `call` nor `hosts`", "say what would be right");
      }
    } else {
      GALEN_RETURN_IF_ERROR(
          OnlyKeys(node, {"id", "split", "text", "log", "choices", "answer", "source"}));
      GALEN_ASSIGN_OR_RETURN(question.log, MaybeText(node, "log"));
      GALEN_ASSIGN_OR_RETURN(question.source, MaybeText(node, "source"));
      GALEN_ASSIGN_OR_RETURN(question.choices, Texts(node, "choices", kMostChoices));
      GALEN_ASSIGN_OR_RETURN(question.answer, TextOf(node, "answer"));
      if (question.choices.size() < 2) return Wrong(node, "choices: fewer than two", "add some");
      if (std::count(question.choices.begin(), question.choices.end(), question.answer) != 1) {
        return Wrong(node,
                     absl::StrCat("answer: \"", question.answer, "\" is not one of the choices"),
                     "name one of them");
      }
    }
    return question;
  }

  const std::string file_;
  Metric metric_ = Metric::kTalk;
};

absl::StatusOr<std::string> FileText(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error)
    return absl::NotFoundError(
        absl::StrCat("--questions ", path.string(), ": cannot be read: ", error.message()));
  if (size > kMostQuestionFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), ": ", size, " bytes; keep ",
                                                   kMostQuestionFileBytes, " at most"));
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

absl::string_view MetricName(Metric metric) {
  switch (metric) {
    case Metric::kTalk:
      return "A";
    case Metric::kCheck:
      return "B";
    case Metric::kCause:
      return "C";
  }
  return "";
}

absl::StatusOr<std::vector<Question>> ParseQuestions(absl::string_view text,
                                                     const std::string& file) {
  if (text.size() > kMostQuestionFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", text.size(), " bytes; keep ", kMostQuestionFileBytes, " at most"));
  }
  std::vector<knowledge::Problem> problems;
  const std::optional<YamlNode> root = knowledge::ReadYaml(text, file, problems);
  if (!root.has_value()) {
    return absl::InvalidArgumentError(problems.empty() ? absl::StrCat(file, ": cannot be read")
                                                       : knowledge::ToString(problems.front()));
  }
  return Parser(file).Parse(*root);
}

absl::StatusOr<std::vector<Question>> ReadQuestions(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == ".yaml") files.push_back(at->path());
      if (files.size() > kMostFiles) {
        return absl::InvalidArgumentError(absl::StrCat("--questions ", path, ": more than ",
                                                       kMostFiles, " files; put some together"));
      }
    }
    if (error) {
      return absl::UnavailableError(absl::StrCat(
          "--questions ", path, ": cannot be read: ", error.message(), "; see its rights"));
    }
  } else {
    files.emplace_back(path);
  }
  std::sort(files.begin(), files.end());
  std::vector<Question> questions;
  for (const fs::path& file : files) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, FileText(file));
    GALEN_ASSIGN_OR_RETURN(std::vector<Question> more,
                           ParseQuestions(text, file.filename().string()));
    std::move(more.begin(), more.end(), std::back_inserter(questions));
  }
  if (questions.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "--questions ", path, ": holds no question; name a directory with *.yaml files"));
  }
  std::stable_sort(questions.begin(), questions.end(), [](const Question& a, const Question& b) {
    return std::make_pair(a.metric, a.id) < std::make_pair(b.metric, b.id);
  });
  for (std::size_t i = 1; i < questions.size(); ++i) {
    if (questions[i].id == questions[i - 1].id) {
      return absl::InvalidArgumentError(absl::StrCat("--questions ", path, ": question ",
                                                     questions[i].id, " stands twice; rename one"));
    }
  }
  return questions;
}

std::string SuiteFolder() { return GALEN_SOURCE_DIR "/bench/eval/suite"; }

}  // namespace galen::eval
