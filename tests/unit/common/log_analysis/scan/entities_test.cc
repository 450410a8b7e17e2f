#include "common/log_analysis/scan/entities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace galen::log_scan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Find(absl::string_view text, const std::vector<std::string>& nodes = {}) {
  EntityCollector collector(nodes);
  collector.Add(text, "train.log", 1);
  std::vector<std::string> found;
  for (const v1::Entity& entity : std::move(collector).Take()) {
    found.push_back(absl::StrCat(v1::Entity::Kind_Name(entity.kind()), " ", entity.value()));
  }
  return found;
}

TEST(Entities, AreFoundAsTheFieldWritesThem) {
  const struct {
    const char* text;
    std::vector<std::string> found;
  } kCases[] = {
      {"socketStartConnect: Connect to 10.0.1.7<46212> failed", {"ADDRESS 10.0.1.7", "PORT 46212"}},
      {"connect to (10.0.1.7:29500)", {"ADDRESS 10.0.1.7", "PORT 29500"}},
      {"10.0.0.1 10.0.0.2,10.0.0.3", {"ADDRESS 10.0.0.1", "ADDRESS 10.0.0.2", "ADDRESS 10.0.0.3"}},
      {"localGid fe80::ac1 peer fe80::ac2%ib0<4711>",
       {"ADDRESS fe80::ac1", "ADDRESS fe80::ac2", "PORT 4711", "NIC ib0"}},
      {"from [::ffff:10.0.0.4]:29500.", {"ADDRESS 10.0.0.4"}},
      {"[2001:db8::1:2]:443", {"ADDRESS 2001:db8::1:2", "PORT 443"}},
      {"NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_bond_2:1", {"NIC mlx5_0", "NIC mlx5_bond_2"}},
      {"eth0 ens10f0 enp94s0f0np0 ib3 bond0",
       {"NIC bond0", "NIC enp94s0f0np0", "NIC ens10f0", "NIC eth0", "NIC ib3"}},
      {"NVRM: Xid (PCI:0000:B3:00): 48, pid=1", {"PCI 0000:b3:00.0", "XID 48"}},
      {"GPU 00000000:9B:00.0 fell off", {"PCI 0000:9b:00.0"}},
      {"GPU 10, GPU3 and cuda:2 on gpu#7", {"GPU 2", "GPU 3", "GPU 7", "GPU 10"}},
      {"n1:7:9 [5] NCCL INFO x", {"GPU 5"}},
      {"[rank3]: Rank 12 and rank: 007", {"RANK 3", "RANK 7", "RANK 12"}},
      {"we see Xid 79 and xid 119", {"XID 79", "XID 119"}},
  };
  for (const auto& c : kCases) EXPECT_EQ(Find(c.text), c.found) << c.text;
}

TEST(Entities, AreNotFoundInWhatOnlyLooksAlike) {
  const char* const kTexts[] = {
      "",
      "version 2.18.3.1.9 and 1.2.3",
      "999.1.1.1 at 12:00:00 on 2024-05-01",
      "std::vector<c10::d> a::b, fe80::/10",
      "8 GPUs, 80GB, GPU-1234-abcd",
      "method0 with1",
      "SXid (PCI:0000:00:00.0)0",
  };
  for (const char* text : kTexts) {
    for (const std::string& entity : Find(text)) {
      EXPECT_EQ(entity, "PCI 0000:00:00.0") << text;
    }
  }
}

TEST(Entities, NodesAreThoseOffered) {
  EXPECT_THAT(Find("gpu-07 and gpu-071, gpu-08.cluster.local.", {"gpu-07", "gpu-08"}),
              ElementsAre("NODE gpu-07", "NODE gpu-08"));
  EXPECT_THAT(Find("the word gpu-07 without an offer"), IsEmpty());
}

TEST(Entities, KeepTheFirstPlaceAndCount) {
  EntityCollector collector({});
  collector.Add("nothing\nmlx5_1 down\nmlx5_1 up", "description", 1);
  collector.Add("mlx5_1", "train.log", 17);
  const std::vector<v1::Entity> found = std::move(collector).Take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source(), "description");
  EXPECT_EQ(found[0].line(), 2);
  EXPECT_EQ(found[0].count(), 3);
}

TEST(Entities, AreBounded) {
  EntityCollector collector({});
  std::string text;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&text, "rank ", i, " ");
  collector.Add(text, "description", 1);
  EXPECT_EQ(std::move(collector).Take().size(), EntityCollector::kMaxEntities);
}

TEST(Entities, SurviveBytesThatAreNoText) {
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 131);
  EXPECT_THAT(Find(std::string(64, '\0')), IsEmpty());
  Find(bytes);
}

}  // namespace
}  // namespace galen::log_scan
