#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "services/gateway/oidc/id_token.h"
#include "services/gateway/oidc/oidc_access.h"
#include "services/gateway/oidc/oidc_config.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::gateway {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using nlohmann::json;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kIssuer[] = "https://login.example.com/realms/ops";
constexpr absl::StatusCode kUnauthenticated = absl::StatusCode::kUnauthenticated;
const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

std::string Url64(absl::string_view bytes) { return absl::WebSafeBase64Escape(bytes); }

// A key of an identity provider: signs as one would.
class Signer {
 public:
  static Signer Rsa(int bits = 2048) {
    return Signer(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", static_cast<std::size_t>(bits)));
  }
  static Signer Ec(const char* curve) {
    return Signer(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", curve));
  }
  static Signer Ed() { return Signer(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")); }

  json RsaJwk(const std::string& kid) const {
    return {{"kty", "RSA"},
            {"kid", kid},
            {"use", "sig"},
            {"n", Url64(Number(OSSL_PKEY_PARAM_RSA_N))},
            {"e", Url64(Number(OSSL_PKEY_PARAM_RSA_E))}};
  }
  json EcJwk(const std::string& kid, const char* curve, std::size_t half) const {
    return {{"kty", "EC"},
            {"kid", kid},
            {"crv", curve},
            {"x", Url64(Padded(Number(OSSL_PKEY_PARAM_EC_PUB_X), half))},
            {"y", Url64(Padded(Number(OSSL_PKEY_PARAM_EC_PUB_Y), half))}};
  }
  json EdJwk(const std::string& kid) const {
    std::string raw(32, '\0');
    std::size_t size = raw.size();
    EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(raw.data()), &size);
    return {{"kty", "OKP"}, {"kid", kid}, {"crv", "Ed25519"}, {"x", Url64(raw)}};
  }

  std::string Token(const std::string& alg, const std::string& kid, const json& claims,
                    json more_header = json::object()) const {
    json header = std::move(more_header);
    header["alg"] = alg;
    header["kid"] = kid;
    return Raw(alg, header.dump(), claims.dump());
  }
  std::string Raw(const std::string& alg, const std::string& header,
                  const std::string& claims) const {
    const std::string text = absl::StrCat(Url64(header), ".", Url64(claims));
    return absl::StrCat(text, ".", Url64(Sign(alg, text)));
  }

 private:
  explicit Signer(EVP_PKEY* key) : key_(key, &EVP_PKEY_free) {}

  std::string Number(const char* name) const {
    BIGNUM* number = nullptr;
    EXPECT_EQ(EVP_PKEY_get_bn_param(key_.get(), name, &number), 1);
    std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
    BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
    BN_free(number);
    return bytes;
  }
  static std::string Padded(const std::string& bytes, std::size_t size) {
    return std::string(size - bytes.size(), '\0') + bytes;
  }
  std::string Sign(const std::string& alg, const std::string& text) const {
    EVP_MD_CTX* const context = EVP_MD_CTX_new();
    EVP_PKEY_CTX* parameters = nullptr;
    const EVP_MD* const digest = alg == "EdDSA"               ? nullptr
                                 : absl::EndsWith(alg, "384") ? EVP_sha384()
                                                              : EVP_sha256();
    EXPECT_EQ(EVP_DigestSignInit(context, &parameters, digest, nullptr, key_.get()), 1);
    if (alg[0] == 'P') {
      EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST);
    }
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    EVP_DigestSign(context, nullptr, &size, bytes, text.size());
    std::string made(size, '\0');
    EXPECT_EQ(EVP_DigestSign(context, reinterpret_cast<unsigned char*>(made.data()), &size, bytes,
                             text.size()),
              1);
    made.resize(size);
    EVP_MD_CTX_free(context);
    if (absl::StartsWith(alg, "ES")) made = RawEcdsa(made, alg == "ES256" ? 32 : 48);
    return made;
  }
  static std::string RawEcdsa(const std::string& der, std::size_t half) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    // NOLINTNEXTLINE(google-runtime-int): OpenSSL's type
    ECDSA_SIG* const signature = d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size()));
    std::string raw(2 * half, '\0');
    auto* const out = reinterpret_cast<unsigned char*>(raw.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, static_cast<int>(half));
    BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + half, static_cast<int>(half));
    ECDSA_SIG_free(signature);
    return raw;
  }

  std::shared_ptr<EVP_PKEY> key_;
};

const Signer& RsaSigner() {
  static const auto* const signer = new Signer(Signer::Rsa());
  return *signer;
}

json Claims() {
  return {{"iss", kIssuer},
          {"aud", "galen"},
          {"sub", "u-17"},
          {"exp", absl::ToUnixSeconds(kNow) + 300},
          {"iat", absl::ToUnixSeconds(kNow)},
          {"org", "acme"},
          {"groups", {"everybody", "gpu-oncall"}}};
}

std::string KeysOf(const std::vector<json>& keys) { return json{{"keys", keys}}.dump(); }

absl::Status Check(const std::string& token, const JwkSet& keys, absl::Time now = kNow) {
  const absl::StatusOr<TokenParts> parts = ParseToken(token);
  return parts.ok() ? CheckToken(*parts, keys, kIssuer, "galen", now) : parts.status();
}

TEST(IdToken, IsBelievedInEveryAlgorithmThatProvidersUse) {
  const Signer p256 = Signer::Ec("P-256");
  const Signer p384 = Signer::Ec("P-384");
  const Signer ed = Signer::Ed();
  const auto keys = JwkSet::Parse(KeysOf({RsaSigner().RsaJwk("r"), p256.EcJwk("e2", "P-256", 32),
                                          p384.EcJwk("e3", "P-384", 48), ed.EdJwk("d")}));
  ASSERT_THAT(keys.status(), IsOk());
  EXPECT_EQ(keys->size(), 4U);
  EXPECT_THAT(Check(RsaSigner().Token("RS256", "r", Claims()), *keys), IsOk());
  EXPECT_THAT(Check(RsaSigner().Token("PS256", "r", Claims()), *keys), IsOk());
  EXPECT_THAT(Check(p256.Token("ES256", "e2", Claims()), *keys), IsOk());
  EXPECT_THAT(Check(p384.Token("ES384", "e3", Claims()), *keys), IsOk());
  EXPECT_THAT(Check(ed.Token("EdDSA", "d", Claims()), *keys), IsOk());
  // A key of one kind is not for another's algorithm.
  EXPECT_THAT(Check(p256.Token("ES256", "r", Claims()), *keys), StatusIs(kUnauthenticated, _));
  EXPECT_THAT(Check(RsaSigner().Token("RS256", "e2", Claims()), *keys),
              StatusIs(kUnauthenticated, _));
}

TEST(IdToken, NoByteOfItMayDiffer) {
  const auto keys = JwkSet::Parse(KeysOf({RsaSigner().RsaJwk("r")}));
  const std::string token = RsaSigner().Token("RS256", "r", Claims());
  ASSERT_THAT(Check(token, *keys), IsOk());
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    // The last character of a part carries bits that no byte is made of; those are other texts of
    // the same token, which the signature of the texts refuses, too, but for its own part.
    if (i + 1 == token.size()) continue;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_THAT(Check(other, *keys), StatusIs(kUnauthenticated, _)) << i;
  }
  for (std::size_t size = 0; size < token.size(); size += 7) {
    EXPECT_THAT(Check(token.substr(0, size), *keys), StatusIs(kUnauthenticated, _)) << size;
  }
}

TEST(IdToken, ForgeriesAreRefused) {
  const auto keys = JwkSet::Parse(KeysOf({RsaSigner().RsaJwk("r")}));
  const Signer other = Signer::Rsa();
  const std::string claims = Claims().dump();
  const std::vector<std::string> forged = {
      // Not signed, and with the public key used as a secret.
      absl::StrCat(Url64(R"({"alg":"none","kid":"r"})"), ".", Url64(claims), "."),
      absl::StrCat(Url64(R"({"alg":"none","kid":"r"})"), ".", Url64(claims), ".AAAA"),
      absl::StrCat(Url64(R"({"alg":"HS256","kid":"r"})"), ".", Url64(claims), ".AAAA"),
      other.Token("RS256", "r", Claims()),
      RsaSigner().Token("RS256", "unknown", Claims()),
      RsaSigner().Token("RS256", "r", Claims(), {{"crit", {"exp"}}}),
      RsaSigner().Raw("RS256", R"({"alg":"RS256"})", claims),
      // A name twice: which one counts, parsers do not agree.
      RsaSigner().Raw("RS256", R"({"alg":"RS256","kid":"r"})",
                      absl::StrReplaceAll(claims, {{"\"aud\":", "\"aud\":\"x\",\"aud\":"}})),
      RsaSigner().Raw("RS256", R"({"alg":"RS256","kid":"r"})", "[1]"),
      std::string(1 << 20, '.'),
      "..",
      "",
  };
  for (const std::string& token : forged) {
    EXPECT_THAT(Check(token, *keys), StatusIs(kUnauthenticated, _)) << token.substr(0, 200);
  }
}

TEST(IdToken, EachClaimThatCountsIsHeld) {
  const auto keys = JwkSet::Parse(KeysOf({RsaSigner().RsaJwk("r")}));
  const std::int64_t now = absl::ToUnixSeconds(kNow);
  const struct {
    const char* claim;
    json value;  // null: without it
    bool good;
  } kCases[] = {
      {"iss", "https://login.example.com/realms/ops/", false},
      {"iss", nullptr, false},
      {"aud", "other", false},
      {"aud", {"other", "galen"}, true},
      {"aud", {"other"}, false},
      {"aud", nullptr, false},
      {"exp", now - 59, true},
      {"exp", now - 60, false},
      {"exp", nullptr, false},
      {"exp", "never", false},
      {"exp", -1, false},
      {"exp", now + 7 * 24 * 3600, true},
      {"exp", now + 7 * 24 * 3600 + 1, false},
      {"nbf", now + 60, true},
      {"nbf", now + 61, false},
      {"nbf", "later", false},
      {"iat", now + 3600, false},
      {"iat", nullptr, true},
      {"sub", nullptr, false},
      {"sub", "", false},
      {"sub", std::string(257, 'x'), false},
  };
  for (const auto& expected : kCases) {
    json claims = Claims();
    if (expected.value.is_null()) {
      claims.erase(expected.claim);
    } else {
      claims[expected.claim] = expected.value;
    }
    EXPECT_EQ(Check(RsaSigner().Token("RS256", "r", claims), *keys).ok(), expected.good)
        << expected.claim << " " << expected.value;
  }
}

TEST(JwkSet, PassesOverWhatSignsNothing) {
  json encrypts = RsaSigner().RsaJwk("enc");
  encrypts["use"] = "enc";
  json off_curve = Signer::Ec("P-256").EcJwk("off", "P-256", 32);
  off_curve["x"] = off_curve["y"];
  json nameless = RsaSigner().RsaJwk("");
  const auto keys = JwkSet::Parse(KeysOf({encrypts,
                                          off_curve,
                                          nameless,
                                          Signer::Rsa(1024).RsaJwk("short"),
                                          {{"kty", "oct"}, {"kid", "secret"}, {"k", "AAAA"}},
                                          7,
                                          RsaSigner().RsaJwk("r")}));
  ASSERT_THAT(keys.status(), IsOk());
  EXPECT_EQ(keys->size(), 1U);
  EXPECT_TRUE(keys->Has("r"));
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[]"), KeysOf({}),
                                  KeysOf({encrypts}), std::string(1 << 20, ' ')}) {
    EXPECT_FALSE(JwkSet::Parse(text).ok()) << text.substr(0, 80);
  }
}

constexpr char kConfig[] = R"(issuers:
  - issuer: https://login.example.com/realms/ops
    audience: galen
    tenant: {claim: org}
    roles:
      claim: groups
      customer: ["everybody"]
      approver: [gpu-leads]
      operator: [gpu-oncall]
  - issuer: https://staff.example.com
    audience: galen
    tenant: "*"
    scopes: scope
    roles: {operator: ["*"]}
)";

TEST(OidcConfig, TheHighestRoleThatTheClaimGivesCounts) {
  const auto issuers = ParseOidcConfig(kConfig, "oidc.yaml");
  ASSERT_THAT(issuers.status(), IsOk());
  json claims = Claims();
  auto who = PrincipalOf((*issuers)[0], claims);
  ASSERT_THAT(who.status(), IsOk());
  EXPECT_EQ(who->role, UserRole::kOperator);
  EXPECT_EQ(who->tenant, "acme");
  EXPECT_EQ(who->id, "u-17@login.example.com");
  EXPECT_THAT(who->scopes, ElementsAre(kScopeRead, kScopeWrite));
  claims["groups"] = {"gpu-oncall", "gpu-leads"};
  EXPECT_EQ(PrincipalOf((*issuers)[0], claims)->role, UserRole::kApprover);
  claims["groups"] = "everybody";
  EXPECT_EQ(PrincipalOf((*issuers)[0], claims)->role, UserRole::kCustomer);
  // The name of a group may contain blanks and another group's name.
  for (const json& groups :
       {json("nobody"), json("my gpu-leads team"), json::array({"my gpu-leads team"}), json(7),
        json::array({7}), json()}) {
    claims["groups"] = groups;
    EXPECT_THAT(PrincipalOf((*issuers)[0], claims).status(),
                StatusIs(absl::StatusCode::kPermissionDenied, _));
  }
}

TEST(OidcConfig, AClaimNeverOpensAllTenants) {
  const auto issuers = ParseOidcConfig(kConfig, "oidc.yaml");
  json claims = Claims();
  for (const json& org : {json("*"), json("a/b"), json(""), json("ACME"), json(7), json()}) {
    claims["org"] = org;
    EXPECT_THAT(PrincipalOf((*issuers)[0], claims).status(),
                StatusIs(absl::StatusCode::kPermissionDenied, _))
        << org;
  }
  claims["scope"] = "openid diagnoses.read";
  const auto who = PrincipalOf((*issuers)[1], claims);
  ASSERT_THAT(who.status(), IsOk());
  EXPECT_TRUE(who->MaySee("globex"));
  EXPECT_THAT(who->scopes, ElementsAre(kScopeRead));
}

TEST(OidcConfig, WhatIsWrongIsNamedWithItsLine) {
  const std::string good = kConfig;
  const std::pair<const char*, const char*> kEdits[] = {
      {"issuer: https://login.example.com/realms/ops", "issuer: http://login.example.com"},
      {"    audience: galen\n    tenant: {claim: org}\n", "    tenant: {claim: org}\n"},
      {"    tenant: {claim: org}\n", ""},
      {"tenant: {claim: org}", "tenant: {claims: org}"},
      {"tenant: \"*\"", "tenant: A/B"},
      {"operator: [gpu-oncall]", "root: [gpu-oncall]"},
      {"    roles: {operator: [\"*\"]}\n", ""},
      {"issuer: https://staff.example.com", "issuer: https://login.example.com/realms/ops"},
      {"issuers:", "providers:"},
      {"scopes: scope", "scope: scope"},
  };
  ASSERT_THAT(ParseOidcConfig(good, "oidc.yaml").status(), IsOk());
  for (const auto& [from, to] : kEdits) {
    const std::string text = absl::StrReplaceAll(good, {{from, to}});
    ASSERT_NE(text, good) << from;
    EXPECT_THAT(ParseOidcConfig(text, "oidc.yaml").status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("oidc.yaml:")))
        << to;
  }
}

// A provider whose documents the test sets.
class Provider {
 public:
  void Set(const std::string& url, absl::StatusOr<std::string> answer) {
    const std::lock_guard lock(mu_);
    documents_[url] = std::move(answer);
  }
  absl::StatusOr<std::string> Get(const std::string& url) {
    const std::lock_guard lock(mu_);
    ++asked_;
    const auto it = documents_.find(url);
    return it == documents_.end() ? absl::NotFoundError(url) : it->second;
  }
  int asked() {
    const std::lock_guard lock(mu_);
    return asked_;
  }

 private:
  std::mutex mu_;
  std::map<std::string, absl::StatusOr<std::string>> documents_;
  int asked_ = 0;
};

constexpr char kDiscovery[] =
    "https://login.example.com/realms/ops/.well-known/openid-configuration";
constexpr char kKeysUrl[] = "https://login.example.com/certs";

class ProviderKeysTest : public ::testing::Test {
 protected:
  ProviderKeysTest() {
    clock_.Advance(kNow - clock_.Now());
    provider_.Set(kDiscovery, json{{"issuer", kIssuer}, {"jwks_uri", kKeysUrl}}.dump());
    provider_.Set(kKeysUrl, KeysOf({RsaSigner().RsaJwk("r1")}));
  }
  absl::Status Turn() { return keys_.Due() ? keys_.Refresh(fetch_) : absl::OkStatus(); }
  bool Knows(const std::string& kid) { return keys_.For(kid).ok(); }

  galen::testing::FakeClock clock_;
  Provider provider_;
  const FetchDocument fetch_ = [this](const OidcIssuer&, const std::string& url) {
    return provider_.Get(url);
  };
  ProviderKeys keys_{ParseOidcConfig(kConfig, "oidc.yaml").value()[0], clock_, {}};
};

TEST_F(ProviderKeysTest, ARotatedKeyIsTakenUpWhenATokenNamesIt) {
  EXPECT_THAT(keys_.For("r1").status(), StatusIs(absl::StatusCode::kUnavailable, _));
  ASSERT_THAT(Turn(), IsOk());
  EXPECT_TRUE(Knows("r1"));
  provider_.Set(kKeysUrl, KeysOf({RsaSigner().RsaJwk("r2")}));
  clock_.Advance(absl::Minutes(1));
  EXPECT_FALSE(keys_.Due());
  EXPECT_THAT(keys_.For("r2").status(), StatusIs(absl::StatusCode::kUnavailable, _));
  ASSERT_THAT(Turn(), IsOk());
  EXPECT_TRUE(Knows("r2"));
  // A key that the provider withdrew is not accepted.
  EXPECT_FALSE(Knows("r1"));
}

TEST_F(ProviderKeysTest, WhoNamesKeysThatThereAreNotDoesNotMakeItAskAllTheTime) {
  ASSERT_THAT(Turn(), IsOk());
  const int before = provider_.asked();
  for (int i = 0; i < 600; ++i) {
    clock_.Advance(absl::Milliseconds(100));
    EXPECT_FALSE(Knows(absl::StrCat("made-up-", i)));
    ASSERT_THAT(Turn(), IsOk());
  }
  // A minute: each time two documents, at most every ten seconds.
  EXPECT_LE(provider_.asked() - before, 2 * 6);
}

TEST_F(ProviderKeysTest, WhileTheProviderIsAwayItsLastKeysAreBelievedForADay) {
  ASSERT_THAT(Turn(), IsOk());
  provider_.Set(kKeysUrl, absl::UnavailableError("connection refused"));
  for (int i = 0; i < 23; ++i) {
    clock_.Advance(absl::Hours(1));
    EXPECT_THAT(Turn(), StatusIs(absl::StatusCode::kUnavailable, _));
    EXPECT_TRUE(Knows("r1")) << i;
  }
  clock_.Advance(absl::Hours(1));
  EXPECT_FALSE(Knows("r1"));
  provider_.Set(kKeysUrl, KeysOf({RsaSigner().RsaJwk("r1")}));
  ASSERT_THAT(Turn(), IsOk());
  EXPECT_TRUE(Knows("r1"));
}

TEST_F(ProviderKeysTest, WhoWaitsForASilentProviderCanBeCalledOff) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(server, 1), 0);
  ASSERT_EQ(getsockname(server, reinterpret_cast<sockaddr*>(&address), &size), 0);
  OidcIssuer issuer;
  issuer.issuer = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port));
  Cancellation cancellation;
  std::thread caller([&] {
    const int connection = accept(server, nullptr, nullptr);
    cancellation.Cancel();
    char byte = 0;
    while (read(connection, &byte, 1) > 0) {
    }
    close(connection);
  });
  EXPECT_EQ(
      FetchOverHttp(issuer, absl::StrCat(issuer.issuer, "/keys"), cancellation).status().code(),
      absl::StatusCode::kCancelled);
  caller.join();
  close(server);
}

TEST_F(ProviderKeysTest, ADocumentThatSpeaksForAnotherIssuerIsRefused) {
  provider_.Set(kDiscovery,
                json{{"issuer", "https://evil.example"}, {"jwks_uri", kKeysUrl}}.dump());
  EXPECT_THAT(Turn(), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  provider_.Set(kDiscovery, json{{"issuer", kIssuer}, {"jwks_uri", "http://plain.example"}}.dump());
  clock_.Advance(absl::Minutes(1));
  EXPECT_THAT(Turn(), StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

class NoKeys final : public Access {
 public:
  absl::StatusOr<Principal> Authenticate(const http::Request& /*request*/) override {
    return Principal{"key", "acme", UserRole::kCustomer, {}};
  }
};

TEST_F(ProviderKeysTest, TokensAndApiKeysAreTakenSideBySide) {
  NoKeys api_keys;
  OidcAccess::Options options;
  options.fetch = fetch_;
  OidcAccess access(
      ParseOidcConfig(kConfig, "oidc.yaml").value(), api_keys, clock_, [](const std::string&) {},
      options);
  const auto ask = [&](const std::string& credential) {
    http::Request request;
    request.headers.Add("Authorization", absl::StrCat("Bearer ", credential));
    return access.Authenticate(request);
  };
  const std::string token = RsaSigner().Token("RS256", "r1", Claims());
  auto who = ask(token);
  while (absl::IsUnavailable(who.status())) {  // until the thread has fetched the keys
    absl::SleepFor(absl::Milliseconds(1));
    who = ask(token);
  }
  ASSERT_THAT(who.status(), IsOk());
  EXPECT_EQ(who->role, UserRole::kOperator);
  EXPECT_EQ(ask("galen_1_2_3")->id, "key");
  json other = Claims();
  other["iss"] = "https://evil.example";
  EXPECT_THAT(ask(RsaSigner().Token("RS256", "r1", other)).status(), StatusIs(kUnauthenticated, _));
  http::Request both;
  both.headers.Add("Authorization", absl::StrCat("Bearer ", token));
  both.headers.Add("X-API-Key", "galen_1_2_3");
  EXPECT_THAT(access.Authenticate(both).status(), StatusIs(kUnauthenticated, _));
}

}  // namespace
}  // namespace galen::gateway
