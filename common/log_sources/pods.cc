#include "common/log_sources/pods.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/log_sources/collector.h"

namespace galen::log_sources {
namespace {

constexpr std::size_t kLeastShare = std::size_t{64} << 10;
constexpr std::size_t kMostPodLine = std::size_t{1} << 20;
// A kubelet writes lines of up to 16 KiB, and gives what a container wrote since a time; of a long
// one the newest lines are kept while it is read.
constexpr std::size_t kMostRead = std::size_t{1} << 30;

struct Container {
  std::string pod;
  std::string node;
  std::string name;
  bool only = false;  // of its pod
  bool previous = false;
};

// The lines of a container in a window, from bytes as they come, with its own times taken away.
class LineWindow {
 public:
  LineWindow(const Window& window, std::size_t bytes, std::size_t lines)
      : window_(window), most_bytes_(bytes), most_lines_(lines) {}

  // OUT_OF_RANGE: the window is over.
  absl::Status Take(absl::string_view bytes) {
    for (;;) {
      const std::size_t end = bytes.find('\n');
      const std::size_t room = kMostPodLine - std::min(kMostPodLine, line_.size());
      absl::StrAppend(&line_, bytes.substr(0, std::min(end, room)));
      if (end == absl::string_view::npos) return absl::OkStatus();
      GALEN_RETURN_IF_ERROR(EndLine());
      bytes.remove_prefix(end + 1);
    }
  }
  void Finish() {
    if (!line_.empty()) static_cast<void>(EndLine());
  }

  bool dropped() const { return dropped_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t lines() const { return lines_.size(); }
  std::string Text() const {
    std::string text;
    for (const std::string& line : lines_) absl::StrAppend(&text, line, "\n");
    return text;
  }

 private:
  absl::Status EndLine() {
    std::string line = std::move(line_);
    line_.clear();
    // "2026-03-04T05:06:07.123456789Z text"
    absl::Time at;
    std::string ignored;
    const std::size_t space = line.find(' ');
    if (absl::ParseTime(absl::RFC3339_full, line.substr(0, space), &at, &ignored)) {
      line.erase(0, space == std::string::npos ? line.size() : space + 1);
      if (at < window_.start) return absl::OkStatus();
      if (at > window_.end) return absl::OutOfRangeError("after the window");
    }
    bytes_ += line.size() + 1;
    lines_.push_back(std::move(line));
    while (bytes_ > most_bytes_ || lines_.size() > most_lines_) {
      bytes_ -= lines_.front().size() + 1;
      lines_.pop_front();
      dropped_ = true;
    }
    return absl::OkStatus();
  }

  const Window window_;
  const std::size_t most_bytes_;
  const std::size_t most_lines_;
  std::string line_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
  bool dropped_ = false;
};

// The containers of a pod that ever ran. `cuts`: those that did not, and why.
void AddContainers(const kube::Json& pod, std::vector<Container>& containers,
                   std::vector<std::string>& cuts) {
  const std::string name = TextAt(pod, {"metadata", "name"});
  const std::string node = TextAt(pod, {"spec", "nodeName"});
  const kube::Json* const statuses = At(pod, {"status", "containerStatuses"});
  if (name.empty() || statuses == nullptr || !statuses->is_array()) {
    cuts.push_back(absl::StrCat("pod ", CleanText(name, 80), " has no container that ran",
                                node.empty() ? ": it is on no node" : ""));
    return;
  }
  for (const kube::Json& status : *statuses) {
    Container container{name, node, TextAt(status, {"name"}), statuses->size() == 1, false};
    const std::int64_t restarts = IntAt(status, {"restartCount"}).value_or(0);
    if (restarts > 0) {
      container.previous = true;
      containers.push_back(container);
      container.previous = false;
    }
    const std::string waits = TextAt(status, {"state", "waiting", "reason"});
    if (!waits.empty() && restarts == 0) {
      cuts.push_back(absl::StrCat("container ", CleanText(container.name, 80), " of pod ",
                                  CleanText(name, 80), " never ran: ", CleanText(waits, 80)));
    } else if (waits.empty()) {
      containers.push_back(container);
    }
  }
}

std::string Shown(const Container& container) {
  return absl::StrCat(container.previous ? "the run before of " : "", "container ", container.name,
                      " of pod ", container.pod,
                      container.node.empty() ? "" : absl::StrCat(" on ", container.node));
}

}  // namespace

std::string Pods::name() const {
  return absl::StrCat("Kubernetes ", client_->options().server, " namespace ", space_);
}

absl::StatusOr<Fetched> Pods::Fetch(const Window& window, const Limits& limits,
                                    const Cancellation* cancellation) {
  const absl::Time deadline = SteadyNow() + limits.time;
  const kube::Resource pods{"", "v1", "pods"};
  const kube::Call call{limits.time, cancellation};
  std::vector<kube::Json> found;
  if (pod_.empty()) {
    GALEN_ASSIGN_OR_RETURN(kube::Listing listing, client_->List({pods, space_, labels_, ""}, call));
    found = std::move(listing.items);
  } else {
    GALEN_ASSIGN_OR_RETURN(found.emplace_back(), client_->Get(pods, {space_, pod_}, call));
  }
  Fetched fetched;
  std::vector<Container> containers;
  for (const kube::Json& pod : found) AddContainers(pod, containers, fetched.cuts);
  if (containers.size() > limits.logs) {
    containers.resize(limits.logs);
    fetched.cuts.push_back(absl::StrCat("there are more than ", limits.logs,
                                        " containers; the others are left out: narrow the query"));
  }
  std::size_t bytes = 0;
  std::size_t lines = 0;
  std::size_t late = 0;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Container& container = containers[i];
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      ++late;
      continue;
    }
    const std::size_t others = containers.size() - i;
    LineWindow kept(
        window, std::max(kLeastShare, (limits.bytes - std::min(bytes, limits.bytes)) / others),
        std::max<std::size_t>(1, (limits.lines - std::min(lines, limits.lines)) / others));
    const absl::Status read = client_->ReadLog(
        {space_, container.pod}, {container.name, window.start, container.previous, kMostRead},
        [&kept](absl::string_view more) { return kept.Take(more); }, {left, cancellation});
    kept.Finish();
    if (absl::IsCancelled(read)) return read;
    if (absl::IsPermissionDenied(read) || read.code() == absl::StatusCode::kUnauthenticated) {
      return read;
    }
    if (!read.ok() && !absl::IsOutOfRange(read)) {
      fetched.cuts.push_back(absl::StrCat(Shown(container), ": its log could not be read",
                                          kept.lines() > 0 ? " to the end: " : ": ",
                                          read.message()));
    }
    if (kept.dropped()) {
      fetched.cuts.push_back(absl::StrCat(Shown(container), ": only its newest ", kept.lines(),
                                          " lines are read, ", SizeText(kept.bytes()),
                                          "; narrow the query or the time"));
    }
    if (kept.lines() == 0) continue;
    bytes += kept.bytes();
    lines += kept.lines();
    fetched.logs.push_back(
        {LogNameOf(container.pod, absl::StrCat(container.only ? "" : container.name,
                                               container.only || !container.previous ? "" : ".",
                                               container.previous ? "previous" : "")),
         container.node, kept.Text()});
  }
  if (late > 0) {
    fetched.cuts.push_back(absl::StrCat(late, " containers are left out: reading took more than ",
                                        absl::FormatDuration(limits.time), "; narrow the query"));
  }
  if (fetched.logs.empty()) {
    return absl::NotFoundError(absl::StrCat(
        name(), ": ", found.empty() ? "no pod is selected" : "no line of its pods is of the time",
        fetched.cuts.empty() ? "" : absl::StrCat(" (", fetched.cuts.front(), ")"),
        "; name another time (--start, --end), or change the query"));
  }
  return fetched;
}

}  // namespace galen::log_sources
