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

// A place in a document: a JSON pointer (RFC 6901) in which a step "*" means every item of a list,
// or every value of an object. "" is the whole document.
class Pointer {
 public:
  // INVALID_ARGUMENT: the text is not empty and does not begin with '/', or has more than 32 steps.
  static absl::StatusOr<Pointer> Parse(absl::string_view text);
  const std::vector<std::string>& steps() const { return steps_; }

 private:
  std::vector<std::string> steps_;
};

// The body of a delivery. Hostile: bounded when it is read, and nothing but data afterwards.
class Document {
 public:
  static constexpr int kMostDepth = 64;
  // The most values that a pointer with "*" finds.
  static constexpr std::size_t kMostFound = 10'000;

  Document();  // empty
  // INVALID_ARGUMENT: it is not JSON, not UTF-8, or nested deeper than kMostDepth.
  static absl::StatusOr<Document> FromJson(absl::string_view body);
  // A form (application/x-www-form-urlencoded) as an object of texts; the first value of a repeated
  // name. INVALID_ARGUMENT: it is not encoded so, or has more than 200 names.
  static absl::StatusOr<Document> FromForm(absl::string_view body);

  // The texts, numbers and booleans there, as text, in order; lists, objects and null are ignored.
  std::vector<std::string> Texts(const Pointer& pointer) const;
  // The first of them, "" if there is none.
  std::string Text(const Pointer& pointer) const;
  // The values there, each as a document. A list that the pointer names is one value: "/alerts/*"
  // yields its items.
  std::vector<Document> Parts(const Pointer& pointer) const;

  // An object with this document at `pointer` (without "*", and not empty).
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
