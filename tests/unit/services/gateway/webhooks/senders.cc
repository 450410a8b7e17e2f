#include "tests/unit/services/gateway/webhooks/senders.h"

#include <cstdlib>
#include <iostream>
#include <utility>

namespace galen::gateway::webhooks {

const std::map<std::string, Sender>& ShippedSenders() {
  static const auto* const senders = [] {
    const std::string directory = GALEN_SOURCE_DIR "/knowledge";
    auto loaded = LoadSenders({directory});
    if (!loaded.ok()) {
      std::cerr << loaded.status() << '\n';
      std::abort();
    }
    return new std::map<std::string, Sender>(*std::move(loaded));
  }();
  return *senders;
}

const Scheme& SchemeOf(const std::string& sender, const std::string& scheme) {
  for (const Scheme& one : ShippedSenders().at(sender).schemes) {
    if (one.name == scheme) return one;
  }
  std::cerr << sender << " has no scheme " << scheme << '\n';
  std::abort();
}

Endpoint EndpointOf(const std::string& sender) {
  Endpoint endpoint;
  endpoint.name = "in";
  endpoint.sender = &ShippedSenders().at(sender);
  endpoint.tenant = "acme";
  endpoint.scheme = endpoint.sender->schemes[0];
  endpoint.keys.push_back(Key::Make(endpoint.scheme, kSecret).value());
  return endpoint;
}

http::Request Post(const std::string& body) {
  http::Request request;
  request.method = "POST";
  request.target = "/hooks/in";
  request.body = body;
  return request;
}

}  // namespace galen::gateway::webhooks
