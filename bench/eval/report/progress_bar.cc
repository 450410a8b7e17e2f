#include "bench/eval/report/progress_bar.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/cli/terminal.h"

namespace galen::eval {
namespace {

constexpr std::size_t kBarColumns = 24;

}  // namespace

std::string ProgressLine(const RunProgress& progress, int width) {
  const std::size_t filled =
      progress.all == 0 ? kBarColumns : kBarColumns * progress.done / progress.all;
  std::string bar;
  for (std::size_t i = 0; i < kBarColumns; ++i) bar += i < filled ? "█" : "░";
  std::string line = absl::StrCat(progress.name, " ", bar, " ", progress.done, "/", progress.all,
                                  ", ", progress.right, " right");
  const std::size_t run = progress.done - std::min(progress.done, progress.kept);
  if (run > 0 && progress.done < progress.all) {
    const absl::Duration left = progress.elapsed *
                                static_cast<double>(progress.all - progress.done) /
                                static_cast<double>(run);
    absl::StrAppend(&line, ", ", absl::FormatDuration(absl::Trunc(left, absl::Seconds(1))),
                    " left");
  }
  return cli::Shorten(line, static_cast<std::size_t>(std::max(width - 1, 1)));
}

}  // namespace galen::eval
