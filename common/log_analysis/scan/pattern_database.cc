#include "common/log_analysis/scan/pattern_database.h"

#include <hs.h>

#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log_analysis/scan/pattern_cache.h"

namespace galen::log_scan {
namespace {

constexpr unsigned int kFlags = HS_FLAG_MULTILINE;

// Everything that the compiled form depends on.
absl::StatusOr<std::string> CacheKey(absl::Span<const Expression> expressions) {
  hs_platform_info_t platform = {};
  if (hs_populate_platform(&platform) != HS_SUCCESS) {
    return absl::InternalError("hyperscan: the cpu is not supported; it needs ssse3");
  }
  std::string key = absl::StrCat(hs_version(), "\ntune ", platform.tune, " features ",
                                 platform.cpu_features, " flags ", kFlags, "\n");
  for (const Expression& expression : expressions) {
    absl::StrAppend(&key, expression.pattern.size(), ":", expression.pattern, "\n");
  }
  return key;
}

// null when `serialized` is not a database that this machine can run.
hs_database_t* Deserialize(const std::string& serialized) {
  hs_database_t* database = nullptr;
  const hs_error_t error = hs_deserialize_database(serialized.data(), serialized.size(), &database);
  return error == HS_SUCCESS ? database : nullptr;
}

absl::StatusOr<hs_database_t*> Compile(absl::Span<const Expression> expressions) {
  std::vector<const char*> patterns;
  std::vector<unsigned int> ids;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    // Hyperscan reads C strings.
    if (expressions[i].pattern.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(expressions[i].name, ": pattern holds a NUL byte; remove it"));
    }
    patterns.push_back(expressions[i].pattern.c_str());
    ids.push_back(static_cast<unsigned int>(i));
  }
  const std::vector<unsigned int> flags(expressions.size(), kFlags);
  hs_database_t* database = nullptr;
  hs_compile_error_t* failure = nullptr;
  const hs_error_t error = hs_compile_multi(patterns.data(), flags.data(), ids.data(),
                                            static_cast<unsigned int>(patterns.size()),
                                            HS_MODE_BLOCK, nullptr, &database, &failure);
  if (error == HS_SUCCESS) return database;
  const int index = failure != nullptr ? failure->expression : -1;
  const std::string why = failure != nullptr ? failure->message : "out of memory";
  hs_free_compile_error(failure);
  if (index < 0 || static_cast<std::size_t>(index) >= expressions.size()) {
    return absl::InvalidArgumentError(absl::StrCat("patterns do not compile together: ", why));
  }
  const Expression& culprit = expressions[static_cast<std::size_t>(index)];
  return absl::InvalidArgumentError(
      absl::StrCat(culprit.name, ": pattern does not compile: ", why,
                   "; use what RE2 and Hyperscan share (docs/knowledge.md)"));
}

// A failed write only costs the next process a compilation, so errors are ignored.
void Store(hs_database_t* database, const std::string& directory, const std::string& key) {
  char* bytes = nullptr;
  std::size_t size = 0;
  if (hs_serialize_database(database, &bytes, &size) != HS_SUCCESS) return;
  WriteCached(directory, key, absl::string_view(bytes, size)).IgnoreError();
  std::free(bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const PatternDatabase>> PatternDatabase::Create(
    absl::Span<const Expression> expressions, const std::string& cache_directory) {
  std::unique_ptr<PatternDatabase> result(new PatternDatabase());
  if (expressions.empty()) return result;
  absl::StatusOr<std::string> key = CacheKey(expressions);
  if (!key.ok()) return std::move(key).status();
  if (!cache_directory.empty()) {
    const absl::StatusOr<std::string> cached = ReadCached(cache_directory, *key);
    if (cached.ok()) result->database_ = Deserialize(*cached);
    result->from_cache_ = result->database_ != nullptr;
  }
  if (result->database_ == nullptr) {
    absl::StatusOr<hs_database_t*> compiled = Compile(expressions);
    if (!compiled.ok()) return std::move(compiled).status();
    result->database_ = *compiled;
    if (!cache_directory.empty()) Store(result->database_, cache_directory, *key);
  }
  hs_scratch_t* scratch = nullptr;
  if (hs_alloc_scratch(result->database_, &scratch) != HS_SUCCESS) {
    return absl::ResourceExhaustedError("hyperscan: no memory for a scan");
  }
  result->prototype_.reset(scratch);
  return result;
}

PatternDatabase::~PatternDatabase() {
  if (database_ != nullptr) hs_free_database(database_);
}

void PatternDatabase::ScratchDeleter::operator()(hs_scratch* scratch) const {
  hs_free_scratch(scratch);
}

PatternDatabase::Scratch PatternDatabase::NewScratch() const {
  hs_scratch_t* scratch = nullptr;
  if (prototype_ == nullptr) return nullptr;
  // It only allocates, so it fails like any other allocation.
  if (hs_clone_scratch(prototype_.get(), &scratch) != HS_SUCCESS) throw std::bad_alloc();
  return Scratch(scratch);
}

void PatternDatabase::Scan(absl::string_view block, Scratch& scratch,
                           absl::FunctionRef<void(std::size_t, std::size_t)> on_match) const {
  if (database_ == nullptr || block.empty() || scratch == nullptr) return;
  const auto trampoline = [](unsigned int id, unsigned long long, unsigned long long to,
                             unsigned int, void* context) {
    (*static_cast<absl::FunctionRef<void(std::size_t, std::size_t)>*>(context))(
        id, static_cast<std::size_t>(to));
    return 0;
  };
  hs_scan(database_, block.data(), static_cast<unsigned int>(block.size()), 0, scratch.get(),
          trampoline, &on_match);
}

}  // namespace galen::log_scan
