#ifndef SERVICES_CLI_ADVISOR_SIGN_H_
#define SERVICES_CLI_ADVISOR_SIGN_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/perfmodel/job.h"
#include "galen/advisor/v1/advisor.pb.h"

namespace galen::advisor {
struct Declared;
}

namespace galen::cli {

// `galen advisor sign` as it was called.
struct SignArguments {
  std::vector<std::string> knowledge;
  std::vector<std::string> paths;  // of a profile
  std::string job;                 // or a file of the job
  std::string shape;               // or its fields
  std::string key_file;
  std::int64_t gpus = 0;  // 0: as the profile or the shape says
  std::vector<std::string> components;
  bool coarse = false;
};

// A workload's signature, and the texts that were digested for it, which do not leave the machine.
struct Signed {
  advisor::v1::Signature signature;
  std::string mix;
  std::string versions;
};

// Makes the signature on this machine alone; nothing is sent. INVALID_ARGUMENT, NOT_FOUND: the
// profile, the job, the key, a version; says which and what to do.
absl::StatusOr<Signed> SignWorkload(const SignArguments& arguments, std::istream& in);

// A job of `galen model` as the advisor's input. Gated feed-forward networks (three matrices) count
// as one and a half times as wide ones of two.
advisor::Declared DeclaredOf(const perfmodel::Job& job);

}  // namespace galen::cli

#endif  // SERVICES_CLI_ADVISOR_SIGN_H_
