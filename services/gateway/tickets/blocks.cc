#include "services/gateway/tickets/blocks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/text.h"

namespace galen::gateway::tickets {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr absl::string_view kMore = "The diagnosis has more: this ticket takes no more text.";

// "@name" notifies people in most systems; a zero-width space after the "@" prevents that.
constexpr absl::string_view kQuietAt = "@\xe2\x80\x8b";

std::string EscapeMarkdown(absl::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '@':
        absl::StrAppend(&escaped, kQuietAt);
        break;
      case '\\':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '#':
      case '|':
      case '~':
      case '!':
        escaped += '\\';
        escaped += c;
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// A fence longer than any run of backticks in the text.
std::string MarkdownCode(absl::string_view text) {
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return absl::StrCat(fence, "\n", text, "\n", fence);
}

std::string TextOf(const Block& block, Form form) {
  const std::string text = Escape(block.text, form);
  const std::string lead = Escape(block.lead, form);
  switch (form) {
    case Form::kMarkdown:
      switch (block.kind) {
        case Block::Kind::kHeading:
          return absl::StrCat("## ", text, "\n\n");
        case Block::Kind::kCode:
          return absl::StrCat(MarkdownCode(block.text), "\n\n");
        case Block::Kind::kLink:
          return absl::StrCat("[", text, "](", block.url, ")\n\n");
        default:
          return absl::StrCat(block.kind == Block::Kind::kItem ? "- " : "",
                              lead.empty() ? "" : absl::StrCat("**", lead, "** "), text,
                              block.kind == Block::Kind::kItem ? "\n" : "\n\n");
      }
    case Form::kSlack:
      switch (block.kind) {
        case Block::Kind::kHeading:
          return absl::StrCat("*", text, "*\n");
        case Block::Kind::kCode:
          return absl::StrCat("```", absl::StrReplaceAll(text, {{"```", "'''"}}), "```\n");
        case Block::Kind::kLink:
          return absl::StrCat("<", block.url, "|", text, ">\n");
        default:
          return absl::StrCat(block.kind == Block::Kind::kItem ? "• " : "",
                              lead.empty() ? "" : absl::StrCat("*", lead, "* "), text, "\n");
      }
    case Form::kHtml:
      switch (block.kind) {
        case Block::Kind::kHeading:
          return absl::StrCat("<h3>", text, "</h3>\n");
        case Block::Kind::kCode:
          return absl::StrCat("<pre>", text, "</pre>\n");
        case Block::Kind::kLink:
          return absl::StrCat("<p><a href=\"", Escape(block.url, form), "\">", text, "</a></p>\n");
        default:
          return absl::StrCat("<p>", block.kind == Block::Kind::kItem ? "&bull; " : "",
                              lead.empty() ? "" : absl::StrCat("<b>", lead, "</b> "), text,
                              "</p>\n");
      }
    default:
      switch (block.kind) {
        case Block::Kind::kHeading:
          return absl::StrCat(text, "\n\n");
        case Block::Kind::kCode:
          return absl::StrCat("    ", absl::StrReplaceAll(text, {{"\n", "\n    "}}), "\n\n");
        case Block::Kind::kLink:
          return absl::StrCat(text, ": ", block.url, "\n\n");
        default:
          return absl::StrCat(block.kind == Block::Kind::kItem ? "- " : "",
                              lead.empty() ? "" : absl::StrCat(lead, " "), text,
                              block.kind == Block::Kind::kItem ? "\n" : "\n\n");
      }
  }
}

OrderedJson AdfText(absl::string_view text, absl::string_view mark = "") {
  OrderedJson node = {{"type", "text"}, {"text", std::string(text)}};
  if (!mark.empty()) node["marks"] = OrderedJson::array({{{"type", std::string(mark)}}});
  return node;
}

OrderedJson AdfOf(const Block& block) {
  OrderedJson content = OrderedJson::array();
  if (!block.lead.empty()) content.push_back(AdfText(absl::StrCat(block.lead, " "), "strong"));
  switch (block.kind) {
    case Block::Kind::kHeading:
      content.push_back(AdfText(block.text));
      return {{"type", "heading"}, {"attrs", {{"level", 3}}}, {"content", std::move(content)}};
    case Block::Kind::kCode:
      content.push_back(AdfText(block.text));
      return {{"type", "codeBlock"},
              {"attrs", {{"language", "text"}}},
              {"content", std::move(content)}};
    case Block::Kind::kLink: {
      OrderedJson link = AdfText(block.text);
      link["marks"] = OrderedJson::array({{{"type", "link"}, {"attrs", {{"href", block.url}}}}});
      content.push_back(std::move(link));
      break;
    }
    default:
      if (!block.text.empty()) content.push_back(AdfText(block.text));
  }
  OrderedJson paragraph = {{"type", "paragraph"}, {"content", std::move(content)}};
  if (block.kind != Block::Kind::kItem) return paragraph;
  return {{"type", "listItem"}, {"content", OrderedJson::array({std::move(paragraph)})}};
}

OrderedJson RenderAdf(const std::vector<Block>& blocks, std::size_t most) {
  OrderedJson content = OrderedJson::array();
  std::size_t size = 200;  // of the surrounding document
  for (const Block& block : blocks) {
    if (block.text.empty() && block.lead.empty()) continue;  // ADF has no empty texts
    OrderedJson node = AdfOf(block);
    size += node.dump().size() + 40;
    if (size > most) {
      content.push_back(AdfOf({Block::Kind::kText, std::string(kMore), "", ""}));
      break;
    }
    if (block.kind != Block::Kind::kItem) {
      content.push_back(std::move(node));
      continue;
    }
    if (content.empty() || content.back()["type"] != "bulletList") {
      content.push_back({{"type", "bulletList"}, {"content", OrderedJson::array()}});
    }
    content.back()["content"].push_back(std::move(node));
  }
  return {{"type", "doc"}, {"version", 1}, {"content", std::move(content)}};
}

}  // namespace

std::optional<Form> ParseForm(absl::string_view name) {
  if (name == "plain") return Form::kPlain;
  if (name == "markdown") return Form::kMarkdown;
  if (name == "slack") return Form::kSlack;
  if (name == "html") return Form::kHtml;
  if (name == "adf") return Form::kAdf;
  return std::nullopt;
}

std::string Escape(absl::string_view text, Form form) {
  switch (form) {
    case Form::kMarkdown:
      return EscapeMarkdown(text);
    case Form::kSlack:
      return absl::StrReplaceAll(text,
                                 {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"@", kQuietAt}});
    case Form::kHtml:
      // (In ServiceNow "[code]" and "[/code]" enclose HTML.)
      return absl::StrReplaceAll(text, {{"&", "&amp;"},
                                        {"<", "&lt;"},
                                        {">", "&gt;"},
                                        {"\"", "&quot;"},
                                        {"'", "&#39;"},
                                        {"[", "&#91;"}});
    default:
      return std::string(text);
  }
}

nlohmann::ordered_json Render(const std::vector<Block>& blocks, Form form, std::size_t most) {
  if (form == Form::kAdf) return RenderAdf(blocks, most);
  std::string text;
  const std::string more = TextOf({Block::Kind::kText, std::string(kMore), "", ""}, form);
  for (const Block& block : blocks) {
    const std::string next = TextOf(block, form);
    if (text.size() + next.size() + more.size() > most) {
      absl::StrAppend(&text, more);
      break;
    }
    absl::StrAppend(&text, next);
  }
  return CleanText(text, most);
}

}  // namespace galen::gateway::tickets
