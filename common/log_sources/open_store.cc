#include "common/log_sources/open_store.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/log_sources/elasticsearch.h"
#include "common/log_sources/json_server.h"
#include "common/log_sources/loki.h"
#include "common/log_sources/pods.h"

namespace galen::log_sources {
namespace {

constexpr std::size_t kMostQuery = 16 << 10;
constexpr std::size_t kMostShown = 120;

struct Scheme {
  const char* prefix;
  StoreAddress::Kind kind;
  const char* what;
};
constexpr Scheme kSchemes[] = {
    {"loki+", StoreAddress::Kind::kLoki, "Loki"},
    {"elasticsearch+", StoreAddress::Kind::kElasticsearch, "Elasticsearch"},
    {"opensearch+", StoreAddress::Kind::kElasticsearch, "OpenSearch"},
    {"kubernetes+", StoreAddress::Kind::kPods, "Kubernetes"},
    {"kubernetes:", StoreAddress::Kind::kPods, "Kubernetes"},
};

absl::Status Invalid(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--logs-from \"", CleanText(text, kMostShown), "\": ", why));
}

// Takes the last part of the path off the address: "http://h/a/b" becomes "http://h/a" and "b".
std::string TakeLast(std::string& url) {
  const std::size_t begin = url.find("://");
  const std::size_t slash = url.rfind('/');
  if (begin == std::string::npos || slash == std::string::npos || slash < begin + 3) return "";
  std::string last = url.substr(slash + 1);
  url.erase(slash);
  return last;
}

absl::Status ReadPods(absl::string_view text, std::string path, StoreAddress& address) {
  address.pod.clear();
  const std::size_t slash = path.find('/');
  address.index = path.substr(0, slash);
  if (slash != std::string::npos) address.pod = path.substr(slash + 1);
  if (address.index.empty() || absl::StrContains(address.pod, '/')) {
    return Invalid(text, "write the namespace, or NAMESPACE/POD, after the address");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckQuery(const StoreAddress& address) {
  const auto refuse = [&address](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--logs-from: the query of ", address.what, " ",
        CleanText(address.url.empty() ? address.index : address.url, kMostShown), " ", why));
  };
  if (address.query.size() > kMostQuery) return refuse("is too long");
  if (address.kind == StoreAddress::Kind::kLoki && address.query.empty()) {
    return refuse("is missing; write ?query={job=\"train\"} after it");
  }
  if (!address.pod.empty() && !address.query.empty()) {
    return refuse("selects pods, and the address names one; write one of the two");
  }
  return absl::OkStatus();
}

absl::StatusOr<StoreAddress> ParseStoreAddress(absl::string_view text, bool needs_query) {
  const Scheme* scheme = nullptr;
  for (const Scheme& each : kSchemes) {
    if (absl::StartsWith(text, each.prefix)) scheme = &each;
  }
  if (scheme == nullptr) {
    return Invalid(text,
                   "is not an address of logs; it begins with loki+http, elasticsearch+http, "
                   "opensearch+http, kubernetes+http or kubernetes:");
  }
  StoreAddress address;
  address.kind = scheme->kind;
  address.what = scheme->what;
  absl::string_view rest = text.substr(absl::string_view(scheme->prefix).size());
  constexpr absl::string_view kQuery = "?query=";
  const std::size_t query = rest.find('?');
  if (query != absl::string_view::npos) {
    if (!absl::StartsWith(rest.substr(query), kQuery)) {
      return Invalid(text, "write ?query= and the query after the address");
    }
    address.query = std::string(rest.substr(query + kQuery.size()));
    rest = rest.substr(0, query);
  }
  if (absl::EndsWith(scheme->prefix, ":")) {
    GALEN_RETURN_IF_ERROR(ReadPods(text, std::string(rest), address));
    if (needs_query) GALEN_RETURN_IF_ERROR(CheckQuery(address));
    return address;
  }
  address.url = std::string(absl::StripSuffix(rest, "/"));
  switch (address.kind) {
    case StoreAddress::Kind::kLoki:
      break;
    case StoreAddress::Kind::kElasticsearch:
      address.index = TakeLast(address.url);
      if (!Elasticsearch::IsIndex(address.index)) {
        return Invalid(text, "write the index, or a pattern of indices, after the address");
      }
      break;
    case StoreAddress::Kind::kPods: {
      const std::size_t host = address.url.find("://");
      const std::size_t path = host == std::string::npos ? host : address.url.find('/', host + 3);
      std::string below = path == std::string::npos ? "" : address.url.substr(path + 1);
      if (path != std::string::npos) address.url.erase(path);
      GALEN_RETURN_IF_ERROR(ReadPods(text, std::move(below), address));
      break;
    }
  }
  if (needs_query) GALEN_RETURN_IF_ERROR(CheckQuery(address));
  return address;
}

absl::StatusOr<std::unique_ptr<LogStore>> OpenStore(const StoreAddress& address,
                                                    const http::CredentialFiles& files,
                                                    const std::string& ca_file,
                                                    const LabelNames& names) {
  if (address.kind == StoreAddress::Kind::kPods) {
    kube::Options options;
    if (address.url.empty()) {
      GALEN_ASSIGN_OR_RETURN(options, kube::InCluster(&kube::ProcessVariable));
    }
    if (!address.url.empty()) options.server = address.url;
    if (!ca_file.empty()) options.ca_file = ca_file;
    if (!files.key.empty()) options.token_file = files.key;
    if (!files.headers.empty()) {
      return absl::InvalidArgumentError("Kubernetes takes no further headers; leave them out");
    }
    // A job has hundreds of pods, and each is two requests.
    options.requests_per_second = 20;
    options.burst = 50;
    GALEN_ASSIGN_OR_RETURN(std::unique_ptr<kube::Client> client, kube::Client::Make(options));
    return std::make_unique<Pods>(std::move(client), address.index, address.pod, address.query);
  }
  JsonServer::Options options;
  options.what = address.what;
  options.url = address.url;
  options.ca_file = ca_file;
  GALEN_ASSIGN_OR_RETURN(options.credentials,
                         http::ReadCredentials(address.what, files.key, files.headers));
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<JsonServer> server, JsonServer::Make(std::move(options)));
  if (address.kind == StoreAddress::Kind::kLoki) {
    return std::make_unique<Loki>(std::move(server), address.query, names);
  }
  return std::make_unique<Elasticsearch>(std::move(server), address.index, address.query, names);
}

}  // namespace galen::log_sources
