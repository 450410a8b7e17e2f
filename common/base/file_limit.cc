#include "common/base/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace galen {
namespace {

constexpr rlim_t kMost = 65'536;
constexpr int kUsual = 1'024;

}  // namespace

int RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kUsual;
  const rlim_t wanted = std::min(limit.rlim_max, kMost);
  if (limit.rlim_cur < wanted) {
    rlimit raised = limit;
    raised.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<int>(std::min(limit.rlim_cur, kMost));
}

}  // namespace galen
