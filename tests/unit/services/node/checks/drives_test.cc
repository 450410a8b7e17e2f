#include "services/node/checks/system/drives.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/host/fake_host.h"
#include "tests/unit/services/node/checks/check_testing.h"
#include "tests/unit/services/node/checks/fixtures.h"

namespace galen::node {
namespace {

using ::galen::testing::FakeHost;
using ::testing::HasSubstr;

constexpr char kDmesg[] = "dmesg --time-format iso";

struct DriveCase {
  const char* file;
  const char* fault;  // part of the message; "" for a healthy drive
};

TEST(Smartctl, FaultsOfRealReportsAreSeenAndHealthyDrivesAreLeftAlone) {
  GALEN_NEED_FIXTURES();
  for (const DriveCase& one : {
           DriveCase{"gcm-cache_slot2_bad_smartdata-nvme0.json", ""},
           DriveCase{"gcm-cache_slot2_bad_smartdata-nvme1.json", ""},
           DriveCase{"gcm-cache_slot2_bad_smartdata-nvme3.json", "implausible"},
           DriveCase{"gcm-learn_bad_nvme9-nvme2.json", ""},
           DriveCase{"gcm-learn_bad_nvme9-nvme9.json", "spare capacity 0 % below"},
           DriveCase{"gcm-learn_good-nvme0.json", ""},
           DriveCase{"gcm-learn_good-nvme2.json", ""},
           DriveCase{"gcm-learn_missing_smartdata-nvme7.json", "Health Information failed"},
           DriveCase{"telegraf-nvme.json", ""},
           DriveCase{"telegraf-scsi.json", ""},
       }) {
    const auto drive = ParseSmartctl(ReadFixture(std::string("smartctl/") + one.file));
    ASSERT_TRUE(drive.ok()) << one.file << ": " << drive.status();
    if (*one.fault == '\0') {
      EXPECT_EQ(FaultOf(*drive), "") << one.file;
    } else {
      EXPECT_THAT(FaultOf(*drive), HasSubstr(one.fault)) << one.file;
    }
  }
  const auto text = ParseSmartctlText(ReadFixture("smartctl/insights-standard-drive.txt"));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->passed, true);
  EXPECT_EQ(FaultOf(*text), "");
}

TEST(Smartctl, OtherTextsAreRefused) {
  EXPECT_FALSE(ParseSmartctl("{\"device\": 1}").ok());
  EXPECT_FALSE(ParseSmartctl("smartctl 7.2").ok());
  EXPECT_FALSE(ParseSmartctlText("{}").ok());
}

TEST(Mdstat, DegradedAndInactiveArraysOfARealMachineAreCounted) {
  GALEN_NEED_FIXTURES();
  int degraded = 0;
  for (const MdArray& array : ParseMdstat(ReadFixture("procfs/procfs-mdstat"))) {
    degraded += IsDegraded(array) ? 1 : 0;
    // A container of a firmware RAID, which holds md126.
    if (array.name == "md219") {
      EXPECT_TRUE(array.container);
      EXPECT_FALSE(IsDegraded(array));
    }
    if (array.name == "md126") {
      EXPECT_FALSE(array.container);
    }
  }
  EXPECT_EQ(degraded, 4);  // md4, md6, md7, md42
  const auto arrays = ParseMdstat("md0 : active raid1 a[0] b[1]\n 10 blocks [2/2] [UU]\n");
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].present, arrays[0].wanted);
}

TEST(Mdstat, AnArrayThatIsBrokenIsDegradedAndAMissingMemberOfAContainedOneCounts) {
  const auto arrays = ParseMdstat(
      "md0 : broken raid0 sdb[1] sdc[0]\n      1855870976 blocks super 1.2 512k chunks\n"
      "md126 : inactive sdb[1]\n      1855870976 blocks super external:/md127/0\n"
      "md125 : inactive sdb[1]\n      1855870976 blocks super external:-md127/1\n"
      "md127 : inactive sdb[1](S)\n      5928 blocks super external:ddf\n");
  ASSERT_EQ(arrays.size(), 4u);
  EXPECT_TRUE(IsDegraded(arrays[0]));
  EXPECT_TRUE(IsDegraded(arrays[1]));
  EXPECT_TRUE(IsDegraded(arrays[2]));
  EXPECT_FALSE(IsDegraded(arrays[3]));
}

TEST(Drives, IoErrorsAndARemountOfThatDeviceAreSeen) {
  FakeHost host;
  host.AddCommand(kDmesg,
                  "2024-05-06T07:08:09,000000+00:00 blk_update_request: I/O error, dev nvme1n1, "
                  "sector 5 op 0x0:(READ)\n"
                  "2024-05-06T07:08:10,000000+00:00 EXT4-fs (nvme1n1p1): Remounting filesystem "
                  "read-only\n");
  host.AddFile("/proc/mounts",
               "/dev/nvme0n1p2 / ext4 rw 0 0\n/dev/nvme1n1p1 /scratch ext4 ro 0 0\n"
               "/dev/sr0 /media iso9660 ro 0 0\n");
  const auto output = CheckDrives({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "io_errors", "disk:nvme1n1"), "1");
  EXPECT_EQ(ValueOf(*output, "read_only", "mount:/scratch"), "true");
  EXPECT_EQ(ValueOf(*output, "read_only", "mount:/"), "false");
  // Mounted so by intent.
  EXPECT_EQ(ValueOf(*output, "read_only", "mount:/media"), "false");
  EXPECT_EQ(ValueOf(*output, "smart_fault"), "?");
}

TEST(Drives, WhatSmartctlCouldNotOpenIsUnknownAndNoFault) {
  for (const char* complaint :
       {"Smartctl open device: /dev/sda failed: DELL or MegaRaid controller, please try adding '-d "
        "megaraid,N'",
        "/dev/sda: Unable to detect device type", "/dev/sda: Unknown USB bridge [0x0bda:0x9210]"}) {
    FakeHost host;
    host.AddCommand("smartctl -a -j /dev/sda",
                    std::string(R"({"smartctl": {"exit_status": 2, "messages": [{"string": ")") +
                        complaint +
                        R"(", "severity": "error"}]}, "device": {"name": "/dev/sda"}})");
    host.AddCommand("smartctl -a /dev/sda",
                    std::string("smartctl 7.2 2020-12-30\n") + complaint + "\n");
    const auto output = CheckDrives({host, RepositoryKnowledge()});
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(ValueOf(*output, "smart_fault", "disk:sda"), "?") << complaint;
    EXPECT_EQ(ValueOf(*output, "smart_fault"), "?") << complaint;
  }
}

TEST(Drives, AReadThatFailedIsAFault) {
  GALEN_NEED_FIXTURES();
  FakeHost host;
  host.AddCommand("smartctl -a -j /dev/nvme7",
                  ReadFixture("smartctl/gcm-learn_missing_smartdata-nvme7.json"));
  EXPECT_THAT(ValueOf(*CheckDrives({host, RepositoryKnowledge()}), "smart_fault", "disk:nvme7"),
              HasSubstr("Health Information failed"));
}

TEST(Drives, APathWithoutADeviceNodeIsNotAsked) {
  FakeHost host;
  host.SetLive(true);
  host.AddFile("/sys/block/nvme0c0n1/hidden", "1\n").AddFile("/sys/block/nvme0n1/hidden", "0\n");
  host.AddCommand("smartctl -a -j /dev/nvme0c0n1",
                  R"({"smartctl": {"messages": [{"string": "no such device", "severity": "error"}]},
                      "device": {"name": "/dev/nvme0c0n1"}})");
  host.AddCommand("smartctl -a -j /dev/nvme0n1",
                  R"({"smartctl": {}, "device": {"name": "/dev/nvme0n1"}})");
  const auto output = CheckDrives({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "smart_fault", "disk:nvme0n1"), "none");
  EXPECT_THAT(output->message, HasSubstr("1 asked"));
}

TEST(Drives, AControllerThatIsBackIsNotMissing) {
  const std::string down =
      "nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10\n";
  const std::string removed = "nvme nvme0: Removing after probe failure status: -19\n";
  FakeHost host;
  host.AddCommand(kDmesg, down);
  // Only this line reports a reset, which mostly succeeds.
  EXPECT_EQ(ValueOf(*CheckDrives({host, RepositoryKnowledge()}), "drives_missing"), "?");
  EXPECT_EQ(ValueOf(*CheckDrives({host, RepositoryKnowledge()}), "io_errors", "disk:nvme0"), "1");
  host.AddCommand(kDmesg, down + removed);
  EXPECT_EQ(ValueOf(*CheckDrives({host, RepositoryKnowledge()}), "drives_missing"), "1");
  host.AddFile("/sys/bus/pci/devices/0000:01:00.0/class", "0x010802\n");
  host.AddFile("/sys/class/nvme/nvme0", "");
  EXPECT_EQ(ValueOf(*CheckDrives({host, RepositoryKnowledge()}), "drives_missing"), "0");
}

TEST(Drives, ADriveThatMadeNoDeviceIsMissing) {
  FakeHost host;
  host.AddCommand(kDmesg, "2024-05-06T07:08:09,000000+00:00 all is well\n");
  host.AddFile("/sys/bus/pci/devices/0000:01:00.0/class", "0x010802\n");
  host.AddFile("/sys/bus/pci/devices/0000:02:00.0/class", "0x010802\n");
  host.AddFile("/sys/class/nvme/nvme0", "");
  const auto output = CheckDrives({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(ValueOf(*output, "drives_missing"), "1");
  EXPECT_EQ(ValueOf(*output, "io_errors"), "0");
}

TEST(Drives, AControllerThatIsGivenAwayIsNotMissing) {
  FakeHost host;
  for (const char* function : {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0"}) {
    host.AddFile(std::string("/sys/bus/pci/devices/") + function + "/class", "0x010802\n");
  }
  host.AddFile("/sys/bus/pci/devices/0000:01:00.0/uevent", "DRIVER=nvme\nPCI_CLASS=10802\n");
  host.AddFile("/sys/bus/pci/devices/0000:02:00.0/uevent", "DRIVER=vfio-pci\nPCI_CLASS=10802\n");
  host.AddFile("/sys/bus/pci/devices/0000:03:00.0/uevent", "PCI_CLASS=10802\n");
  host.AddFile("/sys/class/nvme/nvme0/transport", "pcie\n");
  host.AddCommand(kDmesg, "");
  EXPECT_EQ(ValueOf(*CheckDrives({host, RepositoryKnowledge()}), "drives_missing"), "1");
  host.AddFile("/sys/class/nvme/nvme1/transport", "pcie\n");
  EXPECT_EQ(ValueOf(*CheckDrives({host, RepositoryKnowledge()}), "drives_missing"), "0");
}

TEST(Drives, AControllerOverANetworkStandsForNoneOfTheBus) {
  FakeHost host;
  host.AddFile("/sys/bus/pci/devices/0000:01:00.0/class", "0x010802\n");
  host.AddFile("/sys/class/nvme/nvme0/transport", "rdma\n");
  host.AddCommand(kDmesg, "");
  EXPECT_EQ(ValueOf(*CheckDrives({host, RepositoryKnowledge()}), "drives_missing"), "1");
}

TEST(Drives, ACapturedReportIsFoundWhateverItsDisk) {
  GALEN_NEED_FIXTURES();
  FakeHost host;
  host.AddCommand("smartctl -a -j /dev/nvme9",
                  ReadFixture("smartctl/gcm-learn_bad_nvme9-nvme9.json"));
  const auto output = CheckDrives({host, RepositoryKnowledge()});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_THAT(ValueOf(*output, "smart_fault", "disk:nvme9"), HasSubstr("spare capacity"));
  EXPECT_EQ(ValueOf(*output, "io_errors"), "?");
}

}  // namespace
}  // namespace galen::node
