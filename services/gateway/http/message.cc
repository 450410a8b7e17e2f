#include "services/gateway/http/message.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace galen::gateway::http {

void Headers::Add(absl::string_view name, absl::string_view value) {
  all_.emplace_back(name, value);
}

void Headers::Set(absl::string_view name, absl::string_view value) {
  all_.erase(std::remove_if(
                 all_.begin(), all_.end(),
                 [name](const auto& field) { return absl::EqualsIgnoreCase(field.first, name); }),
             all_.end());
  Add(name, value);
}

absl::string_view Headers::Get(absl::string_view name) const {
  for (const auto& [known, value] : all_) {
    if (absl::EqualsIgnoreCase(known, name)) return value;
  }
  return "";
}

bool Headers::Has(absl::string_view name) const { return Count(name) > 0; }

std::size_t Headers::Count(absl::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      all_.begin(), all_.end(),
      [name](const auto& field) { return absl::EqualsIgnoreCase(field.first, name); }));
}

absl::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

}  // namespace galen::gateway::http
