#include "common/reasoner/llm/section.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/text.h"

namespace galen::reasoner::llm {
namespace {

constexpr std::size_t kMaxAttribute = 200;

std::string AttributeText(absl::string_view value) {
  std::string text = CleanText(value, kMaxAttribute);
  absl::StrReplaceAll({{"\n", " "}, {"\t", " "}}, &text);
  return Escape(text);
}

}  // namespace

absl::string_view Name(TextKind kind) {
  switch (kind) {
    case TextKind::kPlain:
      return "plain";
    case TextKind::kLog:
      return "log";
    case TextKind::kCode:
      return "code";
    case TextKind::kFormula:
      return "formula";
    case TextKind::kRule:
      return "rule";
  }
  return "plain";
}

std::string Escape(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string Unescape(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}});
}

std::string Section(TextKind kind, const Attributes& attributes, absl::string_view text,
                    std::size_t max_bytes) {
  std::string section = absl::StrCat("<", Name(kind));
  for (const auto& [name, value] : attributes) {
    absl::StrAppend(&section, " ", name, "=\"", AttributeText(value), "\"");
  }
  absl::StrAppend(&section, ">", Escape(CleanText(text, max_bytes)), "</", Name(kind), ">\n");
  return section;
}

}  // namespace galen::reasoner::llm
