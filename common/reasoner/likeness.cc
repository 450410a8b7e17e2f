#include "common/reasoner/likeness.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/retrieval/segment_builder.h"

namespace galen::reasoner {
namespace {

// Answers that are kept, and how long their texts may be: 8 MiB at most.
constexpr size_t kMostKept = 512;
constexpr size_t kMostTextKept = size_t{16} << 10;

// `told`: what people write of the cause, in the words of the messages for descriptions.
std::string TextOf(const knowledge::v1::Label& leaf, const std::set<std::string>& told) {
  return absl::StrCat(absl::StrReplaceAll(leaf.label(), {{".", " "}, {"_", " "}}), "\n",
                      leaf.title(), "\n", leaf.title(), "\n", leaf.description(), "\n",
                      absl::StrJoin(leaf.symptoms(), "\n"), "\n", absl::StrJoin(told, "\n"));
}

std::map<std::string, std::set<std::string>> ToldOfLeaves(const knowledge::Knowledge& knowledge) {
  std::map<std::string, std::set<std::string>> told;
  for (const knowledge::v1::SignalPattern& pattern : knowledge.base().signals()) {
    const auto& where = pattern.where();
    if (pattern.labels_size() > 0 &&
        std::find(where.begin(), where.end(), galen::v1::DESCRIPTION) != where.end()) {
      told[pattern.labels(0)].insert(pattern.meaning());
    }
  }
  return told;
}

}  // namespace

LikenessIndex::LikenessIndex(const knowledge::Knowledge& knowledge) {
  const auto builder =
      retrieval::SegmentBuilder::ToMemory(embedder_.name(), embedder_.dimensions());
  std::map<std::string, std::set<std::string>> told = ToldOfLeaves(knowledge);
  for (const knowledge::v1::Label& label : knowledge.base().labels()) {
    if (!knowledge::IsLeaf(label)) continue;
    retrieval::Document document;
    document.id = label.label().substr(0, retrieval::kMaxIdBytes);
    document.label = document.id;
    document.text = TextOf(label, told[label.label()]);
    if (document.text.size() > retrieval::kMaxTextBytes) {
      document.text.resize(retrieval::kMaxTextBytes);
    }
    // Fails only for one without a name, and lint refuses that.
    builder->Add(document, embedder_).IgnoreError();
  }
  if (!builder->Finish({}).ok()) return;
  auto segment = retrieval::Segment::FromBytes(builder->bytes(), "the leaves of the taxonomy");
  if (segment.ok()) leaves_ = retrieval::View({*std::move(segment)}, {}, 0);
}

std::vector<std::string> LikenessIndex::Nearest(absl::string_view text, size_t limit) const {
  if (text.size() > kMostTextKept) return Search(text, limit);
  std::pair<std::string, size_t> key(text, limit);
  {
    MutexLock lock(mu_);
    if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
  }
  std::vector<std::string> labels = Search(text, limit);
  MutexLock lock(mu_);
  if (answers_.size() >= kMostKept) answers_.clear();
  answers_.emplace(std::move(key), labels);
  return labels;
}

std::vector<std::string> LikenessIndex::Search(absl::string_view text, size_t limit) const {
  std::vector<std::string> labels;
  for (const retrieval::Hit& hit :
       retrieval::Search(leaves_, embedder_, text, {.limit = limit}).hits) {
    labels.push_back(hit.document.label);
  }
  return labels;
}

}  // namespace galen::reasoner
