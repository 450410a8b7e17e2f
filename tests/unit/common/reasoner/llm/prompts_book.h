#ifndef TESTS_UNIT_COMMON_REASONER_LLM_PROMPTS_BOOK_H_
#define TESTS_UNIT_COMMON_REASONER_LLM_PROMPTS_BOOK_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/knowledge/load.h"

namespace galen::reasoner::llm {

// The prompts, prices and budgets that Galen ships, with a small taxonomy: GPU.MEMORY.ECC,
// GPU.MEMORY.PAGE, NET.LINK.DOWN.
inline std::unique_ptr<const knowledge::Knowledge> PromptsBook(
    const std::function<void(knowledge::v1::KnowledgeBase&)>& change = {}) {
  std::vector<knowledge::Problem> problems;
  auto base = knowledge::Parse({std::string(GALEN_SOURCE_DIR) + "/knowledge/prompts"}, problems);
  EXPECT_TRUE(base.ok()) << base.status();
  EXPECT_TRUE(problems.empty());
  const auto add = [&](const char* name, const char* parent, std::vector<std::string> children) {
    knowledge::v1::Label& label = *base->add_labels();
    label.set_label(name);
    label.set_title(std::string("title of ") + name);
    label.set_parent(parent);
    for (const std::string& child : children) label.add_children(child);
  };
  add("GPU", "", {"GPU.MEMORY"});
  add("GPU.MEMORY", "GPU", {"GPU.MEMORY.ECC", "GPU.MEMORY.PAGE"});
  add("GPU.MEMORY.ECC", "GPU.MEMORY", {});
  add("GPU.MEMORY.PAGE", "GPU.MEMORY", {});
  add("NET", "", {"NET.LINK"});
  add("NET.LINK", "NET", {"NET.LINK.DOWN"});
  add("NET.LINK.DOWN", "NET.LINK", {});
  if (change) change(*base);
  return std::make_unique<const knowledge::Knowledge>(*std::move(base));
}

}  // namespace galen::reasoner::llm

#endif  // TESTS_UNIT_COMMON_REASONER_LLM_PROMPTS_BOOK_H_
