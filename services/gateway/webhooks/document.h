#ifndef SERVICES_GATEWAY_WEBHOOKS_DOCUMENT_H_
#define SERVICES_GATEWAY_WEBHOOKS_DOCUMENT_H_

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::gateway::webhooks {

// A place in a document: a JSON pointer (RFC 6901) in which a step "*" is every item of a list, or
// every value of an object. "" is the whole.
class Pointer {
 public:
  // INVALID_ARGUMENT a text that neither is empty nor begins with '/', or has more than 32 steps.
  static absl::StatusOr<Pointer> Parse(absl::string_view text);
  const std::vector<std::string>& steps() const { return steps_; }

 private:
  std::vector<std::string> steps_;
};

// What a sender put into a body. Hostile: bounded when it is read, and nothing but data afterwards.
class Document {
 public:
  static constexpr int kMostDepth = 64;
  // What a pointer with "*" finds at most.
  static constexpr std::size_t kMostFound = 10'000;

  Document();  // empty
  // INVALID_ARGUMENT what is no JSON, no UTF-8, or nested deeper than kMostDepth.
  static absl::StatusOr<Document> FromJson(absl::string_view body);
  // A form (application/x-www-form-urlencoded) as an object of texts; of a name that stands there
  // twice, the first. INVALID_ARGUMENT what is not encoded so, or has more than 200 names.
  static absl::StatusOr<Document> FromForm(absl::string_view body);

  // The texts, counters and truth values there, as text, in order; lists, objects and null are
  // none.
  std::vector<std::string> Texts(const Pointer& pointer) const;
  // The first of them, "" when there is none.
  std::string Text(const Pointer& pointer) const;
  // Whatever is there, each as a document. Of a list the pointer names, its items are not taken
  // apart: "/alerts/*" does that.
  std::vector<Document> Parts(const Pointer& pointer) const;

  // An object with this one at `pointer` (without "*", and not empty).
  Document Within(const Pointer& pointer) const;
  // Sets a text of an object there.
  void Set(const Pointer& pointer, absl::string_view text);
  // One line of JSON.
  std::string ToJson() const;

 private:
  using Json = nlohmann::json;
  explicit Document(std::shared_ptr<const Json> json) : json_(std::move(json)) {}
  std::vector<const Json*> Find(const Pointer& pointer) const;

  std::shared_ptr<const Json> json_;  // never null
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_DOCUMENT_H_
