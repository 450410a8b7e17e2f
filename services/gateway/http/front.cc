#include "services/gateway/http/front.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace galen::gateway::http {

void Front::Add(std::string prefix, Handler& part) {
  parts_.erase(std::remove_if(parts_.begin(), parts_.end(),
                              [&](const auto& known) { return known.first == prefix; }),
               parts_.end());
  const auto shorter = std::find_if(parts_.begin(), parts_.end(), [&](const auto& known) {
    return known.first.size() < prefix.size();
  });
  parts_.emplace(shorter, std::move(prefix), &part);
}

void Front::Handle(Request request, std::shared_ptr<Exchange> exchange) {
  const absl::string_view target = request.target;
  const absl::string_view path = target.substr(0, target.find('?'));
  for (const auto& [prefix, part] : parts_) {
    const absl::string_view itself = absl::string_view(prefix).substr(0, prefix.size() - 1);
    if (!absl::StartsWith(path, prefix) && path != itself) continue;
    return part->Handle(std::move(request), std::move(exchange));
  }
  rest_.Handle(std::move(request), std::move(exchange));
}

Response Front::Refuse(int status, const std::string& why) { return rest_.Refuse(status, why); }

}  // namespace galen::gateway::http
