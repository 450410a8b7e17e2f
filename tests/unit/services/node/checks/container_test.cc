#include <string>

#include "gtest/gtest.h"
#include "services/node/checks/job/cdi.h"
#include "services/node/checks/job/environment.h"
#include "services/node/checks/job/limits.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;

CheckContext Context(const FakeHost& host) { return {host, RepositoryKnowledge()}; }

constexpr char kSpec[] =
    "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"0\"\n  containerEdits:\n"
    "    deviceNodes:\n    - path: /dev/nvidia0\ncontainerEdits:\n  mounts:\n"
    "  - hostPath: /usr/lib64/libcuda.so.550.90.07\n"
    "    containerPath: /usr/lib64/other.so\n";

TEST(Cdi, PathsOfTheHostAreFoundInBothForms) {
  const auto yaml = ParseCdiPaths(kSpec);
  ASSERT_TRUE(yaml.ok());
  EXPECT_EQ(*yaml, (std::vector<std::string>{"/dev/nvidia0", "/usr/lib64/libcuda.so.550.90.07"}));
  const auto json = ParseCdiPaths(
      R"({"cdiVersion":"0.6.0","containerEdits":{"deviceNodes":[{"path":"/dev/nvidiactl"}],)"
      R"("mounts":[{"hostPath":"/lib/a.so","containerPath":"/lib/b.so"}]}})");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*json, (std::vector<std::string>{"/dev/nvidiactl", "/lib/a.so"}));
  EXPECT_FALSE(ParseCdiPaths("kind: other\n").ok());
}

TEST(Cdi, ASpecificationOfAnOlderDriverIsSeen) {
  FakeHost host;
  host.AddFile("/etc/cdi/nvidia.yaml", kSpec);
  host.AddFile("/sys/module/nvidia/version", "550.127.05\n");
  host.AddCommand("ls -1 /usr/lib64", "libcuda.so.1\nlibcuda.so.550.127.05\n");
  const auto output = CheckCdi(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "missing_paths"), "1");
  EXPECT_EQ(ValueOf(*output, "spec_older_than_driver"), "true");
}

TEST(Cdi, WhatNobodyListedIsNotMissing) {
  FakeHost host;
  host.AddFile("/etc/cdi/nvidia.yaml", kSpec);
  const auto output = CheckCdi(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "missing_paths"), "?");
  EXPECT_EQ(ValueOf(*output, "spec_older_than_driver"), "?");
}

constexpr char kDocker[] =
    "Client: Docker Engine\n Version:           27.0.1\n\nServer: Docker Engine\n Engine:\n"
    "  Version:          20.10.7\n";

TEST(ContainerSecurity, AnOldEnginesFilterRefusesClone3) {
  FakeHost host;
  host.AddCommand("docker version", kDocker);
  host.AddFile("/proc/self/status", "Name:\tx\nSeccomp:\t2\n", host::View::kJob);
  const auto output = CheckContainerSecurity(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "engine_version"), "20.10.7");
  EXPECT_EQ(ValueOf(*output, "clone3_denied"), "true");
}

TEST(ContainerSecurity, AStatusThatNamesNoModeTellsNothing) {
  FakeHost host;
  host.AddAbsentCommand("docker version");
  host.AddFile("/proc/self/status", "Name:\tx\nSeccomp_filters:\t0\n", host::View::kJob);
  const auto output = CheckContainerSecurity(Context(host));
  EXPECT_EQ(output.status().code(), absl::StatusCode::kNotFound) << output.status();
}

TEST(ContainerSecurity, WithoutAFilterNothingIsRefused) {
  FakeHost host;
  host.AddCommand("docker version", kDocker);
  host.AddFile("/proc/self/status", "Seccomp:\t0\n", host::View::kJob);
  const auto output = CheckContainerSecurity(Context(host));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(ValueOf(*output, "clone3_denied"), "false");
}

TEST(ContainerLimits, ARealControlGroupIsRead) {
  GALEN_NEED_FIXTURES();
  FakeHost host;
  const std::string group = "/sys/fs/cgroup/system.slice/job.scope/";
  for (const char* file : {"memory.max", "memory.events", "cpu.stat", "pids.events"}) {
    host.AddFile(group + file, ReadFixture(std::string("cgroup/v2-tree/") + file));
  }
  const auto output = CheckContainerLimits(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  for (const v1::Finding& finding : output->findings) {
    if (finding.name() == "oom_kills") {
      EXPECT_EQ(finding.int_value(), 0);
    }
  }
}

TEST(UserEnv, AnEmptyListOfDevicesIsAnOverride) {
  const auto overrides = [](const std::string& name, const std::string& value) {
    FakeHost host;
    host.SetJobEnvironment({{name, value}});
    return ValueOf(*CheckUserEnv(Context(host)), "override");
  };
  EXPECT_EQ(overrides("HSA_OVERRIDE_GFX_VERSION", ""), "HSA_OVERRIDE_GFX_VERSION=");
  EXPECT_EQ(overrides("HSA_OVERRIDE_GFX_VERSION", "9.4.2"), "HSA_OVERRIDE_GFX_VERSION=9.4.2");
  EXPECT_EQ(overrides("CUDA_VISIBLE_DEVICES", ""), "CUDA_VISIBLE_DEVICES=");
  EXPECT_EQ(overrides("CUDA_VISIBLE_DEVICES", "0,1"), "none");
  EXPECT_EQ(overrides("HF_HOME", ""), "none");
}

TEST(ContainerDevices, AUserMayOpenWhatIsHisOrOfHisGroups) {
  const auto mismatch = [](const std::string& nodes, const std::string& id) {
    FakeHost host;
    host.AddCommand("ls -l /dev", nodes, 0, "", host::View::kJob);
    if (!id.empty()) host.AddCommand("id", id, 0, "", host::View::kJob);
    return ValueOf(*CheckContainerDevices(Context(host)), "group_mismatch");
  };
  constexpr char kOpen[] = "crw-rw-rw- 1 root root 195, 0 Jan 8 04:47 nvidia0\n";
  constexpr char kRender[] = "crw-rw---- 1 root render 241, 0 Feb 4 08:52 kfd\n";
  constexpr char kRoot[] = "crw------- 1 root root 241, 0 Feb 4 08:52 kfd\n";
  EXPECT_EQ(mismatch(kOpen, ""), "false");
  EXPECT_EQ(mismatch(kRender, ""), "?");
  EXPECT_EQ(mismatch(kRender, "uid=1000(mk) gid=1000(mk) groups=1000(mk),44(video)\n"), "true");
  EXPECT_EQ(mismatch(kRender, "uid=1000(mk) gid=1000(mk) groups=1000(mk),110(render)\n"), "false");
  EXPECT_EQ(mismatch(kRender, "groups=(mk),(render)\n"), "false");
  // The group has no permission, for any member.
  EXPECT_EQ(mismatch(kRoot, "groups=(mk),(video),(render)\n"), "true");
  EXPECT_EQ(mismatch(kRoot, "uid=0(root) gid=0(root) groups=0(root)\n"), "false");
}

TEST(ContainerDevices, OfAUserOnTheMachineOnlyHisRightsAreTold) {
  FakeHost host;
  host.AddCommand("ls -l /dev", "crw------- 1 root root 241, 0 Feb 4 08:52 kfd\n");
  EXPECT_FALSE(CheckContainerDevices(Context(host)).ok());
  host.AddCommand("id", "groups=(mk),(video)\n", 0, "", host::View::kJob);
  const auto output = CheckContainerDevices(Context(host));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "group_mismatch"), "true");
  EXPECT_EQ(ValueOf(*output, "kfd_present"), "?");
}

TEST(ContainerDevices, AJobOnAmdNeedsTheNodesOfComputeAndOfRendering) {
  const auto found = [](const std::string& nodes) {
    FakeHost host;
    host.AddFile("/proc/modules", "amdgpu 20529152 512 - Live 0x0\n");
    host.AddCommand("ls -l /dev", nodes, 0, "", host::View::kJob);
    const auto output = CheckContainerDevices(Context(host));
    return ValueOf(*output, "kfd_present") + " " + ValueOf(*output, "dri_present");
  };
  constexpr char kKfd[] = "crw-rw-rw- 1 root video 235, 0 May  4 09:12 kfd\n";
  constexpr char kDri[] = "drwxr-xr-x 2 root root 360 May  4 09:12 dri\n";
  EXPECT_EQ(found(std::string(kKfd) + kDri), "true true");
  EXPECT_EQ(found(kKfd), "true false");
  EXPECT_EQ(found(kDri), "false true");
}

TEST(ContainerDevices, AJobMissesAnImexChannelOnlyWhereItsNodeUsesThem) {
  FakeHost host;
  host.AddCommand("ls -l /dev", "crw-rw-rw- 1 root root 195, 0 Jan 8 04:47 nvidia0\n", 0, "",
                  host::View::kJob);
  host.AddFile("/proc/devices", "234 nvidia-caps-imex-channels\n");
  const auto fabric = [&](const std::string& cluster) {
    host.AddCommand("nvidia-smi -q -x",
                    "<?xml version=\"1.0\" ?>\n<nvidia_smi_log><attached_gpus>1</attached_gpus>"
                    "<gpu id=\"00000000:1B:00.0\"><fabric><state>Completed</state><clusterUuid>" +
                        cluster + "</clusterUuid></fabric></gpu></nvidia_smi_log>\n");
    return ValueOf(*CheckContainerDevices(Context(host)), "imex_channel_present");
  };
  EXPECT_EQ(ValueOf(*CheckContainerDevices(Context(host)), "imex_channel_present"), "?");
  EXPECT_EQ(fabric("00000000-0000-0000-0000-000000000000"), "?");
  EXPECT_EQ(fabric("5d1bb2ac-4ea2-4b1e-9b2f-8e3c1c7c6f10"), "false");
}

}  // namespace
}  // namespace galen::node
