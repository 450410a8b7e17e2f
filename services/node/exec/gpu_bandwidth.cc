#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/re2_piece.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/exec/parsers.h"
#include "services/node/exec/words.h"

namespace galen::node {
namespace {

constexpr int kMostDevices = 256;

// The index of a row or column of a matrix.
std::optional<int> Index(absl::string_view word) {
  int index = 0;
  if (!absl::SimpleAtoi(word, &index) || index < 0 || index >= kMostDevices) return std::nullopt;
  return index;
}

// A matrix as these tools print it: a line of column numbers, then lines of a row number and its
// values; "N/A" is left out.
struct Matrix {
  std::map<std::pair<int, int>, double> values;

  // True when the line was part of it.
  bool Read(absl::string_view line) {
    const std::vector<absl::string_view> words = OutputWords(line);
    if (words.empty()) return true;
    if (columns_.empty()) {
      const std::size_t skip = Index(words[0]).has_value() ? 0 : 1;  // "D/D 0 1 2"
      for (std::size_t i = skip; i < words.size(); ++i) {
        const auto column = Index(words[i]);
        if (!column.has_value()) break;
        columns_.push_back(*column);
      }
      return !columns_.empty();
    }
    const auto row = Index(words[0]);
    if (!row.has_value() || words.size() < 2) return false;
    for (std::size_t i = 1; i < words.size() && i <= columns_.size(); ++i) {
      if (const auto value = Number(words[i]); value.has_value()) {
        values[{*row, columns_[i - 1]}] = *value;
      }
    }
    return true;
  }

 private:
  std::vector<int> columns_;
};

std::string PairOf(int from, int to) { return absl::StrCat("gpu:", from, "/peer:", to); }

// Adds a rate, and the floor of the device's model where there is one; else half of `best_of_peers`
// (0: there are none): GPUs of one model in one host have links of one kind.
void AddRate(const ProgramOutput& output, absl::string_view name, const std::string& device,
             double rate, absl::string_view product, const std::string& floor_name,
             double best_of_peers, std::map<std::string, double>& floors, CheckOutput& found) {
  galen::v1::Finding finding = FloatFinding(name, output.context.host.name(), device, rate);
  const auto floor = HardwareFact(output.context.knowledge, product, floor_name);
  if (floor.has_value()) {
    finding.set_expected(absl::StrCat(*floor));
    floors[floor_name] = *floor;
  } else if (best_of_peers > 0) {
    finding.set_expected(absl::StrCat(best_of_peers / 2));
  }
  found.findings.push_back(std::move(finding));
}

void AddFloors(const ProgramOutput& output, const std::map<std::string, double>& floors,
               CheckOutput& found) {
  for (const auto& [name, floor] : floors) {
    found.findings.push_back(FloatFinding(name, output.context.host.name(), "", floor));
  }
}

}  // namespace

absl::StatusOr<CheckOutput> ParseNvbandwidth(const ProgramOutput& output) {
  static const LazyRE2 kDevice = {R"(^Device (\d+): (.+?) \()"};
  static const LazyRE2 kRunning = {R"(^Running (\w+)\.)"};
  std::map<int, std::string> products;
  std::map<std::string, Matrix> matrices;
  Matrix* matrix = nullptr;
  std::string test;
  // It compares what arrived, and ends with EXIT_FAILURE at the first that is wrong (memcpy.cpp).
  std::optional<std::string> wrong_in;
  for (const absl::string_view line : OutputLines(output.result.out)) {
    int device = 0;
    std::string name;
    if (absl::StrContains(line, "Invalid value when checking the pattern")) wrong_in = test;
    if (RE2::PartialMatch(Piece(line), *kDevice, &device, &name)) {
      if (products.size() < kMostDevices) products[device] = name;
    } else if (RE2::PartialMatch(Piece(line), *kRunning, &name)) {
      test = name;
      matrix = nullptr;
    } else if (absl::StartsWith(line, "memcpy ") || absl::StartsWith(line, "memory latency")) {
      if (!test.empty() && matrices.size() < 256) matrix = &matrices[test];
    } else if (matrix != nullptr && !line.empty() && !matrix->Read(line)) {
      matrix = nullptr;
    } else if (line.empty()) {
      matrix = nullptr;
    }
  }
  const std::string node = output.context.host.name();
  CheckOutput found;
  std::map<std::string, double> floors;
  const auto product = [&](int gpu) -> absl::string_view {
    const auto known = products.find(gpu);
    return known == products.end() ? "" : absl::string_view(known->second);
  };
  const auto add_host = [&](const char* matrix_name, absl::string_view finding,
                            const std::string& floor) {
    // The best of all memory nodes of the host: a slow distant node is not a fault of the GPU.
    std::map<int, double> best;
    for (const auto& [at, value] : matrices[matrix_name].values) {
      best[at.second] = std::max(best[at.second], value);
    }
    for (const auto& [gpu, value] : best) {
      double best_of_peers = 0;
      for (const auto& [other, rate] : best) {
        if (other != gpu && product(other) == product(gpu)) {
          best_of_peers = std::max(best_of_peers, rate);
        }
      }
      AddRate(output, finding, absl::StrCat("gpu:", gpu), value, product(gpu), floor, best_of_peers,
              floors, found);
    }
  };
  add_host("host_to_device_memcpy_ce", "h2d_gb_s", "h2d_floor_gb_s");
  add_host("device_to_host_memcpy_ce", "d2h_gb_s", "h2d_floor_gb_s");
  for (const auto& [at, value] : matrices["device_to_device_memcpy_read_ce"].values) {
    AddRate(output, "d2d_gb_s", PairOf(at.first, at.second), value, product(at.first),
            "p2p_floor_gb_s", 0, floors, found);
  }
  for (const auto& [at, value] : matrices["host_device_latency_sm"].values) {
    found.findings.push_back(
        FloatFinding("latency_ns", node, absl::StrCat("gpu:", at.second), value));
  }
  if (output.result.exit_code != 0 && !wrong_in.has_value()) {
    return absl::AbortedError(absl::StrCat("nvbandwidth ended with exit code ",
                                           output.result.exit_code,
                                           " and no wrong value: ", LastWords(output.result)));
  }
  if (found.findings.empty() && !wrong_in.has_value()) {
    return NotOutputOf("nvbandwidth", output.result.out);
  }
  AddFloors(output, floors, found);
  // A run that somebody else started may have had the comparison turned off.
  found.findings.push_back(wrong_in.has_value() || output.context.host.live()
                               ? BoolFinding("data_wrong", node, "", wrong_in.has_value())
                               : UnknownFinding("data_wrong", node, ""));
  found.message = absl::StrCat(matrices.size(), " tests of nvbandwidth on ", products.size(),
                               products.size() == 1 ? " GPU" : " GPUs");
  if (wrong_in.has_value()) {
    absl::StrAppend(&found.message, "; wrong data in ",
                    wrong_in->empty() ? "a test" : CleanText(*wrong_in, 64));
  }
  return found;
}

absl::StatusOr<CheckOutput> ParseCudaBandwidthTest(const ProgramOutput& output) {
  static const LazyRE2 kDevice = {R"(^\s*Device (\d+): (.+?)\s*$)"};
  // With --csv. No floor is known for pageable memory ("-Paged").
  static const LazyRE2 kRate = {
      R"(^bandwidthTest-(H2D-Pinned|D2H-Pinned|D2D), Bandwidth = ([0-9.]+) GB/s, .*Size = (\d+) bytes)"};
  // Without: a table of each direction.
  static const LazyRE2 kTable = {R"(^\s*(Host|Device) to (Host|Device) Bandwidth, \d+ Device)"};
  static const LazyRE2 kMemory = {R"(^\s*(\w+) Memory Transfers)"};
  static const LazyRE2 kUnit = {R"(^\s*Transfer Size \(Bytes\)\s+Bandwidth\((.+)\))"};
  static const LazyRE2 kResult = {R"(^Result = (\w+))"};
  int device = 0;
  int devices = 0;
  std::string product;
  std::map<std::string, std::pair<double, double>> largest;  // finding: size, rate
  std::string verdict, table, memory, unit;
  const auto rate = [&](const std::string& finding, std::optional<double> bytes,
                        std::optional<double> gb_s) {
    if (!bytes.has_value() || !gb_s.has_value()) return;
    auto& entry = largest[finding];
    if (*bytes >= entry.first) entry = {*bytes, *gb_s};
  };
  for (const absl::string_view line : OutputLines(output.result.out)) {
    std::string from, to, value, size;
    if (RE2::PartialMatch(Piece(line), *kRate, &from, &value, &size)) {
      rate(absl::StrCat(absl::AsciiStrToLower(from.substr(0, 3)), "_gb_s"), Number(size),
           Number(value));
    } else if (RE2::PartialMatch(Piece(line), *kTable, &from, &to)) {
      table = absl::StrCat(from == "Host" ? "h2" : "d2", to == "Host" ? "h" : "d", "_gb_s");
      memory = unit = "";
    } else if (RE2::PartialMatch(Piece(line), *kMemory, &memory) ||
               RE2::PartialMatch(Piece(line), *kUnit, &unit)) {
    } else if (RE2::PartialMatch(Piece(line), *kDevice, &device, &product)) {
      ++devices;
    } else if (!RE2::PartialMatch(Piece(line), *kResult, &verdict) && memory == "PINNED" &&
               unit == "GB/s") {
      const std::vector<absl::string_view> words = OutputWords(line);
      if (words.size() == 2) rate(table, Number(words[0]), Number(words[1]));
    }
  }
  if (largest.empty() && verdict.empty()) {
    return NotOutputOf("bandwidthTest", output.result.out);
  }
  // The rate for several GPUs together is their sum.
  if (devices > 1) largest.clear();
  const std::string subject =
      devices > 1 ? "" : absl::StrCat("gpu:", std::clamp(device, 0, kMostDevices));
  CheckOutput found;
  std::map<std::string, double> floors;
  for (const auto& [name, entry] : largest) {
    // The copy inside the device is too small, 32 MB, for a comparison with the memory's bandwidth:
    // it has no floor.
    const std::string floor = name == "d2d_gb_s" ? "" : "h2d_floor_gb_s";
    AddRate(output, name, subject, entry.second, product, floor, 0, floors, found);
  }
  AddFloors(output, floors, found);
  // It passes at any rate.
  const bool known = verdict == "FAIL" || (verdict == "PASS" && !largest.empty());
  found.findings.push_back(
      known ? BoolFinding("passed", output.context.host.name(), subject, verdict == "PASS")
            : UnknownFinding("passed", output.context.host.name(), subject));
  found.message = absl::StrCat("bandwidthTest on ", product.empty() ? subject : product, ": ",
                               verdict.empty() ? "it did not say how it ended" : verdict,
                               largest.empty() ? ", no rate of one GPU from pinned memory" : "");
  return found;
}

absl::StatusOr<CheckOutput> ParseRocmBandwidthTest(const ProgramOutput& output) {
  static const LazyRE2 kPair = {R"((Src|Dst) Device Id: (\d+) (?:Src|Dst) Device Type: (\w+))"};
  static const LazyRE2 kTitle = {R"(^\s*(Uni|Bi)directional (?:copy )?peak bandwidth)"};
  const std::string node = output.context.host.name();
  CheckOutput found;
  Matrix matrix;
  bool in_matrix = false;
  std::string from, to;
  std::optional<double> peak;
  for (const absl::string_view line : OutputLines(output.result.out)) {
    std::string which, id, type;
    if (RE2::PartialMatch(Piece(line), *kTitle)) {
      in_matrix = true;
    } else if (in_matrix) {
      in_matrix = matrix.Read(line);
    } else if (RE2::PartialMatch(Piece(line), *kPair, &which, &id, &type)) {
      (which == "Src" ? from : to) = absl::StrCat(type == "Gpu" ? "gpu:" : "cpu:", id);
    } else if (!from.empty() && !to.empty()) {
      // "512 MB  18722.762  28.675  18722.482  28.675": the last size is the largest.
      const std::vector<absl::string_view> words = OutputWords(line);
      if (words.size() == 6 && Number(words[0]).has_value() && Number(words[5]).has_value()) {
        peak = Number(words[5]);
      }
    }
  }
  if (peak.has_value()) {
    found.findings.push_back(
        FloatFinding("peak_gb_s", node, absl::StrCat(from, "/peer:", to), *peak));
  }
  std::vector<double> rates;
  for (const auto& [at, value] : matrix.values) {
    found.findings.push_back(FloatFinding(
        "peak_gb_s", node, absl::StrCat("device:", at.first, "/peer:", at.second), value));
    rates.push_back(value);
  }
  if (found.findings.empty()) return NotOutputOf("rocm-bandwidth-test", output.result.out);
  found.message = absl::StrCat(found.findings.size(), " pairs");
  if (!rates.empty()) {
    const auto [low, high] = std::minmax_element(rates.begin(), rates.end());
    absl::StrAppend(&found.message, ", ", *low, " to ", *high, " GB/s");
  }
  return found;
}

absl::StatusOr<CheckOutput> ParseHipBusBandwidth(const ProgramOutput& output) {
  // "   D2H_Bandwidth_pinned       512kB       GB/sec        12.7930 12.7062 ...": test, size,
  // unit, median, mean, deviation, least, most.
  std::map<std::string, double> best;
  for (const absl::string_view line : OutputLines(output.result.out)) {
    const std::vector<absl::string_view> words = OutputWords(line);
    if (words.size() != 8 || words[2] != "GB/sec") continue;
    const auto median = Number(words[3]);
    if (!median.has_value()) continue;
    for (const auto& [prefix, name] :
         {std::pair{"H2D_Bandwidth", "h2d_gb_s"}, {"D2H_Bandwidth", "d2h_gb_s"}}) {
      if (absl::StartsWith(words[0], prefix)) best[name] = std::max(best[name], *median);
    }
  }
  if (best.empty()) return NotOutputOf("hipBusBandwidth", output.result.out);
  CheckOutput found;
  for (const auto& [name, rate] : best) {
    // It prints the name of the model, not which GPU it was.
    found.findings.push_back(FloatFinding(name, output.context.host.name(), "", rate));
    absl::StrAppend(&found.message, found.message.empty() ? "" : ", ", name, " ", rate);
  }
  return found;
}

}  // namespace galen::node
