#ifndef COMMON_KUBE_TOKEN_H_
#define COMMON_KUBE_TOKEN_H_

#include <sys/stat.h>

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/http/secret.h"

namespace galen::kube {

// The token of a file that a kubelet exchanges before the token expires. Thread-safe.
class TokenFile {
 public:
  // "": no token at all.
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  // The file's present content; read again only if the file changed. If it is unreadable for a
  // moment, the token read last. FAILED_PRECONDITION if there is none.
  absl::StatusOr<http::Secret> Get();
  // Reads the file at the next Get() even if it looks unchanged: the server refused the token.
  void Refused();

 private:
  const std::string path_;
  Mutex mu_;
  struct stat seen_ ABSL_GUARDED_BY(mu_) = {};
  http::Secret token_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::kube

#endif  // COMMON_KUBE_TOKEN_H_
