#include "services/summarization/survived.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/log_analysis/triage/first_failures.h"
#include "re2/re2.h"
#include "re2/set.h"

namespace galen::summarization {
namespace {

constexpr absl::string_view kDone = "log.triage/done";
constexpr absl::string_view kAnew = "log.triage/anew";

void AddPattern(absl::string_view id, const std::vector<std::string>& expressions,
                log_scan::Patterns& patterns) {
  if (expressions.empty()) return;
  knowledge::v1::SignalPattern& pattern = *patterns.Add();
  pattern.set_id(std::string(id));
  pattern.set_pattern(
      absl::StrJoin(expressions, "|", [](std::string* out, const std::string& expression) {
        absl::StrAppend(out, "(?:", expression, ")");
      }));
  pattern.add_where(galen::v1::JOB_LOG);
}

RE2::Options Quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_max_mem(std::int64_t{64} << 20);
  return options;
}

}  // namespace

struct Survived::Inside {
  std::unique_ptr<RE2::Set> signatures;
  std::vector<bool> is_failure;  // of each signature
};

Survived::Survived(const triage::Signatures& signatures) {
  auto inside = std::make_unique<Inside>();
  inside->signatures = std::make_unique<RE2::Set>(Quiet(), RE2::UNANCHORED);
  for (const auto& [name, pattern] : signatures) {
    if (absl::StartsWith(name, "done:")) continue;
    if (inside->signatures->Add(pattern, nullptr) < 0) continue;
    inside->is_failure.push_back(!absl::StartsWith(name, "none:"));
  }
  if (!inside->signatures->Compile()) inside->is_failure.clear();
  inside_ = std::move(inside);
}

Survived::~Survived() = default;

void Survived::AddPatterns(const triage::Signatures& signatures, log_scan::Patterns& patterns) {
  std::vector<std::string> done;
  for (const auto& [name, pattern] : signatures) {
    if (absl::StartsWith(name, "done:")) done.push_back(pattern);
  }
  AddPattern(kDone, done, patterns);
  AddPattern(kAnew, triage::BeganAnewExpressions(), patterns);
}

bool Survived::IsOwn(const knowledge::v1::SignalPattern& pattern) {
  return pattern.id() == kDone || pattern.id() == kAnew;
}

std::int64_t Survived::LastLine(const log_scan::Scanner& scanner,
                                const log_scan::ScanResult& result) {
  std::int64_t done = 0;
  std::int64_t anew = 0;  // the first line of that kind
  for (const log_scan::Hit& hit : result.hits) {
    const std::string& id = scanner.patterns()[static_cast<int>(hit.pattern)].id();
    if (id == kDone) done = hit.last_line;
    if (id == kAnew) anew = hit.first_line;
  }
  return anew > 0 && anew < done ? 0 : done;
}

bool Survived::TellsOfAFailure(absl::string_view line) const {
  // NCCL warns of what it goes on without (a plugin, a transport): that makes a job slow.
  if (inside_->is_failure.empty() || absl::StrContains(line, "NCCL WARN")) return false;
  std::vector<int> matched;
  if (!inside_->signatures->Match(Piece(line), &matched)) return false;
  const int first = *std::min_element(matched.begin(), matched.end());
  return inside_->is_failure[static_cast<std::size_t>(first)];
}

}  // namespace galen::summarization
