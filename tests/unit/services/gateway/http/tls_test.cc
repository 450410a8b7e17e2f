#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/security/certificates/files.h"
#include "services/gateway/http/server.h"
#include "tests/testing/llm/certificates.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/http/raw_client.h"

namespace galen::gateway::http {
namespace {

using ::galen::testing::Authority;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HelloHandler final : public Handler {
 public:
  void Handle(Request request, std::shared_ptr<Exchange> exchange) override {
    Response response;
    response.body = absl::StrCat("hello ", request.body.size());
    exchange->Respond(std::move(response));
  }
  Response Refuse(int status, const std::string& why) override {
    Response response;
    response.status = status;
    response.body = why;
    return response;
  }
};

// The answer to a request over TLS, and the digest of the certificate that the server showed; ""
// without a connection.
struct Got {
  std::string answer;
  std::string certificate;
};
Got Get(int port, const Authority& trusted, int most_version = 0) {
  Got got;
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (most_version != 0) SSL_CTX_set_max_proto_version(context, most_version);
  BIO* pem =
      BIO_new_mem_buf(trusted.certificate().data(), static_cast<int>(trusted.certificate().size()));
  X509* authority = PEM_read_bio_X509(pem, nullptr, nullptr, nullptr);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority);
  X509_free(authority);
  BIO_free(pem);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  BIO* connection = BIO_new_ssl_connect(context);
  BIO_set_conn_hostname(connection, absl::StrCat("127.0.0.1:", port).c_str());
  const std::string request =
      "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n" +
      std::string(100'000, 'x');
  if (BIO_do_connect(connection) == 1) {
    SSL* ssl = nullptr;
    BIO_get_ssl(connection, &ssl);
    X509* shown = SSL_get1_peer_certificate(ssl);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int bytes = 0;
    X509_digest(shown, EVP_sha256(), digest, &bytes);
    got.certificate.assign(reinterpret_cast<const char*>(digest), bytes);
    X509_free(shown);
    BIO_write(connection, request.data(), static_cast<int>(request.size()));
    char read[4096];
    for (int n = 0; (n = BIO_read(connection, read, sizeof(read))) > 0;) {
      got.answer.append(read, static_cast<std::size_t>(n));
    }
  }
  BIO_free_all(connection);
  SSL_CTX_free(context);
  return got;
}

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() : directory_(::testing::TempDir() + "/galen-tls-XXXXXX") {
    if (mkdtemp(directory_.data()) == nullptr) std::abort();
  }
  ~TlsTest() override { std::filesystem::remove_all(directory_); }

  void Put(const testing::Certificate& issued) {
    ASSERT_THAT(security::ReplaceFile(Files().key, issued.key, 0600), IsOk());
    ASSERT_THAT(security::ReplaceFile(Files().certificate, issued.certificate, 0600), IsOk());
  }
  TlsFiles Files() const { return {directory_ + "/tls.crt", directory_ + "/tls.key"}; }
  ServerOptions Options() {
    ServerOptions options;
    options.address = "127.0.0.1:0";
    options.tls = Files();
    options.tell = [this](const std::string& news) {
      const MutexLock lock(mu_);
      news_ += news + "\n";
    };
    return options;
  }
  void AwaitNews(absl::string_view what) {
    for (;;) {
      {
        const MutexLock lock(mu_);
        if (absl::StrContains(news_, what)) return;
      }
      std::this_thread::yield();
    }
  }

  std::string directory_;
  const Authority authority_{"test"};
  HelloHandler handler_;
  Mutex mu_;
  std::string news_ ABSL_GUARDED_BY(mu_);
};

TEST_F(TlsTest, AnswersOverTls) {
  Put(authority_.Issue("127.0.0.1"));
  const auto server = Server::Start(Options(), handler_);
  ASSERT_THAT(server, IsOk());
  const std::string answer = Get((*server)->port(), authority_).answer;
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(answer, HasSubstr("hello 100000"));
  EXPECT_THAT(answer, HasSubstr("\r\nStrict-Transport-Security: max-age=31536000\r\n"));
}

TEST_F(TlsTest, SpeaksNothingOlderThanTls12) {
  Put(authority_.Issue("127.0.0.1"));
  const auto server = Server::Start(Options(), handler_);
  ASSERT_THAT(server, IsOk());
  EXPECT_EQ(Get((*server)->port(), authority_, TLS1_1_VERSION).answer, "");
  EXPECT_THAT(Get((*server)->port(), authority_, TLS1_2_VERSION).answer,
              StartsWith("HTTP/1.1 200"));
}

TEST_F(TlsTest, PlainHttpGetsNothing) {
  Put(authority_.Issue("127.0.0.1"));
  const auto server = Server::Start(Options(), handler_);
  ASSERT_THAT(server, IsOk());
  RawClient client((*server)->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.ReadAll().find("HTTP"), std::string::npos);
}

TEST_F(TlsTest, TakesUpANewCertificateAndKeepsTheOldOneUntilTheNewOneIsSound) {
  Put(authority_.Issue("127.0.0.1"));
  const auto server = Server::Start(Options(), handler_);
  ASSERT_THAT(server, IsOk());
  const std::string before = Get((*server)->port(), authority_).certificate;
  ASSERT_NE(before, "");
  ASSERT_THAT(security::ReplaceFile(Files().certificate, "rubbish", 0600), IsOk());
  AwaitNews("refused");
  EXPECT_EQ(Get((*server)->port(), authority_).certificate, before);
  Put(authority_.Issue("127.0.0.1"));
  AwaitNews("loaded");
  const std::string after = Get((*server)->port(), authority_).certificate;
  EXPECT_NE(after, "");
  EXPECT_NE(after, before);
}

TEST_F(TlsTest, DoesNotStartWithAKeyOfAnotherCertificate) {
  Put(authority_.Issue("127.0.0.1"));
  ASSERT_THAT(security::ReplaceFile(Files().key, authority_.Issue("127.0.0.1").key, 0600), IsOk());
  EXPECT_THAT(Server::Start(Options(), handler_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tls.key")));
}

}  // namespace
}  // namespace galen::gateway::http
