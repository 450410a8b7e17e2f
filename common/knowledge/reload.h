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
  // How often the files are looked at; a change is loaded once two looks in a row saw the same.
  absl::Duration poll = absl::Seconds(2);
  // Makes whatever depends on the knowledge and puts it in place. An error refuses the knowledge:
  // the old one stays. Never called twice at a time.
  std::function<absl::Status(std::shared_ptr<const Knowledge>)> apply;
  // Told, in a sentence, of each version that is taken or refused.
  std::function<void(const std::string& news)> tell;
};

// Notices that knowledge files changed, loads them, and hands the new knowledge on; a version with
// mistakes is refused with what lint says, once, and the old one stays. Thread-safe but for Look().
class Reloader {
 public:
  // `loaded` is what is in use. Starts no thread.
  Reloader(ReloadOptions options, const Knowledge& loaded);
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // One look at the files, by whoever calls; loads when a change has settled, or at once when asked
  // to by Reload(). Only without a thread.
  void Look();

  // Looks every `poll` on a thread of its own, until destruction.
  void Start();
  // At the next look, which a started thread takes now: load even if nothing seems to have changed.
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
