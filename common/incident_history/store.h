#ifndef COMMON_INCIDENT_HISTORY_STORE_H_
#define COMMON_INCIDENT_HISTORY_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/incident_history/append_log.h"
#include "common/incident_history/embedder.h"
#include "common/incident_history/segment_builder.h"
#include "common/incident_history/view.h"

namespace galen::incident_history {

// Persistent past incidents: a directory with one segment and a log of later additions.
//
//     segment-7   the documents at the last compaction; never changes
//     log-7       the documents added since; each record is on the disk before Add returns
//     lock        held by the one process that may write
//
// An added document is in the next view(). After kill -9 or a loss of power all acknowledged
// documents are still there. Readers take a view and hold no lock while they search; compaction
// runs in parallel with adding and searching. Thread-safe.
class Store {
 public:
  struct Options {
    BuildOptions build;
    // Add compacts once this many documents are in the log, and a tenth of those in the segment; 0:
    // never by itself. A log of 4096 tickets opens in some tens of milliseconds.
    size_t compact_after = 4096;
  };

  // Opens the directory or makes it. `embedder` must outlive the store. Errors: ALREADY_EXISTS
  // another process has it open; DATA_LOSS and FAILED_PRECONDITION name the file and say what to
  // do.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& directory,
                                                     const Embedder& embedder, Options options);
  // With an index already made (SegmentBuilder::ToFile) as its content; `directory` must not hold a
  // store. The file is moved.
  static absl::Status Import(const std::string& segment, const std::string& directory);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Adds all or none. They are on the disk and in view() when it returns OK. A document whose
  // vector cannot be made is found by words until the next compaction. Errors: ALREADY_EXISTS an id
  // is taken; INVALID_ARGUMENT something is too long; what the disk says.
  absl::Status Add(absl::Span<const Document> documents);
  absl::Status Add(const Document& document) { return Add(absl::MakeConstSpan(&document, 1)); }

  // A snapshot of the present documents, unchanged for as long as it is held.
  View view() const;

  // Writes what is there into one new segment, verified against its checksums first, and starts a
  // new log. Documents without a vector of this embedder get one. On error everything stays as it
  // was.
  absl::Status Compact();

 private:
  Store(std::string directory, const Embedder& embedder, Options options, int lock)
      : directory_(std::move(directory)), embedder_(embedder), options_(options), lock_(lock) {}

  absl::Status Load();
  std::string Path(absl::string_view kind, std::uint64_t generation) const;
  void Push(Recent recent) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_);

  const std::string directory_;
  const Embedder& embedder_;
  const Options options_;
  const int lock_;

  Mutex compacting_;  // one compaction at a time; taken before writing_
  Mutex writing_;     // adding, and the switch to a new segment
  std::uint64_t generation_ ABSL_GUARDED_BY(writing_) = 0;
  std::shared_ptr<const Segment> segment_ ABSL_GUARDED_BY(writing_);
  std::unique_ptr<AppendLog> log_ ABSL_GUARDED_BY(writing_);
  std::vector<std::shared_ptr<RecentBlock>> recent_ ABSL_GUARDED_BY(writing_);
  size_t recent_count_ ABSL_GUARDED_BY(writing_) = 0;

  mutable Mutex publishing_;  // held to copy pointers only
  std::shared_ptr<const View> view_ ABSL_GUARDED_BY(publishing_);
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_STORE_H_
