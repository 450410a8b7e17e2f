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

// What stands where a secret stood.
inline constexpr absl::string_view kRedacted = "[redacted]";

// Takes secrets out of what leaves a machine. The patterns are data (knowledge/capture.txt).
// Thread-safe once filled.
class Redactor {
 public:
  Redactor();
  ~Redactor();
  Redactor(Redactor&&) noexcept;
  Redactor& operator=(Redactor&&) noexcept;

  // A pattern over text: what the first of its groups that took part matches is a secret, or all of
  // it where it has no group.
  // `kind` names the secret in lists ("private key"). INVALID_ARGUMENT: RE2 refuses the pattern.
  absl::Status AddPattern(absl::string_view kind, absl::string_view pattern);

  // A pattern over names: variables that it matches anywhere hold secrets.
  absl::Status AddVariablePattern(absl::string_view pattern);

  // A pattern over what the others took for a secret: all of the match of such a pattern, or
  // NAME=VALUE of such a variable. Where it matches all of that there is no secret.
  absl::Status AddException(absl::string_view pattern);

  // `text` with each secret replaced; everything else stays byte for byte. Adds to `counts` how
  // many secrets of each kind there were.
  std::string Redact(absl::string_view text, std::map<std::string, int>& counts) const;

  // True when a variable of this name is taken to hold a secret.
  bool IsSecretName(absl::string_view name) const;
  // The same of a variable whose value is known.
  bool IsSecret(absl::string_view name, absl::string_view value) const;

 private:
  // Whether what was taken for a secret, with what stands around it, is none.
  bool IsException(absl::string_view whole) const;

  struct Pattern {
    std::string kind;
    std::unique_ptr<re2::RE2> regex;
  };
  std::vector<Pattern> patterns_;
  std::vector<std::unique_ptr<re2::RE2>> names_;
  std::vector<std::unique_ptr<re2::RE2>> exceptions_;
};

// "2 private key, 1 URL password" of what Redact counted.
std::string ShownCounts(const std::map<std::string, int>& counts);

}  // namespace galen::host

#endif  // COMMON_HOST_REDACT_H_
