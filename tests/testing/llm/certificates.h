#ifndef TESTS_TESTING_LLM_CERTIFICATES_H_
#define TESTS_TESTING_LLM_CERTIFICATES_H_

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace galen::testing {

// PEM texts.
struct Certificate {
  std::string certificate;
  std::string key;
};

// A certificate authority that lives as long as a test. Aborts the test when OpenSSL fails.
class Authority {
 public:
  explicit Authority(const std::string& name);
  ~Authority();

  // The certificate of this authority, which a client has to trust, PEM.
  const std::string& certificate() const { return own_.certificate; }

  // For a server at `host` (a name or an IPv4 address), valid since yesterday and for `valid_for`
  // from now, which may be negative: then it has expired.
  Certificate Issue(const std::string& host, absl::Duration valid_for = absl::Hours(1)) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  Certificate own_;
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_LLM_CERTIFICATES_H_
