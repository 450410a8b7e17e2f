#include "common/kube/watch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"

namespace galen::kube {
namespace {

constexpr absl::Duration kList = absl::Minutes(2);
// The server is asked to end a connection after this and up to as much again, so that connections
// of many clients do not end together.
constexpr absl::Duration kConnection = absl::Minutes(5);

void Tell(const Watcher& watcher, const std::vector<Change>& changes) {
  for (const Change& change : changes) watcher.on_change(change);
}

absl::Status ListNow(Client& client, const Selection& selection, const Watcher& watcher,
                     const Cancellation& cancellation, WatchState& state) {
  GALEN_ASSIGN_OR_RETURN(Listing listing,
                         client.List(selection, {.timeout = kList, .cancellation = &cancellation}));
  GALEN_ASSIGN_OR_RETURN(const std::vector<Change> changes, state.Listed(std::move(listing)));
  Tell(watcher, changes);
  if (watcher.on_synced) watcher.on_synced();
  return absl::OkStatus();
}

absl::Status WatchNow(Client& client, const Selection& selection, const Watcher& watcher,
                      const Cancellation& cancellation, const std::string& version,
                      WatchState& state) {
  Lines lines(client.options().most_event_bytes);
  const auto take = [&](absl::string_view line) -> absl::Status {
    if (cancellation.cancelled()) return absl::CancelledError("stopped by the caller");
    GALEN_ASSIGN_OR_RETURN(const std::vector<Change> changes, state.Line(line));
    Tell(watcher, changes);
    return absl::OkStatus();
  };
  return client.WatchOnce(
      selection, version, [&](absl::string_view bytes) { return lines.Add(bytes, take); },
      {.timeout = kConnection * (1 + client.Chance()), .cancellation = &cancellation});
}

}  // namespace

void RunWatch(Client& client, const Selection& selection, const Watcher& watcher,
              const Cancellation& cancellation) {
  WatchState state;
  while (!cancellation.cancelled()) {
    const WatchState::Step step = state.Next();
    if (step.failures > 0 || step.retry_after.has_value()) {
      const absl::Duration pause = client.PauseBefore(std::max(step.failures, 1), step.retry_after);
      if (client.Sleep(pause, cancellation)) return;
    }
    absl::Status status;
    if (step.list) {
      status = ListNow(client, selection, watcher, cancellation, state);
      if (status.ok()) continue;
    } else {
      status = WatchNow(client, selection, watcher, cancellation, step.version, state);
    }
    if (cancellation.cancelled()) return;
    state.Ended(status);
    if (!status.ok() && watcher.on_trouble) watcher.on_trouble(status);
  }
}

Watch::Watch(Client& client, Selection selection, Watcher watcher)
    : thread_([this, &client, selection = std::move(selection), watcher = std::move(watcher)] {
        RunWatch(client, selection, watcher, cancellation_);
      }) {}

Watch::~Watch() {
  cancellation_.Cancel();
  thread_.join();
}

}  // namespace galen::kube
