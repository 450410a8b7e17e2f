#include "services/gateway/uploads/upload_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/gateway/http/message.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::gateway {
namespace {

namespace fs = std::filesystem;
using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kExhausted = absl::StatusCode::kResourceExhausted;
constexpr absl::StatusCode kNotFound = absl::StatusCode::kNotFound;

// One entry of a tar archive (POSIX ustar).
std::string Entry(const std::string& name, const std::string& content, char type = '0',
                  const std::string& link = "") {
  std::string head(512, '\0');
  head.replace(0, name.size(), name);
  head.replace(100, 7, "0000644");
  head.replace(124, 11, absl::StrFormat("%011o", content.size()));
  head.replace(136, 11, "00000000000");
  head.replace(148, 8, "        ");
  head[156] = type;
  head.replace(157, link.size(), link);
  head.replace(257, 8, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  head.replace(148, 7, absl::StrFormat("%06o", sum) + '\0');
  std::string padded = content;
  padded.resize((content.size() + 511) / 512 * 512, '\0');
  return head + padded;
}
std::string Tar(const std::string& entries) { return entries + std::string(1024, '\0'); }

std::string BundleEntries(const std::string& top = "") {
  return Entry(top + "bundle.yaml", "format: galen.bundle/v1\nnodes: [n1]\n") +
         Entry(top + "incident.yaml",
               "description: as the bundle says\nnodes: [n1]\nlogs:\n  - {path: train.log}\n") +
         Entry(top + "logs/train.log", "NCCL WARN\n") +
         Entry(top + "nodes/n1/commands.yaml", "[]\n");
}

class UploadStoreTest : public ::testing::Test {
 protected:
  UploadStoreTest()
      : directory_(absl::StrCat(::testing::TempDir(), "/uploads-", getpid(), "-",
                                ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    options_.directory = directory_;
    Open();
  }
  ~UploadStoreTest() override {
    store_.reset();
    fs::remove_all(directory_);
  }
  void Open() {
    store_.reset();
    store_ = UploadStore::Open(options_, clock_).value();
  }
  absl::StatusOr<Upload> Send(UploadKind kind, const std::string& bytes,
                              const std::string& tenant = "acme",
                              const std::string& name = "x.log") {
    auto incoming = store_->Begin(tenant, kind, name, 0);
    if (!incoming.ok()) return incoming.status();
    for (std::size_t at = 0; at < bytes.size(); at += 1000) {
      if (const absl::Status written = (*incoming)->Write(bytes.substr(at, 1000)); !written.ok()) {
        return written;
      }
    }
    return (*incoming)->Finish();
  }
  absl::StatusOr<Upload> SendBundle(const std::string& bytes) {
    return Send(UploadKind::kBundle, bytes, "acme", "b.tar");
  }
  // The files on disk, by path.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
    return files;
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string directory_;
  testing::FakeClock clock_;
  UploadStore::Options options_;
  std::unique_ptr<UploadStore> store_;
};

galen::v1::Incident WithLog(const std::string& path) {
  galen::v1::Incident incident;
  incident.add_logs()->set_path(path);
  return incident;
}

TEST_F(UploadStoreTest, ALogTakesThePlaceOfItsName) {
  const std::string text(12'345, 'x');
  const Upload upload = Send(UploadKind::kLog, text, "acme", "train.log").value();
  EXPECT_THAT(upload.name, StartsWith("tenants/acme/uploads/"));
  galen::v1::Incident incident = WithLog(upload.name);
  ASSERT_THAT(store_->Resolve("acme", "incident", incident), IsOk());
  EXPECT_THAT(incident.logs(0).path(), StartsWith(fs::canonical(directory_).string()));
  EXPECT_THAT(incident.logs(0).path(), EndsWith("/train.log"));
  EXPECT_EQ(Read(incident.logs(0).path()), text);
  // The owner sees the name, and never the path.
  const std::string path = incident.logs(0).path();
  EXPECT_EQ(
      store_->WithNames("acme", absl::StrCat("in ", path, ":7, and ", path)),
      absl::StrCat("in ", upload.name, "/file/train.log:7, and ", upload.name, "/file/train.log"));
  EXPECT_EQ(store_->WithNames("acme", "/var/log/acme/x"), "/var/log/acme/x");
}

TEST_F(UploadStoreTest, ABundleTakesMoreThanItsBytesSay) {
  std::string entries = BundleEntries();
  for (int i = 0; i < 40; ++i) entries += Entry(absl::StrCat("a", i, "/b/c/d/e/f"), "x");
  const Upload upload = SendBundle(Tar(entries)).value();
  EXPECT_GE(upload.disk_bytes, 40 * 6 * 4096);
  // And that counts against the tenant's share.
  options_.tenant_bytes = 40 * 6 * 4096;
  Open();
  EXPECT_THAT(Send(UploadKind::kLog, "x"), StatusIs(kExhausted, HasSubstr("more than")));
}

TEST_F(UploadStoreTest, DirectoriesThatNobodyNamedAreLimited) {
  options_.files = 100;
  Open();
  std::string entries = BundleEntries();
  for (int i = 0; i < 40; ++i) entries += Entry(absl::StrCat("a", i, "/b/c/d/e/f"), "x");
  EXPECT_THAT(SendBundle(Tar(entries)), StatusIs(kExhausted, HasSubstr("more than 100")));
  EXPECT_THAT(Files(), SizeIs(0));
}

TEST_F(UploadStoreTest, WhatWasDeletedAndCouldNotBeRemovedGoesWithTheNextSweep) {
  fs::create_directories(directory_ + "/.incoming/0123.gone/bundle");
  fs::create_directories(directory_ + "/.incoming/4567/bundle");  // comes in
  store_->Sweep();
  EXPECT_FALSE(fs::exists(directory_ + "/.incoming/0123.gone"));
  EXPECT_TRUE(fs::exists(directory_ + "/.incoming/4567"));
}

TEST_F(UploadStoreTest, AnotherTenantsUploadIsNotThere) {
  const Upload upload = Send(UploadKind::kLog, "text").value();
  galen::v1::Incident incident = WithLog(upload.name);
  EXPECT_THAT(store_->Resolve("other", "incident", incident), StatusIs(kNotFound, _));
  incident.set_bundle(upload.name);
  incident.clear_logs();
  EXPECT_THAT(store_->Resolve("other", "incident", incident), StatusIs(kNotFound, _));
  const std::string id = upload.name.substr(upload.name.rfind('/') + 1);
  EXPECT_THAT(store_->Get("other", id), StatusIs(kNotFound, _));
  EXPECT_THAT(store_->Delete("other", id), StatusIs(kNotFound, _));
  EXPECT_THAT(store_->List("other").value(), SizeIs(0));
  EXPECT_THAT(store_->Get("acme", id), IsOk());
}

TEST_F(UploadStoreTest, NamesThatLeadElsewhereAreNoUploads) {
  ASSERT_THAT(Send(UploadKind::kLog, "text"), IsOk());
  for (const char* const name :
       {"tenants/acme/uploads/..", "tenants/acme/uploads/../acme", "tenants/acme/uploads/",
        "tenants/../acme/uploads/0", "tenants/acme/uploads/../../../../etc/passwd"}) {
    galen::v1::Incident incident = WithLog(name);
    EXPECT_THAT(store_->Resolve("acme", "incident", incident), StatusIs(kNotFound, _)) << name;
  }
  for (const char* const tenant : {"..", ".incoming", "a/b", "", "A"}) {
    EXPECT_THAT(Send(UploadKind::kLog, "text", tenant), StatusIs(kNotFound, _)) << tenant;
  }
}

TEST_F(UploadStoreTest, FileNamesOfCustomersMeanNothingToTheDisk) {
  EXPECT_EQ(SafeFileName("../../etc/passwd"), "passwd");
  EXPECT_EQ(SafeFileName("C:\\logs\\a b.log"), "a_b.log");
  EXPECT_EQ(SafeFileName(".."), "upload");
  EXPECT_EQ(SafeFileName(""), "upload");
  EXPECT_EQ(SafeFileName(".upload.json"), "upload.json");
  EXPECT_THAT(SafeFileName(std::string(5000, 'a')), SizeIs(120));
  const Upload upload = Send(UploadKind::kLog, "text", "acme", "../upload.json").value();
  galen::v1::Incident incident = WithLog(upload.name);
  ASSERT_THAT(store_->Resolve("acme", "incident", incident), IsOk());
  EXPECT_EQ(Read(incident.logs(0).path()), "text");
}

TEST_F(UploadStoreTest, OneThatBreaksOffLeavesNothing) {
  {
    auto incoming = store_->Begin("acme", UploadKind::kLog, "x", 0).value();
    ASSERT_THAT(incoming->Write("half"), IsOk());
    EXPECT_THAT(Files(), SizeIs(1));
    EXPECT_THAT(store_->List("acme").value(), SizeIs(0));
  }
  EXPECT_THAT(Files(), SizeIs(0));
  EXPECT_THAT(Send(UploadKind::kLog, ""), StatusIs(kInvalid, _));
  EXPECT_THAT(Files(), SizeIs(0));
}

TEST_F(UploadStoreTest, ABundleIsUnpackedAndTellsOfItsIncident) {
  for (const char* const top : {"", "inner/"}) {
    const Upload upload = SendBundle(Tar(BundleEntries(top))).value();
    EXPECT_THAT(upload.nodes, ElementsAre("n1"));
    EXPECT_EQ(upload.description, "as the bundle says");
    galen::v1::Incident incident;
    incident.set_bundle(upload.name);
    ASSERT_THAT(store_->Resolve("acme", "incident", incident), IsOk());
    EXPECT_EQ(incident.description(), "as the bundle says");
    EXPECT_EQ(incident.logs(0).path(), "train.log");
    EXPECT_EQ(Read(incident.bundle() + "/logs/train.log"), "NCCL WARN\n");
    galen::v1::Incident own;
    own.set_bundle(upload.name);
    own.set_description("as the request says");
    own.add_nodes("n2");
    ASSERT_THAT(store_->Resolve("acme", "incident", own), IsOk());
    EXPECT_EQ(own.description(), "as the request says");
    EXPECT_THAT(own.nodes(), ElementsAre("n2"));
  }
}

TEST_F(UploadStoreTest, ALogIsNoBundleAndABundleNoLog) {
  const Upload log = Send(UploadKind::kLog, "text").value();
  galen::v1::Incident incident;
  incident.set_bundle(log.name);
  EXPECT_THAT(store_->Resolve("acme", "incident", incident), StatusIs(kInvalid, _));
  const Upload bundle = SendBundle(Tar(BundleEntries())).value();
  galen::v1::Incident other = WithLog(bundle.name);
  EXPECT_THAT(store_->Resolve("acme", "incident", other), StatusIs(kInvalid, _));
}

TEST_F(UploadStoreTest, HostileArchivesAreRefusedAndLeaveNothing) {
  const std::string good = BundleEntries();
  const struct {
    const char* what;
    std::string archive;
  } kCases[] = {
      {"no archive", "this is no archive"},
      {"no bundle", Tar(Entry("readme", "hello"))},
      {"outside by ..", Tar(good + Entry("../../outside", "x"))},
      {"absolute", Tar(good + Entry("/tmp/outside", "x"))},
      {"link outside", Tar(good + Entry("link", "", '2', "../../../etc/passwd"))},
      {"absolute link", Tar(good + Entry("link", "", '2', "/etc/passwd"))},
      {"through a link", Tar(good + Entry("d", "", '2', ".") + Entry("d/../../x", "x"))},
      {"hard link outside", Tar(good + Entry("hard", "", '1', "/etc/passwd"))},
      {"device", Tar(good + Entry("device", "", '3'))},
      {"pipe", Tar(good + Entry("pipe", "", '6'))},
      {"twice", Tar(good + Entry("bundle.yaml", "format: other"))},
      {"cut off", Tar(good).substr(0, 700)},
  };
  for (const auto& hostile : kCases) {
    const absl::StatusOr<Upload> upload = SendBundle(hostile.archive);
    EXPECT_THAT(upload, StatusIs(kInvalid, _)) << hostile.what;
    EXPECT_THAT(upload.status().message(), Not(HasSubstr(directory_))) << hostile.what;
    EXPECT_THAT(Files(), SizeIs(0)) << hostile.what;
  }
}

TEST_F(UploadStoreTest, WhatUnpacksToFarMoreThanWasSentIsRefused) {
  options_.unpacked_ratio = 10;
  options_.unpacked_floor = 1 << 20;
  options_.files = 100;
  Open();
  const std::string bomb =
      http::Gzip(Tar(BundleEntries() + Entry("logs/zeros", std::string(32 << 20, '\0')))).value();
  EXPECT_LT(bomb.size(), std::size_t{1} << 20);
  EXPECT_THAT(SendBundle(bomb), StatusIs(kExhausted, _));
  std::string many = BundleEntries();
  for (int i = 0; i < 200; ++i) many += Entry(absl::StrCat("logs/", i), "");
  EXPECT_THAT(SendBundle(Tar(many)), StatusIs(kExhausted, _));
  EXPECT_THAT(Files(), SizeIs(0));
  EXPECT_THAT(SendBundle(http::Gzip(Tar(BundleEntries())).value()), IsOk());
}

TEST_F(UploadStoreTest, ATenantHasItsShareAndNoMore) {
  options_.most_bytes = 5000;
  options_.tenant_bytes = 8000;
  Open();
  EXPECT_THAT(Send(UploadKind::kLog, std::string(5001, 'x')), StatusIs(kExhausted, _));
  EXPECT_THAT(store_->Begin("acme", UploadKind::kLog, "x", 5001), StatusIs(kExhausted, _));
  const Upload first = Send(UploadKind::kLog, std::string(5000, 'x')).value();
  EXPECT_THAT(Send(UploadKind::kLog, std::string(5000, 'x')), StatusIs(kExhausted, _));
  EXPECT_THAT(Send(UploadKind::kLog, std::string(5000, 'x'), "other"), IsOk());
  ASSERT_THAT(store_->Delete("acme", first.name.substr(first.name.rfind('/') + 1)), IsOk());
  EXPECT_THAT(Send(UploadKind::kLog, std::string(5000, 'x')), IsOk());
}

TEST_F(UploadStoreTest, WhatComesInAtTheSameTimeCountsTogether) {
  options_.tenant_at_once = 2;
  options_.at_once = 3;
  options_.tenant_bytes = 8000;
  Open();
  auto first = store_->Begin("acme", UploadKind::kLog, "x", 0).value();
  ASSERT_THAT(first->Write(std::string(5000, 'x')), IsOk());
  {
    // Begun while 5,000 of the 8,000 are taken.
    auto second = store_->Begin("acme", UploadKind::kLog, "x", 0).value();
    EXPECT_THAT(second->Write(std::string(3000, 'x')), IsOk());
    EXPECT_THAT(second->Write("x"), StatusIs(kExhausted, _));
    EXPECT_THAT(store_->Begin("acme", UploadKind::kLog, "x", 0), StatusIs(kExhausted, _));
    auto third = store_->Begin("other", UploadKind::kLog, "x", 0).value();
    EXPECT_THAT(store_->Begin("third", UploadKind::kLog, "x", 0), StatusIs(kExhausted, _));
  }
  EXPECT_THAT(store_->Begin("acme", UploadKind::kLog, "x", 0), IsOk());
}

TEST_F(UploadStoreTest, AnUploadExpires) {
  const Upload upload = Send(UploadKind::kLog, "text").value();
  EXPECT_EQ(upload.expires - upload.created, options_.keep);
  clock_.Advance(options_.keep);
  galen::v1::Incident incident = WithLog(upload.name);
  EXPECT_THAT(store_->Resolve("acme", "incident", incident), StatusIs(kNotFound, _));
  EXPECT_THAT(store_->List("acme").value(), SizeIs(0));
  store_->Sweep();
  EXPECT_THAT(Files(), SizeIs(0));
}

TEST_F(UploadStoreTest, AnotherGatewayOnTheSameDiskHasThemToo) {
  const Upload upload = Send(UploadKind::kLog, "text").value();
  const auto other = UploadStore::Open(options_, clock_).value();
  ASSERT_THAT(other->List("acme").value(), SizeIs(1));
  EXPECT_EQ(other->List("acme").value().front().name, upload.name);
  EXPECT_THAT(other->Delete("acme", upload.name.substr(upload.name.rfind('/') + 1)), IsOk());
  EXPECT_THAT(store_->List("acme").value(), SizeIs(0));
}

}  // namespace
}  // namespace galen::gateway
