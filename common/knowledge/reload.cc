#include "common/knowledge/reload.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/knowledge/files.h"
#include "common/knowledge/load.h"

namespace galen::knowledge {

Reloader::Reloader(ReloadOptions options, const Knowledge& loaded)
    : options_(std::move(options)), digest_(loaded.digest()) {}

void Reloader::Start() {
  task_.emplace(
      [this] {
        Look();
        return options_.poll;
      },
      options_.poll);
}

void Reloader::Reload() {
  wanted_ = true;
  if (task_.has_value()) task_->Wake();
}

void Reloader::Look() {
  const std::string looks = Fingerprint(options_.directories);
  const bool wanted = wanted_.exchange(false);
  const bool settled = looks == seen_;
  seen_ = looks;
  // Waits until a person who saves several files, or one in pieces, has finished.
  if (!wanted && (!settled || looks == settled_)) return;
  settled_ = looks;
  Load();
}

void Reloader::Load() {
  const auto tell = [&](const std::string& news) {
    if (options_.tell) options_.tell(news);
  };
  auto loaded =
      knowledge::Load(options_.directories, {.cache_directory = options_.cache_directory});
  if (!loaded.ok()) {
    tell(absl::StrCat("knowledge: the files changed and are refused, ", digest_.substr(0, 12),
                      " stays in use: ", loaded.status().message()));
    return;
  }
  const std::string digest = (*loaded)->digest();
  if (digest == digest_) return;
  if (const absl::Status applied = options_.apply(*std::move(loaded)); !applied.ok()) {
    tell(absl::StrCat("knowledge: ", digest.substr(0, 12), " is refused, ", digest_.substr(0, 12),
                      " stays in use: ", applied.message()));
    return;
  }
  tell(absl::StrCat("knowledge: ", digest.substr(0, 12), " is in use, in place of ",
                    digest_.substr(0, 12)));
  digest_ = digest;
}

}  // namespace galen::knowledge
