#include "services/node/checks/system/kernel_patterns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "re2/re2.h"
#include "re2/set.h"

namespace galen::node {
namespace {

using F = EventFamily;

// `platform` is false where the driver reports what a program did (a bad access, a killed
// channel) or what follows from an earlier event.
constexpr KernelPattern kPatterns[] = {
    // NVIDIA. The codes of Xids decide themselves whether they speak of the platform.
    {F::kXid, "", R"(NVRM: Xid \((?:PCI:)?(?P<pci>[0-9A-Fa-f:.]+)[^)]{0,40}\): (?P<code>\d+))",
     true},
    {F::kSxid, "",
     R"((?P<subject>nvidia-nvswitch\d+): SXid \((?:PCI:)?(?P<pci>[0-9A-Fa-f:.]+)\): \d+, (?P<code>Fatal|Non-fatal|Correctable))",
     true},
    {F::kNvrm, "fallen_off_bus",
     R"(NVRM:.*GPU (?:at )?(?:PCI:)?(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f.]{2,4}).*fallen off the bus)",
     true},
    {F::kNvrm, "fallen_off_bus", R"(NVRM:.*fallen off the bus)", true},
    {F::kNvrm, "installed_gpu",
     R"(NVRM: The NVIDIA GPU (?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f.]{2,4}))", false},
    {F::kNvrm, "rm_init_failed",
     R"(NVRM: (?:GPU (?P<pci>[0-9A-Fa-f:.]+): )?(?:rm_init_adapter|RmInitAdapter) failed)", true},
    {F::kNvrm, "api_mismatch", R"(NVRM: API mismatch)", false},
    {F::kNvrm, "probe_conflict", R"(NVRM: The NVIDIA probe routine was not called)", false},
    {F::kNvrm, "bar_invalid", R"(NVRM: BAR\d is 0M @ 0x0 \((?:PCI:)?(?P<pci>[0-9A-Fa-f:.]+)\))",
     true},
    {F::kNvrm, "gsp_timeout",
     R"(NVRM: .*(?:GSP RM heartbeat timed out|Timeout after \d+s of waiting for RPC response from GPU\d+ GSP))",
     true},
    {F::kNvrm, "nvlink_rx_detect",
     R"(NVRM: knvlink(?:UpdatePostRxDetectLinkMask|DiscoverPostRxDetLinks)_\w+: .*[Ff]ailed)",
     true},
    {F::kNvrm, "nvlink_training", R"(NVRM: nvlink: link \d+ training timed out)", true},
    {F::kNvrm, "module_rejected",
     R"(Lockdown: .*unsigned module loading is restricted|Loading of (?:unsigned module|module with unavailable key) is rejected|Key was rejected by service)",
     false},
    {F::kNvrm, "hmm_fault", R"(RIP: .*uvm_hmm_va_space_initialize)", false},
    {F::kNvrm, "device_inaccessible",
     R"(nvidia (?P<pci>[0-9a-f:.]+): Unable to change power state from D3cold to D0, device inaccessible)",
     true},
    {F::kNvrm, "probe_failed", R"(nvidia: probe of (?P<pci>[0-9a-f:.]+) failed with error)", false},

    // AMD.
    {F::kAmdgpu, "mes_no_response",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?MES(?:\(\d+\))? failed to respon)", true},
    {F::kAmdgpu, "mes_unrecoverable",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?MES might be in (?:an )?unrecoverable state)", true},
    {F::kAmdgpu, "smu_not_done",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?SMU: I'm not done with your previous command)", true},
    {F::kAmdgpu, "umc_uncorrectable",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?\b[1-9]\d* (?:new )?uncorrectable hardware errors detected in (?:total in )?umc)",
     true},
    {F::kAmdgpu, "ras_uncorrectable",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?\b[1-9]\d* (?:new )?uncorrectable hardware errors detected)",
     true},
    {F::kAmdgpu, "poison_consumed",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?poison is consumed by client)", true},
    {F::kAmdgpu, "bad_page_threshold",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?(?:Saved bad pages \d+ reaches threshold|RAS records:\d+ exceed threshold|GPU reported bad-page threshold))",
     true},
    {F::kAmdgpu, "device_lost", R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?device lost from bus!)",
     true},
    {F::kAmdgpu, "init_failed",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?(?:Fatal error during GPU init|hw_init of IP block <\w+> failed))",
     true},
    {F::kAmdgpu, "over_temperature",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?(?:ERROR: GPU over temperature range\(SW CTF\)|ERROR: GPU HW Critical Temperature Fault))",
     true},
    {F::kAmdgpu, "xgmi_error",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?(?:XGMI|xgmi|WAFL|wafl).*(?:[Ee]rror|[Ff]ail|uncorrectable|[Cc]rc))",
     true},
    {F::kAmdgpu, "gpu_reset_failed",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?(?:GPU reset(?:\(\d+\))? failed|GPU Recovery Failed: -?\d+|GPU reset end with ret = -\d+|Mode2 reset failed))",
     true},
    {F::kAmdgpu, "ring_timeout",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?ring [a-z0-9_.]+ timeout, signaled seq=)", true},
    {F::kAmdgpu, "hws_hang",
     R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)?(?:qcm fence wait loop timeout|The cp might be in an unrecoverable state))",
     true},
    {F::kAmdgpu, "page_fault",
     R"(amdgpu (?P<pci>[0-9a-f:.]+): .*\[(?:gfxhub|mmhub)\d*\] ?(?:retry|no-retry)? ?page fault)",
     false},
    {F::kAmdgpu, "gpu_reset", R"((?:amdgpu (?P<pci>[0-9a-f:.]+): .*)GPU reset begin)", false},
    {F::kAmdgpu, "tlb_timeout", R"(amdgpu: invalidate_tlbs: timeout on vmid)", false},

    // PCI Express.
    {F::kAer, "fatal",
     R"(AER: (?:Multiple )?Uncorrect(?:ed|able) \(Fatal\) error (?:message )?received: (?P<pci>[0-9a-f:.]+))",
     true},
    {F::kAer, "nonfatal",
     R"(AER: (?:Multiple )?Uncorrect(?:ed|able) \(Non-Fatal\) error (?:message )?received: (?P<pci>[0-9a-f:.]+))",
     true},
    {F::kAer, "correctable",
     R"(AER: (?:Multiple )?Correct(?:ed|able) error (?:message )?received: (?P<pci>[0-9a-f:.]+))",
     false},
    {F::kAer, "dpc",
     R"(pcieport (?P<pci>[0-9a-f:.]+): DPC: (?:containment event|unmasked uncorrectable error))",
     true},
    {F::kAer, "slot_down",
     R"(pcieport (?P<pci>[0-9a-f:.]+): pciehp: Slot\([0-9-]+\): (?:Link Down|Card not present))",
     true},

    // Adapters for RDMA.
    {F::kNic, "health",
     R"(mlx5_core (?P<pci>[0-9a-f:.]*[0-9a-f]):? .*(?:health (?:compromised|poll failed)|device's health|Fatal error|assert_var\[0\] 0x[1-9a-f]|firmware internal error|handling bad device))",
     true},
    {F::kNic, "cmd_timeout",
     R"((?:mlx5_core (?P<pci>[0-9a-f:.]*[0-9a-f]):? .*)?(?:wait_func|mlx5_cmd_comp_handler|cmd_work_handler).*(?:timeout|[Ll]eaking))",
     true},
    {F::kNic, "watchdog",
     R"(NETDEV WATCHDOG: (?P<subject>[\w.-]+) \((?:mlx5_core|mlx4_core|bnxt_en|irdma|ice|efa|ionic)\))",
     true},
    {F::kNic, "cmd_error", R"((?:mlx5_core (?P<pci>[0-9a-f:.]*[0-9a-f]):? .*)?mlx5_cmd_out_err)",
     false},
    {F::kNic, "module_error",
     R"((?:mlx5_core (?P<pci>[0-9a-f:.]*[0-9a-f]):? .*)?Port module event\[(?:error|warning)\])",
     false},
    {F::kNic, "insufficient_power",
     R"((?:mlx5_core (?P<pci>[0-9a-f:.]*[0-9a-f]):? .*)?Detected insufficient power on the PCIe slot)",
     false},
    {F::kNic, "link_down",
     R"((?:mlx5_core|mlx4_core|bnxt_en|ionic) (?P<pci>[0-9a-f:.]+) (?P<subject>[\w.-]+): (?:NIC )?[Ll]ink (?:is )?[Dd]own)",
     true},
    {F::kNic, "link_up",
     R"((?:mlx5_core|mlx4_core|bnxt_en|ionic) (?P<pci>[0-9a-f:.]+) (?P<subject>[\w.-]+): (?:NIC )?[Ll]ink (?:is )?[Uu]p)",
     false},

    // Drives and file systems.
    {F::kIoError, "io_error", R"(I/O error,? (?:on )?dev(?:ice)? (?P<subject>[\w-]+))", true},
    {F::kIoError, "nvme_timeout",
     R"(nvme (?P<subject>nvme\d+): I/O (?:tag )?\d+ .*(?:timeout|abort))", true},
    {F::kIoError, "nvme_down",
     R"(nvme (?P<subject>nvme\d+): (?:controller is down|Device not ready|Removing after probe failure|Disabling device after reset failure))",
     true},
    {F::kIoError, "filesystem_error",
     R"((?:EXT4-fs error|XFS) \((?:device )?(?P<subject>[\w-]+)\)?:? ?.*(?:error|I/O error|Corruption))",
     true},
    {F::kIoError, "remounted_read_only",
     R"(EXT4-fs \((?P<subject>[\w-]+)\): Remounting filesystem read-only)", true},

    // Memory. The scope of a kill stands in the message.
    {F::kOomKill, "constraint", R"(oom-kill:constraint=(?P<code>CONSTRAINT_\w+))", false},
    {F::kOomKill, "memcg",
     R"([Mm]emory cgroup out of memory.* Kill(?:ed)? process (?P<subject>\d+) \((?P<code>[^)]*)\))",
     false},
    {F::kOomKill, "global",
     R"(Out of memory.* Kill(?:ed)? process (?P<subject>\d+) \((?P<code>[^)]*)\))", false},
    {F::kOomKill, "killed", R"(^Killed process (?P<subject>\d+) \((?P<code>[^)]*)\))", false},

    // The kernel itself.
    {F::kLockup, "soft_lockup", R"(watchdog: BUG: soft lockup|BUG: soft lockup - CPU)", true},
    {F::kLockup, "hard_lockup", R"(Watchdog detected hard LOCKUP|NMI watchdog: .*hard LOCKUP)",
     true},
    {F::kLockup, "rcu_stall",
     R"(rcu: INFO: rcu_\w+ .*(?:self-)?detected (?:expedited )?stall|INFO: rcu_\w+ (?:self-)?detected (?:expedited )?stall)",
     true},
    {F::kLockup, "panic", R"(Kernel [Pp]anic - not syncing)", true},
    {F::kHungTask, "hung_task",
     R"(INFO: task (?P<subject>[^ ]+) blocked for more than \d+ seconds)", false},

    // Processors and memory modules.
    {F::kMachineCheck, "ce", R"(EDAC (?:\w+ )?MC(?P<subject>\d+): [1-9]\d* CE)", false},
    {F::kMachineCheck, "ue", R"(EDAC (?:\w+ )?MC(?P<subject>\d+): [1-9]\d* UE)", true},
    {F::kMachineCheck, "uncorrected",
     R"(mce: \[Hardware Error\]: .*(?:Uncorrected|Fatal|\bUC\b)|MC\d+_STATUS\[[^\]]*\|UC\||Machine check: Processor context corrupt|Fatal machine check)",
     true},
    {F::kMachineCheck, "fatal_ghes", R"(\[Hardware Error\]: event severity: fatal)", true},

    // Translation of addresses.
    {F::kIommuFault, "io_page_fault",
     R"((?:(?P<pci>[0-9a-f:.]+): )?AMD-Vi: Event logged \[IO_PAGE_FAULT)", false},
    {F::kIommuFault, "dmar_fault",
     R"(DMAR: \[DMA (?:Write|Read)[^\]]*\] Request device \[(?P<pci>[0-9a-f:.]+)\])", false},
    {F::kBar, "no_space",
     R"(pci (?P<pci>[0-9a-f:.]+): BAR \d+.*(?:no space|can't assign|failed to assign))", false},

    // Servers, denials, power.
    {F::kNfs, "not_responding", R"((?:nfs|NFS): server (?P<subject>\S+) not responding)", false},
    {F::kNfs, "ok", R"((?:nfs|NFS): server (?P<subject>\S+) OK)", false},
    {F::kDenial, "avc",
     R"re(avc:\s+denied .*name="(?P<subject>nvidia[\w-]*|dri|kfd|renderD\d+|card\d+)")re", false},
    {F::kDenial, "apparmor", R"re(apparmor="DENIED".*name="[^"]*/(?P<subject>nvidia[\w-]*|kfd)")re",
     false},
    {F::kPower, "suspend",
     R"(PM: suspend entry|PM: hibernation: hibernation entry|PM: suspend exit)", false},
    {F::kPower, "shutdown",
     R"(reboot: (?:Restarting system|Power down)|systemd-shutdown\[1\]: (?:Rebooting|Powering off))",
     false},
};

struct Compiled {
  std::unique_ptr<RE2::Set> set;
  std::vector<std::unique_ptr<RE2>> each;
};

const Compiled& Patterns() {
  static const Compiled* const compiled = [] {
    auto* made = new Compiled;
    RE2::Options options;
    options.set_log_errors(false);
    options.set_encoding(RE2::Options::EncodingLatin1);  // logs hold any bytes
    options.set_max_mem(std::int64_t{64} << 20);
    made->set = std::make_unique<RE2::Set>(options, RE2::UNANCHORED);
    for (const KernelPattern& pattern : kPatterns) {
      const re2::StringPiece text(pattern.pattern.data(), pattern.pattern.size());
      made->set->Add(text, nullptr);
      made->each.push_back(std::make_unique<RE2>(text, options));
    }
    made->set->Compile();
    return made;
  }();
  return *compiled;
}

}  // namespace

absl::Span<const KernelPattern> KernelPatterns() { return kPatterns; }

void MatchKernelPatterns(absl::string_view line, std::vector<int>* matches) {
  matches->clear();
  Patterns().set->Match(re2::StringPiece(line.data(), line.size()), matches);
  std::sort(matches->begin(), matches->end());
}

KernelGroups ExtractKernelGroups(int index, absl::string_view line) {
  const RE2& pattern = *Patterns().each[static_cast<std::size_t>(index)];
  const int groups = pattern.NumberOfCapturingGroups();
  std::vector<re2::StringPiece> found(static_cast<std::size_t>(groups) + 1);
  KernelGroups result;
  const re2::StringPiece text(line.data(), line.size());
  if (!pattern.Match(text, 0, text.size(), RE2::UNANCHORED, found.data(), groups + 1)) {
    return result;
  }
  for (const auto& [name, number] : pattern.NamedCapturingGroups()) {
    const re2::StringPiece piece = found[static_cast<std::size_t>(number)];
    const absl::string_view value(piece.data(), piece.size());
    if (name == "pci") result.pci = value;
    if (name == "code") result.code = value;
    if (name == "subject") result.subject = value;
  }
  return result;
}

}  // namespace galen::node
