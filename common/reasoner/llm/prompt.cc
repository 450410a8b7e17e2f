#include "common/reasoner/llm/prompt.h"

#include <openssl/evp.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/reasoner/llm/case_text.h"

namespace galen::reasoner::llm {

std::string Fill(absl::string_view text, const std::map<std::string, std::string>& slots) {
  std::string filled;
  for (;;) {
    const std::size_t open = text.find("{{");
    const std::size_t close = open == absl::string_view::npos ? open : text.find("}}", open);
    if (close == absl::string_view::npos) {
      absl::StrAppend(&filled, text);
      return filled;
    }
    absl::StrAppend(&filled, text.substr(0, open));
    const auto slot = slots.find(std::string(text.substr(open + 2, close - open - 2)));
    if (slot != slots.end()) absl::StrAppend(&filled, slot->second);
    text.remove_prefix(close + 2);
  }
}

std::optional<Prompt> MakePrompt(const knowledge::Knowledge& knowledge, absl::string_view name,
                                 absl::string_view case_text,
                                 const std::map<std::string, std::string>& slots) {
  const knowledge::v1::Prompt* const preamble = knowledge.FindPrompt("preamble");
  const knowledge::v1::Prompt* const question = knowledge.FindPrompt(name);
  if (preamble == nullptr || question == nullptr) return std::nullopt;
  Prompt prompt;
  prompt.instructions = Fill(preamble->text(), {{"categories", CategoriesText(knowledge)}});
  prompt.question = absl::StrCat(case_text, "\n", Fill(question->text(), slots));
  prompt.version = absl::StrCat(name, "/", question->version(), "+", preamble->version());
  prompt.max_output_tokens = question->max_output_tokens();
  return prompt;
}

std::vector<galen::llm::Message> MessagesOf(const Prompt& prompt) {
  using Role = galen::llm::Message::Role;
  return {{Role::kSystem, prompt.instructions, {}, ""}, {Role::kUser, prompt.question, {}, ""}};
}

std::string DigestOf(const std::vector<std::string>& parts) {
  // Each part with its length before it, so that no two lists have the same bytes.
  std::string all;
  for (const std::string& part : parts) absl::StrAppend(&all, part.size(), ":", part, "\n");
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(all.data(), all.size(), digest, &size, EVP_sha256(), nullptr);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

std::string DigestOf(const galen::llm::ChatRequest& request, absl::string_view version) {
  std::vector<std::string> parts = {
      request.model,
      std::string(version),
      request.temperature.has_value() ? absl::StrCat(*request.temperature) : "",
      request.seed.has_value() ? absl::StrCat(*request.seed) : "",
      absl::StrCat(request.max_tokens),
      request.schema.has_value() ? request.schema->schema : ""};
  for (const galen::llm::Tool& tool : request.tools) {
    parts.push_back(tool.name);
    parts.push_back(tool.parameters);
  }
  for (const galen::llm::Message& message : request.messages) {
    parts.push_back(absl::StrCat(static_cast<int>(message.role)));
    parts.push_back(message.content);
    parts.push_back(message.tool_use_id);
    for (const galen::llm::ToolUse& use : message.tool_uses) {
      parts.push_back(use.name);
      parts.push_back(use.arguments);
    }
  }
  return DigestOf(parts);
}

}  // namespace galen::reasoner::llm
