#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "services/cli/bundle_commands.h"
#include "services/cli/local_mesh.h"
#include "tests/testing/status_matchers.h"

namespace galen::cli {
namespace {

namespace fs = std::filesystem;
using ::galen::testing::IsOk;

constexpr char kShipped[] = GALEN_SOURCE_DIR "/knowledge";
constexpr char kLeak[] = "OTHER.HOST_HARDWARE.LIQUID_COOLING_LEAK";

std::string Content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A mesh with the knowledge of a site, and a bundle of that site's fault.
class ReloadTest : public ::testing::Test {
 protected:
  ReloadTest() {
    std::string root = ::testing::TempDir() + "galen-reload-XXXXXX";
    root_ = ::mkdtemp(root.data());
    fs::create_directories(root_ + "/site");
    const std::string page = Content(GALEN_SOURCE_DIR "/docs/knowledge.md");
    const std::size_t begin = page.find("```yaml\n") + 8;
    std::ofstream(root_ + "/site/leak.yaml")
        << page.substr(begin, page.find("```\n", begin) - begin);
    std::ofstream(root_ + "/detector") << "state: wet\n";
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    Console console{in, out, err, {}, false};
    NewBundleArguments create;
    create.directory = root_ + "/bundle";
    create.description = "All nodes of one rack went away within a few minutes";
    create.nodes = {"n1"};
    EXPECT_EQ(NewBundle(create, console), kOk) << err.str();
    AddArguments add;
    add.directory = create.directory;
    add.node = "n1";
    add.file = "/run/site/leak_detector";
    add.from = root_ + "/detector";
    EXPECT_EQ(AddToBundle(add, console), kOk) << err.str();
    with_ = MustLoad({kShipped, root_ + "/site"});
    without_ = MustLoad({kShipped});
    LocalMesh::Options options;
    options.knowledge = {kShipped, root_ + "/site"};
    auto mesh = LocalMesh::Start(options);
    EXPECT_THAT(mesh, IsOk());
    mesh_ = *std::move(mesh);
  }
  ~ReloadTest() override {
    mesh_.reset();
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  static std::shared_ptr<const knowledge::Knowledge> MustLoad(
      const std::vector<std::string>& directories) {
    auto loaded =
        knowledge::Load(directories, {.cache_directory = knowledge::DefaultCacheDirectory()});
    EXPECT_THAT(loaded, IsOk());
    return *loaded;
  }

  // Diagnoses the bundle; `on_event` runs between the questions of the diagnosis.
  v1::Diagnosis Diagnose(const std::function<void(const v1::DiagnosisEvent&)>& on_event) {
    v1::CreateDiagnosisRequest request;
    request.set_parent("tenants/default");
    v1::Incident& incident = *request.mutable_diagnosis()->mutable_incident();
    incident.set_description("All nodes of one rack went away within a few minutes");
    incident.set_bundle(root_ + "/bundle");
    const auto created = mesh_->Create(request);
    EXPECT_THAT(created, IsOk());
    EXPECT_THAT(mesh_->Watch(created->name(), 0, on_event), IsOk());
    return *mesh_->Get(created->name());
  }

  std::string root_;
  std::shared_ptr<const knowledge::Knowledge> with_;
  std::shared_ptr<const knowledge::Knowledge> without_;
  std::unique_ptr<LocalMesh> mesh_;
};

TEST_F(ReloadTest, ADiagnosisGoesOnWhileTheKnowledgeIsReplacedAgainAndAgain) {
  // Both know the label, so that the answer is the same whichever of them a step meets.
  std::ofstream(root_ + "/site/leak.yaml", std::ios::app) << "# A second edition.\n";
  const auto edited = MustLoad({kShipped, root_ + "/site"});
  ASSERT_NE(edited->digest(), with_->digest());
  int replaced = 0;
  const v1::Diagnosis diagnosis = Diagnose([&](const v1::DiagnosisEvent& event) {
    // After each, so that old and new alternate; bounded, as each compiles 800 patterns.
    if (event.has_check_completed() || replaced >= 12) return;
    EXPECT_THAT(mesh_->Use(++replaced % 2 == 1 ? edited : with_), IsOk());
  });
  EXPECT_GE(replaced, 3);
  EXPECT_EQ(diagnosis.state(), v1::Diagnosis::SUCCEEDED) << diagnosis.DebugString();
  EXPECT_EQ(diagnosis.report().primary_cause().label(), kLeak);
  const std::set<std::string> digests = {with_->digest(), edited->digest()};
  EXPECT_EQ(digests.count(diagnosis.report().knowledge_digest()), 1u);
}

TEST_F(ReloadTest, ADiagnosisThatBeganWithALabelIsCarriedThroughWithoutIt) {
  bool taken_out = false;
  const v1::Diagnosis diagnosis = Diagnose([&](const v1::DiagnosisEvent& event) {
    if (taken_out || !event.has_summarized()) return;
    taken_out = true;
    EXPECT_THAT(mesh_->Use(without_), IsOk());
  });
  EXPECT_TRUE(taken_out);
  EXPECT_NE(diagnosis.state(), v1::Diagnosis::FAILED);
  EXPECT_TRUE(diagnosis.has_report());
}

TEST_F(ReloadTest, TheNextDiagnosisUsesWhatWasAdded) {
  ASSERT_THAT(mesh_->Use(without_), IsOk());
  ASSERT_THAT(mesh_->Use(without_), IsOk());  // nothing of the older one is left
  const v1::Diagnosis before = Diagnose([](const v1::DiagnosisEvent&) {});
  EXPECT_FALSE(before.report().has_primary_cause());
  EXPECT_EQ(before.report().knowledge_digest(), without_->digest());
  ASSERT_THAT(mesh_->Use(with_), IsOk());
  const v1::Diagnosis after = Diagnose([](const v1::DiagnosisEvent&) {});
  EXPECT_EQ(after.report().primary_cause().label(), kLeak);
  EXPECT_EQ(after.report().knowledge_digest(), with_->digest());
}

TEST_F(ReloadTest, KnowledgeThatNobodyUsesAnyMoreIsFreed) {
  const std::weak_ptr<const knowledge::Knowledge> old =
      [&]() -> std::weak_ptr<const knowledge::Knowledge> {
    auto passing = MustLoad({kShipped, root_ + "/site"});
    EXPECT_THAT(mesh_->Use(passing), IsOk());
    return passing;
  }();
  EXPECT_FALSE(old.expired());
  ASSERT_THAT(mesh_->Use(without_), IsOk());
  ASSERT_THAT(mesh_->Use(with_), IsOk());
  EXPECT_TRUE(old.expired());
}

TEST_F(ReloadTest, SignalsThatDoNotCompileAreRefusedAndTheOldStay) {
  knowledge::v1::KnowledgeBase base = without_->base();
  base.mutable_signals(0)->set_pattern("(unclosed");
  EXPECT_FALSE(mesh_->Use(std::make_shared<const knowledge::Knowledge>(base)).ok());
  const v1::Diagnosis after = Diagnose([](const v1::DiagnosisEvent&) {});
  EXPECT_EQ(after.report().primary_cause().label(), kLeak);
}

}  // namespace
}  // namespace galen::cli
