#include "common/log_analysis/triage/compiled.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/log_analysis/triage/first_failures.h"
#include "common/log_analysis/triage/signatures.h"

namespace galen::triage {
namespace {

RE2::Options Quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(RE2::Options::EncodingLatin1);
  return options;
}

}  // namespace

FactReader::FactReader(const std::string& pattern) : expression(pattern, Quiet()) {
  const auto& names = expression.NamedCapturingGroups();
  const auto group = [&](const char* name) {
    const auto found = names.find(name);
    return found == names.end() ? 0 : found->second;
  };
  number = std::max(group("n"), group("code"));
  text = group("text");
  time = group("time");
}

CompiledCatalogue::CompiledCatalogue(std::unique_ptr<const Inside> inside)
    : inside_(std::move(inside)) {}
CompiledCatalogue::~CompiledCatalogue() = default;
const Catalogue& CompiledCatalogue::catalogue() const { return inside_->catalogue; }

absl::StatusOr<std::unique_ptr<const CompiledCatalogue>> CompiledCatalogue::Create(
    Catalogue catalogue, const Signatures& signatures, const std::string& cache_directory) {
  auto inside = std::make_unique<Inside>();
  inside->catalogue = std::move(catalogue);
  const Catalogue& all = inside->catalogue;
  std::vector<log_scan::Expression> expressions;
  const auto add = [&](Owner::Kind kind, std::size_t index, const std::string& pattern,
                       std::string name) {
    expressions.push_back({pattern, std::move(name)});
    inside->owners.push_back({kind, index});
  };
  for (std::size_t i = 0; i < all.formats.size(); ++i) {
    inside->bars.push_back(all.formats[i].bar.empty()
                               ? nullptr
                               : std::make_unique<const RE2>(all.formats[i].bar, Quiet()));
    add(Owner::Kind::kFormat, i, all.formats[i].line, absl::StrCat("format ", all.formats[i].name));
  }
  for (std::size_t i = 0; i < all.facts.size(); ++i) {
    const FactPattern& fact = all.facts[i];
    inside->facts.push_back(std::make_unique<FactReader>(fact.pattern));
    // A pattern for paths is not searched in lines.
    if (fact.kind == FactKind::kRankFile) continue;
    // The automaton does not support named groups.
    add(Owner::Kind::kFact, i,
        absl::StrReplaceAll(
            fact.pattern,
            {{"(?P<n>", "("}, {"(?P<code>", "("}, {"(?P<text>", "("}, {"(?P<time>", "("}}),
        absl::StrCat("fact ", fact.name));
  }
  for (std::size_t i = 0; i < all.classes.size(); ++i) {
    for (const std::string& pattern : all.classes[i].patterns) {
      add(Owner::Kind::kClass, i, pattern, absl::StrCat("class ", all.classes[i].name));
    }
    for (const std::string& signature : all.classes[i].signatures) {
      inside->class_of.try_emplace(signature, i);
    }
  }
  RE2::Options options = Quiet();
  options.set_max_mem(std::int64_t{64} << 20);
  inside->signatures = std::make_unique<RE2::Set>(options, RE2::UNANCHORED);
  absl::flat_hash_map<std::string, bool> known;
  for (const auto& [name, pattern] : signatures) {
    if (inside->signatures->Add(pattern, nullptr) < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("log.triage: signature ", name, " is not a valid RE2 expression"));
    }
    inside->signature_names.push_back(name);
    const SignatureName parsed = ParseSignatureName(name);
    known[parsed.name] = true;
    // The facts cover the normal end of a program, and steps its progress.
    if (parsed.kind == SignatureName::Kind::kFailure) {
      add(Owner::Kind::kFailure, 0, pattern, absl::StrCat("signature ", name));
    }
  }
  if (!inside->signatures->Compile()) {
    return absl::InvalidArgumentError("log.triage: its signatures are too large together");
  }
  for (const auto& [name, index] : inside->class_of) {
    if (!signatures.empty() && !known.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat("triage: class ", all.classes[index].name,
                                                     " names the signature ", name,
                                                     ", which log.triage does not have"));
    }
  }
  for (const std::string& expression : FirstFailureExpressions()) {
    add(Owner::Kind::kFailure, 0, expression, "process end");
  }
  if (!all.harmless.empty()) {
    inside->harmless = std::make_unique<RE2::Set>(options, RE2::UNANCHORED);
    for (const std::string& pattern : all.harmless) inside->harmless->Add(pattern, nullptr);
    if (!inside->harmless->Compile()) {
      return absl::InvalidArgumentError("triage: what is harmless is too large together");
    }
  }
  GALEN_ASSIGN_OR_RETURN(inside->database,
                         log_scan::PatternDatabase::Create(expressions, cache_directory));
  return std::unique_ptr<const CompiledCatalogue>(new CompiledCatalogue(std::move(inside)));
}

}  // namespace galen::triage
