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
// GPU.MEMORY.PAGE, NET.LINK.DOWN, and those of STORAGE: among three leaves no words make one of
// them three times as likely as by chance.
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
  knowledge::v1::Label& down = *base->mutable_labels(base->labels_size() - 1);
  down.add_symptoms("the link of a port is down");
  down.add_symptoms("a port lost its link");
  std::vector<std::string> of_storage;
  for (const char* what : {"MOUNT", "QUOTA", "INODES", "LATENCY", "LOCKS", "CACHE", "METADATA",
                           "RAID", "NVME", "CHECKPOINT", "OBJECTS", "PERMISSION"}) {
    of_storage.push_back(std::string("STORAGE.") + what);
  }
  add("STORAGE", "", of_storage);
  for (const std::string& leaf : of_storage) add(leaf.c_str(), "STORAGE", {});
  if (change) change(*base);
  return std::make_unique<const knowledge::Knowledge>(*std::move(base));
}

}  // namespace galen::reasoner::llm

#endif  // TESTS_UNIT_COMMON_REASONER_LLM_PROMPTS_BOOK_H_
