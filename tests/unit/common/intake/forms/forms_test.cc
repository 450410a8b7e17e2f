#include "common/intake/forms/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "forms_testing.h"

namespace galen::intake::forms_test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::WhenSorted;

// A little of each form, so that the damaged versions below are close to valid ones.
constexpr char kMixture[] = R"(
GPU 00000000:1B:00.0
    Product Name      : NVIDIA A100
    Remapped Rows
        Pending       : No
    Processes
        Process ID    : 12
            Type      : C
|   0  NVIDIA A30                     On  |   00000000:21:00.0 Off |                    0 |
| N/A   33C    P0             31W /  165W |   10121MiB /  24576MiB |     97%      Default |
|    0   N/A  N/A      4242      C   python3 serve.py                            10112MiB |
index, name, clocks_event_reasons.active, ecc.errors.uncorrected.volatile.total
0, NVIDIA A30, 0x0000000000000084, 3
Filesystem      Size  Used Avail Use% Mounted on
/dev/sda2       1.5T  512G  1.0T  34% /
Filesystem     Inodes IUsed IFree IUse% Mounted on
/dev/sda2        1.2M  600K  600K   50% /
/dev/sda2 on / type ext4 (rw,relatime)
              total        used        free      shared  buff/cache   available
Mem:          251Gi       1.5Gi       240Gi         9Mi         9Gi       249Gi
max locked memory           (kbytes, -l) 8192
nvidia              56758272  90 nvidia_uvm,nvidia_modeset
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
ada         4711 99.7  1.2 9000000 99999 pts/0    Dl+  10:02 120:01 python3 train.py
2: eth0: <BROADCAST,UP> mtu 1500 qdisc mq state UP group default qlen 1000
    inet 192.0.2.7/24 brd 192.0.2.255 scope global eth0
    RX:  bytes packets errors dropped  missed   mcast
        123456     789      3       4       0       5
default via 192.0.2.1 dev eth0 proto dhcp metric 100
        nexthop via 192.0.2.1 dev eth0 weight 1
eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        inet 192.0.2.7  netmask 255.255.254.0  broadcast 192.0.3.255
        RX errors 1  dropped 2  overruns 0  frame 0
torch                    2.5.1+cu124
x @ https://example.org/x-1.0-cp311-cp311-linux_x86_64.whl
ii  libc6:amd64            2.35-0ubuntu3        amd64        GNU C Library
bash/jammy,now 5.1-6 amd64 [installed,automatic]
crw-rw-rw- 1 root root 195,   0 Mar  1 08:00 /dev/nvidia0
3b:00.0 3D controller: NVIDIA Corporation AD102GL [L40] (rev a1)
        LnkSta: Speed 16GT/s, Width x16
Infiniband device 'mlx5_2' port 1 status:
        state:           4: ACTIVE
mlx5_0  1  3  0000:0000:0000:0000:0000:ffff:c000:0207  192.0.2.7  v2  eth2
link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 state ACTIVE physical_state LINK_UP
Allocatable:
  nvidia.com/gpu:     7
export NCCL_IB_HCA='mlx5_0'
GPU[0]          : PCIe Replay Count: 2
GPU: 0
    POWER:
        SOCKET_POWER: 140 W
Record:      1
Date/Time:   05/16/2019 10:26:35
Source:      system
Description: The power input for power supply 1 is lost.
Reference ID    : CB00710F (ntp.example.org)
System time     : 0.000006523 seconds slow of NTP time
Leap status     : Normal
timestamp,temperature.gpu [C]
2024/03/01 10:00:00.000,40
2024/03/01 10:00:10.000,50
#Date       Time        gpu    pwr  gtemp
 20240301   10:00:00      0     37     19
 20240301   10:00:01      0     39     20
hca_id:	mlx5_0
uid=1000(mk) gid=1000(mk) groups=1000(mk),44(video)
-P INPUT DROP
-A INPUT -i lo -j ACCEPT
apiVersion: v1
kind: Pod
metadata:
  name: trainer-0
status:
  phase: Failed
Operational Info
----------------
State                              : Active
pid, process_name, used_gpu_memory [MiB], gpu_bus_id
4242, python3, 100 MiB, 00000000:3B:00.0
Current mode:                   enforcing
● nvidia-fabricmanager.service - NVIDIA fabric manager service
     Active: failed (Result: exit-code) since Mon 2024-03-04 10:00:00 UTC; 2h ago
System clock synchronized: no
Linux gpu07 6.8.0-31-generic #31-Ubuntu SMP x86_64 GNU/Linux
0    39.0c           41.0W   1700Mhz 1600Mhz 0%    auto  300.0W    9%   71%
)";

// No text expands to more than this.
void ExpectModest(absl::string_view form, absl::string_view text, absl::string_view command) {
  const absl::StatusOr<Converted> converted = Convert(form, text, command);
  if (!converted.ok()) {
    EXPECT_EQ(converted.status().code(), absl::StatusCode::kInvalidArgument) << form;
    return;
  }
  std::size_t size = converted->text.size();
  for (const auto& [path, content] : converted->files) {
    EXPECT_TRUE(absl::StartsWith(path, "/")) << path;
    EXPECT_FALSE(absl::StrContains(path, "/../")) << path;
    size += path.size() + content.size();
  }
  size += 64 * converted->samples.size();
  EXPECT_GT(size, 0u) << form;
  EXPECT_LE(size, 40 * text.size() + 65536) << form;
}

TEST(Forms, AreThoseThatTheKnowledgeNames) {
  const std::vector<absl::string_view> forms = Forms();
  EXPECT_THAT(forms, WhenSorted(ElementsAreArray(forms)));
  EXPECT_THAT(
      forms,
      IsSupersetOf({"nvidia_smi_q", "nvidia_smi_table", "nvidia_smi_csv", "df",       "df_inodes",
                    "free",         "ulimit",           "lsmod",          "mount",    "ps",
                    "ip_addr",      "ip_link",          "ip_route",       "ifconfig", "pip",
                    "dpkg_l",       "apt_list",         "ls_dev",         "lspci",    "ibstatus",
                    "show_gids",    "rdma_link",        "kube_node",      "env",      "rocm_smi"}));
}

TEST(Convert, AnUnknownFormIsNotFound) {
  EXPECT_EQ(Convert("xyz", "a\n", "").status().code(), absl::StatusCode::kNotFound);
}

TEST(Convert, EmptyAndBinaryTextsAreRefused) {
  for (const absl::string_view form : Forms()) {
    for (const absl::string_view text : {absl::string_view(""), absl::string_view(" \n\t\n"),
                                         absl::string_view("\x7f"
                                                           "ELF\x02\x01\x01\0\0",
                                                           9),
                                         absl::string_view("no form of any program\n")}) {
      EXPECT_TRUE(IsRefused(form, text)) << form << ": " << text;
    }
  }
}

TEST(Convert, EveryFormFindsItsLinesAmongOthers) {
  for (const absl::string_view form : Forms()) {
    EXPECT_TRUE(Convert(form, kMixture, "").ok())
        << form << ": " << Convert(form, kMixture, "").status();
  }
}

TEST(Convert, LineEndsOfWindowsChangeNothing) {
  const std::string windows = absl::StrJoin(absl::StrSplit(kMixture, '\n'), "\r\n");
  for (const absl::string_view form : Forms()) {
    EXPECT_EQ(TextOf(form, windows), TextOf(form, kMixture)) << form;
  }
}

TEST(Convert, EveryPieceOfATextIsHarmless) {
  const absl::string_view text = kMixture;
  for (const absl::string_view form : Forms()) {
    for (std::size_t at = 0; at < text.size(); at += 37) {
      ExpectModest(form, text.substr(0, at), "");
      ExpectModest(form, text.substr(at), "");
    }
  }
}

TEST(Convert, DamagedTextsAreHarmless) {
  std::mt19937 random(7);
  const auto number = [&](std::size_t below) { return static_cast<std::size_t>(random()) % below; };
  for (int round = 0; round < 60; ++round) {
    std::string text = kMixture;
    for (int i = 0; i < 40; ++i) {
      const std::size_t at = number(text.size());
      switch (number(4)) {
        case 0:
          text[at] = static_cast<char>(1 + number(255));
          break;
        case 1:
          text.erase(at, number(20));
          break;
        case 2:
          text.insert(at, text.substr(number(text.size()), number(60)));
          break;
        default:
          text.insert(at, 1, "|:/[](){}<>=-, \t\n\"'\\%"[number(22)]);
          break;
      }
    }
    for (const absl::string_view form : Forms()) ExpectModest(form, text, "");
  }
}

TEST(Convert, LargeAndMonotonousTextsAreHarmless) {
  std::vector<std::string> texts;
  for (const absl::string_view line : absl::StrSplit(kMixture, '\n', absl::SkipEmpty())) {
    std::string text;
    for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, line, "\n");
    texts.push_back(std::move(text));
  }
  for (const char c : {'a', '|', ' ', '0', ',', ':', '[', '/'}) texts.emplace_back(100000, c);
  for (const absl::string_view form : Forms()) {
    for (const std::string& text : texts) ExpectModest(form, text, "");
  }
}

TEST(Convert, AHostileCommandIsHarmless) {
  for (const absl::string_view form : Forms()) {
    for (const std::string& command :
         {std::string("'\"|&&;<>"), std::string(100000, '|'), std::string(100000, 'x'),
          std::string("nvidia-smi -i 99999999999999999999"), std::string("nvidia-smi -i -1"),
          std::string("df -i ps aux lspci -s"), std::string("ulimit -"), std::string("ulimit ''"),
          std::string("ps -o , -o ''"), std::string("nvidia-smi --query-gpu=,,,,")}) {
      ExpectModest(form, kMixture, command);
    }
  }
}

}  // namespace
}  // namespace galen::intake::forms_test
