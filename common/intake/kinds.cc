#include "common/intake/kinds.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/intake/line.h"

namespace galen::intake {
namespace {

// A line of a log may be megabytes long; what it is shows at its beginning.
constexpr std::size_t kLookedOfLine = 512;
// Below it "half of the lines" is chance.
constexpr double kShare = 0.5;
// Groups of expressions.
constexpr char kArgument[] = "arg";
constexpr char kHost[] = "host";

absl::Status Wrong(const knowledge::v1::ArtefactKind& spec, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(spec.source().file(), ":", spec.source().line(),
                                                 ": artefact kind ", spec.id(), ": ", what));
}

absl::Status ReadReadsAs(const knowledge::v1::ArtefactKind& spec, Kind& kind) {
  absl::string_view text = spec.reads_as();
  if (text == "nothing") return absl::OkStatus();
  if (text == "environment") {
    kind.reads_as = Kind::ReadsAs::kEnvironment;
  } else if (text == "command as typed") {
    kind.reads_as = Kind::ReadsAs::kCommandAsTyped;
  } else if (absl::ConsumePrefix(&text, "command ")) {
    kind.reads_as = Kind::ReadsAs::kCommand;
    kind.argv = absl::StrSplit(text, ' ', absl::SkipEmpty());
    if (kind.argv.empty()) return Wrong(spec, "reads_as names no command");
  } else if (absl::ConsumePrefix(&text, "file ")) {
    kind.reads_as = Kind::ReadsAs::kFile;
    kind.path = std::string(text);
    if (!absl::StartsWith(kind.path, "/") && kind.path != "<arg>") {
      return Wrong(spec, "reads_as names a file without its absolute path");
    }
  } else if (absl::ConsumePrefix(&text, "log ")) {
    kind.reads_as = Kind::ReadsAs::kLog;
    kind.log = text == "job"         ? v1::LogSource::JOB
               : text == "system"    ? v1::LogSource::SYSTEM
               : text == "scheduler" ? v1::LogSource::SCHEDULER
               : text == "tool"      ? v1::LogSource::TOOL
                                     : v1::LogSource::KIND_UNSPECIFIED;
    if (kind.log == v1::LogSource::KIND_UNSPECIFIED) {
      return Wrong(spec, "reads_as: a log is job, system, scheduler or tool");
    }
  } else {
    return Wrong(spec,
                 absl::StrCat("reads_as \"", spec.reads_as(),
                              "\" is unknown: write command, file, log, environment or nothing"));
  }
  return absl::OkStatus();
}

// The text that group `name` of the expressions captures in the first line that matches one.
std::string Group(const std::vector<std::string>& expressions,
                  absl::Span<const absl::string_view> lines, const std::string& name) {
  for (const std::string& text : expressions) {
    if (!absl::StrContains(text, absl::StrCat("(?P<", name, ">"))) continue;
    const RE2 expression(text, ByteOptions());
    const int group = expression.NamedCapturingGroups().at(name);
    std::vector<re2::StringPiece> taken(static_cast<std::size_t>(group) + 1);
    for (const absl::string_view line : lines) {
      if (expression.Match(Piece(line), 0, line.size(), RE2::UNANCHORED, taken.data(),
                           static_cast<int>(taken.size())) &&
          !taken.back().empty()) {
        return std::string(taken.back().data(), taken.back().size());
      }
    }
  }
  return "";
}

}  // namespace

std::unique_ptr<RE2::Set> Kinds::Expressions::MakeSet() {
  RE2::Options options = ByteOptions();
  options.set_max_mem(std::int64_t{64} << 20);
  return std::make_unique<RE2::Set>(options, RE2::UNANCHORED);
}

absl::Status Kinds::Expressions::Add(const std::string& expression) {
  std::string error;
  if (set_->Add(expression, &error) < 0) {
    return absl::InvalidArgumentError(absl::StrCat(expression, ": ", error));
  }
  ++size_;
  return absl::OkStatus();
}

absl::Status Kinds::Expressions::Compile() const {
  absl::call_once(compiled_, [this] { fits_ = size_ > 0 && set_->Compile(); });
  if (fits_ || size_ == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "the expressions of knowledge/intake take more memory than they may; make them simpler");
}

std::vector<int> Kinds::Expressions::Matches(absl::string_view text) const {
  std::vector<int> matched;
  if (!Compile().ok() || size_ == 0) return matched;
  if (!set_->Match(Piece(text), &matched)) return {};
  std::sort(matched.begin(), matched.end());
  return matched;
}

absl::StatusOr<std::shared_ptr<const Kinds>> Kinds::Compile(
    const knowledge::v1::KnowledgeBase& base) {
  auto kinds = std::make_shared<Kinds>();
  for (const knowledge::v1::ArtefactKind& spec : base.artefact_kinds()) {
    Kind kind;
    kind.id = spec.id();
    kind.title = spec.title();
    kind.typed.assign(spec.typed().begin(), spec.typed().end());
    kind.header.assign(spec.header().begin(), spec.header().end());
    kind.file.assign(spec.file().begin(), spec.file().end());
    kind.form = spec.form();
    kind.instead = spec.instead();
    GALEN_RETURN_IF_ERROR(ReadReadsAs(spec, kind));
    const int index = static_cast<int>(kinds->all_.size());
    const auto add = [&](Expressions& to,
                         const google::protobuf::RepeatedPtrField<std::string>& all,
                         const std::function<void()>& note) -> absl::Status {
      for (const std::string& expression : all) {
        if (const absl::Status added = to.Add(expression); !added.ok()) {
          return Wrong(spec, added.message());
        }
        note();
      }
      return absl::OkStatus();
    };
    GALEN_RETURN_IF_ERROR(add(kinds->line_, spec.header(), [&] {
      kinds->line_members_.push_back({index, true});
    }));
    GALEN_RETURN_IF_ERROR(add(kinds->line_, spec.lines(), [&] {
      kinds->line_members_.push_back({index, false});
    }));
    GALEN_RETURN_IF_ERROR(
        add(kinds->typed_, spec.typed(), [&] { kinds->typed_members_.push_back(index); }));
    GALEN_RETURN_IF_ERROR(
        add(kinds->file_, spec.file(), [&] { kinds->file_members_.push_back(index); }));
    kinds->all_.push_back(std::move(kind));
  }
  GALEN_RETURN_IF_ERROR(kinds->line_.Compile());
  return std::shared_ptr<const Kinds>(std::move(kinds));
}

const Kind* Kinds::Find(absl::string_view id) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Kind& kind) { return kind.id == id; });
  return found == all_.end() ? nullptr : &*found;
}

LineShape Kinds::ShapeOf(absl::string_view line) const {
  LineShape shape;
  if (line.empty()) return shape;
  for (const int member : line_.Matches(line.substr(0, kLookedOfLine))) {
    const auto [kind, header] = line_members_[static_cast<std::size_t>(member)];
    std::vector<int>& list = header ? shape.headers : shape.shapes;
    if (list.empty() || list.back() != kind) list.push_back(kind);
  }
  return shape;
}

KindMatch Kinds::ByCommand(const Command& command,
                           absl::Span<const absl::string_view> lines) const {
  if (command.argv.empty()) return {};
  const std::string typed = absl::StrJoin(command.argv, " ");
  const std::vector<int> matches = typed_.Matches(typed);
  if (matches.empty()) return {};
  const Kind& kind =
      all_[static_cast<std::size_t>(typed_members_[static_cast<std::size_t>(matches.front())])];
  const absl::string_view words = typed;
  KindMatch match = {.kind = &kind,
                     .argument = Group(kind.typed, {&words, 1}, kArgument),
                     .host = Group(kind.typed, {&words, 1}, kHost)};
  if (match.argument.empty()) match.argument = Group(kind.header, lines, kArgument);
  if (match.host.empty()) match.host = Group(kind.header, lines, kHost);
  return match;
}

KindMatch Kinds::ByPath(absl::string_view path) const {
  if (path.empty()) return {};
  const std::vector<int> matches = file_.Matches(path);
  if (matches.empty()) return {};
  const Kind& kind =
      all_[static_cast<std::size_t>(file_members_[static_cast<std::size_t>(matches.front())])];
  return {.kind = &kind, .argument = Group(kind.file, {&path, 1}, kArgument), .host = ""};
}

KindMatch Kinds::Recognise(absl::Span<const absl::string_view> lines,
                           absl::Span<const LineShape> shapes, const Command& command,
                           absl::string_view path) const {
  KindMatch by_command = ByCommand(command, lines);
  const bool is_log =
      by_command.kind != nullptr && by_command.kind->reads_as == Kind::ReadsAs::kLog;
  if (by_command.kind != nullptr && !is_log) return by_command;
  // The lines of a launcher's output identify the program that wrote them.
  const KindMatch by_text = ByText(lines, shapes);
  if (is_log) {
    const bool agrees = by_text.kind != nullptr && by_text.kind->reads_as == Kind::ReadsAs::kLog;
    return agrees ? by_text : by_command;
  }
  return by_text.kind != nullptr ? by_text : ByPath(path);
}

KindMatch Kinds::ByText(absl::Span<const absl::string_view> lines,
                        absl::Span<const LineShape> shapes) const {
  std::vector<std::size_t> shaped(all_.size());
  std::size_t filled = 0;
  const Kind* by_header = nullptr;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (absl::StripAsciiWhitespace(lines[i]).empty()) continue;
    ++filled;
    if (by_header == nullptr && !shapes[i].headers.empty()) {
      by_header = &all_[static_cast<std::size_t>(shapes[i].headers.front())];
    }
    for (const int kind : shapes[i].shapes) ++shaped[static_cast<std::size_t>(kind)];
    for (const int kind : shapes[i].headers) {
      const auto& both = shapes[i].shapes;
      if (!std::binary_search(both.begin(), both.end(), kind))
        ++shaped[static_cast<std::size_t>(kind)];
    }
  }
  const auto best = std::max_element(shaped.begin(), shaped.end());
  const bool enough = best != shaped.end() && *best > 0 &&
                      static_cast<double>(*best) >= kShare * static_cast<double>(filled);
  const Kind* by_lines = enough ? &all_[static_cast<std::size_t>(best - shaped.begin())] : nullptr;
  // A job that prints the state of its GPUs first is still a log: what most lines are outweighs one
  // line, unless they are of the same kind.
  if (by_header != nullptr && by_lines != nullptr && by_header != by_lines) {
    const auto index = static_cast<std::size_t>(by_header - all_.data());
    if (by_lines->reads_as == Kind::ReadsAs::kLog && shaped[index] * 4 < *best)
      return {.kind = by_lines, .argument = "", .host = ""};
  }
  if (by_header == nullptr) return {.kind = by_lines, .argument = "", .host = ""};
  return {.kind = by_header,
          .argument = Group(by_header->header, lines, kArgument),
          .host = Group(by_header->header, lines, kHost)};
}

}  // namespace galen::intake
