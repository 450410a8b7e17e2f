#include "common/intake/recognise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/intake/blocks.h"
#include "common/intake/line.h"
#include "common/intake/machine_parts.h"
#include "common/intake/prose.h"
#include "common/intake/repeated.h"
#include "common/intake/text.h"
#include "common/intake/writer.h"

namespace galen::intake {
namespace {

// Lines of an artefact that are read to recognise its kind.
constexpr std::size_t kLookedLines = 4000;
constexpr std::size_t kHostLines = 400;
constexpr std::size_t kMostWriters = 1000;
// Bytes of an output that several machines printed alike, for all of them together, and what each
// counts at least.
constexpr std::size_t kMostCopied = std::size_t{8} << 20;
constexpr std::size_t kLeastCopied = std::size_t{16} << 10;

// One text, part by part.
class Reader {
 public:
  Reader(const Kinds& kinds, const Text& text, std::size_t index, Recognised& out)
      : kinds_(kinds), text_(text), index_(index), out_(out) {}

  void Read() {
    plain_ = Plain(text_.content);
    lines_ = absl::StrSplit(plain_, '\n');
    if (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
    if (IsData(text_.content) || (text_.attached && lines_.empty())) {
      // Whatever its name says, nobody can read it.
      Artefact& data = out_.artefacts.emplace_back();
      data.text = index_;
      data.first_line = data.content_line = 1;
      data.last_line = std::max<std::int64_t>(static_cast<std::int64_t>(lines_.size()), 1);
      data.content = text_.content;
      return;
    }
    if (lines_.empty()) return;
    shapes_.reserve(std::min<std::size_t>(lines_.size(), kLookedAt / 16));
    std::size_t looked = 0;
    while (shapes_.size() < lines_.size() && looked < kLookedAt) {
      looked += lines_[shapes_.size()].size() + 1;
      shapes_.push_back(kinds_.ShapeOf(Unquoted(lines_[shapes_.size()])));
    }
    if (!text_.path.empty()) {
      Add({0, lines_.size()}, std::nullopt, 0);
      return;
    }
    const std::size_t known = out_.artefacts.size();
    ReadLooked(absl::MakeConstSpan(lines_).subspan(0, shapes_.size()));
    if (lines_.size() > shapes_.size()) AddRest(known);
  }

 private:
  // Reads line by line the part of the text below kLookedAt.
  void ReadLooked(absl::Span<const absl::string_view> lines) {
    const bool markdown = HasFence(lines);
    if (text_.attached && !markdown && !absl::EndsWith(text_.name, ".md")) {
      ReadBlock({.lines = {0, lines.size()}, .kind = Block::Kind::kFile});
      return;
    }
    if (!markdown && IsOneLog()) {
      Add({0, lines.size()}, std::nullopt, 0);
      return;
    }
    for (const Block& block : Joined(CutBlocks(lines))) {
      if (block.kind == Block::Kind::kBare) {
        ReadBare(block);
      } else {
        ReadBlock(block);
      }
    }
  }

  // Lines that are indented behind a blank one are code to Markdown; behind lines of the same kind
  // of output they are its next part, as those of nfsiostat are.
  std::vector<Block> Joined(const std::vector<Block>& blocks) const {
    std::vector<Block> joined;
    for (const Block& block : blocks) {
      const bool follows = !joined.empty() && joined.back().kind == Block::Kind::kBare &&
                           joined.back().lines.end == block.lines.first;
      if (follows && (block.kind == Block::Kind::kBare ||
                      (block.kind == Block::Kind::kIndented && GoesOn(block.lines)))) {
        joined.back().lines.end = block.lines.end;
      } else {
        joined.push_back(block);
      }
    }
    return joined;
  }

  // The last line before these is a program's, and one of these has the same shape.
  bool GoesOn(LineRange range) const {
    std::size_t before = range.first;
    while (before > 0 && IsBlank(lines_[before - 1])) --before;
    if (before == 0 || range.end > shapes_.size()) return false;
    const LineShape& last = shapes_[before - 1];
    if (last.headers.empty() && LooksLikeProse(lines_[before - 1])) return false;
    for (std::size_t i = range.first; i < range.end; ++i) {
      for (const std::vector<int>* own : {&shapes_[i].headers, &shapes_[i].shapes}) {
        for (const int kind : *own) {
          if (std::binary_search(last.headers.begin(), last.headers.end(), kind) ||
              std::binary_search(last.shapes.begin(), last.shapes.end(), kind)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  // Lines beyond that part belong to the last artefact; nobody writes megabytes of prose.
  void AddRest(std::size_t known) {
    if (out_.artefacts.size() == known) {
      Artefact& rest = out_.artefacts.emplace_back();
      rest.kind = kinds_.Find("log.other");
      rest.text = index_;
      rest.first_line = rest.content_line = static_cast<std::int64_t>(shapes_.size()) + 1;
    }
    Artefact& last = out_.artefacts.back();
    for (std::size_t i = shapes_.size(); i < lines_.size(); ++i) {
      absl::StrAppend(&last.content, lines_[i], "\n");
    }
    last.last_line = static_cast<std::int64_t>(lines_.size());
  }

  // Nearly all lines have the shape of one kind: nobody wrote anything around it.
  bool IsOneLog() const {
    std::map<int, std::size_t> counts;
    std::size_t filled = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (IsBlank(lines_[i])) continue;
      if (FindPrompt(lines_[i]).has_value()) return false;
      ++filled;
      // A sentence may begin like a line of some table.
      if (shapes_[i].headers.empty() && LooksLikeProse(lines_[i])) continue;
      for (const int kind : shapes_[i].shapes) ++counts[kind];
      for (const int kind : shapes_[i].headers) {
        const std::vector<int>& both = shapes_[i].shapes;
        if (!std::binary_search(both.begin(), both.end(), kind)) ++counts[kind];
      }
    }
    return std::any_of(counts.begin(), counts.end(),
                       [&](const auto& each) { return each.second * 10 >= filled * 8; });
  }

  // A prompt that counts: one that shows more than its sign, or a bare one before a known command.
  std::optional<Prompt> PromptAt(std::size_t line, bool in_block) const {
    std::optional<Prompt> prompt = FindPrompt(Unquoted(lines_[line]));
    if (!prompt.has_value() || !prompt->bare) return prompt;
    const absl::string_view text = absl::StripLeadingAsciiWhitespace(Unquoted(lines_[line]));
    if (text[0] == '$') return prompt;
    // "# " begins headings, comments and tables.
    if (!in_block || !IsKnownCommand(prompt->typed)) return std::nullopt;
    return prompt;
  }

  bool IsKnownCommand(absl::string_view typed) const {
    const Command command = ReadCommand(typed);
    return kinds_.Recognise({}, {}, command, "").kind != nullptr;
  }

  // A block whose every line is a program's, but for prompts.
  void ReadBlock(const Block& block) {
    std::size_t at = block.lines.first;
    const std::size_t end = block.lines.end;
    std::size_t begun = at;
    std::optional<Prompt> prompt;
    std::size_t typed_lines = 0;
    for (; at < end; ++at) {
      const std::optional<Prompt> found = PromptAt(at, true);
      if (!found.has_value()) continue;
      Add({begun, at}, prompt, typed_lines, block.indent, block.code);
      begun = at;
      prompt = found;
      typed_lines = Continued(at, end, *prompt);
      at += typed_lines - 1;
    }
    Add({begun, end}, prompt, typed_lines, block.indent, block.code);
  }

  // Joins what was typed over several lines; gives their number.
  std::size_t Continued(std::size_t at, std::size_t end, Prompt& prompt) const {
    std::size_t count = 1;
    while (!prompt.typed.empty() && prompt.typed.back() == '\\' && at + count < end) {
      prompt.typed.pop_back();
      absl::StrAppend(&prompt.typed, " ", absl::StripAsciiWhitespace(lines_[at + count]));
      ++count;
    }
    return count;
  }

  // Lines among which a person may have written: outputs are known by their prompt or their shape.
  void ReadBare(const Block& block) {
    std::size_t at = block.lines.first;
    const std::size_t end = block.lines.end;
    const std::vector<CodeSpan> spans = CodeSpans(lines_, block.lines);
    auto span = spans.begin();
    while (at < end) {
      while (span != spans.end() && span->first_line < at) ++span;
      if (std::optional<Prompt> prompt = PromptAt(at, false)) {
        const std::size_t typed_lines = Continued(at, end, *prompt);
        std::size_t stop = at + typed_lines;
        while (stop < end && !PromptAt(stop, false).has_value() && !EndsOutput(stop)) ++stop;
        Add({at, stop}, prompt, typed_lines);
        at = stop;
        continue;
      }
      if (const std::optional<LineRange> run = RunAt(at, end)) {
        Add(*run, std::nullopt, 0);
        at = run->end;
        continue;
      }
      at = AddProse(at, span, spans.end());
    }
  }

  using SpanIterator = std::vector<CodeSpan>::const_iterator;

  // Adds line `at` as prose, with the lines over which a quotation in it continues; the quoted text
  // is an artefact as well. Returns the next line.
  std::size_t AddProse(std::size_t at, SpanIterator span, SpanIterator end) {
    std::size_t last = at;
    std::size_t byte = 0;
    for (; span != end && span->first_line == last; ++span) {
      const std::optional<std::string> quoted = Quoted(*span);
      if (!quoted.has_value()) continue;
      AddQuoted(*span, *quoted);
      last = span->last_line;
      byte = span->end_byte;
    }
    const absl::string_view rest = lines_[last].substr(byte);
    if (const std::size_t error = ErrorIn(rest); error != absl::string_view::npos) {
      AddQuoted({last, byte + error, last, lines_[last].size(), 0},
                absl::StrCat(rest.substr(error), "\n"));
    }
    for (; at <= last; ++at) absl::StrAppend(&out_.prose, Unquoted(lines_[at]), "\n");
    return at;
  }

  // The text of a span that is a message. Nothing for a name, a command or a few words.
  std::optional<std::string> Quoted(const CodeSpan& span) const {
    std::string text;
    for (std::size_t line = span.first_line; line <= span.last_line; ++line) {
      absl::string_view part = lines_[line];
      if (line == span.last_line) part = part.substr(0, span.end_byte);
      if (line == span.first_line) part.remove_prefix(span.first_byte);
      absl::StrAppend(&text, Unquoted(part), "\n");
    }
    if (!IsMessage(text) || IsKnownCommand(text)) return std::nullopt;
    return text;
  }

  void AddQuoted(const CodeSpan& span, const std::string& text) {
    Artefact artefact;
    artefact.text = index_;
    artefact.first_line = artefact.content_line = static_cast<std::int64_t>(span.first_line) + 1;
    artefact.last_line = static_cast<std::int64_t>(span.last_line) + 1;
    artefact.content = text;
    artefact.excerpt = true;
    artefact.quoted = true;
    std::vector<absl::string_view> lines = absl::StrSplit(artefact.content, '\n');
    lines.pop_back();
    std::vector<LineShape> shapes;
    shapes.reserve(lines.size());
    for (const absl::string_view line : lines) shapes.push_back(kinds_.ShapeOf(line));
    Finish(std::move(artefact), lines, shapes, false);
  }

  // A person goes on here, after the output of a program.
  bool EndsOutput(std::size_t line) const {
    if (line == 0 || !IsBlank(lines_[line - 1])) return false;
    return shapes_.size() > line && shapes_[line].headers.empty() && shapes_[line].shapes.empty() &&
           LooksLikeProse(lines_[line]);
  }

  bool HasShape(std::size_t line) const {
    return line < shapes_.size() &&
           (!shapes_[line].shapes.empty() || !shapes_[line].headers.empty());
  }

  // Lines from `at` on that look like a program's: all but a few in between, and blank ones.
  std::optional<LineRange> RunAt(std::size_t at, std::size_t end) const {
    if (!HasShape(at) || (LooksLikeProse(lines_[at]) && shapes_[at].headers.empty()))
      return std::nullopt;
    std::size_t last = at;
    std::size_t strange = 0;
    for (std::size_t i = at + 1; i < end; ++i) {
      if (PromptAt(i, false).has_value()) break;
      if (IsBlank(lines_[i])) continue;
      if (HasShape(i)) {
        last = i;
        strange = 0;
        continue;
      }
      if (LooksLikeProse(lines_[i]) || ++strange > 3) break;
      // A line that follows directly, without a blank line, still belongs to the program.
      if (!IsBlank(lines_[i - 1])) last = i;
    }
    return LineRange{at, last + 1};
  }

  void Add(LineRange range, std::optional<Prompt> prompt, std::size_t typed_lines,
           std::size_t indent = 0, bool code = false) {
    while (range.end > range.first && IsBlank(lines_[range.end - 1])) --range.end;
    std::size_t from = range.first + typed_lines;
    if (!prompt.has_value()) {
      while (range.first < range.end && IsBlank(lines_[range.first])) ++range.first;
      from = range.first;
    }
    if (range.first >= range.end) return;
    if (prompt.has_value() && absl::StripAsciiWhitespace(prompt->typed).empty() &&
        from >= range.end)
      return;
    Artefact artefact;
    artefact.text = index_;
    artefact.first_line = static_cast<std::int64_t>(range.first) + 1;
    artefact.last_line = static_cast<std::int64_t>(range.end);
    artefact.content_line = static_cast<std::int64_t>(from) + 1;
    if (prompt.has_value()) {
      artefact.command = ReadCommand(prompt->typed);
      artefact.typed = std::string(absl::StripAsciiWhitespace(prompt->typed));
      artefact.user = prompt->user;
      artefact.host = artefact.command.host;
      if (artefact.host.empty() && !artefact.command.elsewhere) artefact.host = prompt->host;
      artefact.in_container = artefact.command.in_container || IsContainerId(artefact.host);
      artefact.excerpt = artefact.command.filtered;
    }
    std::vector<absl::string_view> lines;
    for (std::size_t i = from; i < range.end; ++i) {
      absl::string_view line = Unquoted(lines_[i]);
      for (std::size_t n = 0; n < indent && !line.empty() && (line[0] == ' ' || line[0] == '\t');
           ++n) {
        const bool tab = line[0] == '\t';
        line.remove_prefix(1);
        if (tab) break;
      }
      if (lines.size() < kLookedLines) lines.push_back(line);
      absl::StrAppend(&artefact.content, line, "\n");
    }
    const std::size_t begin = std::min(from, shapes_.size());
    lines.resize(std::min(lines.size(), shapes_.size() - begin));
    absl::Span<const LineShape> shapes = absl::MakeConstSpan(shapes_).subspan(begin, lines.size());
    // Without the indentation of the block a line has another shape.
    std::vector<LineShape> own;
    if (indent > 0) {
      for (const absl::string_view line : lines) own.push_back(kinds_.ShapeOf(line));
      shapes = own;
    }
    if (artefact.command.several && from + lines.size() == range.end) {
      const bool echoes = absl::StrContains(artefact.typed, "echo") ||
                          absl::StrContains(artefact.typed, "printf") ||
                          absl::StrContains(artefact.typed, "hostname");
      const std::vector<MachinePart> parts =
          PartsByMachine(lines, artefact.command.machines, echoes);
      if (!parts.empty()) {
        artefact.content.clear();
        std::size_t room = kMostCopied;
        for (const MachinePart& part : parts) AddPart(artefact, part, lines, code, room);
        return;
      }
    }
    Finish(std::move(artefact), lines, shapes, code);
  }

  // Adds the part of an output that one machine printed, or several machines alike. `room`: bytes
  // that copies for further machines may take.
  void AddPart(const Artefact& whole, const MachinePart& part,
               absl::Span<const absl::string_view> lines, bool code, std::size_t& room) {
    Artefact artefact = whole;
    artefact.content_line = whole.content_line + static_cast<std::int64_t>(part.lines.front());
    // Its heading, or what was typed.
    artefact.first_line = part.prefix > 0 ? artefact.content_line : artefact.content_line - 1;
    artefact.last_line = whole.content_line + static_cast<std::int64_t>(part.lines.back());
    std::vector<absl::string_view> own;
    std::vector<LineShape> shapes;
    for (const std::size_t i : part.lines) {
      own.push_back(lines[i].substr(std::min(part.prefix, lines[i].size())));
      shapes.push_back(kinds_.ShapeOf(own.back()));
      absl::StrAppend(&artefact.content, own.back(), "\n");
    }
    for (const std::string& machine : part.machines) {
      const std::size_t bytes = artefact.content.size() + kLeastCopied;
      if (machine != part.machines.front() && bytes > room) break;
      room -= std::min(bytes, room);
      artefact.host = machine;
      Finish(artefact, own, shapes, code);
    }
    if (part.machines.empty()) Finish(std::move(artefact), own, shapes, code);
  }

  // Tells what the artefact is and who wrote it.
  void Finish(Artefact artefact, absl::Span<const absl::string_view> lines,
              absl::Span<const LineShape> shapes, bool code) {
    const KindMatch match =
        kinds_.Recognise(lines, shapes, artefact.command, text_.attached ? text_.name : "");
    artefact.kind = match.kind;
    artefact.argument = match.argument;
    artefact.machine = match.host;
    if (artefact.kind == nullptr && code) artefact.kind = kinds_.Find("code");
    artefact.writers = WritersOf(lines);
    if (artefact.host.empty() && artefact.writers.size() == 1) {
      artefact.host = artefact.writers.front();
    }
    if (artefact.host.empty() && !artefact.command.elsewhere) artefact.host = text_.host;
    if (!text_.cut.empty()) artefact.excerpt = true;
    out_.artefacts.push_back(std::move(artefact));
  }

  // The machines that lines name as their writers: the one that nearly all name, or those that
  // several do.
  static std::vector<std::string> WritersOf(absl::Span<const absl::string_view> lines) {
    std::map<std::string, int> counts;
    int named = 0;
    for (const absl::string_view line : lines.subspan(0, std::min(lines.size(), kHostLines))) {
      std::string host = WriterOf(line);
      if (host.empty()) continue;
      ++named;
      ++counts[std::move(host)];
    }
    std::vector<std::string> writers;
    for (const auto& [host, count] : counts) {
      if (count * 10 >= named * 8) return {host};
      if (count >= 3 && writers.size() < kMostWriters) writers.push_back(host);
    }
    return writers;
  }

  const Kinds& kinds_;
  const Text& text_;
  const std::size_t index_;
  Recognised& out_;
  std::string plain_;
  std::vector<absl::string_view> lines_;
  std::vector<LineShape> shapes_;
};

}  // namespace

bool IsOnlyWords(const Recognised& recognised) {
  return std::all_of(recognised.artefacts.begin(), recognised.artefacts.end(),
                     [](const Artefact& artefact) { return artefact.quoted; });
}

Recognised Recognise(const Kinds& kinds, absl::Span<const Text> texts) {
  Recognised recognised;
  for (std::size_t i = 0; i < texts.size(); ++i) Reader(kinds, texts[i], i, recognised).Read();
  DropRepeated(recognised);
  return recognised;
}

}  // namespace galen::intake
