#include "services/execution/playbook/playbook_catalogue.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"
#include "services/execution/playbook/series_tests.h"

namespace galen::playbook {
namespace {

constexpr std::size_t kMostSteps = 200;

absl::Status UnknownField(const Yaml::Field& field, absl::string_view file,
                          absl::string_view known) {
  return YamlError(field.value, file, absl::StrCat(field.name, ": unknown; there are ", known));
}

absl::Status ReadOver(const Yaml& value, absl::string_view file, Over& over) {
  static const std::map<std::string, Over> kWords = {
      {"device", Over::kDevice}, {"node", Over::kNode}, {"job", Over::kJob}};
  GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(value, file, "over"));
  const auto found = kWords.find(text);
  if (found == kWords.end()) return YamlError(value, file, "over: write device, node or job");
  over = found->second;
  return absl::OkStatus();
}

absl::Status ReadCombine(const Yaml& value, absl::string_view file, Combine& combine) {
  static const std::map<std::string, Combine> kWords = {{"sum", Combine::kSum},
                                                        {"mean", Combine::kMean},
                                                        {"median", Combine::kMedian},
                                                        {"highest", Combine::kHighest},
                                                        {"lowest", Combine::kLowest}};
  GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(value, file, "combine"));
  const auto found = kWords.find(text);
  if (found == kWords.end()) {
    return YamlError(value, file, "combine: write sum, mean, median, highest or lowest");
  }
  combine = found->second;
  return absl::OkStatus();
}

absl::Status ReadNumbers(const Yaml& value, absl::string_view file, Step& step) {
  for (const Yaml::Field& field : value.fields) {
    GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(field.value, file, field.name));
    double number = 0;
    if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) {
      return YamlError(field.value, file, absl::StrCat(field.name, ": write a number"));
    }
    step.numbers[field.name] = number;
  }
  return absl::OkStatus();
}

// Checks that the test exists, and that the step gives its number of measures and known numbers.
absl::Status CheckStep(const Yaml& yaml, absl::string_view file, const Step& step) {
  for (const auto& [field, text] :
       {std::pair("check", &step.check), {"finding", &step.finding}, {"test", &step.test}}) {
    if (text->empty()) return YamlError(yaml, file, absl::StrCat(field, ": is missing"));
  }
  const SeriesTest* const test = FindSeriesTest(step.test);
  if (test == nullptr) {
    return YamlError(
        yaml, file,
        absl::StrCat("test: \"", step.test, "\" is unknown; the tests are ", SeriesTestNames()));
  }
  if (step.of.size() != test->measures) {
    return YamlError(yaml, file, absl::StrCat("of: ", step.test, " takes ", test->measures));
  }
  for (const auto& [name, number] : step.numbers) {
    const NumberSpec* const spec = test->FindNumber(name);
    if (spec == nullptr) {
      return YamlError(yaml, file, absl::StrCat("numbers: ", step.test, " has no ", name));
    }
    if (number < spec->least || number > spec->most) {
      return YamlError(
          yaml, file,
          absl::StrCat("numbers: ", name, ": must be ", spec->least, " to ", spec->most));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Step> ReadStep(const Yaml& yaml, absl::string_view file) {
  Step step;
  step.file = std::string(file);
  step.line = yaml.line;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "check") {
      GALEN_ASSIGN_OR_RETURN(step.check, YamlText(field.value, file, field.name));
    } else if (field.name == "finding") {
      GALEN_ASSIGN_OR_RETURN(step.finding, YamlText(field.value, file, field.name));
    } else if (field.name == "test") {
      GALEN_ASSIGN_OR_RETURN(step.test, YamlText(field.value, file, field.name));
    } else if (field.name == "of") {
      GALEN_ASSIGN_OR_RETURN(step.of, YamlTexts(field.value, file, field.name));
    } else if (field.name == "points_to") {
      GALEN_ASSIGN_OR_RETURN(step.points_to, YamlTexts(field.value, file, field.name));
    } else if (field.name == "collect") {
      GALEN_ASSIGN_OR_RETURN(step.collect, YamlText(field.value, file, field.name));
    } else if (field.name == "needed") {
      GALEN_ASSIGN_OR_RETURN(step.needed, YamlBool(field.value, file, field.name));
    } else if (field.name == "over") {
      GALEN_RETURN_IF_ERROR(ReadOver(field.value, file, step.over));
    } else if (field.name == "combine") {
      GALEN_RETURN_IF_ERROR(ReadCombine(field.value, file, step.combine));
    } else if (field.name == "numbers") {
      GALEN_RETURN_IF_ERROR(ReadNumbers(field.value, file, step));
    } else {
      return UnknownField(field, file,
                          "check, finding, test, of, over, combine, numbers, points_to, collect");
    }
  }
  GALEN_RETURN_IF_ERROR(CheckStep(yaml, file, step));
  return step;
}

absl::StatusOr<Query> ReadQuery(const Yaml& yaml, absl::string_view file) {
  Query query;
  for (const Yaml::Field& field : yaml.fields) {
    std::string* const text = field.name == "name"     ? &query.name
                              : field.name == "promql" ? &query.promql
                              : field.name == "unit"   ? &query.unit
                                                       : nullptr;
    if (text == nullptr) return UnknownField(field, file, "name, promql, unit");
    GALEN_ASSIGN_OR_RETURN(*text, YamlText(field.value, file, field.name));
  }
  if (query.name.empty() || query.promql.empty()) {
    return YamlError(yaml, file, "queries: each has a name and promql");
  }
  return query;
}

absl::StatusOr<Playbook> ReadPlaybook(const Yaml& yaml, absl::string_view file) {
  Playbook playbook;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "name") {
      GALEN_ASSIGN_OR_RETURN(playbook.name, YamlText(field.value, file, field.name));
    } else if (field.name == "title") {
      GALEN_ASSIGN_OR_RETURN(playbook.title, YamlText(field.value, file, field.name));
    } else if (field.name == "when") {
      GALEN_ASSIGN_OR_RETURN(playbook.when, YamlText(field.value, file, field.name));
    } else if (field.name == "queries") {
      for (const Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(playbook.queries.emplace_back(), ReadQuery(item, file));
      }
    } else if (field.name == "steps") {
      for (const Yaml& item : field.value.items) {
        if (playbook.steps.size() == kMostSteps) {
          return YamlError(item, file, absl::StrCat("steps: more than ", kMostSteps));
        }
        GALEN_ASSIGN_OR_RETURN(playbook.steps.emplace_back(), ReadStep(item, file));
      }
    } else {
      return UnknownField(field, file, "name, title, when, queries, steps");
    }
  }
  if (playbook.name.empty() || playbook.steps.empty()) {
    return YamlError(yaml, file, "a playbook has a name and steps");
  }
  return playbook;
}

}  // namespace

std::vector<const Step*> PlaybookCatalogue::StepsOf(absl::string_view check) const {
  std::vector<const Step*> steps;
  for (const Playbook& playbook : playbooks) {
    for (const Step& step : playbook.steps) {
      if (step.check == check) steps.push_back(&step);
    }
  }
  return steps;
}

const Query* PlaybookCatalogue::FindQuery(absl::string_view name) const {
  for (const Playbook& playbook : playbooks) {
    for (const Query& query : playbook.queries) {
      if (query.name == name) return &query;
    }
  }
  return nullptr;
}

absl::Status AddTo(PlaybookCatalogue& catalogue, absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  for (const Yaml::Field& field : document.fields) {
    if (field.name == "playbooks") {
      for (const Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(Playbook playbook, ReadPlaybook(item, file));
        const auto same = std::find_if(catalogue.playbooks.begin(), catalogue.playbooks.end(),
                                       [&](const Playbook& p) { return p.name == playbook.name; });
        if (same == catalogue.playbooks.end()) {
          catalogue.playbooks.push_back(std::move(playbook));
        } else {
          *same = std::move(playbook);
        }
      }
    } else {
      return UnknownField(field, file, "playbooks");
    }
  }
  std::sort(catalogue.playbooks.begin(), catalogue.playbooks.end(),
            [](const Playbook& a, const Playbook& b) { return a.name < b.name; });
  return absl::OkStatus();
}

absl::StatusOr<PlaybookCatalogue> LoadPlaybooks(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFolder(directories, "playbooks"));
  PlaybookCatalogue catalogue;
  for (const KnowledgeFile& file : files) {
    GALEN_RETURN_IF_ERROR(AddTo(catalogue, file.text, file.path));
  }
  return catalogue;
}

}  // namespace galen::playbook
