#include "bench/eval/runner/simulated_customer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/host/commands.h"
#include "re2/re2.h"

namespace galen::eval {
namespace {

namespace fs = std::filesystem;

// More of one output than a person pastes; it is given as far as it goes.
constexpr std::size_t kMostPasted = std::size_t{512} << 10;
constexpr std::size_t kMostOfAnswer = std::size_t{900} << 10;
constexpr std::size_t kMostOfLog = std::size_t{2} << 20;

std::string Content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The expression that matches an entry of a check's `reads` in knowledge/checks, such as
// "/sys/class/net/*/mtu", "ethtool -S <netdev>" or "ports/{state,rate}".
std::string ExpressionOf(absl::string_view read) {
  std::string expression;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (absl::StartsWith(read.substr(i), "**")) {
      expression += ".*";
      ++i;
    } else if (read[i] == '*') {
      expression += "[^/]*";
    } else if (read[i] == '<' && read.find('>', i) != absl::string_view::npos) {
      expression += "\\S+";
      i = read.find('>', i);
    } else if (read[i] == '{' && read.find('}', i) != absl::string_view::npos) {
      const std::size_t end = read.find('}', i);
      std::vector<std::string> words;
      for (const absl::string_view word : absl::StrSplit(read.substr(i + 1, end - i - 1), ',')) {
        words.push_back(RE2::QuoteMeta(re2::StringPiece(word.data(), word.size())));
      }
      absl::StrAppend(&expression, "(?:", absl::StrJoin(words, "|"), ")");
      i = end;
    } else {
      expression += RE2::QuoteMeta(re2::StringPiece(read.data() + i, 1));
    }
  }
  return expression;
}

bool Matches(const std::string& text, absl::string_view read) {
  return RE2::FullMatch(text, ExpressionOf(read));
}

bool IsRead(const std::string& text, const std::set<std::string>& reads) {
  return std::any_of(reads.begin(), reads.end(),
                     [&](const std::string& read) { return Matches(text, read); });
}

// As people type it: the kernel log has a form that only Galen asks for.
std::string Typed(const std::string& command) {
  return absl::StartsWith(command, "dmesg") ? "dmesg -T" : command;
}

std::set<std::string> DecisiveReads(const v1::Case& a_case, const knowledge::Knowledge& knowledge) {
  std::set<std::string> reads;
  const auto add = [&](const std::string& name) {
    const knowledge::v1::Check* check = knowledge.FindCheck(name);
    if (check == nullptr) return;
    reads.insert(check->reads().begin(), check->reads().end());
  };
  std::vector<std::string> labels(a_case.labels().begin(), a_case.labels().end());
  labels.insert(labels.end(), a_case.labels_acceptable().begin(), a_case.labels_acceptable().end());
  for (const std::string& name : labels) {
    const knowledge::v1::Label* label = knowledge.FindLabel(name);
    if (label == nullptr) continue;
    for (const knowledge::v1::Rule& rule : label->confirm()) {
      if (!rule.context()) add(rule.check());
    }
  }
  return reads;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SimulatedCustomer>> SimulatedCustomer::Withhold(
    const v1::Case& a_case, const host::Bundle& bundle, const knowledge::Knowledge& knowledge) {
  std::unique_ptr<SimulatedCustomer> customer(new SimulatedCustomer(a_case.id()));
  GALEN_ASSIGN_OR_RETURN(host::TemporaryDirectory directory, host::TemporaryDirectory::Create());
  customer->owned_ = std::make_unique<host::TemporaryDirectory>(std::move(directory));
  const std::string root = absl::StrCat(customer->owned_->path(), "/bundle");
  std::error_code error;
  fs::copy(bundle.root(), root, fs::copy_options::recursive | fs::copy_options::copy_symlinks,
           error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(bundle.root(), ": cannot be copied: ", error.message()));
  }
  customer->incident_ = bundle.incident();
  customer->incident_.set_bundle(root);
  const std::set<std::string> reads = DecisiveReads(a_case, knowledge);
  for (const std::string& node : bundle.nodes()) {
    for (const char* view : {"", "/job"}) {
      const std::string place = absl::StrCat(root, "/nodes/", node, view);
      if (!fs::is_directory(place, error)) continue;
      GALEN_RETURN_IF_ERROR(customer->TakeNode(node, place, reads));
    }
  }
  const bool of_logs = std::any_of(reads.begin(), reads.end(), [](const std::string& read) {
    return absl::StartsWith(read, "logs/");
  });
  GALEN_RETURN_IF_ERROR(customer->TakeLogs(bundle, of_logs));
  return customer;
}

absl::Status SimulatedCustomer::TakeNode(const std::string& node, const std::string& directory,
                                         const std::set<std::string>& reads) {
  std::vector<Piece>& pieces = pieces_[node];
  const std::string list = absl::StrCat(directory, "/commands.yaml");
  std::error_code error;
  if (fs::exists(list, error)) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<host::CapturedCommand> commands,
                           host::ParseCommands(Content(list), list));
    std::vector<host::CapturedCommand> kept;
    for (const host::CapturedCommand& command : commands) {
      const std::string typed = absl::StrJoin(command.argv, " ");
      if (!command.absent && !command.timed_out) {
        std::string printed = command.stdout_file.empty()
                                  ? ""
                                  : Content(absl::StrCat(directory, "/", command.stdout_file));
        if (printed.empty() && !command.stderr_file.empty()) {
          printed = Content(absl::StrCat(directory, "/", command.stderr_file));
        }
        pieces.push_back({Typed(typed), "", std::move(printed)});
      }
      if (!IsRead(typed, reads)) kept.push_back(command);
    }
    std::ofstream(list, std::ios::binary | std::ios::trunc) << host::FormatCommands(kept);
  }
  const std::string files = absl::StrCat(directory, "/rootfs");
  std::vector<std::string> paths;
  for (fs::recursive_directory_iterator at(files, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code inner;
    if (at->is_regular_file(inner)) paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& place : paths) {
    const std::string path = place.substr(files.size());
    if (path == "/.absent") continue;
    pieces.push_back({absl::StrCat("cat ", path), path, Content(place)});
    if (IsRead(path, reads)) fs::remove(place, error);
  }
  const std::string variables = absl::StrCat(directory, "/env.yaml");
  if (fs::exists(variables, error)) {
    std::string text;
    for (const absl::string_view line : absl::StrSplit(Content(variables), '\n')) {
      const std::size_t colon = line.find(": ");
      if (colon == absl::string_view::npos) continue;
      absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 2));
      if (value.size() > 1 && value.front() == value.back() &&
          (value.front() == '"' || value.front() == '\'')) {
        value = value.substr(1, value.size() - 2);
      }
      absl::StrAppend(&text, absl::StripAsciiWhitespace(line.substr(0, colon)), "=", value, "\n");
    }
    pieces.push_back({"env", "", std::move(text)});
    if (reads.count("env.yaml") > 0) fs::remove(variables, error);
  }
  return absl::OkStatus();
}

absl::Status SimulatedCustomer::TakeLogs(const host::Bundle& bundle, bool withhold) {
  google::protobuf::RepeatedPtrField<galen::v1::LogSource> kept;
  for (const galen::v1::LogSource& log : incident_.logs()) {
    const bool of_job = log.kind() == galen::v1::LogSource::JOB ||
                        log.kind() == galen::v1::LogSource::KIND_UNSPECIFIED;
    if (of_job) {
      const absl::StatusOr<std::string> path = bundle.LogPath(log.path());
      if (path.ok()) {
        galen::v1::LogSource whole = log;
        whole.set_content(Content(*path).substr(0, kMostOfLog));
        logs_.push_back(std::move(whole));
      }
    }
    if (!of_job || !withhold) *kept.Add() = log;
  }
  *incident_.mutable_logs() = std::move(kept);
  return absl::OkStatus();
}

bool SimulatedCustomer::Paste(const std::string& node, const std::string& command,
                              std::string& text) const {
  const auto found = pieces_.find(node);
  if (found == pieces_.end()) return false;
  absl::string_view pattern = command;
  const bool of_files =
      absl::ConsumePrefix(&pattern, "cat ") || absl::ConsumePrefix(&pattern, "grep . ");
  // People's prompts differ.
  const std::size_t form = std::hash<std::string>()(absl::StrCat(id_, command)) % 3;
  const std::string prompt = form == 0   ? absl::StrCat("[root@", node, " ~]# ")
                             : form == 1 ? absl::StrCat("root@", node, ":~# ")
                                         : absl::StrCat("mk@", node, ":~$ sudo ");
  std::string printed;
  for (const Piece& piece : found->second) {
    if (of_files ? !piece.path.empty() && Matches(piece.path, pattern)
                 : piece.path.empty() && piece.typed == command) {
      if (of_files && absl::StartsWith(command, "grep")) {
        for (const absl::string_view line : absl::StrSplit(piece.content, '\n')) {
          if (!line.empty()) absl::StrAppend(&printed, piece.path, ":", line, "\n");
        }
      } else {
        absl::StrAppend(&printed, piece.content);
      }
    }
  }
  if (absl::StripAsciiWhitespace(printed).empty()) return false;
  if (printed.size() > kMostPasted) printed.resize(kMostPasted);
  absl::StrAppend(&text, "\n", prompt, command, "\n", printed, printed.back() == '\n' ? "" : "\n");
  return true;
}

bool SimulatedCustomer::AnswerOne(const galen::v1::Question& question, std::string& text) const {
  bool any = false;
  for (const std::string& command : question.commands()) {
    if (!question.node().empty()) {
      any = Paste(question.node(), command, text) || any;
      continue;
    }
    for (const auto& [node, pieces] : pieces_) any = Paste(node, command, text) || any;
  }
  return any;
}

galen::v1::SubmitFeedbackRequest SimulatedCustomer::Answer(
    const google::protobuf::RepeatedPtrField<galen::v1::Question>& questions, int& answered) const {
  galen::v1::SubmitFeedbackRequest request;
  std::string text = "Here is what you asked for.\n";
  answered = 0;
  for (const galen::v1::Question& question : questions) {
    const bool wants_logs =
        std::any_of(question.commands().begin(), question.commands().end(),
                    [](const std::string& command) { return absl::StrContains(command, "log,"); });
    if (wants_logs && !logs_.empty()) {
      for (const galen::v1::LogSource& log : logs_) *request.mutable_evidence()->add_logs() = log;
      ++answered;
    } else if (AnswerOne(question, text)) {
      ++answered;
    }
    if (text.size() > kMostOfAnswer) break;
  }
  if (answered == 0) text = "We do not have that, sorry.";
  request.set_text(text);
  return request;
}

google::protobuf::RepeatedPtrField<galen::v1::Question> RandomQuestions(
    const galen::v1::Diagnosis& diagnosis, const knowledge::Knowledge& knowledge, int count,
    const std::string& seed) {
  std::set<std::string> asked;
  for (const galen::v1::Exchange& exchange : diagnosis.dialogue()) {
    for (const auto& question : exchange.questions()) asked.insert(question.id());
  }
  std::vector<galen::v1::Question> all;
  for (const galen::v1::CheckResult& result : diagnosis.check_results()) {
    const knowledge::v1::Check* check = knowledge.FindCheck(result.check());
    if (check == nullptr || check->intrusive() || check->reads().empty()) continue;
    if (result.status() == galen::v1::CheckResult::PASS ||
        result.status() == galen::v1::CheckResult::FAIL) {
      continue;
    }
    galen::v1::Question question;
    question.set_id(result.id());
    question.set_check(result.check());
    question.set_node(result.node());
    for (const std::string& read : check->reads()) {
      if (question.commands_size() == 3) break;
      if (absl::StartsWith(read, "native:") || absl::StartsWith(read, "PromQL")) continue;
      if (absl::StartsWith(read, "logs/")) {
        question.add_commands("the job's log, from all ranks");
      } else if (read == "env.yaml") {
        question.add_commands("env");
      } else if (absl::StartsWith(read, "/")) {
        question.add_commands(absl::StrCat(
            read.find_first_of("*{<") == std::string::npos ? "cat " : "grep . ", read));
      } else {
        question.add_commands(Typed(read));
      }
    }
    if (question.commands().empty() || asked.count(question.id()) > 0) continue;
    all.push_back(std::move(question));
  }
  std::seed_seq words(seed.begin(), seed.end());
  std::mt19937 random(words);
  google::protobuf::RepeatedPtrField<galen::v1::Question> chosen;
  while (chosen.size() < count && !all.empty()) {
    const std::size_t at = random() % all.size();
    *chosen.Add() = all[at];
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return chosen;
}

}  // namespace galen::eval
