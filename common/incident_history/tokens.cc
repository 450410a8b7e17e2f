#include "common/incident_history/tokens.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace galen::incident_history {
namespace {

constexpr size_t kMaxTokenBytes = 64;

bool SaysNothing(absl::string_view word) {
  if (word.size() < 2 || word.size() > kMaxTokenBytes) return true;
  if (absl::StartsWith(word, "0x")) return true;
  const bool number = std::all_of(
      word.begin(), word.end(), [](unsigned char c) { return absl::ascii_isdigit(c) || c == '.'; });
  return number && word.size() > 4;
}

// Bytes of other scripts are kept together as they come.
bool IsOfWord(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return absl::ascii_isalnum(byte) || c == '_' || c == '.' || byte >= 0x80;
}

}  // namespace

std::uint64_t Mix(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdU;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53U;
  value ^= value >> 33;
  return value;
}

std::uint64_t Hash64(absl::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return Mix(hash);
}

void ForEachToken(absl::string_view text, absl::FunctionRef<void(absl::string_view)> use) {
  size_t tokens = 0;
  size_t begin = 0;
  std::string lower;
  while (begin < text.size() && tokens < kMaxTokens) {
    if (!IsOfWord(text[begin])) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < text.size() && IsOfWord(text[end])) ++end;
    absl::string_view word = text.substr(begin, end - begin);
    begin = end;
    while (!word.empty() && word.front() == '.') word.remove_prefix(1);
    while (!word.empty() && word.back() == '.') word.remove_suffix(1);
    if (word.size() > kMaxTokenBytes) continue;
    lower.assign(word.data(), word.size());
    absl::AsciiStrToLower(&lower);
    if (SaysNothing(lower)) continue;
    use(lower);
    ++tokens;
  }
}

std::vector<std::string> Tokens(absl::string_view text) {
  std::vector<std::string> tokens;
  ForEachToken(text, [&](absl::string_view token) { tokens.emplace_back(token); });
  return tokens;
}

Analysis Analyse(absl::string_view text) {
  Analysis analysis;
  std::vector<std::uint64_t> hashes;
  std::uint64_t previous = 0;
  ForEachToken(text.substr(0, kMaxTextBytes), [&](absl::string_view token) {
    const std::uint64_t hash = Hash64(token);
    if (!hashes.empty()) {
      analysis.pairs.push_back(static_cast<std::uint16_t>(Mix(previous + 31 * hash)));
    }
    hashes.push_back(hash);
    previous = hash;
  });
  analysis.length = static_cast<std::uint16_t>(hashes.size());
  std::sort(hashes.begin(), hashes.end());
  for (const std::uint64_t hash : hashes) {
    if (analysis.terms.empty() || analysis.terms.back().hash != hash) {
      analysis.terms.push_back({hash, 1});
    } else if (analysis.terms.back().count < 255) {
      ++analysis.terms.back().count;
    }
  }
  std::sort(analysis.pairs.begin(), analysis.pairs.end());
  analysis.pairs.erase(std::unique(analysis.pairs.begin(), analysis.pairs.end()),
                       analysis.pairs.end());
  return analysis;
}

std::vector<std::uint64_t> FeaturesOf(const Analysis& analysis) {
  std::vector<std::uint64_t> features;
  features.reserve(analysis.terms.size() + analysis.pairs.size());
  for (const Analysis::Term& term : analysis.terms) features.push_back(term.hash);
  features.insert(features.end(), analysis.pairs.begin(), analysis.pairs.end());
  return features;
}

}  // namespace galen::incident_history
