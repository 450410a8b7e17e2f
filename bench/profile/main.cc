// profile_trace write FILE BYTES: a trace as PyTorch's profiler writes it, of at least this size.
// profile_trace read KNOWLEDGE FILE: reads and splits one, and prints the time and memory used.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/log_analysis/scan/reader.h"
#include "common/profile/analyse.h"
#include "common/profile/read_trace.h"

namespace {

using galen::profile::Families;

// Operators with their shapes, launches, flows and kernels in the proportions of a training step's
// trace: two of ten events are of the GPU.
int Write(const std::string& path, std::int64_t bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0,\"world_size\":8},\"traceEvents\":["
         "\n";
  std::int64_t written = 0;
  std::int64_t at = 1'700'000'000'000'000;
  std::string text;
  for (std::int64_t i = 0; written < bytes; ++i) {
    text.clear();
    if (i % 20'000 == 0) {
      absl::StrAppendFormat(
          &text,
          R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":9,"tid":9,"ts":%d,"dur":%d,"args":{}},)"
          "\n",
          i / 20'000, at, 20'000 * 50);
    }
    for (int op = 0; op < 5; ++op) {
      absl::StrAppendFormat(
          &text,
          R"({"ph":"X","cat":"cpu_op","name":"aten::linear_%d","pid":9,"tid":9,"ts":%d.%03d,"dur":%d.125,)"
          R"("args":{"External id":%d,"Sequence number":%d,"Fwd thread id":0,"Record function id":0,)"
          R"("Concrete Inputs":["","",""],"Input type":["c10::BFloat16","c10::BFloat16",""],)"
          R"("Input Strides":[[4096,1],[1,4096],[]],"Input Dims":[[8192,4096],[4096,4096],[]],"Ev Idx":%d}},)"
          "\n",
          op, at + 8 * op, i % 1000, 6, i, i, i);
    }
    absl::StrAppendFormat(
        &text,
        R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":%d,"dur":3.5,)"
        R"("args":{"External id":%d,"cbid":211,"correlation":%d}},)"
        "\n"
        R"({"ph":"s","id":%d,"pid":9,"tid":9,"ts":%d,"cat":"ac2g","name":"ac2g"},)"
        "\n"
        R"({"ph":"f","id":%d,"pid":0,"tid":7,"ts":%d,"cat":"ac2g","name":"ac2g","bp":"e"},)"
        "\n"
        R"({"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d.%03d,"dur":30.25,)"
        R"("args":{"External id":%d,"queued":0,"device":0,"context":1,"stream":7,"correlation":%d,)"
        R"("registers per thread":168,"shared memory":213248,"blocks per SM":1.939394,)"
        R"("warps per SM":23.272728,"grid":[16,16,1],"block":[384,1,1],"est. achieved occupancy %%":36}},)"
        "\n",
        at + 1, i, i, i, at + 1, i, at + 10,
        i % 3 == 0 ? "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NTN"
                   : "void at::native::vectorized_elementwise_kernel<4, at::native::BFloat16>(int)",
        at + 10, i % 1000, i, i);
    absl::StrAppendFormat(
        &text,
        R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",)"
        R"("pid":0,"tid":33,"ts":%d,"dur":20,"args":{"device":0,"stream":33,"Collective name":"_reduce_scatter_base",)"
        R"("Process Group Name":"1","Seq":%d,"dtype":"BFloat16","Group size":8}},)"
        "\n",
        at + 25, i);
    out << text;
    written += static_cast<std::int64_t>(text.size());
    at += 50;
  }
  out << "{\"ph\":\"i\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\",\"ts\":" << at
      << "}]}\n";
  out.close();
  return out ? 0 : 1;
}

int Read(const std::string& knowledge, const std::string& path) {
  const auto families = Families::Load({knowledge});
  auto reader = galen::log_scan::LogReader::Open(path, {});
  if (!families.ok() || !reader.ok()) {
    std::cerr << families.status() << "\n" << reader.status() << "\n";
    return 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  auto trace = galen::profile::ReadTrace([&] { return (*reader)->Next(); }, *families);
  if (!trace.ok()) {
    std::cerr << trace.status() << "\n";
    return 1;
  }
  const auto report = galen::profile::Analyse(*std::move(trace), *families);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const double processor =
      static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
      1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  const auto& total = report.devices.at(0).total;
  std::cout << absl::StrFormat(
      "%d bytes, %d events, %d steps, compute %.4f, exposed %.4f, seconds %.2f, processor seconds "
      "%.2f, peak memory MiB %.1f\n",
      report.bytes, report.events, report.devices.at(0).steps.size(),
      static_cast<double>(total.compute) / static_cast<double>(total.wall),
      static_cast<double>(total.exposed) / static_cast<double>(total.wall), seconds, processor,
      static_cast<double>(usage.ru_maxrss) / 1024);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "write" && argc == 4) return Write(argv[2], std::strtoll(argv[3], nullptr, 10));
  if (verb == "read" && argc == 4) return Read(argv[2], argv[3]);
  std::cerr << "profile_trace write FILE BYTES | profile_trace read KNOWLEDGE FILE\n";
  return 2;
}
