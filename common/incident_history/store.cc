#include "common/incident_history/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace galen::incident_history {
namespace {

namespace fs = std::filesystem;

// A rename or a new file is durable once its directory is.
absl::Status SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  return synced ? absl::OkStatus()
                : absl::ErrnoToStatus(error, absl::StrCat(directory, ": cannot be synced"));
}

// The number behind `kind` in a file's name.
bool Generation(absl::string_view name, absl::string_view kind, std::uint64_t& generation) {
  return absl::ConsumePrefix(&name, kind) && absl::SimpleAtoi(name, &generation);
}

absl::StatusOr<std::vector<std::string>> Names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return absl::InternalError(absl::StrCat(directory, ": ", error.message()));
  return names;
}

}  // namespace

std::string Store::Path(absl::string_view kind, std::uint64_t generation) const {
  return absl::StrCat(directory_, "/", kind, generation);
}

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& directory,
                                                   const Embedder& embedder, Options options) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return absl::InternalError(absl::StrCat(directory, ": ", error.message()));
  const std::string path = absl::StrCat(directory, "/lock");
  const int lock = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be opened"));
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    close(lock);
    return absl::AlreadyExistsError(absl::StrCat(
        directory, ": another process has the past incidents open; stop it or ask it"));
  }
  std::unique_ptr<Store> store(new Store(directory, embedder, options, lock));
  GALEN_RETURN_IF_ERROR(store->Load());
  return store;
}

absl::Status Store::Import(const std::string& segment, const std::string& directory) {
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const Segment> opened, Segment::Open(segment));
  GALEN_RETURN_IF_ERROR(opened->VerifyChecksums());
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return absl::InternalError(absl::StrCat(directory, ": ", error.message()));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(directory));
  std::uint64_t generation = 0;
  for (const std::string& name : names) {
    if (Generation(name, "segment-", generation) || Generation(name, "log-", generation)) {
      return absl::AlreadyExistsError(absl::StrCat(
          directory, ": holds past incidents already; choose another directory or add to them"));
    }
  }
  fs::rename(segment, directory + "/segment-1", error);
  if (error) return absl::InternalError(absl::StrCat(segment, ": ", error.message()));
  return SyncDirectory(directory);
}

Store::~Store() { close(lock_); }

absl::Status Store::Load() {
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(directory_));
  const MutexLock lock(writing_);
  for (const std::string& name : names) {
    std::uint64_t generation = 0;
    if (Generation(name, "segment-", generation)) generation_ = std::max(generation_, generation);
  }
  // Removes the leftovers of an unfinished compaction and replaced files; a log whose segment is
  // missing stays, since nothing else holds its records.
  const bool has_log =
      std::find(names.begin(), names.end(), absl::StrCat("log-", generation_)) != names.end();
  for (const std::string& name : names) {
    std::uint64_t generation = 0;
    const bool log = Generation(name, "log-", generation);
    const bool segment = Generation(name, "segment-", generation);
    if (log && generation > generation_ && !(has_log && generation == generation_ + 1)) {
      return absl::FailedPreconditionError(absl::StrCat(
          directory_, "/", name, ": segment-", generation,
          " that belongs to it is missing; put it back, or move this file away too: what was "
          "confirmed since is then missing"));
    }
    const bool other = (log || segment) && generation != generation_;
    if (!other && !Generation(name, "new-", generation)) continue;
    std::error_code ignored;
    fs::remove(absl::StrCat(directory_, "/", name), ignored);
  }
  if (generation_ > 0) {
    GALEN_ASSIGN_OR_RETURN(segment_, Segment::Open(Path("segment-", generation_)));
  }
  std::vector<Recent> logged;
  const auto use = [&](Recent recent) {
    logged.push_back(std::move(recent));
    return absl::OkStatus();
  };
  const std::string path = Path("log-", generation_);
  absl::StatusOr<std::unique_ptr<AppendLog>> log = AppendLog::Open(path, use);
  if (absl::IsNotFound(log.status())) {
    log = AppendLog::Create(path);
    if (log.ok()) GALEN_RETURN_IF_ERROR(SyncDirectory(directory_));
  }
  GALEN_RETURN_IF_ERROR(log.status());
  log_ = *std::move(log);
  for (Recent& recent : logged) Push(std::move(recent));
  Publish();
  return absl::OkStatus();
}

void Store::Push(Recent recent) {
  const size_t place = recent_count_ % RecentBlock::kCapacity;
  if (place == 0) recent_.push_back(std::make_shared<RecentBlock>());
  recent_.back()->documents[place] = std::make_unique<const Recent>(std::move(recent));
  ++recent_count_;
}

void Store::Publish() {
  std::vector<std::shared_ptr<const Segment>> segments;
  if (segment_ != nullptr) segments.push_back(segment_);
  auto view = std::make_shared<const View>(
      std::move(segments),
      std::vector<std::shared_ptr<const RecentBlock>>(recent_.begin(), recent_.end()),
      recent_count_);
  const MutexLock lock(publishing_);
  view_ = std::move(view);
}

View Store::view() const {
  std::shared_ptr<const View> view;
  {
    const MutexLock lock(publishing_);
    view = view_;
  }
  return *view;
}

absl::Status Store::Add(absl::Span<const Document> documents) {
  std::vector<Recent> fresh;
  for (const Document& document : documents) {
    if (document.id.empty() || document.id.size() > kMaxIdBytes ||
        document.label.size() > kMaxIdBytes || document.text.size() > kMaxDocumentBytes ||
        document.payload.size() > kMaxDocumentBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("past incident \"", absl::string_view(document.id).substr(0, 80),
                       "\": its id is empty, or id or label are longer than ", kMaxIdBytes,
                       " bytes, or text or payload than ", kMaxDocumentBytes, "; shorten it"));
    }
    Recent recent{document, Analyse(document.text), {}, embedder_.name()};
    // Outside the lock: an endpoint takes its time.
    absl::StatusOr<Vector> vector = embedder_.EmbedDocument(document.text);
    if (vector.ok()) recent.vector = *std::move(vector);
    fresh.push_back(std::move(recent));
  }
  bool compact = false;
  {
    const MutexLock lock(writing_);
    const View now = view();
    absl::flat_hash_set<absl::string_view> ids;
    std::vector<const Recent*> records;
    for (const Recent& recent : fresh) {
      const std::string& id = recent.document.id;
      if (!ids.insert(id).second || now.Contains(id)) {
        return absl::AlreadyExistsError(absl::StrCat(
            "past incident \"", id, "\": is there already; leave it out or give it another id"));
      }
      records.push_back(&recent);
    }
    if (log_ == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(
          directory_, ": the disk failed while a new segment was put in place; reopen it"));
    }
    GALEN_RETURN_IF_ERROR(log_->Append(records));
    for (Recent& recent : fresh) Push(std::move(recent));
    Publish();
    const size_t in_segment = segment_ == nullptr ? 0 : segment_->documents();
    compact = options_.compact_after > 0 && recent_count_ >= options_.compact_after &&
              recent_count_ >= in_segment / 10;
  }
  // The added documents are safe even when this fails; the next Add tries again.
  if (compact) Compact().IgnoreError();
  return absl::OkStatus();
}

absl::Status Store::Compact() {
  const MutexLock one(compacting_);
  const View frozen = view();
  size_t count = 0;
  for (const View::RecentPart& part : frozen.recent()) count += part.count;
  std::uint64_t next = 0;
  {
    const MutexLock lock(writing_);
    next = generation_ + 1;
  }
  const std::string path = Path("new-", next);
  std::error_code ignored;
  fs::remove(path, ignored);
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<SegmentBuilder> builder,
                         SegmentBuilder::ToFile(path, embedder_.name(), embedder_.dimensions()));
  for (const auto& segment : frozen.segments()) {
    GALEN_RETURN_IF_ERROR(segment->VerifyChecksums());
    GALEN_RETURN_IF_ERROR(builder->AddAll(*segment, embedder_));
  }
  for (const View::RecentPart& part : frozen.recent()) {
    for (size_t i = 0; i < part.count; ++i) {
      const Recent& recent = *part.block->documents[i];
      const bool usable = recent.embedder == embedder_.name() && recent.vector.scale > 0 &&
                          recent.vector.values.size() == embedder_.dimensions();
      Vector vector;
      if (usable) {
        vector = recent.vector;
      } else {
        GALEN_ASSIGN_OR_RETURN(vector, embedder_.EmbedDocument(recent.document.text));
      }
      GALEN_RETURN_IF_ERROR(builder->Add(recent.document, recent.analysis, vector));
    }
  }
  GALEN_RETURN_IF_ERROR(builder->Finish(options_.build));

  const MutexLock lock(writing_);
  // Documents added meanwhile go into the new log. The rename makes all of it take effect.
  std::vector<Recent> later;
  for (size_t i = count; i < recent_count_; ++i) {
    const Recent& recent =
        *recent_[i / RecentBlock::kCapacity]->documents[i % RecentBlock::kCapacity];
    later.push_back({recent.document, recent.analysis, recent.vector, recent.embedder});
  }
  std::vector<const Recent*> records;
  for (const Recent& recent : later) records.push_back(&recent);
  fs::remove(Path("log-", next), ignored);
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<AppendLog> log, AppendLog::Create(Path("log-", next)));
  GALEN_RETURN_IF_ERROR(log->Append(records));
  GALEN_RETURN_IF_ERROR(SyncDirectory(directory_));
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const Segment> segment, Segment::Open(path));
  std::error_code error;
  fs::rename(path, Path("segment-", next), error);
  if (error) return absl::InternalError(absl::StrCat(path, ": ", error.message()));
  const absl::Status synced = SyncDirectory(directory_);
  const std::uint64_t old = std::exchange(generation_, next);
  segment_ = std::move(segment);
  log_ = std::move(log);
  recent_.clear();
  recent_count_ = 0;
  for (Recent& recent : later) Push(std::move(recent));
  Publish();
  if (!synced.ok()) {
    // Which of the two a restart finds is not known: neither may be added to.
    log_ = nullptr;
    return synced;
  }
  fs::remove(Path("segment-", old), ignored);
  fs::remove(Path("log-", old), ignored);
  return absl::OkStatus();
}

}  // namespace galen::incident_history
