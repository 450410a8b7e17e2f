#ifndef COMMON_STORE_EVENT_LOG_H_
#define COMMON_STORE_EVENT_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::store {

// The right to write a diagnosis. Tokens of a diagnosis only grow, so a writer that lost its
// lease without noticing is refused (fencing).
struct Lease {
  std::string diagnosis;
  std::string owner;
  std::int64_t token = 0;
  absl::Time expires;
};

// Append-only event logs, one a diagnosis, and the leases to write them. An acknowledged Append()
// survives a crash of the process and of the machine. Thread-safe; calls may touch a disk.
// Errors of every method: UNAVAILABLE the store cannot be reached or written (try again); DATA_LOSS
// stored data cannot be read (the message names the file and the remedy).
class EventLog {
 public:
  virtual ~EventLog() = default;

  // Starts a log with its `created` event; sets its sequence to 1. ALREADY_EXISTS when the name is
  // taken. With a request id that this parent used before: returns the name it was used for
  // instead of `event.created().name()`, and stores nothing.
  virtual absl::StatusOr<std::string> Create(const v1::DiagnosisEvent& event) = 0;

  // Appends `events` after `expected_last`, all or none, and returns the last sequence number.
  // ABORTED when the log has moved on; FAILED_PRECONDITION when the lease is no longer the newest.
  virtual absl::StatusOr<std::int64_t> Append(const Lease& lease, std::int64_t expected_last,
                                              absl::Span<const v1::DiagnosisEvent> events) = 0;

  // The same without a thread that waits for the disk, if the store supports it. Returns the result
  // when it is known at once; otherwise `done` gets it, on a thread of the store, which it must not
  // hold up. `events` must live until then.
  using OnAppended = absl::AnyInvocable<void(absl::StatusOr<std::int64_t>) &&>;
  virtual std::optional<absl::StatusOr<std::int64_t>> AppendLater(
      const Lease& lease, std::int64_t expected_last, absl::Span<const v1::DiagnosisEvent> events,
      OnAppended /*done*/) {
    return Append(lease, expected_last, events);
  }

  // Events after `after_sequence`, oldest first, at most `limit`. NOT_FOUND when there is no such
  // log.
  virtual absl::StatusOr<std::vector<v1::DiagnosisEvent>> Read(absl::string_view name,
                                                               std::int64_t after_sequence,
                                                               int limit) = 0;

  // Names below "tenants/{tenant}" ("" for all), newest first, after `page_token`.
  struct Page {
    std::vector<std::string> names;
    std::string next_page_token;
  };
  virtual absl::StatusOr<Page> List(absl::string_view parent, int page_size,
                                    absl::string_view page_token) = 0;

  // Names of the logs whose diagnosis is not over and whose lease is free or has expired at `now`.
  virtual absl::StatusOr<std::vector<std::string>> ListOrphans(absl::Time now) = 0;

  // Marks a diagnosis as over for ListOrphans, until something is appended to it. Does nothing if
  // its log has events after `last_sequence`: a late call must not hide a diagnosis that was
  // resumed.
  virtual absl::Status SetOver(absl::string_view name, std::int64_t last_sequence) = 0;

  // Takes or renews the lease. FAILED_PRECONDITION when another owner holds it at `now`.
  virtual absl::StatusOr<Lease> AcquireLease(absl::string_view name, absl::string_view owner,
                                             absl::Time now, absl::Duration ttl) = 0;
  virtual absl::Status ReleaseLease(const Lease& lease) = 0;

  // The model use that `reasoned` records in all events appended to logs of `parent`
  // ("tenants/{tenant}") with an event_time on that day ("2026-02-14", UTC). Never less than the
  // acknowledged appends of yesterday and later; Delete() may drop accounts of earlier days.
  virtual absl::StatusOr<v1::Spent> SpentOn(absl::string_view parent, absl::string_view day) = 0;

  // Names below `parent` ("" for all), oldest first, after `position` (0: from the oldest). Names
  // whose deletion was interrupted are among them: Read() gives NOT_FOUND, and FinishDeletion()
  // removes them.
  struct Oldest {
    std::vector<std::string> names;
    std::int64_t position = 0;  // of the last name
    bool more = false;
  };
  virtual absl::StatusOr<Oldest> ListOldest(absl::string_view parent, std::int64_t position,
                                            int limit) = 0;

  // Deletes a log for good, with its lease, its place in the lists, its request id, and accounts of
  // model use from days before yesterday. From then on its name is NOT_FOUND, with an error that
  // says so, and for kRememberDeleted after `now` it cannot be used again. ABORTED when the log has
  // moved on; FAILED_PRECONDITION when the lease is not the newest. An interruption leaves the log
  // whole, or deleted and still listed: FinishDeletion() does the rest.
  virtual absl::Status Delete(const Lease& lease, std::int64_t expected_last, absl::Time now) = 0;
  // Completes an interrupted deletion. Does nothing to a log that exists or was never made.
  virtual absl::Status FinishDeletion(absl::string_view name) = 0;
};

// How long a store remembers the name of a deleted log.
constexpr absl::Duration kRememberDeleted = absl::Hours(30 * 24);

}  // namespace galen::store

#endif  // COMMON_STORE_EVENT_LOG_H_
