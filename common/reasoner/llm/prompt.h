#ifndef COMMON_REASONER_LLM_PROMPT_H_
#define COMMON_REASONER_LLM_PROMPT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "common/llm/client.h"

namespace galen::reasoner::llm {

// The text with each "{{slot}}" replaced by its value, in one pass: values are not scanned, so that
// foreign text is never a slot. A slot without a value becomes empty.
std::string Fill(absl::string_view text, const std::map<std::string, std::string>& slots);

// A prompt in the order in which it is sent: constant instructions and knowledge, then the case,
// which grows during a diagnosis, then the question. Questions of one diagnosis thus share a
// prefix, which an endpoint reads only once (prefix cache).
struct Prompt {
  std::string instructions;  // system
  std::string question;      // user: the case and then the question itself
  std::string version;       // "rank/3+1": of the question and of the preamble
  int max_output_tokens = 0;
};

// The prompt of that name, filled. Nothing: the knowledge has no such prompt or no preamble. Pure.
std::optional<Prompt> MakePrompt(const knowledge::Knowledge& knowledge, absl::string_view name,
                                 absl::string_view case_text,
                                 const std::map<std::string, std::string>& slots);

std::vector<galen::llm::Message> MessagesOf(const Prompt& prompt);

// SHA-256, hexadecimal, over all parts and their lengths.
std::string DigestOf(const std::vector<std::string>& parts);

// SHA-256 over everything that an answer depends on: model, settings, schema, messages.
std::string DigestOf(const galen::llm::ChatRequest& request, absl::string_view version);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_PROMPT_H_
