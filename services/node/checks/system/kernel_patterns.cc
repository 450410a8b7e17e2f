#include "services/node/checks/system/kernel_patterns.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "re2/re2.h"
#include "re2/set.h"
#include "services/node/checks/memo.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostKept = 16;
constexpr std::int64_t kMaxSetBytes = std::int64_t{64} << 20;

}  // namespace

struct KernelPatterns::Matcher {
  explicit Matcher(const std::vector<knowledge::v1::KernelLine>& forms) {
    RE2::Options options(RE2::Quiet);
    options.set_encoding(RE2::Options::EncodingLatin1);  // logs hold any bytes
    options.set_max_mem(kMaxSetBytes);
    auto all = std::make_unique<RE2::Set>(options, RE2::UNANCHORED);
    for (std::size_t i = 0; i < forms.size(); ++i) {
      each.push_back(std::make_unique<const RE2>(forms[i].match(), options));
      if (all->Add(forms[i].match(), nullptr) >= 0) index.push_back(static_cast<int>(i));
    }
    if (!index.empty() && all->Compile()) set = std::move(all);
  }

  std::unique_ptr<const RE2::Set> set;
  std::vector<int> index;  // of what the set found, among the forms
  std::vector<std::unique_ptr<const RE2>> each;
};

KernelPatterns::KernelPatterns(std::vector<knowledge::v1::KernelLine> forms)
    : forms_(std::move(forms)), matcher_(std::make_unique<const Matcher>(forms_)) {}

KernelPatterns::~KernelPatterns() = default;

std::shared_ptr<const KernelPatterns> KernelPatterns::Of(const knowledge::Knowledge& knowledge) {
  static auto* const kept = new Memo<KernelPatterns>(kMostKept);
  const auto& lines = knowledge.base().kernel_lines();
  std::string key;
  for (const knowledge::v1::KernelLine& line : lines) {
    const std::size_t before = key.size();
    line.AppendToString(&key);
    absl::StrAppend(&key, "/", key.size() - before, ";");
  }
  return kept->Get(key, [&] {
    return std::shared_ptr<const KernelPatterns>(
        new KernelPatterns(std::vector<knowledge::v1::KernelLine>(lines.begin(), lines.end())));
  });
}

void KernelPatterns::Match(absl::string_view line, std::vector<int>* matches) const {
  matches->clear();
  if (matcher_->set == nullptr) return;
  matcher_->set->Match(re2::StringPiece(line.data(), line.size()), matches);
  for (int& match : *matches) match = matcher_->index[static_cast<std::size_t>(match)];
  std::sort(matches->begin(), matches->end());
}

KernelGroups KernelPatterns::Extract(int index, absl::string_view line) const {
  const RE2& pattern = *matcher_->each[static_cast<std::size_t>(index)];
  const int groups = pattern.NumberOfCapturingGroups();
  std::vector<re2::StringPiece> found(static_cast<std::size_t>(groups) + 1);
  KernelGroups result;
  const re2::StringPiece text(line.data(), line.size());
  if (!pattern.Match(text, 0, text.size(), RE2::UNANCHORED, found.data(), groups + 1)) {
    return result;
  }
  for (const auto& [name, number] : pattern.NamedCapturingGroups()) {
    const re2::StringPiece piece = found[static_cast<std::size_t>(number)];
    const absl::string_view value(piece.data(), piece.size());
    if (name == "pci") result.pci = value;
    if (name == "code") result.code = value;
    if (name == "subject") result.subject = value;
  }
  return result;
}

bool IsPlatform(const knowledge::v1::KernelLine& form, absl::string_view code) {
  return form.platform() && std::none_of(form.program_codes().begin(), form.program_codes().end(),
                                         [code](const std::string& of_program) {
                                           return absl::EqualsIgnoreCase(of_program, code);
                                         });
}

}  // namespace galen::node
