#include "common/remediation/run_action.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/text.h"

namespace galen::remediation {
namespace {

bool IsOf(absl::string_view text, std::size_t most, absl::string_view more) {
  return !text.empty() && text.size() <= most &&
         absl::ascii_isalnum(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), [more](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  more.find(c) != absl::string_view::npos;
         });
}

// "0000:b3:00.0"
bool IsPciAddress(absl::string_view text) {
  constexpr absl::string_view kForm = "xxxx:xx:xx.x";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == 'x' ? absl::ascii_isxdigit(static_cast<unsigned char>(text[i]))
                                      : text[i] == kForm[i];
    if (!fits) return false;
  }
  return true;
}

using Values = std::vector<std::pair<std::string, std::string>>;

Argv Replaced(const Argv& argv, const Values& values) {
  Argv filled;
  for (const std::string& word : argv) filled.push_back(absl::StrReplaceAll(word, values));
  return filled;
}

// As a person would type it.
std::string Typed(const Argv& argv) {
  return absl::StrJoin(argv, " ", [](std::string* out, const std::string& word) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
             absl::StrContains("-_./:=,@%+", absl::string_view(&c, 1));
    });
    if (plain) {
      out->append(word);
    } else {
      absl::StrAppend(out, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
    }
  });
}

}  // namespace

absl::StatusOr<Filled> Fill(const RunAction& action, const galen::v1::Device& device) {
  if (!IsOf(device.node(), 253, ".-")) {
    return absl::InvalidArgumentError(
        absl::StrCat(action.name, ": ", CleanText(device.node(), 100), ": is not a node's name"));
  }
  Values values = {{"${node}", device.node()}};
  if (action.target == RunAction::Target::kGpu) {
    if (!absl::StartsWith(device.device(), "gpu:") || !IsPciAddress(device.pci_address())) {
      return absl::InvalidArgumentError(
          absl::StrCat(action.name, ": needs a GPU whose PCI address is known"));
    }
    values.emplace_back("${pci}", device.pci_address());
  }
  for (const auto& [name, value] : action.parameters) {
    values.emplace_back(absl::StrCat("${", name, "}"), value);
  }
  Filled filled;
  filled.text = absl::StrReplaceAll(action.text, values);
  const auto fill = [&values](const std::vector<RunAction::Condition>& conditions) {
    std::vector<RunAction::Condition> all;
    for (const RunAction::Condition& one : conditions) {
      all.push_back({Replaced(one.argv, values), Replaced(one.prints, values),
                     absl::StrReplaceAll(one.text, values)});
    }
    return all;
  };
  filled.before = fill(action.before);
  filled.after = fill(action.after);
  for (const Argv& step : action.steps) filled.steps.push_back(Replaced(step, values));
  return filled;
}

std::vector<std::string> PlanOf(const RunAction& action, const Filled& filled) {
  std::vector<std::string> plan;
  const auto tell = [&plan](absl::string_view when, const RunAction::Condition& condition) {
    std::vector<std::string> outputs;
    for (const std::string& output : condition.prints) {
      outputs.push_back(output.empty() ? "nothing" : output);
    }
    plan.push_back(absl::StrCat(when, condition.text, ": ", Typed(condition.argv), " prints ",
                                absl::StrJoin(outputs, " or ")));
  };
  for (const RunAction::Condition& condition : filled.before) tell("only if ", condition);
  for (const Argv& step : filled.steps) plan.push_back(absl::StrCat("run: ", Typed(step)));
  for (const RunAction::Condition& condition : filled.after) tell("until ", condition);
  plan.push_back(absl::StrCat("all within ", absl::FormatDuration(action.time)));
  for (const RunAction::Recovery& recovery : action.verify) {
    plan.push_back(
        absl::StrCat("then ", recovery.check, " has to find ", recovery.finding, " ", recovery.is));
  }
  return plan;
}

}  // namespace galen::remediation
