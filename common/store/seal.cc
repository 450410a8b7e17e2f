#include "common/store/seal.h"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/crypto/sha256.h"

namespace galen::store {
namespace {

constexpr absl::string_view kMark = "seal1:";  // no protobuf of ours begins so
constexpr std::size_t kMacBytes = 32;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kMostFile = 1024;

// Each part with its length, so that two places never read the same.
std::string PlaceOf(absl::string_view space, absl::string_view key, std::int64_t version) {
  return absl::StrCat("record/", space.size(), "/", space, key.size(), "/", key, version);
}

// In a time that is independent of where they differ.
bool Same(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return differ == 0;
}

class SealedRecords final : public Records {
 public:
  SealedRecords(Records& records, const Seal& seal, std::function<void(const std::string&)> refused)
      : records_(records), seal_(seal), refused_(std::move(refused)) {}

  absl::StatusOr<std::optional<Record>> Get(absl::string_view space,
                                            absl::string_view key) override {
    GALEN_ASSIGN_OR_RETURN(std::optional<Record> record, records_.Get(space, key));
    if (record && !Open(space, *record)) {
      return absl::DataLossError(absl::StrCat("record ", space, "/", CleanText(key, 200),
                                              ": was not written by Galen, and is not trusted"));
    }
    return record;
  }

  absl::StatusOr<std::int64_t> Put(absl::string_view space, absl::string_view key,
                                   absl::string_view value, std::int64_t seen) override {
    GALEN_RETURN_IF_ERROR(CheckRecord(space, key, value));
    return records_.Put(space, key, seal_.Put(PlaceOf(space, key, seen + 1), value), seen);
  }

  absl::Status Remove(absl::string_view space, absl::string_view key, std::int64_t seen) override {
    return records_.Remove(space, key, seen);
  }

  absl::StatusOr<std::vector<Record>> List(absl::string_view space, absl::string_view after,
                                           int limit) override {
    std::vector<Record> good;
    std::string from(after);
    // Callers take a short page for the last one, so left-out records are replaced by later ones.
    while (static_cast<int>(good.size()) < limit) {
      GALEN_ASSIGN_OR_RETURN(std::vector<Record> page,
                             records_.List(space, from, limit - static_cast<int>(good.size())));
      if (page.empty()) break;
      from = page.back().key;
      for (Record& record : page) {
        if (Open(space, record)) good.push_back(std::move(record));
      }
    }
    return good;
  }

 private:
  bool Open(absl::string_view space, Record& record) const {
    std::optional<std::string> value =
        seal_.Take(PlaceOf(space, record.key, record.version), record.value);
    if (!value) {
      refused_(absl::StrCat("record ", space, "/", CleanText(record.key, 200)));
      return false;
    }
    record.value = *std::move(value);
    return true;
  }

  Records& records_;
  const Seal& seal_;
  const std::function<void(const std::string&)> refused_;
};

}  // namespace

absl::StatusOr<Seal> Seal::FromFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostFile, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.gcount() == 0) {
    return absl::NotFoundError(absl::StrCat(
        CleanText(path, 256), ": cannot be read, or is empty; openssl rand -hex 32 makes a key"));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  std::string digits(absl::StripAsciiWhitespace(text));
  for (const char digit : digits) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(digit))) digits.clear();
  }
  if (digits.size() != 2 * kKeyBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        CleanText(path, 256), ": is not 64 hexadecimal digits; openssl rand -hex 32 makes a key"));
  }
  return Seal(absl::HexStringToBytes(digits));
}

absl::StatusOr<std::optional<Seal>> OpenSeal(const std::string& path, bool shared, bool unsealed) {
  if (!path.empty()) {
    GALEN_ASSIGN_OR_RETURN(Seal seal, Seal::FromFile(path));
    return seal;
  }
  if (!shared || unsealed) return std::nullopt;
  return absl::FailedPreconditionError(
      "--store_seal: is required with a store that several programs write to, since API keys and "
      "approvals are in it: give all of them the same file (openssl rand -hex 32 makes one; "
      "docs/security.md), or --unsealed_store where whoever may write to the store may do all");
}

std::string Seal::Put(absl::string_view place, absl::string_view value) const {
  return absl::StrCat(kMark, HmacSha256(key_, absl::StrCat(place.size(), "/", place, value)),
                      value);
}

std::optional<std::string> Seal::Take(absl::string_view place, absl::string_view sealed) const {
  if (!absl::ConsumePrefix(&sealed, kMark) || sealed.size() < kMacBytes) return std::nullopt;
  const absl::string_view value = sealed.substr(kMacBytes);
  const std::string mac = HmacSha256(key_, absl::StrCat(place.size(), "/", place, value));
  if (!Same(mac, sealed.substr(0, kMacBytes))) return std::nullopt;
  return std::string(value);
}

std::unique_ptr<Records> SealRecords(Records& records, const Seal& seal,
                                     std::function<void(const std::string& what)> refused) {
  return std::make_unique<SealedRecords>(records, seal, std::move(refused));
}

}  // namespace galen::store
