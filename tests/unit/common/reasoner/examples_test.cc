// The four incidents of the AidAI paper, and a healthy node, with the shipped knowledge.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cases.h"
#include "common/reasoner/builtin_reasoner.h"

namespace galen::reasoner {
namespace {

using galen::v1::Verdict;
using testing::Bool;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::Event;
using testing::Int;
using ::testing::IsEmpty;
using testing::Judged;
using ::testing::Not;
using testing::Scene;
using testing::Text;

class ExampleTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::vector<std::string> directories = {GALEN_SOURCE_DIR "/knowledge"};
    auto loaded = knowledge::Load(directories, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    knowledge_ = new std::shared_ptr<const knowledge::Knowledge>(*std::move(loaded));
  }
  static const knowledge::Knowledge& book() { return **knowledge_; }

  // Judges every leaf of the taxonomy and concludes.
  static v1::ConcludeAnswer Conclude(const Scene& scene) {
    const BuiltinReasoner reasoner(book());
    v1::ConcludeQuestion question;
    *question.mutable_evidence() = scene.evidence();
    v1::JudgeQuestion judge;
    *judge.mutable_evidence() = scene.evidence();
    for (const knowledge::v1::Label& label : book().base().labels()) {
      if (knowledge::IsLeaf(label)) judge.add_labels(label.label());
    }
    const auto judged = reasoner.Judge(judge, absl::InfiniteFuture());
    EXPECT_TRUE(judged.ok()) << judged.status();
    for (const Verdict& verdict : judged->verdicts()) *question.add_judged() = Judged(verdict);
    auto answer = reasoner.Conclude(question, absl::InfiniteFuture());
    EXPECT_TRUE(answer.ok()) << answer.status();
    return *std::move(answer);
  }
  static Verdict JudgeOf(const Scene& scene, const std::string& label) {
    return testing::JudgeOf(book(), scene, label);
  }
  static std::vector<std::string> Effects(const v1::ConcludeAnswer& answer) {
    std::vector<std::string> effects;
    for (const auto& effect : answer.effects()) effects.push_back(effect.effect());
    return effects;
  }

  // Eight GPUs and their host as they are when nothing is wrong.
  static std::vector<galen::v1::Finding> Each(const galen::v1::Finding& finding) {
    std::vector<galen::v1::Finding> findings;
    for (int i = 0; i < 8; ++i) {
      findings.push_back(finding);
      findings.back().mutable_subject()->set_device(absl::StrCat("gpu:", i));
    }
    return findings;
  }
  static std::vector<galen::v1::Finding> Join(std::vector<std::vector<galen::v1::Finding>> parts) {
    std::vector<galen::v1::Finding> all;
    for (auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  static std::vector<galen::v1::Finding> Except(std::vector<galen::v1::Finding> findings, int gpu,
                                                const galen::v1::Finding& other) {
    for (auto& finding : findings) {
      if (finding.subject().device() != absl::StrCat("gpu:", gpu)) continue;
      finding = other;
      finding.mutable_subject()->set_device(absl::StrCat("gpu:", gpu));
    }
    return findings;
  }
  static Scene Healthy(const std::vector<std::string>& without = {}) {
    Scene scene(book());
    const auto add = [&](const std::string& check, std::vector<galen::v1::Finding> findings) {
      for (const std::string& name : without) {
        if (name == check) return;
      }
      scene.Saw(check, std::move(findings));
    };
    galen::v1::Finding gpus = Int("gpu_count_driver", 8);
    gpus.set_expected("8");
    add("gpu.inventory",
        Join({{gpus, Int("gpu_count_expected", 8)}, Each(Bool("pci_rev_ff", false))}));
    add("gpu.smi_health", {Int("exit_code", 0), Int("duration_s", 1), Bool("hung", false)});
    add("gpu.ecc", Join({Each(Int("dram_uncorrectable_volatile", 0)),
                         Each(Int("sram_uncorrectable_volatile", 0)),
                         Each(Bool("sram_threshold_exceeded", false)),
                         Each(Int("dram_correctable_volatile", 0))}));
    add("gpu.row_remap",
        Join({Each(Bool("pending", false)), Each(Bool("failure_occurred", false)),
              Each(Int("correctable_rows", 0)), Each(Int("uncorrectable_rows", 0))}));
    add("gpu.page_retirement", Join({Each(Int("retired_pages", 0)), Each(Bool("pending", false))}));
    add("gpu.inforom", Each(Bool("corrupted", false)));
    add("gpu.firmware", Each(Bool("gsp_enabled", true)));
    add("gpu.driver", {Bool("skew", false), Text("known_bad", "none"),
                       Bool("half_installed", false), Bool("vgpu_guest", false)});
    add("gpu.recovery_action", Each(Text("action", "NONE")));
    add("gpu.nvlink_status", Each(Int("links_inactive", 0)));
    add("gpu.nvlink_errors", Join({Each(Int("recovery_errors", 0)), Each(Bool("growing", false))}));
    add("gpu.settings",
        Join({Each(Text("compute_mode", "Default")), Each(Bool("persistence", true)),
              Each(Text("mig_mode", "Disabled"))}));
    add("gpu.pcie_link", Each(Bool("downgraded", false)));
    add("gpu.clocks", Each(Bool("user_setting_changed", false)));
    add("gpu.throttle", Join({Each(Bool("hw_thermal", false)), Each(Bool("hw_slowdown", false)),
                              Each(Bool("hw_power_brake", false))}));
    add("gpu.thermal", Join({Each(Int("core_c", 45)), Each(Int("margin_to_slowdown_c", 40))}));
    add("gpu.topology", {Bool("has_nvswitch", true), Int("topo_duration_s", 1)});
    add("system.fabric_manager",
        {Bool("installed", true), Bool("active", true), Bool("version_equals_driver", true)});
    add("system.kernel_log", {});
    add("system.kernel_modules", {Bool("nvidia_loaded", true), Bool("nvidia_uvm_loaded", true),
                                  Bool("nouveau_or_nova_loaded", false)});
    add("container.libraries", {Bool("libcuda_is_stub", false), Bool("libcuda_is_compat", false),
                                Bool("libcuda_missing", false), Bool("driver_skew", false)});
    add("nccl.env", {Text("names_absent_device", "none"), Text("names_non_fabric_port", "none"),
                     Text("syntax_error", "none"), Bool("hca_list_ok", true),
                     Bool("ifname_unroutable", false), Text("disables_transport", "none")});
    add("system.memory", {Int("available_gib", 900)});
    add("system.disk", {Int("used_pct", 40, "mount:/"), Int("inodes_used_pct", 3, "mount:/")});
    add("system.time_sync", {Bool("synchronized", true), Int("offset_s", 0)});
    return scene;
  }

  static std::shared_ptr<const knowledge::Knowledge>* knowledge_;
};

std::shared_ptr<const knowledge::Knowledge>* ExampleTest::knowledge_ = nullptr;

TEST_F(ExampleTest, SuspectsTheInactiveNvlinksBehindARefusedConnection) {
  Scene scene = Healthy({"gpu.nvlink_status"});
  galen::v1::Finding inactive = Int("links_inactive", 12);
  inactive.set_expected("0");
  scene.Saw("gpu.nvlink_status", Except(Each(Int("links_inactive", 0)), 1, inactive))
      .Read("nccl.connect_refused", {}, galen::v1::STRONG,
            "NCCL WARN Connect to 10.0.0.1<41000> failed : Connection refused");
  const auto answer = Conclude(scene);
  EXPECT_EQ(answer.primary_label(), "") << "no message speaks for it";
  ASSERT_FALSE(answer.suspects().empty());
  EXPECT_EQ(answer.suspects(0).label(), "INTERCONNECT_NETWORKING.NVLINK.LINK_FAULT");
  const Verdict verdict = JudgeOf(scene, "INTERCONNECT_NETWORKING.NVLINK.LINK_FAULT");
  ASSERT_EQ(verdict.devices_size(), 1);
  EXPECT_EQ(verdict.devices(0).device(), "gpu:1");
  EXPECT_THAT(verdict.reasons(0).text(), ::testing::HasSubstr("12 (expected 0)"));
}

TEST_F(ExampleTest, SeparatesAnUncorrectableEccErrorFromItsEffects) {
  Scene scene = Healthy({"gpu.ecc", "gpu.row_remap", "gpu.recovery_action", "system.kernel_log"});
  scene
      .Saw("gpu.ecc", Join({Except(Each(Int("dram_uncorrectable_volatile", 0)), 3,
                                   Int("dram_uncorrectable_volatile", 1)),
                            Each(Int("sram_uncorrectable_volatile", 0)),
                            Each(Bool("sram_threshold_exceeded", false)),
                            Each(Int("dram_correctable_volatile", 0))}))
      .Saw("gpu.row_remap",
           Join({Except(Each(Bool("pending", false)), 3, Bool("pending", true)),
                 Each(Bool("failure_occurred", false)), Each(Int("uncorrectable_rows", 1))}))
      .Saw("gpu.recovery_action", Each(Text("action", "NONE")))
      .Saw("system.kernel_log",
           {Event("xid", "48", "gpu:3", 100), Event("xid", "63", "gpu:3", 101),
            Event("xid", "45", "gpu:3", 102), Event("first_event", "48", "", 100)});
  const auto answer = Conclude(scene);
  EXPECT_EQ(answer.primary_label(), "GPU.MEMORY.UNCORRECTABLE_ECC");
  EXPECT_THAT(answer.other_labels(), IsEmpty());
  EXPECT_THAT(Effects(answer), ::testing::IsSupersetOf(
                                   {"GPU.MEMORY.ROW_REMAP_PENDING", "Xid 48", "Xid 63", "Xid 45"}));
  EXPECT_EQ(JudgeOf(scene, "GPU.MEMORY.SRAM_ECC").outcome(), Verdict::REJECTED);
  EXPECT_EQ(JudgeOf(scene, "GPU.MEMORY.ROW_REMAP_FAILURE").outcome(), Verdict::REJECTED);
}

TEST_F(ExampleTest, NamesAPendingPageRetirementAsAnEffectOnOlderGpus) {
  Scene scene = Healthy({"gpu.ecc", "gpu.row_remap", "gpu.page_retirement", "system.kernel_log"});
  scene
      .Saw("gpu.ecc", Except(Each(Int("dram_uncorrectable_volatile", 0)), 5,
                             Int("dram_uncorrectable_volatile", 2)))
      .Skipped("gpu.row_remap")
      .Saw("gpu.page_retirement",
           Join({Each(Int("retired_pages", 1)),
                 Except(Each(Bool("pending", false)), 5, Bool("pending", true))}))
      .Saw("system.kernel_log",
           {Event("xid", "48", "gpu:5", 100), Event("first_event", "48", "", 100)});
  const auto answer = Conclude(scene);
  EXPECT_EQ(answer.primary_label(), "GPU.MEMORY.UNCORRECTABLE_ECC");
  EXPECT_THAT(Effects(answer),
              ::testing::UnorderedElementsAre("Xid 48", "page retirement pending"));
}

TEST_F(ExampleTest, FindsTheContainersDriverLibrariesBehindXid119) {
  Scene scene = Healthy({"container.libraries", "system.kernel_log"});
  scene
      .Saw("container.libraries", {Bool("libcuda_is_stub", false), Bool("libcuda_is_compat", false),
                                   Bool("libcuda_missing", false), Bool("driver_skew", true)})
      .Saw("system.kernel_log",
           {Event("xid", "119", "gpu:5", 100), Event("first_event", "119", "", 100)})
      .Read("cuda.invalid_device_ordinal", {"SYSTEM_SOFTWARE.DRIVER.USER_KERNEL_VERSION_SKEW"},
            galen::v1::STRONG, "RuntimeError: CUDA error: invalid device ordinal");
  const auto answer = Conclude(scene);
  EXPECT_EQ(answer.primary_label(), "SYSTEM_SOFTWARE.DRIVER.USER_KERNEL_VERSION_SKEW");
  EXPECT_THAT(answer.other_labels(), IsEmpty());
  EXPECT_THAT(Effects(answer), Contains("Xid 119"));
  EXPECT_EQ(JudgeOf(scene, "GPU.FIRMWARE.GSP_FAULT").outcome(), Verdict::REJECTED);
}

// The card and the driver release show alike; earlier failures of the same card would decide.
TEST_F(ExampleTest, AGspTimeoutAloneLeavesTheCardAndTheDriver) {
  Scene scene = Healthy({"system.kernel_log"});
  scene.Saw("system.kernel_log",
            {Event("xid", "119", "gpu:5", 100), Event("first_event", "119", "", 100)});
  EXPECT_EQ(Conclude(scene).primary_label(), "");
  EXPECT_GT(JudgeOf(scene, "GPU.FIRMWARE.GSP_FAULT").probability(), 0.3);
}

TEST_F(ExampleTest, FindsTheEthernetPortInTheAdapterList) {
  Scene scene = Healthy({"nccl.env"});
  scene
      .Saw("nccl.env",
           {Text("names_absent_device", "none"), Text("names_non_fabric_port", "mlx5_1"),
            Text("syntax_error", "none"), Bool("hca_list_ok", false),
            Bool("ifname_unroutable", false), Text("disables_transport", "none")})
      .Read("nccl.ib_unable_to_open", {"INTERCONNECT_NETWORKING.NCCL_NET_CONFIG.IB_HCA_WRONG"},
            galen::v1::STRONG, "NCCL WARN NET/IB : Unable to open device mlx5_1");
  const auto answer = Conclude(scene);
  EXPECT_EQ(answer.primary_label(), "INTERCONNECT_NETWORKING.NCCL_NET_CONFIG.IB_HCA_WRONG");
  EXPECT_THAT(answer.other_labels(), IsEmpty());
}

constexpr char kHcaFault[] = "INTERCONNECT_NETWORKING.NIC.HCA_FAULT";
constexpr char kPort[] = "nic:mlx5_0/port:1";

TEST_F(ExampleTest, TheVerdictOfAPairSweepAccusesTheAdapterOfThatNode) {
  const Scene scene =
      Scene(book()).Saw("rdma.pair", {Bool("failed", true, kPort), Text("follows_node", "n1")});
  EXPECT_EQ(JudgeOf(scene, kHcaFault).outcome(), Verdict::CONFIRMED);
  // A fault that all pairs would share is not the cause.
  for (const char* label : {"INTERCONNECT_NETWORKING.INFINIBAND.SUBNET_MANAGER_UNSUITABLE",
                            "INTERCONNECT_NETWORKING.EFA.SECURITY_GROUP_RULE_MISSING",
                            "INTERCONNECT_NETWORKING.TOPOLOGY.MISCABLED",
                            "INTERCONNECT_NETWORKING.TOPOLOGY.NO_CROSS_RAIL_ROUTE"}) {
    EXPECT_EQ(JudgeOf(scene, label).outcome(), Verdict::REJECTED) << label;
  }
}

TEST_F(ExampleTest, AnAdapterThatFailsToItselfIsAccusedUnlessItsPortIsDown) {
  const auto fails_with = [&](const char* state) {
    return JudgeOf(Scene(book())
                       .Saw("rdma.loopback", {Bool("failed", true, kPort)})
                       .Saw("rdma.link", {Text("state", state, kPort)}),
                   kHcaFault)
        .outcome();
  };
  EXPECT_EQ(fails_with("ACTIVE"), Verdict::CONFIRMED);
  EXPECT_NE(fails_with("DOWN"), Verdict::CONFIRMED);
}

TEST_F(ExampleTest, DataThatArriveChangedAccuseTheAdapter) {
  for (const char* check : {"rdma.loopback", "rdma.pair"}) {
    const Scene scene =
        Scene(book()).Saw(check, {Bool("failed", false, kPort), Int("data_errors", 8, kPort)});
    EXPECT_EQ(JudgeOf(scene, kHcaFault).outcome(), Verdict::CONFIRMED) << check;
  }
}

TEST_F(ExampleTest, AQuietSecondDoesNotClearAPortThatWentDownAnHourAgo) {
  constexpr char kFlapping[] = "INTERCONNECT_NETWORKING.RDMA_LINK.FLAPPING";
  const auto with_total = [&](std::int64_t total) {
    return JudgeOf(Scene(book())
                       .Saw("rdma.counters", {Int("link_downed_delta", 0, kPort),
                                              Int("link_downed_total", total, kPort)})
                       .Saw("rdma.link", {Text("state", "ACTIVE", kPort),
                                          Text("link_layer", "InfiniBand", kPort)})
                       .Saw("system.kernel_log", {Event("nic", "link_down", "nic:mlx5_0")}),
                   kFlapping);
  };
  const Verdict went_down = with_total(3);
  // One event that is over, and that no message mentions, does not prove flapping.
  EXPECT_NE(went_down.outcome(), Verdict::CONFIRMED);
  EXPECT_LE(with_total(0).probability(), went_down.probability());
}

TEST_F(ExampleTest, FewerAdaptersThanThePeersHaveAreMissingAdapters) {
  const Scene scene =
      Scene(book()).Saw("rdma.devices", {Int("device_count", 7), Int("count_below_peers_pct", 12)});
  EXPECT_EQ(JudgeOf(scene, "INTERCONNECT_NETWORKING.NIC.HCA_MISSING").outcome(),
            Verdict::CONFIRMED);
}

TEST_F(ExampleTest, ConfirmsNothingOnAHealthyNode) {
  const auto answer = Conclude(Healthy());
  EXPECT_EQ(answer.primary_label(), "");
  EXPECT_THAT(answer.other_labels(), IsEmpty());
  EXPECT_THAT(answer.headline(), ::testing::StartsWith("No cause confirmed"));
}

TEST_F(ExampleTest, RulesOutOnAHealthyNodeWhatItsChecksHaveRead) {
  const Scene scene = Healthy();
  for (const char* label :
       {"GPU.MEMORY.UNCORRECTABLE_ECC", "INTERCONNECT_NETWORKING.NVLINK.LINK_FAULT",
        "SYSTEM_SOFTWARE.DRIVER.USER_KERNEL_VERSION_SKEW", "GPU.PCIE.DEVICE_LOST",
        "INTERCONNECT_NETWORKING.NCCL_NET_CONFIG.IB_HCA_WRONG"}) {
    EXPECT_EQ(JudgeOf(scene, label).outcome(), Verdict::REJECTED) << label;
  }
}

}  // namespace
}  // namespace galen::reasoner
