#ifndef COMMON_KUBE_WATCH_STATE_H_
#define COMMON_KUBE_WATCH_STATE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/kube/answer.h"
#include "common/kube/client.h"

namespace galen::kube {

struct Change {
  enum class Kind { kAdded, kChanged, kDeleted };
  Kind kind = Kind::kAdded;
  // The present object; for a deleted one its last state. An object that is missing from a later
  // list has only its metadata: namespace, name and uid.
  Json object;
};

// The state of a watch and its next step, without side effects. It lists, watches from the version
// of the list, goes on from the last version it saw when a connection ends, and lists again when
// that version is gone (410); then it reports the differences. So a caller that applies its changes
// has the server's state, and no change twice. Only the version of an object is kept.
class WatchState {
 public:
  struct Step {
    bool list = true;     // else watch
    std::string version;  // from which on
    // The number of failures in a row, and the pause that the server asked for.
    int failures = 0;
    std::optional<absl::Duration> retry_after;
  };
  Step Next() const;

  // Takes the result of a list.
  absl::StatusOr<std::vector<Change>> Listed(Listing listing);
  // One line of a watch. An error ends its connection.
  absl::StatusOr<std::vector<Change>> Line(absl::string_view line);
  // The error of the list or of the watch's connection; OK if the server ended it.
  void Ended(const absl::Status& status);

  std::size_t known() const { return known_.size(); }

 private:
  struct Known {
    std::string uid;
    std::string version;
  };
  using Key = std::pair<std::string, std::string>;  // namespace, name

  void Seen(Json object, std::vector<Change>& changes);

  bool list_ = true;
  bool heard_ = false;  // something on this connection
  std::string version_;
  int failures_ = 0;
  std::optional<absl::Duration> retry_after_;
  std::map<Key, Known> known_;
};

// Bytes into lines.
class Lines {
 public:
  explicit Lines(std::size_t most) : most_(most) {}
  // Calls `take` with each whole line. DATA_LOSS for a line longer than permitted; otherwise the
  // error of `take`.
  absl::Status Add(absl::string_view bytes,
                   const std::function<absl::Status(absl::string_view)>& take);

 private:
  const std::size_t most_;
  std::string rest_;
};

}  // namespace galen::kube

#endif  // COMMON_KUBE_WATCH_STATE_H_
