#include "services/execution/result_cache.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::execution {
namespace {

using galen::v1::CheckResult;

// Memory of a result or a diagnosis besides its text: nodes of the maps and lists, and their
// objects. An estimate, so that many small ones count too.
constexpr std::size_t kOverhead = 256;

std::string Key(const std::string& variant, const std::string& id) {
  return absl::StrCat(id, "\n", variant);
}

}  // namespace

std::list<ResultCache::Diagnosis>::iterator ResultCache::Touch(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) {
    diagnoses_.splice(diagnoses_.begin(), diagnoses_, found->second);
  } else {
    const std::size_t size = kOverhead + 2 * name.size();  // it is here and in by_name_
    diagnoses_.push_front({name, size, {}});
    by_name_[name] = diagnoses_.begin();
    bytes_ += size;
  }
  return diagnoses_.begin();
}

std::size_t ResultCache::SizeOf(const std::string& key, const Entry& entry) {
  return kOverhead + key.size() + entry.result.ByteSizeLong();
}

void ResultCache::Keep(const std::string& diagnosis, const std::string& variant,
                       const CheckResult& result, absl::Time now) {
  if (diagnosis.empty() || result.status() < CheckResult::PASS ||
      result.status() > CheckResult::SKIPPED) {
    return;
  }
  MutexLock lock(mu_);
  const auto entry = Touch(diagnosis);
  const auto [at, added] = entry->results.try_emplace(Key(variant, result.id()));
  if (!added) {
    const std::size_t before = SizeOf(at->first, at->second);
    entry->bytes -= before;
    bytes_ -= before;
  }
  at->second = {result, now};
  const std::size_t size = SizeOf(at->first, at->second);
  entry->bytes += size;
  bytes_ += size;
  while (bytes_ > options_.max_bytes && !diagnoses_.empty()) {
    bytes_ -= diagnoses_.back().bytes;
    by_name_.erase(diagnoses_.back().name);
    diagnoses_.pop_back();
  }
}

std::optional<CheckResult> ResultCache::Find(const std::string& diagnosis,
                                             const std::string& variant, const std::string& id,
                                             absl::Time now) {
  if (diagnosis.empty()) return std::nullopt;
  MutexLock lock(mu_);
  const auto known = by_name_.find(diagnosis);
  if (known == by_name_.end()) return std::nullopt;
  const auto entry = Touch(diagnosis);
  const auto found = entry->results.find(Key(variant, id));
  if (found == entry->results.end() || now - found->second.kept > options_.max_age) {
    return std::nullopt;
  }
  return found->second.result;
}

std::vector<CheckResult> ResultCache::OfOthers(const std::string& diagnosis,
                                               const std::string& variant, const std::string& check,
                                               const std::set<std::string>& nodes, absl::Time now) {
  std::vector<CheckResult> others;
  MutexLock lock(mu_);
  const auto known = by_name_.find(diagnosis);
  if (known == by_name_.end()) return others;
  const std::map<std::string, Entry>& results = known->second->results;
  const std::string prefix = absl::StrCat(check, "@");
  for (auto it = results.lower_bound(prefix);
       it != results.end() && absl::StartsWith(it->first, prefix); ++it) {
    const CheckResult& result = it->second.result;
    if (it->first != Key(variant, result.id()) || nodes.count(result.node()) > 0 ||
        now - it->second.kept > options_.max_age) {
      continue;
    }
    others.push_back(result);
  }
  return others;
}

}  // namespace galen::execution
