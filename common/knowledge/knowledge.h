#ifndef COMMON_KNOWLEDGE_KNOWLEDGE_H_
#define COMMON_KNOWLEDGE_KNOWLEDGE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace re2 {
class RE2;
}

namespace galen::knowledge {

// The loaded knowledge with its indexes. Immutable and thread-safe.
class Knowledge {
 public:
  // Takes what a loader read; assumes that it was linted (unknown references are simply not found).
  explicit Knowledge(v1::KnowledgeBase base);
  ~Knowledge();
  // The indexes point into the base.
  Knowledge(const Knowledge&) = delete;
  Knowledge& operator=(const Knowledge&) = delete;

  const v1::KnowledgeBase& base() const { return base_; }
  const std::string& digest() const { return base_.digest(); }

  // nullptr when there is none. Aliases are not looked up.
  const v1::Label* FindLabel(absl::string_view label) const;
  const v1::Check* FindCheck(absl::string_view name) const;
  const v1::FindingSpec* FindFinding(absl::string_view check, absl::string_view finding) const;
  const v1::SignalPattern* FindSignal(absl::string_view id) const;
  const v1::ErrorCode* FindErrorCode(absl::string_view family, int code) const;
  // The first model whose pattern matches the product name.
  const v1::Hardware* FindHardware(absl::string_view product) const;

  const v1::Prompt* FindPrompt(absl::string_view name) const;

  // Children of `label` in the order of the files; "" gives the main categories.
  std::vector<const v1::Label*> Children(absl::string_view label) const;

  // The checks that decide a leaf (those its rules name) or guide the search below an inner label
  // (its first checks): passive ones only, each once, cheapest first. `label` must be of this
  // knowledge.
  const std::vector<std::string>& ChecksFor(const v1::Label& label) const;

 private:
  std::vector<std::string> FindChecksFor(const v1::Label& label) const;

  v1::KnowledgeBase base_;
  absl::flat_hash_map<std::string, const v1::Label*> labels_;
  absl::flat_hash_map<std::string, const v1::Check*> checks_;
  absl::flat_hash_map<std::string, std::vector<std::string>> checks_for_;  // by label
  absl::flat_hash_map<std::string, const v1::SignalPattern*> signals_;
  absl::flat_hash_map<std::string, const v1::ErrorCode*> error_codes_;
  std::vector<std::unique_ptr<re2::RE2>> hardware_patterns_;
};

inline bool IsLeaf(const v1::Label& label) { return label.children().empty(); }

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_KNOWLEDGE_H_
