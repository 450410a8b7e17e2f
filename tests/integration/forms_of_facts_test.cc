// The same fact in all of its forms: what checks find in a text does not depend on which program
// printed it. The facts are drawn at random, and each form is written as its program writes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/host/bundle.h"
#include "common/host/edit.h"
#include "common/intake/evidence.h"
#include "common/intake/kinds.h"
#include "common/intake/recognise.h"
#include "common/knowledge/load.h"
#include "services/node/executor.h"
#include "services/node/registry.h"
#include "tests/testing/scratch.h"

namespace galen::node {
namespace forms_of_facts_test {

using Facts = std::map<std::string, std::string>;

// A text as a person gives it: with the command at a prompt, or "" without one.
struct Form {
  std::string command;
  std::string text;
};

const std::shared_ptr<const knowledge::Knowledge>& Shipped() {
  static const auto* const loaded = new std::shared_ptr<const knowledge::Knowledge>(
      knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, {}).value());
  return *loaded;
}

std::string Shown(const galen::v1::Finding& finding) {
  switch (finding.value_case()) {
    case galen::v1::Finding::kBoolValue:
      return finding.bool_value() ? "true" : "false";
    case galen::v1::Finding::kIntValue:
      return absl::StrCat(finding.int_value());
    case galen::v1::Finding::kDoubleValue:
      return absl::StrFormat("%.0f", finding.double_value());
    case galen::v1::Finding::kTextValue:
      return finding.text_value();
    case galen::v1::Finding::kEventValue:
      return absl::StrCat(finding.event_value().code(), "*", finding.event_value().count());
    default:
      return "";
  }
}

// The findings of the checks in the text alone, by finding, without unknown values.
Facts FactsOf(const Form& form, const std::vector<std::string>& checks) {
  static const auto* const kinds =
      new std::shared_ptr<const intake::Kinds>(intake::Kinds::Compile(Shipped()->base()).value());
  const testing::Scratch scratch;
  const std::string directory = scratch.path() + "/bundle";
  EXPECT_TRUE(host::NewBundle(directory, "", {}, absl::UnixEpoch()).ok());
  const std::string prompt =
      form.command.empty() ? "" : absl::StrCat("root@gpu07:~# ", form.command, "\n");
  const intake::Text text = {
      .name = "pasted.txt", .content = absl::StrCat(prompt, form.text), .attached = true};
  const auto incident =
      intake::AddEvidence(directory, intake::Recognise(**kinds, {&text, 1}), {&text, 1}, {});
  EXPECT_TRUE(incident.ok()) << incident.status();
  const auto bundle = host::Bundle::Open(directory).value();
  const LocalHosts hosts({});
  const NodeExecutor executor(hosts, Shipped(), AllChecks(), {.max_parallel = 1});
  Facts facts;
  v1::RunChecksRequest request;
  request.set_bundle(bundle->root());
  for (const std::string& check : checks) request.add_checks(check);
  for (const std::string& node : bundle->nodes()) {
    request.set_node(node);
    const absl::Status ran = executor.RunChecks(
        request, absl::Now() + absl::Minutes(1), [&](const galen::v1::CheckResult& result) {
          for (const galen::v1::Finding& finding : result.findings()) {
            const std::string value = Shown(finding);
            if (!value.empty()) facts[absl::StrCat(result.check(), " ", finding.name())] = value;
          }
        });
    EXPECT_TRUE(ran.ok()) << ran;
  }
  return facts;
}

// Each form has the facts of `wanted`, and facts in two forms are the same.
void ExpectAgreement(const std::map<std::string, Form>& forms,
                     const std::vector<std::string>& checks, const Facts& wanted) {
  Facts all;
  std::map<std::string, std::string> told_by;
  for (const auto& [name, form] : forms) {
    const Facts facts = FactsOf(form, checks);
    for (const auto& [finding, value] : wanted) {
      const auto found = facts.find(finding);
      EXPECT_EQ(found == facts.end() ? "not told" : found->second, value)
          << name << ": " << finding << " of\n"
          << form.text;
    }
    for (const auto& [finding, value] : facts) {
      const auto [known, is_new] = all.try_emplace(finding, value);
      if (is_new) told_by[finding] = name;
      EXPECT_EQ(known->second, value)
          << finding << " of " << name << " and of " << told_by[finding];
    }
  }
}

class FormsOfFacts : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  int Number(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  std::mt19937 random_{GetParam()};
};

TEST_P(FormsOfFacts, EccCountersOfAGpu) {
  const int corrected = Number(0, 500);
  const int uncorrected = Number(0, 3);
  const int ever = uncorrected + Number(0, 20);
  const std::string xml = absl::StrCat(
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
      "<nvidia_smi_log>\n\t<attached_gpus>1</attached_gpus>\n\t<gpu id=\"00000000:3B:00.0\">\n"
      "\t\t<product_name>NVIDIA A100-SXM4-80GB</product_name>\n\t\t<ecc_errors>\n\t\t\t<volatile>\n"
      "\t\t\t\t<dram_correctable>",
      corrected, "</dram_correctable>\n\t\t\t\t<dram_uncorrectable>", uncorrected,
      "</dram_uncorrectable>\n\t\t\t</volatile>\n\t\t\t<aggregate>\n\t\t\t\t<dram_uncorrectable>",
      ever,
      "</dram_uncorrectable>\n\t\t\t</aggregate>\n\t\t</ecc_errors>\n\t</gpu>\n</"
      "nvidia_smi_log>\n");
  const std::string q = absl::StrCat(
      "==============NVSMI LOG==============\n\nAttached GPUs                             : 1\n"
      "GPU 00000000:3B:00.0\n"
      "    Product Name                          : NVIDIA A100-SXM4-80GB\n    ECC Errors\n"
      "        Volatile\n            DRAM Correctable              : ",
      corrected, "\n            DRAM Uncorrectable            : ", uncorrected,
      "\n        Aggregate\n            DRAM Uncorrectable            : ", ever, "\n");
  const std::string csv = absl::StrCat(
      "index, name, pci.bus_id, ecc.errors.corrected.volatile.dram, "
      "ecc.errors.uncorrected.volatile.dram, ecc.errors.uncorrected.aggregate.dram\n"
      "0, NVIDIA A100-SXM4-80GB, 00000000:3B:00.0, ",
      corrected, ", ", uncorrected, ", ", ever, "\n");
  ExpectAgreement({{"XML", {"", xml}},
                   {"XML of a command", {"nvidia-smi -q -x", xml}},
                   {"text", {"nvidia-smi -q -d ECC", q}},
                   {"table", {"", csv}}},
                  {"gpu.ecc"},
                  {{"gpu.ecc dram_correctable_volatile", absl::StrCat(corrected)},
                   {"gpu.ecc dram_uncorrectable_volatile", absl::StrCat(uncorrected)},
                   {"gpu.ecc dram_uncorrectable_aggregate", absl::StrCat(ever)}});
}

TEST_P(FormsOfFacts, LinkOfAGpu) {
  const int width = 1 << Number(0, 4);
  const char* const speed = "16GT/s";
  const std::string q = absl::StrCat(
      "==============NVSMI LOG==============\n\nAttached GPUs                             : 1\n"
      "GPU 00000000:3B:00.0\n"
      "    Product Name                          : NVIDIA A100 80GB PCIe\n    PCI\n"
      "        Bus Id                            : 00000000:3B:00.0\n        GPU Link Info\n"
      "            PCIe Generation\n                Max                       : 4\n"
      "                Current                   : 4\n            Link Width\n"
      "                Max                       : 16x\n                Current                   "
      ": ",
      width, "x\n");
  const std::string csv = absl::StrCat(
      "index, name, pci.bus_id, pcie.link.gen.current, pcie.link.gen.max, "
      "pcie.link.width.current, pcie.link.width.max\n"
      "0, NVIDIA A100 80GB PCIe, 00000000:3B:00.0, 4, 4, ",
      width, ", 16\n");
  const auto lspci = [&](absl::string_view heading) {
    return absl::StrCat(heading, "\n\tLnkCap:\tPort #0, Speed ", speed,
                        ", Width x16, ASPM not supported\n\tLnkSta:\tSpeed ", speed, ", Width x",
                        width, width < 16 ? " (downgraded)" : "", "\n");
  };
  const std::string bare =
      lspci("3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)");
  ExpectAgreement(
      {{"text", {"", q}},
       {"table",
        {"nvidia-smi --query-gpu=index,name,pci.bus_id,pcie.link.gen.current,"
         "pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max --format=csv",
         csv}},
       {"lspci -vv", {"lspci -vv -s 3b:00.0", bare}},
       {"lspci -vvv -nn",
        {"", lspci("3b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 80GB] "
                   "[10de:20b5] (rev a1)")}}},
      {"gpu.pcie_link"},
      {{"gpu.pcie_link width_current", absl::StrCat(width)},
       {"gpu.pcie_link width_max", "16"},
       {"gpu.pcie_link downgraded", width < 16 ? "true" : "false"}});
}

TEST_P(FormsOfFacts, StateOfAPort) {
  const bool active = Number(0, 1) == 1;
  const std::string ibstat = absl::StrCat(
      "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: ",
      active ? "Active" : "Down", "\n\t\tPhysical state: ", active ? "LinkUp" : "Polling",
      "\n\t\tRate: 400\n\t\tBase lid: 7\n\t\tSM lid: 1\n\t\tLink layer: InfiniBand\n");
  const std::string ibstatus = absl::StrCat(
      "Infiniband device 'mlx5_0' port 1 status:\n\tbase lid:\t 0x7\n\tsm lid:\t\t 0x1\n"
      "\tstate:\t\t ",
      active ? "4: ACTIVE" : "1: DOWN", "\n\tphys state:\t ", active ? "5: LinkUp" : "2: Polling",
      "\n\trate:\t\t 400 Gb/sec (4X NDR)\n\tlink_layer:\t InfiniBand\n");
  const std::string link = absl::StrCat(
      "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 7 sm_lid 1 lmc 0 state ",
      active ? "ACTIVE" : "DOWN", " physical_state ", active ? "LINK_UP" : "POLLING", "\n");
  const std::string devinfo = absl::StrCat(
      "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t28.39.1002\n"
      "\tboard_id:\t\t\tMT_0000000838\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n\t\t\tstate:\t\t\t",
      active ? "PORT_ACTIVE (4)" : "PORT_DOWN (1)",
      "\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tsm_lid:\t\t\t1\n\t\t\tport_lid:\t\t7\n"
      "\t\t\tlink_layer:\t\tInfiniBand\n\t\t\tphys_state:\t\t",
      active ? "LINK_UP (5)" : "POLLING (2)", "\n");
  ExpectAgreement({{"ibstat", {"", ibstat}},
                   {"ibstatus", {"", ibstatus}},
                   {"rdma link", {"rdma link show", link}},
                   {"ibv_devinfo", {"ibv_devinfo -v", devinfo}}},
                  {"rdma.link"}, {{"rdma.link state", active ? "ACTIVE" : "DOWN"}});
}

TEST_P(FormsOfFacts, AddressesOfAPort) {
  const int index = Number(1, 7);
  const std::string gids = absl::StrCat(
      "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n"
      "mlx5_0\t1\t0\tfe80:0000:0000:0000:0000:00ff:fe00:0001\t\t\tv1\teth2\nmlx5_0\t1\t",
      index, "\t0000:0000:0000:0000:0000:ffff:c000:0207\t192.0.2.7  \tv2\teth2\nn_gids_found=2\n");
  const std::string devinfo = absl::StrCat(
      "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n"
      "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tlink_layer:\t\tEthernet\n"
      "\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0000:00ff:fe00:0001, RoCE v1\n\t\t\tGID[  ",
      index, "]:\t\t::ffff:192.0.2.7, RoCE v2\n");
  ExpectAgreement(
      {{"show_gids", {"show_gids", gids}}, {"ibv_devinfo", {"ibv_devinfo -v", devinfo}}},
      {"rdma.gid"}, {{"rdma.gid rocev2_ipv4_index", absl::StrCat(index)}});
}

TEST_P(FormsOfFacts, RoomOfAFileSystem) {
  const int size = 100 * Number(1, 9);  // GiB
  const int share = Number(1, 100);
  const int used = size * share / 100;
  const std::int64_t kib = 1 << 20;
  const auto table = [&](absl::string_view heading, absl::string_view type, std::int64_t scale,
                         absl::string_view unit) {
    return absl::StrCat(heading, "\n/dev/sda2 ", type, size * scale, unit, " ", used * scale, unit,
                        " ", (size - used) * scale, unit, " ", share, "% /data\n");
  };
  ExpectAgreement(
      {{"df", {"df", table("Filesystem 1K-blocks Used Available Use% Mounted on", "", kib, "")}},
       {"df -h", {"", table("Filesystem Size Used Avail Use% Mounted on", "", 1, "G")}},
       {"df -hT", {"", table("Filesystem Type Size Used Avail Use% Mounted on", "ext4 ", 1, "G")}},
       {"df -PT",
        {"df -PT", table("Filesystem Type 1024-blocks Used Available Capacity Mounted on", "ext4 ",
                         kib, "")}}},
      {"system.disk"}, {{"system.disk used_pct", absl::StrCat(share)}});
}

TEST_P(FormsOfFacts, MemoryOfAMachine) {
  const int total = 64 * Number(1, 32);  // GiB
  const int available = Number(1, total / 2);
  const auto table = [&](std::int64_t scale, absl::string_view unit) {
    return absl::StrCat(
        "               total        used        free      shared  buff/cache   available\nMem: ",
        total * scale, unit, " ", (total - available) * scale, unit, " ", available * scale, unit,
        " 0 0 ", available * scale, unit, "\nSwap: 0 0 0\n");
  };
  const std::int64_t kib = 1 << 20;
  const std::string meminfo =
      absl::StrCat("MemTotal:       ", total * kib, " kB\nMemFree:        ", available * kib,
                   " kB\nMemAvailable:   ", available * kib,
                   " kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n");
  ExpectAgreement({{"meminfo", {"", meminfo}},
                   {"free -h", {"", table(1, "Gi")}},
                   {"free -m", {"free -m", table(1024, "")}},
                   {"free -g", {"free -g", table(1, "")}},
                   {"free", {"free", table(kib, "")}}},
                  {"system.memory"}, {{"system.memory available_gib", absl::StrCat(available)}});
}

TEST_P(FormsOfFacts, LimitsOfAShell) {
  const std::int64_t locked = 64 * Number(1, 1024);  // KiB
  const int files = 1024 * Number(1, 64);
  const int processes = 4096 * Number(1, 8);
  const std::string bash = absl::StrCat(
      "core file size              (blocks, -c) 0\nmax locked memory           (kbytes, -l) ",
      locked, "\nopen files                          (-n) ", files,
      "\nmax user processes                  (-u) ", processes, "\n");
  const std::string zsh = absl::StrCat(
      "-t: cpu time (seconds)              unlimited\n-l: locked-in-memory size (kbytes)  ", locked,
      "\n-n: file descriptors                ", files, "\n-u: processes                       ",
      processes, "\n");
  const std::string proc = absl::StrFormat(
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max processes             %-20d %-20d processes \n"
      "Max open files            %-20d %-20d files     \n"
      "Max locked memory         %-20d %-20d bytes     \n",
      processes, processes, files, files, locked * 1024, locked * 1024);
  const Facts wanted = {{"job.limits memlock_kib", absl::StrCat(locked)},
                        {"job.limits nofile", absl::StrCat(files)},
                        {"job.limits nproc", absl::StrCat(processes)}};
  ExpectAgreement({{"bash", {"ulimit -a", bash}}, {"zsh", {"", zsh}}, {"proc", {"", proc}}},
                  {"job.limits"}, wanted);
  ExpectAgreement({{"one", {"ulimit -l", absl::StrCat(locked, "\n")}}}, {"job.limits"},
                  {{"job.limits memlock_kib", absl::StrCat(locked)}});
}

TEST_P(FormsOfFacts, ProcessesOnAGpu) {
  const int pid = Number(1000, 99999);
  const int memory = Number(100, 70000);
  const std::string q = absl::StrCat(
      "==============NVSMI LOG==============\n\nAttached GPUs                             : 1\n"
      "GPU 00000000:3B:00.0\n    Product Name                          : NVIDIA A30\n"
      "    Processes\n        GPU instance ID                   : N/A\n"
      "        Compute instance ID               : N/A\n        Process ID                        "
      ": ",
      pid, "\n            Type                          : C\n",
      "            Name                          : python3\n            Used GPU Memory            "
      "   : ",
      memory, " MiB\n");
  const std::string apps = absl::StrCat("pid, process_name, used_gpu_memory [MiB], gpu_bus_id\n",
                                        pid, ", python3, ", memory, " MiB, 00000000:3B:00.0\n");
  const std::string pmon = absl::StrCat(
      "# gpu         pid   type     fb     sm    mem    enc    dec    command\n"
      "# Idx           #    C/G     MB      %      %      %      %    name\n    0      ",
      pid, "     C  ", memory, "     99      7      -      -    python3\n");
  const Facts wanted = {{"gpu.processes processes_per_gpu", "1"}};
  ExpectAgreement(
      {{"text", {"", q}}, {"apps", {"", apps}}, {"pmon", {"nvidia-smi pmon -s um -c 1", pmon}}},
      {"gpu.processes"}, wanted);
}

TEST_P(FormsOfFacts, ListOfProcesses) {
  const int pid = Number(1000, 99999);
  const std::string own = absl::StrCat(
      "    PID    PPID USER     STAT WCHAN                            ELAPSED   RSS %CPU COMMAND "
      "COMMAND\n",
      pid, " 1 ada D nfs_wait 7200 1000 0.0 python3 python3 train.py\n");
  const std::string aux = absl::StrCat(
      "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nada ", pid,
      "  0.0  0.1 9000000  1000 ?        D    10:02   0:01 python3 train.py\n");
  ExpectAgreement(
      {{"ps -eo", {"ps -eo pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args", own}},
       {"ps aux", {"ps aux", aux}}},
      {"system.stuck_processes"}, {});
  Facts waits = FactsOf({"", own}, {"system.stuck_processes"});
  EXPECT_EQ(waits["system.stuck_processes waits_for_network_fs"], "true");
}

TEST_P(FormsOfFacts, AnXid) {
  const int xid = std::vector<int>{48, 63, 74, 79, 94}[static_cast<std::size_t>(Number(0, 4))];
  const std::string message = absl::StrCat("NVRM: Xid (PCI:0000:3b:00): ", xid, ", pid=4242, x");
  ExpectAgreement(
      {{"dmesg", {"dmesg", absl::StrCat("[ 1234.567890] ", message, "\n")}},
       {"dmesg -T", {"", absl::StrCat("[Thu May  7 10:00:00 2026] ", message, "\n")}},
       {"iso", {"", absl::StrCat("2026-05-07T10:00:00,000000+00:00 ", message, "\n")}},
       {"syslog", {"", absl::StrCat("May  7 10:00:00 gpu07 kernel: ", message, "\n")}},
       {"short-iso", {"", absl::StrCat("2026-05-07T10:00:00+0000 gpu07 kernel: ", message, "\n")}},
       {"no time", {"", absl::StrCat(message, "\n")}},
       {"quoted", {"", absl::StrCat(">[ 1234.567890] ", message, "\n>[ 1235.1] nvme nvme0: x\n")}}},
      {"system.kernel_log"}, {{"system.kernel_log xid", absl::StrCat(xid, "*1")}});
}

INSTANTIATE_TEST_SUITE_P(Drawn, FormsOfFacts, ::testing::Range(1U, 9U));

}  // namespace forms_of_facts_test
}  // namespace galen::node
