#include "bench/eval/metrics/attribution.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace galen::eval {
namespace {

struct Row {
  const char* claim;
  std::vector<std::string> faulty;
  std::vector<std::string> places;
  int hosts_judged;
  int hosts_right;
  int devices_judged;
  int devices_right;
};

TEST(Attribution, HostsAreExactlyThoseAndDevicesAreAllNamed) {
  const Row kRows[] = {
      {"the host", {"n1"}, {"n1"}, 1, 1, 0, 0},
      {"a device of the host", {"n1"}, {"n1/gpu:0"}, 1, 1, 0, 0},
      {"another host", {"n1"}, {"n2"}, 1, 0, 0, 0},
      {"one host too many", {"n1"}, {"n1", "n2"}, 1, 0, 0, 0},
      {"one host too few", {"n1", "n2"}, {"n1"}, 1, 0, 0, 0},
      {"no place", {"n1"}, {}, 1, 0, 0, 0},
      {"the device by its address",
       {"n1", "0000:41:00.0"},
       {"n1/gpu:3", "n1/0000:41:00.0"},
       1,
       1,
       1,
       1},
      {"the host without the device", {"n1", "0000:41:00.0"}, {"n1"}, 1, 1, 1, 0},
      {"that address on another host", {"n1", "0000:41:00.0"}, {"n2/0000:41:00.0"}, 1, 0, 1, 0},
      {"a network device by its name", {"n1", "mlx5_3"}, {"n1/nic:mlx5_3"}, 1, 1, 1, 1},
      {"a port of it", {"n1", "mlx5_3"}, {"n1/nic:mlx5_3/port:1"}, 1, 1, 1, 1},
      {"one whose name begins so", {"n1", "mlx5_3"}, {"n1/nic:mlx5_30"}, 1, 1, 1, 0},
      {"an answer without places", {}, {"n1"}, 0, 0, 0, 0},
  };
  for (const Row& row : kRows) {
    v1::Case a_case;
    a_case.mutable_faulty()->Assign(row.faulty.begin(), row.faulty.end());
    for (const char* host : {"n1", "n2", "n3"}) a_case.add_hosts(host);
    v1::NamedCause cause;
    cause.mutable_places()->Assign(row.places.begin(), row.places.end());
    v1::Attribution attribution;
    CountAttribution(a_case, cause, attribution);
    EXPECT_EQ(attribution.hosts_judged(), row.hosts_judged) << row.claim;
    EXPECT_EQ(attribution.hosts_right(), row.hosts_right) << row.claim;
    EXPECT_EQ(attribution.devices_judged(), row.devices_judged) << row.claim;
    EXPECT_EQ(attribution.devices_right(), row.devices_right) << row.claim;
  }
}

}  // namespace
}  // namespace galen::eval
