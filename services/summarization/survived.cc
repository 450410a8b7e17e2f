#include "services/summarization/survived.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/log_analysis/triage/first_failures.h"
#include "common/log_analysis/triage/signatures.h"
#include "re2/re2.h"
#include "re2/set.h"

namespace galen::summarization {
namespace {

using Kind = triage::SignatureName::Kind;

constexpr absl::string_view kDone = "log.triage/done";
constexpr absl::string_view kConnected = "log.triage/connected";
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
  std::vector<Failure> reports;  // of each signature
};

Survived::Survived(const triage::Signatures& signatures) {
  auto inside = std::make_unique<Inside>();
  inside->signatures = std::make_unique<RE2::Set>(Quiet(), RE2::UNANCHORED);
  for (const auto& [name, pattern] : signatures) {
    const triage::SignatureName parsed = triage::ParseSignatureName(name);
    if (parsed.kind == Kind::kDone || parsed.kind == Kind::kConnected) continue;
    if (inside->signatures->Add(pattern, nullptr) < 0) continue;
    inside->reports.push_back(parsed.kind == Kind::kHarmless ? Failure::kHarmless
                              : parsed.of_start              ? Failure::kOfStart
                                                             : Failure::kOther);
  }
  if (!inside->signatures->Compile()) inside->reports.clear();
  inside_ = std::move(inside);
}

Survived::~Survived() = default;

void Survived::AddPatterns(const triage::Signatures& signatures, log_scan::Patterns& patterns) {
  std::vector<std::string> done;
  std::vector<std::string> connected;
  for (const auto& [name, pattern] : signatures) {
    const Kind kind = triage::ParseSignatureName(name).kind;
    if (kind == Kind::kDone) done.push_back(pattern);
    if (kind == Kind::kConnected) connected.push_back(pattern);
  }
  AddPattern(kDone, done, patterns);
  AddPattern(kConnected, connected, patterns);
  AddPattern(kAnew, triage::BeganAnewExpressions(), patterns);
}

bool Survived::IsOwn(const knowledge::v1::SignalPattern& pattern) {
  return pattern.id() == kDone || pattern.id() == kConnected || pattern.id() == kAnew;
}

Survived::Until Survived::UntilLine(const log_scan::Scanner& scanner,
                                    const log_scan::ScanResult& result) {
  Until until;
  std::int64_t anew = 0;  // the first line of that kind
  for (const log_scan::Hit& hit : result.hits) {
    const std::string& id = scanner.patterns()[static_cast<int>(hit.pattern)].id();
    if (id == kDone) until.done = hit.last_line;
    if (id == kConnected) until.connected = hit.last_line;
    if (id == kAnew) anew = hit.first_line;
  }
  if (anew > 0 && anew < until.done) until.done = 0;
  if (anew > 0 && anew < until.connected) until.connected = 0;
  return until;
}

bool Survived::Has(const Until& until, std::int64_t number, absl::string_view line) const {
  if (number >= std::max(until.done, until.connected)) return false;
  const Failure failure = FailureOf(line);
  return failure == Failure::kOfStart || (failure != Failure::kNone && number < until.done);
}

Survived::Failure Survived::FailureOf(absl::string_view line) const {
  // NCCL warns about an optional part that is missing (a plugin, a transport): that makes a job
  // slow.
  if (inside_->reports.empty() || absl::StrContains(line, "NCCL WARN")) return Failure::kNone;
  std::vector<int> matched;
  if (!inside_->signatures->Match(Piece(line), &matched)) return Failure::kNone;
  const int first = *std::min_element(matched.begin(), matched.end());
  return inside_->reports[static_cast<std::size_t>(first)];
}

}  // namespace galen::summarization
