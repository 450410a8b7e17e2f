#ifndef COMMON_PROFILE_FAMILIES_H_
#define COMMON_PROFILE_FAMILIES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "re2/re2.h"

namespace galen::profile {

// The kind of work of a kernel.
enum class Kind { kCompute, kCommunication, kMemory };
absl::string_view ToString(Kind kind);

struct Family {
  std::string name;
  std::string title;
  Kind kind = Kind::kCompute;
  std::vector<std::string> patterns;
  std::string source;
};

// Families of kernels by name: knowledge/profile. Immutable; thread-safe.
class Families {
 public:
  // profile/*.yaml of the knowledge directories, later ones before earlier ones. NOT_FOUND: none
  // has any; INVALID_ARGUMENT names file, line and remedy.
  static absl::StatusOr<Families> Load(const std::vector<std::string>& directories);
  // Parses one file.
  static absl::StatusOr<Families> Parse(absl::string_view text, absl::string_view file);

  // The last one is "other", which takes what none else takes.
  const std::vector<Family>& all() const { return families_; }
  std::size_t IndexOf(absl::string_view kernel) const;
  // Whether a JAX trace uses this name for the host's work for the device.
  bool IsXlaHost(absl::string_view name) const;
  // Whether a range of NVTX or roctx has the name of a step.
  bool IsStep(absl::string_view name) const;

 private:
  Families() = default;
  absl::Status Add(absl::string_view text, absl::string_view file);
  absl::Status Compile();

  std::vector<Family> families_;
  std::vector<std::string> host_;
  std::vector<std::string> steps_;
  std::vector<std::unique_ptr<const re2::RE2>> compiled_;  // of all but the last
  std::unique_ptr<const re2::RE2> compiled_host_;
  std::unique_ptr<const re2::RE2> compiled_steps_;
};

}  // namespace galen::profile

#endif  // COMMON_PROFILE_FAMILIES_H_
