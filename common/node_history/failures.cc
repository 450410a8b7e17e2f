#include "common/node_history/failures.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "common/base/proto_time.h"
#include "common/base/text.h"

namespace galen::node_history {
namespace {

constexpr std::size_t kMostNode = 253;  // of a host name (RFC 1035)
// Names as the kernel and drivers give them are far shorter.
constexpr std::size_t kMostName = 200;
// For one diagnosis on one node.
constexpr std::size_t kMostDevices = 16;

// A link or engine of a GPU belongs to the card; a process or a rank is not part of a machine.
std::string DeviceOf(absl::string_view device) {
  if (absl::StartsWith(device, "gpu:")) device = device.substr(0, device.find('/'));
  if (absl::StartsWith(device, "process:") || absl::StartsWith(device, "rank:")) return "";
  return CleanText(device, kMostName);
}

void Add(const galen::v1::Diagnosis& diagnosis, const galen::v1::Cause& cause,
         std::map<std::string, std::vector<Failure>>& found) {
  const bool counts =
      cause.owner() == "provider" &&
      (!diagnosis.has_confirmation() || diagnosis.confirmation().label() == cause.label());
  for (const galen::v1::Device& device : cause.devices()) {
    if (device.node().empty() || device.node().size() > kMostNode) continue;
    std::vector<Failure>& of_node = found[device.node()];
    if (!counts || of_node.size() >= kMostDevices) continue;
    Failure failure;
    failure.set_diagnosis(diagnosis.name());
    failure.set_label(cause.label());
    *failure.mutable_time() = diagnosis.create_time();
    failure.set_device(DeviceOf(device.device()));
    failure.set_serial(CleanText(device.serial(), kMostName));
    of_node.push_back(std::move(failure));
  }
}

// Takes a failure, which is not older than those before it, into a count.
void Take(const Failure& failure, absl::Duration apart, Count& count) {
  if (!count.counted.empty() &&
      ToTime(failure.time()) < ToTime(count.counted.back().time()) + apart) {
    return;
  }
  ++count.failures;
  count.counted.push_back(failure);
}

}  // namespace

std::map<std::string, std::vector<Failure>> FailuresOf(const galen::v1::Diagnosis& diagnosis) {
  std::map<std::string, std::vector<Failure>> found;
  if (!diagnosis.incident().bundle().empty()) return found;
  const galen::v1::Report& report = diagnosis.report();
  if (report.outcome() != galen::v1::Report::CAUSE_CONFIRMED) return found;
  if (report.has_primary_cause()) Add(diagnosis, report.primary_cause(), found);
  for (const galen::v1::Cause& cause : report.other_causes()) Add(diagnosis, cause, found);
  return found;
}

Counts CountEarlier(const execution::v1::NodeFailures& failures, absl::string_view diagnosis,
                    const Window& window) {
  Counts counts;
  std::map<std::pair<std::string, std::string>, Count> devices;  // by serial, else by name
  for (const Failure& failure : failures.failures()) {
    const absl::Time time = ToTime(failure.time());
    if (failure.diagnosis() == diagnosis || time > window.until - window.apart ||
        time < window.until - window.back) {
      continue;
    }
    Take(failure, window.apart, counts.node);
    if (failure.device().empty()) continue;
    Count& count = devices[{failure.serial(), failure.serial().empty() ? failure.device() : ""}];
    Take(failure, window.apart, count);
    count.device = failure.device();
    count.serial = failure.serial();
  }
  for (auto& [key, count] : devices) counts.devices.push_back(std::move(count));
  std::sort(counts.devices.begin(), counts.devices.end(), [](const Count& a, const Count& b) {
    return std::tie(a.device, a.serial) < std::tie(b.device, b.serial);
  });
  return counts;
}

}  // namespace galen::node_history
