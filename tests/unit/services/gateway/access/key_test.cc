#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "services/gateway/access/api_key.h"
#include "services/gateway/access/api_key_store.h"
#include "services/gateway/access/key_access.h"
#include "services/gateway/access/refusal_counting_access.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::gateway {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::StatusCode kUnauthenticated = absl::StatusCode::kUnauthenticated;

class KeyTest : public ::testing::Test {
 protected:
  std::unique_ptr<store::Store> store_ = store::OpenStore(":memory:").value();
  ApiKeyStore key_store_{store_->journal()};
};

TEST(ApiKey, CanBeReadAgainAndNoByteOfItMayDiffer) {
  const KeyText key = NewKeyText().value();
  const std::string text = FormatKey(key);
  ASSERT_TRUE(ParseKey(text).has_value());
  EXPECT_EQ(ParseKey(text)->secret, key.secret);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_FALSE(ParseKey(other).has_value()) << i;
    EXPECT_FALSE(ParseKey(text.substr(0, i)).has_value()) << i;
  }
  EXPECT_FALSE(ParseKey(text + "0").has_value());
  EXPECT_FALSE(ParseKey(std::string(1 << 20, '_')).has_value());
}

TEST_F(KeyTest, TellsWhoHasIt) {
  const auto text = key_store_.Create(
      {.tenant = "acme", .role = UserRole::kApprover, .scopes = {std::string(kScopeRead)}}, kNow);
  ASSERT_THAT(text, IsOk());
  const auto found = key_store_.Find(*text, kNow);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->tenant, "acme");
  EXPECT_EQ(found->role, UserRole::kApprover);
  EXPECT_THAT(found->scopes, ElementsAre(kScopeRead));
  EXPECT_TRUE(absl::StrContains(*text, found->id));
}

TEST_F(KeyTest, ASecretIsStoredNowhere) {
  const std::string text = key_store_.Create({.tenant = "acme"}, kNow).value();
  const auto entries = store_->journal().Read("gateway.keys", 0, 10);
  ASSERT_THAT(entries, IsOk());
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_THAT((*entries)[0].record, Not(HasSubstr(ParseKey(text)->secret)));
}

TEST_F(KeyTest, AnotherSecretWithTheSameIdIsRefused) {
  const std::string text = key_store_.Create({.tenant = "acme"}, kNow).value();
  KeyText other = NewKeyText().value();
  other.id = ParseKey(text)->id;
  EXPECT_THAT(key_store_.Find(FormatKey(other), kNow), StatusIs(kUnauthenticated, _));
  // The error does not reveal whether the id is known.
  const std::string unknown = FormatKey(NewKeyText().value());
  EXPECT_EQ(key_store_.Find(FormatKey(other), kNow).status(),
            key_store_.Find(unknown, kNow).status());
}

TEST_F(KeyTest, Expires) {
  const std::string text =
      key_store_.Create({.tenant = "acme", .lifetime = absl::Hours(1)}, kNow).value();
  EXPECT_THAT(key_store_.Find(text, kNow + absl::Minutes(59)), IsOk());
  EXPECT_THAT(key_store_.Find(text, kNow + absl::Hours(1)),
              StatusIs(kUnauthenticated, HasSubstr("expired")));
}

TEST_F(KeyTest, IsRevokedForThoseWhoReadTheSameStore) {
  ApiKeyStore other(store_->journal());
  const std::string text = key_store_.Create({.tenant = "acme"}, kNow).value();
  EXPECT_FALSE(other.Find(text, kNow).ok());
  ASSERT_THAT(other.Refresh(), IsOk());
  EXPECT_THAT(other.Find(text, kNow), IsOk());
  ASSERT_THAT(key_store_.Revoke(ParseKey(text)->id), IsOk());
  EXPECT_FALSE(key_store_.Find(text, kNow).ok());
  ASSERT_THAT(other.Refresh(), IsOk());
  EXPECT_THAT(other.Find(text, kNow), StatusIs(kUnauthenticated, _));
  EXPECT_TRUE(other.List().empty());
  EXPECT_THAT(key_store_.Revoke("nonsense"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nonsense")));
}

TEST_F(KeyTest, IsRefusedToThoseWhoCouldSeeTooMuch) {
  constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(key_store_.Create({.tenant = "*"}, kNow), StatusIs(kInvalid, HasSubstr("customer")));
  EXPECT_THAT(key_store_.Create({.tenant = "*", .role = UserRole::kOperator}, kNow), IsOk());
  for (const char* tenant : {"", "a/b", "A", "a b", "tenants/a"}) {
    EXPECT_THAT(key_store_.Create({.tenant = tenant}, kNow),
                StatusIs(kInvalid, HasSubstr("tenant")));
  }
  EXPECT_THAT(key_store_.Create({.tenant = "a", .scopes = {"all"}}, kNow),
              StatusIs(kInvalid, HasSubstr("all")));
  EXPECT_THAT(key_store_.Create({.tenant = "a", .lifetime = absl::ZeroDuration()}, kNow),
              StatusIs(kInvalid, HasSubstr("lifetime")));
}

TEST_F(KeyTest, ARecordThatCannotBeReadIsSaid) {
  ASSERT_THAT(store_->journal().Append("gateway.keys", {"\xff\xff"}), IsOk());
  EXPECT_THAT(key_store_.Refresh(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("gateway.keys")));
}

TEST_F(KeyTest, IsReadFromTheHeadersThatClientsUse) {
  const SystemClock clock;
  const std::string text = key_store_.Create({.tenant = "acme"}, clock.Now()).value();
  KeyAccess access(key_store_, clock, [](const std::string&) {});
  const auto ask = [&access](const std::vector<std::pair<std::string, std::string>>& headers) {
    http::Request request;
    for (const auto& [name, value] : headers) request.headers.Add(name, value);
    return access.Authenticate(request);
  };
  EXPECT_THAT(ask({{"Authorization", "Bearer " + text}}), IsOk());
  EXPECT_THAT(ask({{"authorization", "bearer  " + text + " "}}), IsOk());
  EXPECT_THAT(ask({{"X-API-Key", text}}), IsOk());
  for (const auto& headers : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {},
           {{"Authorization", text}},
           {{"Authorization", "Basic " + text}},
           {{"Authorization", "Bearer "}},
           {{"Authorization", "Bearer " + text}, {"X-API-Key", text}}}) {
    const auto refused = ask(headers);
    EXPECT_THAT(refused, StatusIs(kUnauthenticated, Not(HasSubstr(text))));
  }
}

TEST_F(KeyTest, AKeyThatIsMadeElsewhereIsTakenUp) {
  const SystemClock clock;
  ApiKeyStore elsewhere(store_->journal());
  KeyAccess access(
      key_store_, clock, [](const std::string&) {}, absl::Milliseconds(5));
  const std::string text = elsewhere.Create({.tenant = "acme"}, clock.Now()).value();
  http::Request request;
  request.headers.Add("X-API-Key", text);
  while (!access.Authenticate(request).ok()) std::this_thread::yield();
  ASSERT_THAT(elsewhere.Revoke(ParseKey(text)->id), IsOk());
  while (access.Authenticate(request).ok()) std::this_thread::yield();
}

// An attacker with write access to the store: if the seal's key is missing, which keys can be
// forged?
class SealedKeys : public KeyTest {
 protected:
  std::string RecordOf(const std::string& id, const std::string& secret) {
    v1::KeyRecord record;
    record.mutable_created()->set_id(id);
    record.mutable_created()->set_tenant("*");
    record.mutable_created()->set_role("admin");
    record.mutable_created()->set_secret_sha256(HashSecret(secret));
    return record.SerializeAsString();
  }
  std::vector<store::JournalEntry> Entries() {
    return store_->journal().Read("gateway.keys", 0, 100).value();
  }
  void Write(const std::string& record) {
    ASSERT_THAT(store_->journal().Append("gateway.keys", {record}), IsOk());
  }

  const store::Seal seal_{std::string(32, 'k')};
  std::vector<std::string> refused_;
  ApiKeyStore sealed_{store_->journal(), &seal_,
                      [this](const std::string& what) { refused_.push_back(what); }};
};

TEST_F(SealedKeys, ARecordThatGalenDidNotWriteIsNoKeyAndIsToldOnce) {
  const std::string good = sealed_.Create({.tenant = "acme"}, kNow).value();
  const KeyText forged = NewKeyText().value();
  Write(RecordOf(forged.id, forged.secret));
  Write(store::Seal(std::string(32, 'x'))
            .Put("journal/gateway.keys", RecordOf(forged.id, forged.secret)));
  Write(seal_.Put("another place", RecordOf(forged.id, forged.secret)));
  ASSERT_THAT(sealed_.Refresh(), IsOk());
  ASSERT_THAT(sealed_.Refresh(), IsOk());
  EXPECT_THAT(sealed_.Find(FormatKey(forged), kNow), StatusIs(kUnauthenticated, _));
  EXPECT_EQ(refused_.size(), 3u);
  EXPECT_THAT(sealed_.Find(good, kNow), IsOk());
  EXPECT_EQ(sealed_.List().size(), 1u);
}

TEST_F(SealedKeys, AKeyThatWasRevokedDoesNotComeBackWithItsOldRecord) {
  const std::string text = sealed_.Create({.tenant = "acme"}, kNow).value();
  const std::string record = Entries().front().record;
  ASSERT_THAT(sealed_.Revoke(ParseKey(text)->id), IsOk());
  Write(record);
  ASSERT_THAT(sealed_.Refresh(), IsOk());
  EXPECT_THAT(sealed_.Find(text, kNow), StatusIs(kUnauthenticated, _));
}

TEST_F(SealedKeys, RecordsThatWereTakenAwayAreTold) {
  const std::string text = sealed_.Create({.tenant = "acme"}, kNow).value();
  ASSERT_THAT(sealed_.Create({.tenant = "acme"}, kNow), IsOk());
  ASSERT_THAT(store_->journal().Trim("gateway.keys", 1), IsOk());
  std::vector<std::string> told;
  ApiKeyStore later(store_->journal(), &seal_,
                    [&told](const std::string& what) { told.push_back(what); });
  ASSERT_THAT(later.Refresh(), IsOk());
  EXPECT_THAT(told, ElementsAre(HasSubstr("are missing")));
}

// A source of requests, whose credential is never good.
class NoAccess final : public Access {
 public:
  absl::StatusOr<Principal> Authenticate(const http::Request& request) override {
    if (request.headers.Get("X-API-Key") == "good") return Principal{};
    return absl::UnauthenticatedError("this API key is not known");
  }
};

TEST(RefusalCountingAccess, WrongCredentialsAreCountedAndToldByTheirSource) {
  galen::testing::FakeClock clock;
  NoAccess none;
  std::vector<std::string> told;
  RefusalCountingAccess access(none, clock,
                               [&told](const std::string& news) { told.push_back(news); });
  const auto ask = [&](const std::string& peer, const std::string& key) {
    http::Request request;
    request.peer = peer;
    if (!key.empty()) request.headers.Add("X-API-Key", key);
    return access.Authenticate(request).ok();
  };
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(ask("10.0.0.9", "guess"));
  EXPECT_FALSE(ask("10.0.0.8", ""));  // has not found out yet that it needs one
  EXPECT_TRUE(ask("10.0.0.8", "good"));
  EXPECT_EQ(access.refused(), 2001u);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("10.0.0.9"));
  clock.Advance(absl::Minutes(2));
  EXPECT_FALSE(ask("10.0.0.9", "guess"));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[1], HasSubstr("2000 of the requests"));
  // Requests from a thousand places lead to few lines, and all are counted.
  for (int i = 0; i < 5000; ++i) EXPECT_FALSE(ask(absl::StrCat("10.1.", i), "guess"));
  EXPECT_LT(told.size(), 40u);
  EXPECT_EQ(access.refused(), 7002u);
}

}  // namespace
}  // namespace galen::gateway
