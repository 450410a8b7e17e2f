// Claims about the output of AMD's profilers: JSON and tables of rocprofv3, results.json and
// results.csv of rocprof. Inputs are small and have the fields, in the order, that
// ROCm/rocprofiler-sdk (source/lib/output/generateJSON.cpp, generateCSV.cpp and
// source/include/rocprofiler-sdk/cxx/serialization.hpp) and ROCm/rocprofiler (bin/tblextr.py,
// bin/dform.py, bin/sqlitedb.py) write.
#include "common/profile/rocprof_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/profile/csv_trace.h"
#include "common/profile/job.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace rocprof_test {

namespace fs = std::filesystem;

using galen::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kGemm[] = "Cijk_Alik_Bljk_SB_MT64x16x32_MI16x16x1_SN.kd";
constexpr char kReduce[] = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)";

std::string Dispatch(int agent, int kernel, int stream, int begin_us, int end_us) {
  return absl::StrCat(
      R"({"size":168,"kind":11,"operation":3,"thread_id":41,"correlation_id":{"internal":7,)",
      R"("external":0},"start_timestamp":)", begin_us, R"(000,"end_timestamp":)", end_us,
      R"(000,"dispatch_info":{"size":80,"agent_id":{"handle":)", agent,
      R"(},"queue_id":{"handle":1},"kernel_id":)", kernel,
      R"(,"dispatch_id":1,"private_segment_size":0,"group_segment_size":0,"workgroup_size":)",
      R"({"x":64,"y":1,"z":1},"grid_size":{"x":64,"y":1,"z":1}},"stream_id":{"handle":)", stream,
      "}}");
}

std::string Agent(int handle, int type, absl::string_view product) {
  return absl::StrCat(R"({"size":384,"id":{"handle":)", handle, R"(},"type":)", type,
                      R"(,"cu_count":304,"fw_version":{"uCode":146,"Major":0},"name":"gfx942",)",
                      R"("vendor_name":"AMD","product_name":")", product,
                      R"(","node_id":2,"logical_node_id":2,"mem_banks":[{"heap_type":1}]})");
}

// Two GPUs; a step of 100 us on each, with a matrix product, a collective, a copy and the host.
std::string RocprofJson() {
  return absl::StrCat(
      R"({"rocprofiler-sdk-tool":[{"metadata":{"pid":41,"init_time":1,"fini_time":9,"config":{},)",
      R"("command":["python3","train.py"]},"agents":[)", Agent(11, 1, "AMD EPYC"), ",",
      Agent(22, 2, "AMD Instinct MI300X"), ",", Agent(33, 2, "AMD Instinct MI300X"),
      R"(],"counters":[],"strings":{"callback_records":[],"buffer_records":[{"kind":"HIP_RUNTIME)",
      R"(_API","operations":["none"]}],"marker_api":[{"key":90,"value":"step_1"},{"key":91,)",
      R"("value":"forward"}],"correlation_id":{"external":[]}},"code_objects":[],"kernel_symbols":)",
      R"([{"size":64,"kernel_id":1,"code_object_id":1,"kernel_name":"x","formatted_kernel_name":")",
      kGemm, R"(","demangled_kernel_name":"y","truncated_kernel_name":"z"},{"kernel_id":2,)",
      R"("formatted_kernel_name":")", kReduce,
      R"("}],"host_functions":[],"summary":[],"callback_records":{"counter_collection":[]},)",
      R"("buffer_records":{"kernel_dispatch":[)", Dispatch(22, 1, 3, 1000, 1050), ",",
      Dispatch(22, 2, 4, 1040, 1080), ",", Dispatch(33, 1, 3, 1000, 1090),
      R"(],"hip_api":[{"size":56,"kind":9,"operation":5,"thread_id":41,"correlation_id":)",
      R"({"internal":7,"external":0},"start_timestamp":1080000,"end_timestamp":1095000}],)",
      R"("hsa_api":[],"marker_api":[{"kind":12,"operation":1,"thread_id":41,"correlation_id":)",
      R"({"internal":90,"external":0},"start_timestamp":1000000,"end_timestamp":1100000},)",
      R"({"kind":12,"operation":1,"correlation_id":{"internal":91},"start_timestamp":1000000,)",
      R"("end_timestamp":1010000}],"rccl_api":[],"memory_copy":[{"kind":13,"operation":2,)",
      R"("correlation_id":{"internal":8},"start_timestamp":1090000,"end_timestamp":1092000,)",
      R"("dst_agent_id":{"handle":22},"src_agent_id":{"handle":11},"bytes":64,"stream_id":)",
      R"({"handle":0}}],"memory_allocation":[]}}]})");
}

TraceReport ReportOfJson(const std::string& text, std::size_t piece) {
  auto trace = ReadTrace(RocprofJsonAsTrace(InPieces(text, piece), Shipped()), Shipped());
  if (!trace.ok()) std::abort();
  return Analyse(*std::move(trace), Shipped());
}

TEST(RocprofJson, AStepOfEachGpuIsSplit) {
  const std::string text = RocprofJson();
  ASSERT_TRUE(LooksLikeRocprofJson(text));
  for (const std::size_t piece : {1U << 20, 3U}) {
    const TraceReport report = ReportOfJson(text, piece);
    EXPECT_THAT(report.remarks, IsEmpty());
    EXPECT_THAT(report.gpus, ElementsAre("AMD Instinct MI300X", "AMD Instinct MI300X"));
    ASSERT_THAT(report.devices, SizeIs(2));
    EXPECT_EQ(report.devices[0].name, "GPU 0");
    ASSERT_TRUE(report.devices[0].marked);
    EXPECT_EQ(report.devices[0].steps[0].name, "step_1");
    EXPECT_EQ(Parts(report.devices[0].total), "100 50 30 2 13 5");
    EXPECT_EQ(Parts(report.devices[1].total), "100 90 0 0 5 5");
    EXPECT_EQ(report.devices[0].kernels[0].name, kGemm);
    EXPECT_EQ(Shipped().all()[report.devices[0].kernels[1].family].name, "collectives");
  }
}

TEST(RocprofJson, WhatIsCutOffIsReadUpToThere) {
  const std::string text = RocprofJson();
  const std::size_t copies = text.find("\"memory_copy\"");
  const TraceReport report = ReportOfJson(text.substr(0, copies), 1 << 20);
  ASSERT_THAT(report.devices, SizeIs(2));
  ASSERT_THAT(report.remarks, SizeIs(1));
  EXPECT_THAT(report.remarks[0], HasSubstr("the trace is read up to there"));
  for (std::size_t size = 0; size < text.size(); size += 7) {
    static_cast<void>(ReportOfJson(text.substr(0, size), 64));
  }
}

TEST(RocprofJson, TheSecondProcessHasGpusOfItsOwn) {
  std::string text = RocprofJson();
  const std::size_t begin = text.find('[') + 1;
  const std::string process = text.substr(begin, text.size() - begin - 2);
  text.insert(text.size() - 2, "," + process);
  const TraceReport report = ReportOfJson(text, 1 << 20);
  ASSERT_THAT(report.devices, SizeIs(4));
  EXPECT_EQ(report.devices[1].name, "GPU 0 of process 41");
}

constexpr char kKernelHead[] =
    "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\","
    "\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_Size\","
    "\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Workgroup_Size_X\","
    "\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\",\"Grid_Size_Y\",\"Grid_Size_Z\"\n";

std::string KernelRow(absl::string_view agent, absl::string_view name, int begin_us, int end_us) {
  return absl::StrCat("\"KERNEL_DISPATCH\",\"", agent, "\",1,3,41,1,1,\"", name, "\",7,", begin_us,
                      "000,", end_us, "000,0,0,28,0,32,64,1,1,64,1,1\n");
}

class RocprofFiles : public ::testing::Test {
 protected:
  RocprofFiles() {
    std::string root = ::testing::TempDir() + "galen-rocprof-XXXXXX";
    root_ = ::mkdtemp(root.data());
  }
  ~RocprofFiles() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(fs::path(root_) / name) << text;
  }

  std::string root_;
};

TEST_F(RocprofFiles, TablesOfOneProcessAreOneTrace) {
  Write("41_kernel_trace.csv", absl::StrCat(kKernelHead, KernelRow("GPU 0", kGemm, 1000, 1050),
                                            KernelRow("GPU 0", "f<int, \"\"a\"\">()", 1060, 1070)));
  Write("41_memory_copy_trace.csv",
        "\"Kind\",\"Direction\",\"Stream_Id\",\"Source_Agent_Id\",\"Destination_Agent_Id\","
        "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
        "\"MEMORY_COPY\",\"MEMORY_COPY_HOST_TO_DEVICE\",0,\"CPU 0\",\"GPU 0\",8,1050000,1052000\n"
        "\"MEMORY_COPY\",\"MEMORY_COPY_DEVICE_TO_HOST\",0,\"GPU 0\",\"CPU 0\",9,1052000,1053000\n");
  Write(
      "41_hip_api_trace.csv",
      "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\","
      "\"End_Timestamp\"\n\"HIP_RUNTIME_API\",\"hipLaunchKernel\",41,41,7,1053000,1058000\n");
  Write(
      "41_marker_api_trace.csv",
      "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\","
      "\"End_Timestamp\"\n\"MARKER_CORE_API\",\"step 3\",41,41,9,1000000,1080000\n");
  Write("41_kernel_stats.csv", "\"Name\",\"Calls\",\"TotalDurationNs\"\n\"x\",1,2\n");
  const auto job = ReadJob({root_}, Shipped());
  ASSERT_THAT(job, IsOk());
  ASSERT_THAT(job->traces, SizeIs(1)) << ::testing::PrintToString(job->troubles);
  EXPECT_THAT(job->troubles, IsEmpty());
  ASSERT_THAT(job->traces[0].devices, SizeIs(1));
  const DeviceReport& gpu = job->traces[0].devices[0];
  EXPECT_EQ(gpu.name, "GPU 0");
  EXPECT_EQ(Parts(gpu.total), "80 60 0 3 5 12");
  EXPECT_EQ(gpu.kernels[1].name, "f<int, \"a\">()");
  // A table that is named beside the kernels is not a second trace.
  const auto named =
      ReadJob({root_ + "/41_memory_copy_trace.csv", root_ + "/41_kernel_trace.csv"}, Shipped());
  ASSERT_THAT(named, IsOk());
  EXPECT_THAT(named->traces, SizeIs(1));
}

TEST_F(RocprofFiles, RowsThatMakeNoSenseAreCounted) {
  Write("kernel_trace.csv",
        absl::StrCat(kKernelHead, KernelRow("Agent 2", kGemm, 1000, 1050),
                     KernelRow("Agent 2", kGemm, 1100, 1050), "\"KERNEL_DISPATCH\",2\n\n",
                     std::string(100'000, 'x'), "\n"));
  const auto job = ReadJob({root_}, Shipped());
  ASSERT_THAT(job, IsOk());
  ASSERT_THAT(job->traces, SizeIs(1));
  EXPECT_EQ(job->traces[0].devices[0].name, "Agent 2");
  EXPECT_THAT(job->traces[0].remarks, ElementsAre("1 lines longer than 64 KiB are left out",
                                                  "2 records without a valid time are left out"));
}

TEST_F(RocprofFiles, TheOlderProfilerIsRead) {
  // As sqlitedb.py writes them: numbers are texts, and a brace without a name begins the list.
  Write(
      "results.json",
      absl::StrCat(
          "{ \"traceEvents\":[{}\n",
          R"(,{"args":{"name":"Markers and Ranges"},"ph":"M","pid":0,"name":"process_name"})",
          R"(,{"args":{"name":"CPU HIP API"},"ph":"M","pid":2,"name":"process_name","sort_index":1})",
          R"(,{"args":{"name":"COPY"},"ph":"M","pid":1,"name":"process_name","sort_index":2})",
          R"(,{"args":{"name":"GPU0"},"ph":"M","pid":6,"name":"process_name","sort_index":3})",
          R"(,{"ph":"X","name":"step 7","pid":"0","tid":"41","ts":"0","dur":"100",)",
          R"("args":{"BeginNs":"1000000","EndNs":"1100000","Name":"step 7"}})",
          R"(,{"ph":"X","name":"CopyHostToDevice","pid":"1","tid":"0","ts":"52","dur":"2",)",
          R"("args":{"BeginNs":"1052000","EndNs":"1054000","dev-id":"0","stream-id":"1"}})",
          R"(,{"ph":"X","name":"hipLaunchKernel","pid":"2","tid":"41","ts":"60","dur":"5",)",
          R"("args":{"BeginNs":"1060000","EndNs":"1065000","pid":"41"}})", R"(,{"ph":"X","name":")",
          kGemm, R"(","pid":"6","tid":"0","ts":"0","dur":"50","args":)",
          R"({"BeginNs":"1000500","EndNs":"1050000","dev-id":"0","queue-id":"0","stream-id":"1"}})",
          R"(,{"ph":"X","name":"<barrier packet>","pid":"6","tid":"0","ts":"70","dur":"20","args":)",
          R"({"BeginNs":"1070000","EndNs":"1090000","dev-id":"0","queue-id":"0","stream-id":"1"}})",
          "\n],\n\"otherData\": {\n    \"HSA\": \"1.1\"\n  }\n}"));
  const auto job = ReadJob({root_}, Shipped());
  ASSERT_THAT(job, IsOk());
  ASSERT_THAT(job->traces, SizeIs(1));
  ASSERT_THAT(job->traces[0].devices, SizeIs(1));
  const DeviceReport& gpu = job->traces[0].devices[0];
  EXPECT_EQ(gpu.name, "GPU 0");
  EXPECT_EQ(gpu.total.compute, 49'500);
  EXPECT_EQ(gpu.total.wall, 100'000);
  EXPECT_EQ(gpu.total.memory, 2'000);
  EXPECT_EQ(gpu.total.host, 5'000);
}

TEST(TableOfCsv, IsToldByItsColumns) {
  EXPECT_EQ(TableOfCsv("\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"BeginNs\",\"EndNs\"\n"),
            CsvTable::kKernels);
  EXPECT_EQ(TableOfCsv("Start (ns),Duration (ns),CorrId,GrdX,Device,Ctx,Strm,Name\n1,2"),
            CsvTable::kKernels);
  // Counters repeat each dispatch; a table of statistics and one of somebody else have no times.
  EXPECT_EQ(TableOfCsv("Dispatch_Id,Kernel_Name,Counter_Name,Start_Timestamp,End_Timestamp\n"),
            CsvTable::kNone);
  EXPECT_EQ(TableOfCsv("\"Name\",\"Calls\",\"TotalDurationNs\"\n"), CsvTable::kNone);
  EXPECT_EQ(TableOfCsv("step,loss\n1,2\n"), CsvTable::kNone);
}

TEST(TableOfCsv, NsightsReportIsRead) {
  const std::string text =
      "Start (ns),Duration (ns),CorrId,GrdX,Bytes (MB),Device,Ctx,Strm,Name\n"
      "1000,50000,7,1,,NVIDIA H100 80GB HBM3 (3),1,7,ampere_sgemm_128x64_nn\n"
      "60000,2000,8,,0.5,NVIDIA H100 80GB HBM3 (3),1,7,[CUDA memcpy Host-to-Device]\n";
  std::vector<JsonStream::Source> tables = {InPieces(text, 9)};
  auto trace = ReadTrace(CsvAsTrace(std::move(tables), Shipped()), Shipped());
  ASSERT_THAT(trace, IsOk());
  const TraceReport report = Analyse(*std::move(trace), Shipped());
  ASSERT_THAT(report.devices, SizeIs(1));
  EXPECT_EQ(report.devices[0].name, "GPU 3");
  EXPECT_EQ(report.devices[0].total.compute, 50'000);
  EXPECT_EQ(report.devices[0].total.memory, 2'000);
}

}  // namespace rocprof_test
}  // namespace galen::profile
