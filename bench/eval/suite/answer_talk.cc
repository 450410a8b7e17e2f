#include "bench/eval/suite/answer_talk.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/talk.h"

namespace galen::eval {
namespace {

std::string Written(const talk::Target& target) {
  if (!target.port.has_value()) return target.address;
  if (target.address.find(':') != std::string::npos)
    return absl::StrCat("[", target.address, "]:", *target.port);
  return absl::StrCat(target.address, ":", *target.port);
}

absl::string_view Word(talk::GoOn go_on) {
  switch (go_on) {
    case talk::GoOn::kYes:
      return "yes";
    case talk::GoOn::kNo:
      return "no";
    case talk::GoOn::kUnsaid:
      return "unsaid";
  }
  return "";
}

}  // namespace

Answer AnswerTalk(const Question& question, const talk::TalkWords& words,
                  const Ablation& ablation) {
  const talk::Talk read = talk::ReadTalk(
      question.text, words, {.critique = ablation.diagram, .second_look = ablation.selfplay});
  std::vector<std::string> targets;
  for (const talk::Target& target : read.targets) targets.push_back(Written(target));
  std::sort(targets.begin(), targets.end());
  Answer answer;
  answer.right = targets == question.targets && Word(read.go_on) == question.go_on;
  answer.given = absl::StrCat(absl::StrJoin(targets, ", "), " go on: ", Word(read.go_on));
  if (!answer.right) {
    absl::StrAppend(&answer.given, "; right is ", absl::StrJoin(question.targets, ", "),
                    " go on: ", question.go_on);
  }
  return answer;
}

}  // namespace galen::eval
