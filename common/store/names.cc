#include "common/store/names.h"

#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace galen::store {

absl::string_view ParentOf(absl::string_view name) {
  const std::size_t cut = name.find("/diagnoses/");
  return cut == absl::string_view::npos ? absl::string_view() : name.substr(0, cut);
}

absl::Status BadNameError(absl::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\": not of the form tenants/{tenant}/diagnoses/{diagnosis}"));
}

absl::Status NoSuchLogError(absl::string_view name) {
  return absl::NotFoundError(absl::StrCat(name, ": no such diagnosis"));
}

absl::Status DeletedError(absl::string_view name, absl::Time when) {
  return absl::NotFoundError(absl::StrCat(
      name, ": was deleted at ", absl::FormatTime("%Y-%m-%dT%H:%MZ", when, absl::UTCTimeZone()),
      ", as the retention of its tenant or a person demanded: create a new diagnosis if the "
      "incident still matters"));
}

absl::Status TakenError(absl::string_view name) {
  return absl::AlreadyExistsError(absl::StrCat(name, ": exists already"));
}

absl::Status TakenByDeletedError(absl::string_view name, absl::Time when) {
  return absl::AlreadyExistsError(absl::StrCat(
      name, ": a diagnosis of this name was deleted at ",
      absl::FormatTime("%Y-%m-%dT%H:%MZ", when, absl::UTCTimeZone()), ": choose another name"));
}

absl::Status LeaseLostError(const Lease& lease) {
  return absl::FailedPreconditionError(absl::StrCat(
      lease.diagnosis, ": lease ", lease.token, " of ", lease.owner, " is no longer the newest"));
}

absl::Status HeldError(absl::string_view name, absl::string_view owner, absl::Time expires) {
  return absl::FailedPreconditionError(
      absl::StrCat(name, ": ", owner, " holds the lease until ",
                   absl::FormatTime(expires, absl::UTCTimeZone())));
}

absl::Status MovedOnError(absl::string_view name, std::int64_t last, std::int64_t expected) {
  return absl::AbortedError(absl::StrCat(name, ": the log ends with event ", last, ", not ",
                                         expected, ": read it again"));
}

absl::Status BadPageTokenError(absl::string_view token) {
  return absl::InvalidArgumentError(absl::StrCat(
      "page_token: \"", CleanText(token, 200),
      "\" was not given by this store, or its diagnosis was deleted: list from the beginning"));
}

std::string FirstKeptDay(absl::Time now) {
  return absl::FormatTime("%Y-%m-%d", now - absl::Hours(24), absl::UTCTimeZone());
}

}  // namespace galen::store
