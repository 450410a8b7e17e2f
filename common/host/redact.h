#ifndef COMMON_HOST_REDACT_H_
#define COMMON_HOST_REDACT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace re2 {
class RE2;
}

namespace galen::host {

// Replaces a secret.
inline constexpr absl::string_view kRedacted = "[redacted]";

// Masks secrets in data that leaves a machine. The patterns are data (knowledge/capture.txt).
// Thread-safe once filled.
class Redactor {
 public:
  Redactor();
  ~Redactor();
  Redactor(Redactor&&) noexcept;
  Redactor& operator=(Redactor&&) noexcept;

  // A pattern over text: the secret is the first of its groups that matches, or the whole match if
  // it has no group. `kind` names the secret in lists ("private key"). INVALID_ARGUMENT: RE2
  // refuses the pattern.
  absl::Status AddPattern(absl::string_view kind, absl::string_view pattern);

  // A pattern over names: variables with a match anywhere in the name are secret.
  absl::Status AddVariablePattern(absl::string_view pattern);

  // An exception: applied to the whole match of a text pattern, or to NAME=VALUE of a variable. If
  // it matches all of it, there is no secret.
  absl::Status AddException(absl::string_view pattern);

  // `text` with each secret replaced; everything else is unchanged byte for byte. Adds the number
  // of secrets of each kind to `counts`.
  std::string Redact(absl::string_view text, std::map<std::string, int>& counts) const;

  // True if a variable of this name is treated as secret.
  bool IsSecretName(absl::string_view name) const;
  // As IsSecretName(), for a variable with a known value.
  bool IsSecret(absl::string_view name, absl::string_view value) const;

 private:
  // Whether a match, including its context, is an exception and thus not a secret.
  bool IsException(absl::string_view whole) const;

  struct Pattern {
    std::string kind;
    std::unique_ptr<re2::RE2> regex;
  };
  std::vector<Pattern> patterns_;
  std::vector<std::unique_ptr<re2::RE2>> names_;
  std::vector<std::unique_ptr<re2::RE2>> exceptions_;
};

// "2 private key, 1 URL password" for the counts of Redact.
std::string ShownCounts(const std::map<std::string, int>& counts);

}  // namespace galen::host

#endif  // COMMON_HOST_REDACT_H_
