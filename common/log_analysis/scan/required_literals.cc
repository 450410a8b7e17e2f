#include "common/log_analysis/scan/required_literals.h"

#include <re2/filtered_re2.h>
#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "common/log_analysis/scan/ordinary_log.h"

namespace galen::log_scan {
namespace {

// Small for a text that is rare in logs. A heuristic.
int Cost(const std::string& text) {
  constexpr int kCommon = 1'000;
  const absl::string_view ordinary = OrdinaryLog();
  int times = 0;
  for (std::size_t at = 0; (at = ordinary.find(text, at)) != absl::string_view::npos; ++at) {
    ++times;
  }
  // A short text occurs in more lines by chance, and must be searched for at more places.
  const int by_size = text.size() >= 12 ? 1 : text.size() >= 9 ? 2 : text.size() >= 7 ? 4 : 8;
  return times * kCommon + by_size;
}

// A minimal set of texts one of which every match contains. `atom_size`: shorter texts are left out
// of the analysis.
std::vector<std::string> Minimal(const std::string& pattern, int atom_size) {
  // Hyperscan sees bytes, so RE2 does too.
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  re2::FilteredRE2 filtered(atom_size);
  int id = 0;
  if (filtered.Add(pattern, options, &id) != RE2::NoError) return {};
  std::vector<std::string> atoms;
  filtered.Compile(&atoms);
  if (atoms.empty()) return {};
  std::vector<char> present(atoms.size(), 0);
  const auto possible = [&] {
    std::vector<int> matched;
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      if (present[i] != 0) matched.push_back(static_cast<int>(i));
    }
    std::vector<int> passing;
    filtered.AllPotentials(matched, &passing);
    return !passing.empty();
  };
  if (possible()) return {};
  // Marks texts as present, the costliest first, while no match is possible. Every match needs one
  // of the texts that must stay absent.
  std::vector<int> costs;
  for (const std::string& atom : atoms) costs.push_back(Cost(atom));
  std::vector<std::size_t> order(atoms.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  std::vector<std::string> needed;
  for (const std::size_t i : order) {
    present[i] = 1;
    if (!possible()) continue;
    present[i] = 0;
    needed.push_back(atoms[i]);
  }
  return needed;
}

bool IsPlain(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); });
}

}  // namespace

std::vector<std::string> RequiredLiterals(const std::string& pattern, std::size_t min_size,
                                          bool common_too) {
  constexpr int kMostTexts = 64;
  constexpr int kTooCommon = 1'000;
  std::vector<std::string> best;
  int best_cost = common_too ? std::numeric_limits<int>::max() : kTooCommon;
  for (const std::size_t atom_size : {std::size_t{12}, std::size_t{9}, std::size_t{7}, min_size}) {
    if (atom_size < min_size) continue;
    std::vector<std::string> texts = Minimal(pattern, static_cast<int>(atom_size));
    if (texts.empty() || texts.size() > kMostTexts) continue;
    // "\s" matches other bytes in Hyperscan than in RE2; and RE2 keeps a few texts that are shorter
    // than requested.
    if (!std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
          return text.size() >= min_size && IsPlain(text);
        })) {
      continue;
    }
    int cost = 0;
    for (const std::string& text : texts) cost = std::max(cost, Cost(text));
    if (cost >= best_cost) continue;
    best_cost = cost;
    best = std::move(texts);
  }
  return best;
}

}  // namespace galen::log_scan
