#include "services/gateway/info/readable_knowledge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "services/gateway/info/info_api.h"

namespace galen::gateway {
namespace {

std::shared_ptr<http::Asset> AssetOf(const knowledge::Knowledge& knowledge) {
  return std::make_shared<http::Asset>(http::Asset{"application/json", KnowledgeJson(knowledge)});
}

}  // namespace

ReadableKnowledge::ReadableKnowledge(const knowledge::Knowledge& knowledge)
    : shown_(AssetOf(knowledge)) {}

std::unique_ptr<ReadableKnowledge> ReadableKnowledge::Open(
    const std::vector<std::string>& directories, std::function<void(const std::string&)> tell,
    OnKnowledge on_knowledge) {
  const std::string cache = knowledge::DefaultCacheDirectory();
  const auto loaded = knowledge::Load(directories, {.cache_directory = cache});
  if (!loaded.ok()) {
    tell(absl::StrCat("no knowledge to show: ", loaded.status().message()));
    return nullptr;
  }
  if (on_knowledge) on_knowledge(**loaded);
  std::unique_ptr<ReadableKnowledge> readable(new ReadableKnowledge(**loaded));
  knowledge::ReloadOptions options;
  options.directories = directories;
  options.cache_directory = cache;
  options.apply = [&shown = readable->shown_, on_knowledge = std::move(on_knowledge)](
                      const std::shared_ptr<const knowledge::Knowledge>& newer) {
    if (on_knowledge) on_knowledge(*newer);
    shown.Set(AssetOf(*newer));
    return absl::OkStatus();
  };
  options.tell = std::move(tell);
  readable->reloader_ = std::make_unique<knowledge::Reloader>(std::move(options), **loaded);
  readable->reloader_->Start();
  return readable;
}

}  // namespace galen::gateway
