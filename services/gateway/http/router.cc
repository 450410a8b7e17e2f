#include "services/gateway/http/router.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace galen::gateway::http {
namespace {

bool Begins(absl::string_view path, absl::string_view prefix) {
  if (prefix == "/") return path == prefix;
  while (true) {
    const std::size_t star = prefix.find('*');
    if (star == absl::string_view::npos) {
      return absl::StartsWith(path, prefix) || path == prefix.substr(0, prefix.size() - 1);
    }
    if (!absl::ConsumePrefix(&path, prefix.substr(0, star))) return false;
    const std::size_t end = path.find('/');
    if (end == 0 || end == absl::string_view::npos) return false;
    path.remove_prefix(end);
    prefix.remove_prefix(star + 1);
  }
}

}  // namespace

void Router::Add(std::string prefix, Handler& part) {
  parts_.erase(std::remove_if(parts_.begin(), parts_.end(),
                              [&](const auto& known) { return known.first == prefix; }),
               parts_.end());
  const auto shorter = std::find_if(parts_.begin(), parts_.end(), [&](const auto& known) {
    return known.first.size() < prefix.size();
  });
  parts_.emplace(shorter, std::move(prefix), &part);
}

Handler& Router::PartOf(const Request& request) const {
  const absl::string_view target = request.target;
  const absl::string_view path = target.substr(0, target.find('?'));
  for (const auto& [prefix, part] : parts_) {
    if (Begins(path, prefix)) return *part;
  }
  return fallback_;
}

void Router::Handle(Request request, std::shared_ptr<Exchange> exchange) {
  Handler& part = PartOf(request);
  part.Handle(std::move(request), std::move(exchange));
}

std::optional<BodyRules> Router::TakesPieces(const Request& head) {
  return PartOf(head).TakesPieces(head);
}

HeadVerdict Router::LookAtHead(const Request& head) { return PartOf(head).LookAtHead(head); }

Response Router::Refuse(int status, const std::string& why) {
  return fallback_.Refuse(status, why);
}

}  // namespace galen::gateway::http
