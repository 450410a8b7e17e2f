#include "common/knowledge/reload.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/knowledge/files.h"
#include "common/knowledge/load.h"

namespace galen::knowledge {

Reloader::Reloader(ReloadOptions options, const Knowledge& loaded)
    : options_(std::move(options)), digest_(loaded.digest()) {}

Reloader::~Reloader() {
  {
    const std::lock_guard lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Reloader::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void Reloader::Reload() {
  wanted_ = true;
  {
    const std::lock_guard lock(mu_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Reloader::Loop() {
  const auto poll = absl::ToChronoNanoseconds(options_.poll);
  for (;;) {
    {
      std::unique_lock lock(mu_);
      changed_.wait_for(lock, poll, [this] { return stopping_ || woken_; });
      if (stopping_) return;
      woken_ = false;
    }
    Look();
  }
}

void Reloader::Look() {
  const std::string looks = Fingerprint(options_.directories);
  const bool wanted = wanted_.exchange(false);
  const bool settled = looks == seen_;
  seen_ = looks;
  // A person who saves several files, or one in pieces, is given time to finish.
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
