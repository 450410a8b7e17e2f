#include "common/profile/sqlite_trace.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/profile/sqlite_database.h"
#include "common/profile/trace_writer.h"

namespace galen::profile {
namespace {

using Rows = SqliteDatabase::Rows;

constexpr int kRowsAtOnce = 1000;
constexpr std::size_t kMostStrings = 200'000;
constexpr std::size_t kMostMarks = 200'000;
constexpr std::size_t kProcessesKept = 1024;
constexpr std::size_t kGpusNamed = 64;

// CUpti_ActivityMemcpyKind, cupti_activity.h.
const char* CopyName(std::int64_t kind) {
  switch (kind) {
    case 1:
      return "Memcpy HtoD";
    case 2:
      return "Memcpy DtoH";
    case 8:
      return "Memcpy DtoD";
    case 10:
      return "Memcpy PtoP";
    default:
      return "Memcpy";
  }
}

// The process in a globalPid or globalTid
// (docs.nvidia.com/nsight-systems/nsys-exporter/examples.html).
std::int64_t ProcessOf(std::int64_t global) { return (global >> 24) & 0xffffff; }

// A range with the name of a step.
struct Mark {
  std::int64_t process = 0;
  std::string kind;  // its name without numbers
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

std::string WithoutNumbers(absl::string_view name) {
  std::string kind;
  for (const char c : name) {
    if (c < '0' || c > '9') kind += c;
  }
  return kind;
}

class DatabaseRewriter {
 public:
  DatabaseRewriter(std::unique_ptr<SqliteDatabase> database, const Families& families)
      : database_(std::move(database)), families_(families) {}

  absl::Status Plan() {
    if (database_->Has("StringIds") &&
        (database_->Has("CUPTI_ACTIVITY_KIND_KERNEL") ||
         database_->Has("CUPTI_ACTIVITY_KIND_MEMCPY") || database_->Has("NVTX_EVENTS") ||
         database_->Has("CUPTI_ACTIVITY_KIND_GRAPH_TRACE"))) {
      return PlanNsight();
    }
    const std::vector<std::string> dispatches = database_->TablesFrom(kDispatch);
    for (const std::string& table : dispatches) PlanRocpd(table.substr(sizeof(kDispatch) - 1));
    if (!dispatches.empty()) return absl::OkStatus();
    return absl::DataLossError(
        "is a database, but not an export of Nsight Systems or of rocprofv3: it lacks their "
        "tables");
  }

  absl::StatusOr<bool> More(TraceWriter& writer) {
    if (at_ == queries_.size()) {
      WriteMarks(writer);
      return false;
    }
    if (!rows_.has_value()) {
      GALEN_ASSIGN_OR_RETURN(Rows rows, database_->Query(queries_[at_].sql));
      rows_.emplace(std::move(rows));
    }
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const absl::StatusOr<bool> more = rows_->Next();
      if (!more.ok()) {
        // Marks that were read are of use to the operations that were.
        WriteMarks(writer);
        return more.status();
      }
      if (!*more) {
        rows_.reset();
        ++at_;
        break;
      }
      queries_[at_].take(*rows_, writer);
    }
    return true;
  }

 private:
  static constexpr char kDispatch[] = "rocpd_kernel_dispatch";
  struct Query {
    std::string sql;
    std::function<void(Rows& row, TraceWriter& writer)> take;
  };

  // The column, or what stands for it where this version of the program does not write it.
  std::string Column(const std::string& table, const std::string& column,
                     const std::string& otherwise) const {
    return database_->Has(table, column) ? absl::StrCat("\"", column, "\"") : otherwise;
  }

  absl::Status PlanNsight() {
    if (database_->Has("TARGET_INFO_GPU", "name")) {
      queries_.push_back(
          {"SELECT \"name\" FROM TARGET_INFO_GPU", [this](Rows& row, TraceWriter& writer) {
             if (gpus_++ < kGpusNamed) writer.Gpu(row.Text(0));
           }});
    }
    if (database_->Has("StringIds", "id") && database_->Has("StringIds", "value")) {
      GALEN_ASSIGN_OR_RETURN(Rows strings,
                             database_->Query("SELECT value FROM StringIds WHERE id = ?1"));
      strings_.emplace(std::move(strings));
    }
    const auto add = [this](const std::string& table, const std::string& more,
                            std::function<void(Rows&, TraceWriter&)> take) {
      if (!database_->Has(table, "start") || !database_->Has(table, "end")) return;
      queries_.push_back(
          {absl::StrCat("SELECT start, \"end\", ", Column(table, "deviceId", "0"), ", ",
                        Column(table, "streamId", "0"), ", ", Column(table, "globalPid", "0"), ", ",
                        more, " FROM ", table),
           std::move(take)});
    };
    const std::string kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
    add(kernels,
        Column(kernels, "demangledName",
               Column(kernels, "shortName", Column(kernels, "mangledName", "NULL"))),
        [this](Rows& row, TraceWriter& writer) {
          Operation("kernel", StringOf(row, 5), row, writer);
        });
    add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "0", [this](Rows& row, TraceWriter& writer) {
      if (!graphs_) {
        writer.Remark(
            "CUDA graphs are recorded as a whole (--cuda-graph-trace=graph): their kernels are not "
            "told apart, and count as compute");
      }
      graphs_ = true;
      Operation("kernel", "CUDA graph", row, writer);
    });
    add("CUPTI_ACTIVITY_KIND_MEMCPY", Column("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", "0"),
        [this](Rows& row, TraceWriter& writer) {
          Operation("gpu_memcpy", CopyName(row.Number(5)), row, writer);
        });
    add("CUPTI_ACTIVITY_KIND_MEMSET", "0",
        [this](Rows& row, TraceWriter& writer) { Operation("gpu_memset", "Memset", row, writer); });
    add("CUPTI_ACTIVITY_KIND_RUNTIME", "0", [](Rows& row, TraceWriter& writer) {
      if (row.Number(1) >= row.Number(0)) writer.Host(row.Number(0), row.Number(1));
    });
    if (database_->Has("NVTX_EVENTS", "start") && database_->Has("NVTX_EVENTS", "end")) {
      // Ranges of a thread, and those that begin and end anywhere, of NVTX and of its extension.
      queries_.push_back(
          {absl::StrCat(
               "SELECT start, \"end\", ", Column("NVTX_EVENTS", "globalTid", "0"), ", ",
               Column("NVTX_EVENTS", "text", "NULL"), ", ", Column("NVTX_EVENTS", "textId", "NULL"),
               " FROM NVTX_EVENTS WHERE \"end\" IS NOT NULL",
               database_->Has("NVTX_EVENTS", "eventType") ? " AND eventType IN (59, 60, 70, 71)"
                                                          : ""),
           [this](Rows& row, TraceWriter&) {
             AddMark(ProcessOf(row.Number(2)), row.IsNull(3) ? StringOf(row, 4) : row.Text(3),
                     row.Number(0), row.Number(1));
           }});
    }
    return absl::OkStatus();
  }

  // Plans the tables of one process, whose names end in its number. Newer versions keep times and
  // places in tables of their own.
  void PlanRocpd(const std::string& end) {
    const auto table = [&](const char* name) { return absl::StrCat("rocpd_", name, end); };
    const auto quoted = [&](const char* name) { return absl::StrCat("\"", table(name), "\""); };
    if (database_->Has(table("info_agent"), "type")) {
      queries_.push_back({absl::StrCat("SELECT id, type, ",
                                       Column(table("info_agent"), "type_index",
                                              Column(table("info_agent"), "logical_index", "id")),
                                       ", ", Column(table("info_agent"), "product_name", "NULL"),
                                       " FROM ", quoted("info_agent")),
                          [this, end](Rows& row, TraceWriter& writer) {
                            if (row.Text(1) != "GPU" || agents_.size() >= kProcessesKept) return;
                            agents_[absl::StrCat(end, "/", row.Number(0))] = row.Number(2);
                            if (gpus_++ < kGpusNamed && !row.IsNull(3)) writer.Gpu(row.Text(3));
                          }});
    }
    // Time, agent, stream, queue and process of an entry X.
    const auto times = [&](const std::string& of) {
      return database_->Has(of, "start") ? std::string("X.start, X.\"end\"") : "B.value, E.value";
    };
    const auto joins = [&](const std::string& of) {
      std::string join;
      if (!database_->Has(of, "start")) {
        absl::StrAppend(&join, " JOIN ", quoted("timestamp"), " B ON B.id = X.start_id JOIN ",
                        quoted("timestamp"), " E ON E.id = X.end_id");
      }
      if (database_->Has(of, "track_id")) {
        absl::StrAppend(&join, " JOIN ", quoted("track"), " T ON T.id = X.track_id");
      }
      return join;
    };
    const auto place = [&](const std::string& of) {
      return database_->Has(of, "track_id") ? "T.agent_id, T.stream_id, T.queue_id, T.pid"
                                            : "X.agent_id, X.stream_id, X.queue_id, X.pid";
    };
    const std::string dispatches = table("kernel_dispatch");
    queries_.push_back(
        {absl::StrCat("SELECT ", times(dispatches), ", ", place(dispatches),
                      ", S.display_name FROM ", quoted("kernel_dispatch"), " X", joins(dispatches),
                      " LEFT JOIN ", quoted("info_kernel_symbol"), " S ON S.id = X.kernel_id"),
         [this, end](Rows& row, TraceWriter& writer) {
           const std::string stream = row.IsNull(3) || row.Number(3) == 0
                                          ? absl::StrCat("queue ", row.Number(4))
                                          : absl::StrCat(row.Number(3));
           Dispatch("kernel", row.Text(6), end, row.Number(2), stream, row.Number(5), row, writer);
         }});
    const std::string copies = table("memory_copy");
    if (database_->Has(copies)) {
      queries_.push_back(
          {absl::StrCat("SELECT ", times(copies), ", X.dst_agent_id, X.src_agent_id, ",
                        database_->Has(copies, "track_id") ? "T.pid" : "X.pid", ", N.string FROM ",
                        quoted("memory_copy"), " X", joins(copies), " LEFT JOIN ", quoted("string"),
                        " N ON N.id = X.name_id"),
           [this, end](Rows& row, TraceWriter& writer) {
             const bool to_gpu = agents_.contains(absl::StrCat(end, "/", row.Number(2)));
             Dispatch("gpu_memcpy", absl::StrCat("Memcpy ", row.Text(5)), end,
                      row.Number(to_gpu ? 2 : 3), "copies", row.Number(4), row, writer);
           }});
    }
    const std::string regions = table("region");
    if (!database_->Has(regions) || !database_->Has(table("event"), "extdata")) return;
    const bool categories = database_->Has(table("info_category"), "name");
    queries_.push_back(
        {absl::StrCat("SELECT ", times(regions), ", N.string, ", categories ? "C.name" : "C.string",
                      ", CASE WHEN json_valid(V.extdata) THEN json_extract(V.extdata, '$.message') "
                      "END, ",
                      database_->Has(regions, "track_id") ? "T.pid" : "X.pid", " FROM ",
                      quoted("region"), " X", joins(regions), " LEFT JOIN ", quoted("string"),
                      " N ON N.id = X.name_id LEFT JOIN ", quoted("event"),
                      " V ON V.id = X.event_id LEFT JOIN ",
                      quoted(categories ? "info_category" : "string"),
                      " C ON C.id = V.category_id"),
         [this](Rows& row, TraceWriter& writer) {
           const std::string category = row.Text(3);
           if (absl::StartsWith(category, "MARKER")) {
             AddMark(row.Number(5), row.IsNull(4) ? row.Text(2) : row.Text(4), row.Number(0),
                     row.Number(1));
           } else if (absl::StartsWith(category, "HIP") && row.Number(1) >= row.Number(0)) {
             writer.Host(row.Number(0), row.Number(1));
           }
         }});
  }

  // The text of a name's number; the number itself where there is none.
  std::string StringOf(Rows& row, int column) {
    if (row.IsNull(column)) return "";
    const std::int64_t id = row.Number(column);
    const auto known = known_.find(id);
    if (known != known_.end()) return known->second;
    std::string text = absl::StrCat("name ", id);
    if (strings_.has_value()) {
      strings_->Bind(id);
      const absl::StatusOr<bool> found = strings_->Next();
      if (found.ok() && *found) text = strings_->Text(0);
    }
    if (known_.size() < kMostStrings) known_[id] = text;
    return text;
  }

  void Operation(const char* category, const std::string& name, Rows& row, TraceWriter& writer) {
    Write(category, name, row.Number(2), absl::StrCat(row.Number(3)), ProcessOf(row.Number(4)), row,
          writer);
  }

  void Dispatch(const char* category, const std::string& name, const std::string& end,
                std::int64_t agent, const std::string& stream, std::int64_t process, Rows& row,
                TraceWriter& writer) {
    const auto known = agents_.find(absl::StrCat(end, "/", agent));
    if (known == agents_.end()) return;
    Write(category, name, known->second, stream, process, row, writer);
  }

  // Processes number the GPUs that they see: the same number may be another GPU.
  void Write(const char* category, const std::string& name, std::int64_t device,
             const std::string& stream, std::int64_t process, Rows& row, TraceWriter& writer) {
    if (row.Number(1) < row.Number(0) || row.Number(0) < 0) {
      writer.Damaged();
      return;
    }
    const auto [first, added] = first_process_.try_emplace(device, process);
    const std::string key = first->second == process
                                ? absl::StrCat(device)
                                : absl::StrCat("GPU ", device, " of process ", process);
    if (devices_of_.size() < kProcessesKept) devices_of_[process].insert(key);
    writer.Operation(category, name, key, stream, row.Number(0), row.Number(1));
  }

  void AddMark(std::int64_t process, const std::string& name, std::int64_t begin,
               std::int64_t end) {
    if (end <= begin || begin < 0 || marks_.size() >= kMostMarks || !families_.IsStep(name)) return;
    marks_.push_back({process, WithoutNumbers(name), name, begin, end});
  }

  void WriteMarks(TraceWriter& writer) {
    std::map<std::pair<std::int64_t, std::string>, double> time;
    for (const Mark& mark : marks_) {
      time[{mark.process, mark.kind}] += static_cast<double>(mark.end - mark.begin);
    }
    std::map<std::int64_t, std::pair<double, std::string>> longest;
    for (const auto& [key, sum] : time) {
      std::pair<double, std::string>& most = longest[key.first];
      if (sum > most.first) most = {sum, key.second};
    }
    for (const Mark& mark : marks_) {
      if (longest[mark.process].second != mark.kind) continue;
      auto devices = devices_of_.find(mark.process);
      if (devices == devices_of_.end() && devices_of_.size() == 1) devices = devices_of_.begin();
      if (devices == devices_of_.end()) continue;
      for (const std::string& device : devices->second) {
        writer.Step(mark.name, device, mark.begin, mark.end);
      }
    }
    marks_.clear();
  }

  const std::unique_ptr<SqliteDatabase> database_;
  const Families& families_;
  std::vector<Query> queries_;
  std::size_t at_ = 0;
  std::optional<Rows> rows_;
  std::optional<Rows> strings_;
  absl::flat_hash_map<std::int64_t, std::string> known_;
  absl::flat_hash_map<std::string, std::int64_t> agents_;  // numbers of GPUs
  std::map<std::int64_t, std::int64_t> first_process_;     // that used a device
  std::map<std::int64_t, std::set<std::string>> devices_of_;
  std::vector<Mark> marks_;
  std::size_t gpus_ = 0;
  bool graphs_ = false;
};

absl::StatusOr<JsonStream::Source> Rewritten(
    absl::StatusOr<std::unique_ptr<SqliteDatabase>> database, const Families& families) {
  GALEN_RETURN_IF_ERROR(database.status());
  auto rewriter = std::make_shared<DatabaseRewriter>(*std::move(database), families);
  GALEN_RETURN_IF_ERROR(rewriter->Plan());
  return AsTrace([rewriter](TraceWriter& writer) { return rewriter->More(writer); });
}

}  // namespace

bool LooksLikeSqlite(absl::string_view head) {
  return absl::StartsWith(head, absl::string_view("SQLite format 3\0", 16));
}

absl::StatusOr<JsonStream::Source> SqliteAsTrace(const std::string& path, const Families& families,
                                                 const SqliteLimits& limits) {
  return Rewritten(SqliteDatabase::Open(path, limits.operations), families);
}

absl::StatusOr<JsonStream::Source> SqliteBytesAsTrace(std::string bytes, const Families& families,
                                                      const SqliteLimits& limits) {
  return Rewritten(SqliteDatabase::OfBytes(std::move(bytes), limits.operations), families);
}

}  // namespace galen::profile
