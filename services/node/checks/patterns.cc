#include "services/node/checks/patterns.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "re2/re2.h"
#include "re2/set.h"
#include "services/node/checks/memo.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostKept = 1000;
constexpr std::int64_t kMaxSetBytes = std::int64_t{64} << 20;

}  // namespace

std::shared_ptr<const RE2> CompiledPattern(const std::string& pattern) {
  static auto* const kept = new Memo<RE2>(kMostKept);
  return kept->Get(pattern, [&] { return std::make_shared<const RE2>(pattern, RE2::Quiet); });
}

struct PatternSet::Matcher {
  std::unique_ptr<RE2::Set> set;
  std::vector<int> index;  // of what the set found, among the patterns given
};

PatternSet::PatternSet(absl::Span<const std::string> patterns) {
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kMaxSetBytes);
  auto matcher = std::make_unique<Matcher>();
  matcher->set = std::make_unique<RE2::Set>(options, RE2::UNANCHORED);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (matcher->set->Add(patterns[i], nullptr) >= 0) matcher->index.push_back(static_cast<int>(i));
  }
  if (!matcher->set->Compile()) matcher->set = nullptr;
  matcher_ = std::move(matcher);
}

PatternSet::~PatternSet() = default;

std::shared_ptr<const PatternSet> PatternSet::Of(absl::Span<const std::string> patterns) {
  static auto* const kept = new Memo<PatternSet>(kMostKept);
  std::string key;
  for (const std::string& pattern : patterns) absl::StrAppend(&key, pattern.size(), ":", pattern);
  return kept->Get(key,
                   [&] { return std::shared_ptr<const PatternSet>(new PatternSet(patterns)); });
}

int PatternSet::First(absl::string_view text) const {
  std::vector<int> found;
  if (matcher_->set == nullptr ||
      !matcher_->set->Match(re2::StringPiece(text.data(), text.size()), &found) || found.empty()) {
    return -1;
  }
  return matcher_->index[static_cast<std::size_t>(*std::min_element(found.begin(), found.end()))];
}

}  // namespace galen::node
