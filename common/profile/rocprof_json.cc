#include "common/profile/rocprof_json.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/profile/trace_writer.h"

namespace galen::profile {
namespace {

using Token = JsonStream::Token;

constexpr std::size_t kMostNames = 200'000;
constexpr std::size_t kMostAgents = 1024;
constexpr std::size_t kNameBytes = 512;
constexpr char kGpuType[] = "2";  // ROCPROFILER_AGENT_TYPE_GPU

// One of buffer_records; texts, as numbers may be larger than 63 bits.
struct Record {
  std::string begin;
  std::string end;
  std::string agent;
  std::string queue;
  std::string stream;
  std::string kernel;
  std::string source;
  std::string destination;
  std::string correlation;
};

class RocprofRewriter {
 public:
  RocprofRewriter(JsonStream::Source json, const Families& families)
      : json_(std::move(json)), families_(families) {}

  absl::StatusOr<bool> More(TraceWriter& writer) {
    bool good = true;
    switch (state_) {
      case State::kBegin:
        good = Begin();
        break;
      case State::kProcess:
        good = Process();
        break;
      case State::kSection:
        good = Section(writer);
        break;
      case State::kRecords:
        good = Records();
        break;
      case State::kRecord:
        good = OneRecord(writer);
        break;
      case State::kEnd:
        return false;
    }
    if (good) return true;
    return absl::DataLossError(json_.trouble().empty() ? "not the JSON of rocprofv3"
                                                       : json_.trouble());
  }

 private:
  enum class State { kBegin, kProcess, kSection, kRecords, kRecord, kEnd };
  enum class Of { kDispatches, kCopies, kHostCalls, kMarkers };

  bool Begin() {
    if (json_.Next() != Token::kBeginObject) return false;
    while (json_.Next() == Token::kKey) {
      if (json_.text() != "rocprofiler-sdk-tool") {
        if (!json_.SkipValue()) return false;
        continue;
      }
      state_ = State::kProcess;
      return json_.Next() == Token::kBeginArray;
    }
    return false;
  }

  bool Process() {
    const Token token = json_.Next();
    if (token == Token::kEndArray) {
      state_ = State::kEnd;
      return true;
    }
    if (token != Token::kBeginObject) return json_.PassOver(token);
    ++processes_;
    agents_.clear();
    kernels_.clear();
    markers_.clear();
    process_.clear();
    state_ = State::kSection;
    return true;
  }

  bool Section(TraceWriter& writer) {
    const Token token = json_.Next();
    if (token == Token::kEndObject) {
      state_ = State::kProcess;
      return true;
    }
    if (token != Token::kKey) return false;
    const std::string& key = json_.text();
    if (key == "metadata") {
      return json_.ReadObject([&](absl::string_view field) {
        return field == "pid" ? json_.ReadScalar(process_) : json_.SkipValue();
      });
    }
    if (key == "agents") {
      return json_.ReadArray([&](Token first) { return Agent(first, writer); });
    }
    if (key == "strings") {
      return json_.ReadObject([&](absl::string_view field) {
        if (field != "marker_api") return json_.SkipValue();
        return json_.ReadArray([&](Token first) { return Entry(first); });
      });
    }
    if (key == "kernel_symbols") {
      return json_.ReadArray([&](Token first) { return Symbol(first); });
    }
    if (key != "buffer_records") return json_.SkipValue();
    const Token records = json_.Next();
    if (records != Token::kBeginObject) return json_.PassOver(records);
    state_ = State::kRecords;
    return true;
  }

  // Reads the rest of an object whose first token was `first`.
  template <typename Field>
  bool Fields(Token first, Field field) {
    if (first != Token::kBeginObject) return json_.PassOver(first);
    Token next = json_.Next();
    for (; next == Token::kKey; next = json_.Next()) {
      if (!field(absl::string_view(json_.text()))) return false;
    }
    return next == Token::kEndObject;
  }

  bool Handle(std::string& into) {
    return json_.ReadObject([&](absl::string_view field) {
      return field == "handle" || field == "internal" ? json_.ReadScalar(into) : json_.SkipValue();
    });
  }

  bool Agent(Token first, TraceWriter& writer) {
    std::string handle;
    std::string type;
    std::string name;
    const bool read = Fields(first, [&](absl::string_view field) {
      if (field == "id") return Handle(handle);
      if (field == "type") return json_.ReadScalar(type);
      if (field == "product_name") return json_.ReadScalar(name);
      return json_.SkipValue();
    });
    if (!read) return false;
    if (type != kGpuType || agents_.size() >= kMostAgents) return true;
    // In the order of their nodes, as the runtime numbers them.
    const std::size_t number = agents_.size();
    agents_[handle] = processes_ == 1
                          ? absl::StrCat(number)
                          : absl::StrCat("GPU ", number, " of process ", CleanText(process_, 20));
    if (!name.empty() && processes_ == 1) writer.Gpu(CleanText(name, 128));
    return true;
  }

  // {"key": 7, "value": "step_3"}
  bool Entry(Token first) {
    std::string key;
    std::string value;
    const bool read = Fields(first, [&](absl::string_view field) {
      if (field == "key") return json_.ReadScalar(key);
      if (field == "value") return json_.ReadScalar(value);
      return json_.SkipValue();
    });
    if (read && markers_.size() < kMostNames && families_.IsStep(value)) {
      markers_[key] = value.substr(0, kNameBytes);
    }
    return read;
  }

  bool Symbol(Token first) {
    std::string id;
    std::string name;
    std::string formatted;
    const bool read = Fields(first, [&](absl::string_view field) {
      if (field == "kernel_id") return json_.ReadScalar(id);
      if (field == "formatted_kernel_name") return json_.ReadScalar(formatted);
      if (field == "kernel_name") return json_.ReadScalar(name);
      return json_.SkipValue();
    });
    if (read && !id.empty() && kernels_.size() < kMostNames) {
      kernels_[id] = (formatted.empty() ? name : formatted).substr(0, kNameBytes);
    }
    return read;
  }

  bool Records() {
    const Token token = json_.Next();
    if (token == Token::kEndObject) {
      state_ = State::kSection;
      return true;
    }
    if (token != Token::kKey) return false;
    const std::string& key = json_.text();
    if (key == "kernel_dispatch") {
      of_ = Of::kDispatches;
    } else if (key == "memory_copy") {
      of_ = Of::kCopies;
    } else if (key == "hip_api") {
      of_ = Of::kHostCalls;
    } else if (key == "marker_api") {
      of_ = Of::kMarkers;
    } else {
      return json_.SkipValue();
    }
    const Token records = json_.Next();
    if (records != Token::kBeginArray) return json_.PassOver(records);
    state_ = State::kRecord;
    return true;
  }

  bool OneRecord(TraceWriter& writer) {
    const Token token = json_.Next();
    if (token == Token::kEndArray) {
      state_ = State::kRecords;
      return true;
    }
    if (token == Token::kBroken || token == Token::kEnd) return false;
    Record record;
    const bool read = Fields(token, [&](absl::string_view field) {
      if (field == "start_timestamp") return json_.ReadScalar(record.begin);
      if (field == "end_timestamp") return json_.ReadScalar(record.end);
      if (field == "stream_id") return Handle(record.stream);
      if (field == "src_agent_id") return Handle(record.source);
      if (field == "dst_agent_id") return Handle(record.destination);
      if (field == "correlation_id") return Handle(record.correlation);
      if (field != "dispatch_info") return json_.SkipValue();
      return json_.ReadObject([&](absl::string_view inner) {
        if (inner == "agent_id") return Handle(record.agent);
        if (inner == "queue_id") return Handle(record.queue);
        if (inner == "kernel_id") return json_.ReadScalar(record.kernel);
        return json_.SkipValue();
      });
    });
    if (read) Write(record, writer);
    return read;
  }

  std::string DeviceOf(const std::string& handle) const {
    const auto known = agents_.find(handle);
    return known == agents_.end() ? "" : known->second;
  }

  void Write(const Record& record, TraceWriter& writer) {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    if (!absl::SimpleAtoi(record.begin, &begin) || !absl::SimpleAtoi(record.end, &end) ||
        begin < 0 || end < begin) {
      writer.Damaged();
      return;
    }
    switch (of_) {
      case Of::kDispatches: {
        const std::string device = DeviceOf(record.agent);
        const auto kernel = kernels_.find(record.kernel);
        writer.Operation(
            "kernel",
            kernel == kernels_.end() ? absl::StrCat("kernel ", CleanText(record.kernel, 20))
                                     : kernel->second,
            device.empty() ? absl::StrCat("agent ", record.agent) : device,
            record.stream.empty() ? absl::StrCat("queue ", record.queue) : record.stream, begin,
            end);
        break;
      }
      case Of::kCopies: {
        const std::string from = DeviceOf(record.source);
        const std::string to = DeviceOf(record.destination);
        // Between two hosts no GPU copies.
        if (from.empty() && to.empty()) break;
        const char* const name = from.empty() ? "Memcpy HtoD"
                                 : to.empty() ? "Memcpy DtoH"
                                 : from == to ? "Memcpy DtoD"
                                              : "Memcpy PtoP";
        writer.Operation("gpu_memcpy", name, to.empty() ? from : to, "copies", begin, end);
        break;
      }
      case Of::kHostCalls:
        writer.Host(begin, end);
        break;
      case Of::kMarkers: {
        const auto marker = markers_.find(record.correlation);
        if (marker != markers_.end() && processes_ == 1) {
          writer.Step(marker->second, "", begin, end);
        }
        break;
      }
    }
  }

  JsonStream json_;
  const Families& families_;
  State state_ = State::kBegin;
  Of of_ = Of::kDispatches;
  std::size_t processes_ = 0;
  std::string process_;
  absl::flat_hash_map<std::string, std::string> agents_;   // GPUs, by their handles
  absl::flat_hash_map<std::string, std::string> kernels_;  // names, by their ids
  absl::flat_hash_map<std::string, std::string> markers_;  // of steps, by their correlations
};

}  // namespace

bool LooksLikeRocprofJson(absl::string_view head) {
  return absl::StrContains(head.substr(0, 256), "\"rocprofiler-sdk-tool\"");
}

JsonStream::Source RocprofJsonAsTrace(JsonStream::Source json, const Families& families) {
  auto rewriter = std::make_shared<RocprofRewriter>(std::move(json), families);
  return AsTrace([rewriter](TraceWriter& writer) { return rewriter->More(writer); });
}

}  // namespace galen::profile
