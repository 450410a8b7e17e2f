#include "services/gateway/access/api_key_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/gateway/access/api_key.h"

namespace galen::gateway {
namespace {

constexpr absl::string_view kJournal = "gateway.keys";
constexpr absl::string_view kPlace = "journal/gateway.keys";  // of its seals
constexpr int kBatch = 1000;
constexpr std::size_t kMaxNote = 256;

absl::Status CheckNew(const ApiKeyStore::NewKey& wanted) {
  if (wanted.tenant == "*" && wanted.role == UserRole::kCustomer) {
    return absl::InvalidArgumentError("tenant: a customer's key is of one tenant, not of \"*\"");
  }
  if (wanted.tenant != "*" && !IsTenant(wanted.tenant)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tenant: \"", CleanText(wanted.tenant, 80),
                     "\" is neither 1 to 63 of a-z, 0-9 and \"-\" nor \"*\""));
  }
  for (const std::string& scope : wanted.scopes) {
    if (scope == kScopeRead || scope == kScopeWrite) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "scope: \"", CleanText(scope, 80), "\" is none of ", kScopeRead, ", ", kScopeWrite));
  }
  if (wanted.lifetime <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("lifetime: must be more than 0");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ApiKeyStore::Create(const NewKey& wanted, absl::Time now) {
  GALEN_RETURN_IF_ERROR(CheckNew(wanted));
  GALEN_ASSIGN_OR_RETURN(const KeyText text, NewKeyText());
  v1::KeyRecord record;
  v1::ApiKey& key = *record.mutable_created();
  key.set_id(text.id);
  key.set_tenant(wanted.tenant);
  key.set_role(std::string(NameOf(wanted.role)));
  for (const std::string& scope : wanted.scopes) key.add_scopes(scope);
  if (wanted.scopes.empty()) {
    key.add_scopes(std::string(kScopeRead));
    key.add_scopes(std::string(kScopeWrite));
  }
  key.set_secret_sha256(HashSecret(text.secret));
  key.mutable_create_time()->set_seconds(absl::ToUnixSeconds(now));
  if (wanted.lifetime < absl::Hours(24 * 365 * 1000)) {
    key.mutable_expire_time()->set_seconds(absl::ToUnixSeconds(now + wanted.lifetime));
  }
  key.set_note(CleanText(wanted.note, kMaxNote));
  GALEN_RETURN_IF_ERROR(Append(record));
  return FormatKey(text);
}

absl::Status ApiKeyStore::Revoke(const std::string& id) {
  GALEN_RETURN_IF_ERROR(Refresh());
  {
    const MutexLock lock(mu_);
    if (keys_.count(id) == 0) {
      return absl::NotFoundError(
          absl::StrCat(CleanText(id, 80), ": there is no key with this id; see galen keys list"));
    }
  }
  v1::KeyRecord record;
  record.set_revoked(id);
  return Append(record);
}

absl::Status ApiKeyStore::Append(const v1::KeyRecord& record) {
  // (An attempt whose answer was lost may have written the same record twice.)
  std::string text = record.SerializeAsString();
  if (seal_ != nullptr) text = seal_->Put(kPlace, text);
  GALEN_RETURN_IF_ERROR(journal_.Append(kJournal, {text}).status());
  return Refresh();
}

absl::Status ApiKeyStore::Refresh() {
  const MutexLock one(refreshing_);
  for (;;) {
    std::int64_t after = 0;
    {
      const MutexLock lock(mu_);
      after = position_;
    }
    GALEN_ASSIGN_OR_RETURN(const std::vector<store::JournalEntry> entries,
                           journal_.Read(kJournal, after, kBatch));
    const MutexLock lock(mu_);
    for (const store::JournalEntry& entry : entries) {
      if (seal_ != nullptr && entry.position != position_ + 1) {
        Refuse(entry.position, "records before it are missing");
      }
      v1::KeyRecord record;
      const std::optional<std::string> text =
          seal_ == nullptr ? entry.record : seal_->Take(kPlace, entry.record);
      if (!text) {
        Refuse(entry.position, "it was not written by Galen");
      } else if (!record.ParseFromString(*text)) {
        return absl::DataLossError(absl::StrCat("journal ", kJournal, ", position ", entry.position,
                                                ": is not a record of a key"));
      } else {
        Apply(record);
      }
      position_ = entry.position;
    }
    if (entries.size() < static_cast<std::size_t>(kBatch)) return absl::OkStatus();
  }
}

void ApiKeyStore::Apply(const v1::KeyRecord& record) {
  if (record.has_created() && !revoked_.contains(record.created().id())) {
    keys_[record.created().id()] = record.created();
  }
  if (record.has_revoked()) {
    keys_.erase(record.revoked());
    revoked_.insert(record.revoked());
  }
}

void ApiKeyStore::Refuse(std::int64_t position, absl::string_view why) const {
  if (!refused_) return;
  refused_(absl::StrCat("API keys, record ", position, " of journal ", kJournal, ": ", why,
                        "; somebody else writes to the store"));
}

std::vector<v1::ApiKey> ApiKeyStore::List() const {
  std::vector<v1::ApiKey> all;
  {
    const MutexLock lock(mu_);
    for (const auto& [id, key] : keys_) all.push_back(key);
  }
  std::stable_sort(all.begin(), all.end(), [](const v1::ApiKey& a, const v1::ApiKey& b) {
    return a.create_time().seconds() < b.create_time().seconds();
  });
  return all;
}

absl::StatusOr<Principal> ApiKeyStore::Find(absl::string_view text, absl::Time now) const {
  const std::optional<KeyText> given = ParseKey(text);
  if (!given) return absl::UnauthenticatedError("this is not an API key of Galen");
  // One error for all clients that do not know the secret.
  const absl::Status wrong =
      absl::UnauthenticatedError("this API key is not known: it may have been revoked");
  const std::string hash = HashSecret(given->secret);
  const MutexLock lock(mu_);
  const auto it = keys_.find(given->id);
  if (it == keys_.end() || !SameHash(it->second.secret_sha256(), hash)) return wrong;
  const v1::ApiKey& key = it->second;
  if (key.has_expire_time() && ToTime(key.expire_time()) <= now) {
    return absl::UnauthenticatedError("this API key has expired");
  }
  const std::optional<UserRole> role = ParseUserRole(key.role());
  if (!role) return wrong;  // written by a newer Galen
  return Principal{key.id(), key.tenant(), *role, {key.scopes().begin(), key.scopes().end()}};
}

}  // namespace galen::gateway
