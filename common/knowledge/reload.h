#ifndef COMMON_KNOWLEDGE_RELOAD_H_
#define COMMON_KNOWLEDGE_RELOAD_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/periodic_task.h"
#include "common/knowledge/knowledge.h"

namespace galen::knowledge {

struct ReloadOptions {
  std::vector<std::string> directories;
  std::string cache_directory;  // as in LoadOptions
  // Interval of checking the files; a change is loaded once two checks in a row saw the same files.
  absl::Duration poll = absl::Seconds(2);
  // Builds and installs everything that depends on the knowledge. On an error the old knowledge
  // stays in use. Never called twice at a time.
  std::function<absl::Status(std::shared_ptr<const Knowledge>)> apply;
  // Called with a sentence for each version that is accepted or refused.
  std::function<void(const std::string& news)> tell;
};

// Detects changed knowledge files, loads them, and hands the new knowledge on. A version with
// errors is refused once, with lint's problems, and the old one stays in use. Thread-safe but for
// Look().
class Reloader {
 public:
  // `loaded` is the knowledge in use. Starts no thread.
  Reloader(ReloadOptions options, const Knowledge& loaded);
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // Checks the files once, on the caller's thread; loads when a change has settled, or at once
  // after Reload(). Only without a thread.
  void Look();

  // Checks every `poll` on a thread of its own, until destruction.
  void Start();
  // Makes the next check, which a started thread does now, load even without a change.
  void Reload();

 private:
  void Load();

  const ReloadOptions options_;
  std::string digest_;   // of the knowledge in use
  std::string seen_;     // how the files looked at the last look
  std::string settled_;  // how they looked when last loaded or refused
  std::atomic<bool> wanted_ = false;
  std::optional<PeriodicTask> task_;
};

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_RELOAD_H_
