// Claims about databases with traces. They are made here with the columns that
// docs.nvidia.com/nsight-systems/nsys-exporter/exported_data.html documents of Nsight Systems, and
// with those of ROCm/rocprofiler-sdk source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql.
#include "common/profile/sqlite_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/profile/job.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace sqlite_trace_test {

namespace fs = std::filesystem;

using galen::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The bytes of a database after these statements.
std::string DatabaseOf(const std::string& sql) {
  sqlite3* db = nullptr;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) std::abort();
  char* why = nullptr;
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &why) != SQLITE_OK) {
    ADD_FAILURE() << why;
    std::abort();
  }
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string database(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(db);
  return database;
}

// Processes 5 and 6 with a GPU each that both call 0; NVTX marks their steps.
constexpr char kNsight[] = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'ampere_sgemm_128x64_nn'), (2, 'ncclDevKernel_AllReduce'),
  (3, 'cudaLaunchKernel'), (4, 'step_2');
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA H100 80GB HBM3');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  (1000000, 1050000, 0, 1, NULL, 7, 11, 83886080, 1, 1, NULL),
  (1040000, 1080000, 0, 1, NULL, 13, 12, 83886080, 2, 2, NULL),
  (1100000, 1190000, 0, 1, NULL, 7, 13, 83886080, 1, 1, NULL),
  (1000000, 1070000, 0, 1, NULL, 7, 11, 100663296, 1, 1, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
  (1090000, 1092000, 0, 1, 7, 14, 83886080, 64, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
  eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
  returnValue INTEGER NOT NULL, callchainId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1080000, 1095000, 0, 83886085, 11, 3, 0, NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
  endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
INSERT INTO NVTX_EVENTS VALUES
  (1000000, 1100000, 59, NULL, NULL, NULL, 'step_1', 83886085, NULL, NULL, 0),
  (1100000, 1200000, 59, NULL, NULL, NULL, NULL, 83886085, NULL, 4, 0),
  (1000000, 1010000, 59, NULL, NULL, NULL, 'iteration 1', 83886085, NULL, NULL, 0),
  (1000000, 1150000, 59, NULL, NULL, NULL, 'step_1', 100663302, NULL, NULL, 0),
  (1000000, NULL, 34, NULL, NULL, NULL, 'step_9', 83886085, NULL, NULL, 0);
)";

absl::StatusOr<TraceReport> ReportOfBytes(const std::string& bytes,
                                          const SqliteLimits& limits = {}) {
  auto source = SqliteBytesAsTrace(bytes, Shipped(), limits);
  if (!source.ok()) return source.status();
  auto trace = ReadTrace(*std::move(source), Shipped());
  if (!trace.ok()) return trace.status();
  return Analyse(*std::move(trace), Shipped());
}

TEST(SqliteTrace, NsightsExportIsRead) {
  const auto report = ReportOfBytes(DatabaseOf(kNsight));
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->gpus, ElementsAre("NVIDIA H100 80GB HBM3"));
  ASSERT_THAT(report->devices, SizeIs(2)) << "each process has a GPU 0 of its own";
  const DeviceReport& first = report->devices[0];
  EXPECT_EQ(first.name, "GPU 0");
  // The longest kind of marks counts: step_*, not the short iteration.
  ASSERT_THAT(first.steps, SizeIs(2));
  EXPECT_EQ(first.steps[0].name, "step_1");
  EXPECT_EQ(first.steps[1].name, "step_2");
  EXPECT_EQ(Parts(first.steps[0].split), "100 50 30 2 13 5");
  EXPECT_EQ(Parts(first.steps[1].split), "100 90 0 0 0 10");
  const DeviceReport& second = report->devices[1];
  EXPECT_EQ(second.name, "GPU 0 of process 6");
  ASSERT_THAT(second.steps, SizeIs(1));
  EXPECT_EQ(second.steps[0].when.Length(), 150'000);
  EXPECT_EQ(first.kernels[0].name, "ampere_sgemm_128x64_nn");
}

TEST(SqliteTrace, ColumnsThatAVersionDoesNotWriteAreDoneWithout) {
  const auto report = ReportOfBytes(DatabaseOf(R"(
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (10, 'gemm');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, shortName INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 3000, 10), (5000, 4000, 10),
      (6000, 7000, 12);
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, streamId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (8000, 9000, 0, 7);)"));
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->devices, SizeIs(1));
  EXPECT_EQ(report->devices[0].total.compute, 4000);
  EXPECT_FALSE(report->devices[0].marked);
  EXPECT_THAT(report->remarks, ElementsAre(HasSubstr("CUDA graphs are recorded as a whole"),
                                           "1 records without a valid time are left out"));
}

constexpr char kRocpdOf[] = R"(
CREATE TABLE "rocpd_string_a1" ("id" INTEGER NOT NULL PRIMARY KEY, "string" TEXT);
INSERT INTO "rocpd_string_a1" VALUES (1, 'HIP_RUNTIME_API'), (2, 'hipLaunchKernel'),
  (3, 'MARKER_CORE_API'), (4, 'roctxRangePushA'), (5, 'MEMORY_COPY_HOST_TO_DEVICE');
CREATE TABLE "rocpd_info_agent_a1" ("id" INTEGER NOT NULL PRIMARY KEY, "type" TEXT,
  "absolute_index" INTEGER, "logical_index" INTEGER, "type_index" INTEGER, "product_name" TEXT);
INSERT INTO "rocpd_info_agent_a1" VALUES (1, 'CPU', 0, 0, 0, 'EPYC'),
  (2, 'GPU', 1, 1, 0, 'AMD Instinct MI300X');
CREATE TABLE "rocpd_info_kernel_symbol_a1" ("id" INTEGER NOT NULL PRIMARY KEY, "kernel_name" TEXT,
  "display_name" TEXT);
INSERT INTO "rocpd_info_kernel_symbol_a1" VALUES (1, 'x.kd', 'Cijk_Alik_Bljk_SB_MT64x16x32');
CREATE TABLE "rocpd_event_a1" ("id" INTEGER NOT NULL PRIMARY KEY, "category_id" INTEGER,
  "extdata" JSONB DEFAULT "{}" NOT NULL);
INSERT INTO "rocpd_event_a1" VALUES (1, 1, '{}'), (2, 3, '{"message": "step 1"}'), (3, 3, 'no JSON');
)";

TEST(SqliteTrace, RocprofsDatabaseIsRead) {
  const auto report = ReportOfBytes(DatabaseOf(std::string(kRocpdOf) + R"(
    CREATE TABLE "rocpd_kernel_dispatch_a1" ("id" INTEGER NOT NULL PRIMARY KEY, "nid" INTEGER,
      "pid" INTEGER, "tid" INTEGER, "agent_id" INTEGER, "kernel_id" INTEGER, "dispatch_id" INTEGER,
      "queue_id" INTEGER, "stream_id" INTEGER, "start" BIGINT, "end" BIGINT);
    INSERT INTO "rocpd_kernel_dispatch_a1" VALUES
      (1, 1, 41, 41, 2, 1, 1, 1, 3, 1000000, 1050000);
    CREATE TABLE "rocpd_memory_copy_a1" ("id" INTEGER NOT NULL PRIMARY KEY, "pid" INTEGER,
      "start" BIGINT, "end" BIGINT, "name_id" INTEGER, "dst_agent_id" INTEGER,
      "src_agent_id" INTEGER);
    INSERT INTO "rocpd_memory_copy_a1" VALUES (1, 41, 1050000, 1052000, 5, 2, 1);
    CREATE TABLE "rocpd_region_a1" ("id" INTEGER NOT NULL PRIMARY KEY, "pid" INTEGER,
      "tid" INTEGER, "start" BIGINT, "end" BIGINT, "name_id" INTEGER, "event_id" INTEGER);
    INSERT INTO "rocpd_region_a1" VALUES (1, 41, 41, 1060000, 1065000, 2, 1),
      (2, 41, 41, 1000000, 1100000, 4, 2), (3, 41, 41, 1000000, 1090000, 4, 3);)"));
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->remarks, IsEmpty());
  EXPECT_THAT(report->gpus, ElementsAre("AMD Instinct MI300X"));
  ASSERT_THAT(report->devices, SizeIs(1));
  EXPECT_EQ(report->devices[0].name, "GPU 0");
  EXPECT_EQ(Parts(report->devices[0].total), "100 50 0 2 5 43");
  EXPECT_EQ(report->devices[0].kernels[0].name, "Cijk_Alik_Bljk_SB_MT64x16x32");
}

TEST(SqliteTrace, RocprofsDatabaseWithTracksIsRead) {
  const auto report = ReportOfBytes(DatabaseOf(std::string(kRocpdOf) + R"(
    CREATE TABLE "rocpd_timestamp_a1" ("id" INTEGER NOT NULL PRIMARY KEY, "value" BIGINT NOT NULL,
      "phase" INTEGER, "track_id" INTEGER);
    INSERT INTO "rocpd_timestamp_a1" VALUES (1, 1000000, 1, 1), (2, 1050000, 2, 1);
    CREATE TABLE "rocpd_track_a1" ("id" INTEGER NOT NULL PRIMARY KEY, "nid" INTEGER,
      "ppid" INTEGER, "pid" INTEGER, "tid" INTEGER, "agent_id" INTEGER, "queue_id" INTEGER,
      "stream_id" INTEGER, "name_id" INTEGER);
    INSERT INTO "rocpd_track_a1" VALUES (1, 1, 1, 41, 41, 2, 1, NULL, NULL);
    CREATE TABLE "rocpd_kernel_dispatch_a1" ("id" INTEGER NOT NULL PRIMARY KEY,
      "track_id" INTEGER NOT NULL, "kernel_id" INTEGER NOT NULL, "dispatch_id" INTEGER NOT NULL,
      "start_id" INTEGER NOT NULL, "end_id" INTEGER NOT NULL);
    INSERT INTO "rocpd_kernel_dispatch_a1" VALUES (1, 1, 1, 1, 1, 2);)"));
  ASSERT_THAT(report, IsOk());
  ASSERT_THAT(report->devices, SizeIs(1));
  EXPECT_EQ(report->devices[0].total.compute, 50'000);
}

TEST(SqliteTrace, AnotherDatabaseIsRefused) {
  const auto report = ReportOfBytes(DatabaseOf("CREATE TABLE a (b INT)"));
  EXPECT_EQ(report.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("it lacks their tables"));
}

// A view, or a table that is a program, may be named like a table of the profiler.
TEST(SqliteTrace, ViewsAreNotRead) {
  const auto report = ReportOfBytes(DatabaseOf(R"(
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS
      WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start, x AS end,
      1 AS demangledName FROM n;)"));
  EXPECT_EQ(report.status().code(), absl::StatusCode::kDataLoss);
}

TEST(SqliteTrace, ReadingHasALimit) {
  std::string sql = R"(CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, shortName INT);
    WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 200000)
      INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT x * 10, x * 10 + 5, 1 FROM n;)";
  const auto report = ReportOfBytes(DatabaseOf(sql), {.operations = 300'000});
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->remarks,
              ElementsAre(HasSubstr("the database takes too long to read: the trace is read up")));
}

TEST(SqliteTrace, WhatIsDamagedHarmsNobody) {
  const std::string whole = DatabaseOf(kNsight);
  for (std::size_t at = 0; at < whole.size(); at += 41) {
    static_cast<void>(ReportOfBytes(whole.substr(0, at)));
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    static_cast<void>(ReportOfBytes(changed));
  }
}

TEST(SqliteTrace, AFileIsKnownByItsContent) {
  std::string root = ::testing::TempDir() + "galen-nsight-XXXXXX";
  root = ::mkdtemp(root.data());
  const std::string bytes = DatabaseOf(kNsight);
  std::ofstream(root + "/a trace? of rank 3%20.sqlite") << bytes;
  const auto job = ReadJob({root}, Shipped());
  ASSERT_THAT(job, IsOk());
  ASSERT_THAT(job->traces, SizeIs(1)) << ::testing::PrintToString(job->troubles);
  EXPECT_THAT(job->traces[0].devices, SizeIs(2));
  std::ofstream(root + "/no-ending") << bytes;
  EXPECT_THAT(ReadJob({root + "/no-ending"}, Shipped()), IsOk());
  std::error_code ignored;
  fs::remove_all(root, ignored);
}

}  // namespace sqlite_trace_test
}  // namespace galen::profile
