#include "common/profile/read_trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"
#include "common/profile/trace_event.h"

namespace galen::profile {
namespace {

using Token = JsonStream::Token;

constexpr std::size_t kMostName = 512;
constexpr std::size_t kMostProcesses = 20'000;
constexpr std::size_t kMostGpus = 64;
constexpr std::size_t kMostRemarks = 32;
constexpr std::int64_t kLongest = std::int64_t{400} * 24 * 3600 * 1'000'000'000;
constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;  // nanoseconds

class Reader {
 public:
  Reader(JsonStream::Source source, const Families& families, const ReadLimits& limits)
      : json_(std::move(source)), families_(families), limits_(limits) {}

  absl::StatusOr<Trace> Read() {
    const Token first = json_.Next();
    if (first == Token::kBeginArray) {
      found_ = true;
      ReadEvents();
    } else if (first == Token::kBeginObject) {
      while (json_.Next() == Token::kKey) {
        if (!ReadField()) break;
      }
    }
    if (!found_) {
      return absl::DataLossError(
          absl::StrCat("no trace of a profiler: it has no traceEvents",
                       json_.trouble().empty() ? "" : absl::StrCat(" (", json_.trouble(), ")")));
    }
    if (!json_.trouble().empty()) {
      trace_.remarks.push_back(absl::StrCat(json_.trouble(), " after ", trace_.events,
                                            " events: what stands before it is read"));
    }
    Finish();
    return std::move(trace_);
  }

 private:
  bool ReadField() {
    if (json_.text() == "traceEvents") {
      if (json_.Next() != Token::kBeginArray) return false;
      found_ = true;
      return ReadEvents();
    }
    if (json_.text() == "distributedInfo") {
      return json_.ReadObject([&](absl::string_view key) {
        std::optional<int>* into = key == "rank"         ? &trace_.rank
                                   : key == "world_size" ? &trace_.world_size
                                                         : nullptr;
        if (into == nullptr) return json_.SkipValue();
        const Token token = json_.Next();
        int number = 0;
        if (token == Token::kNumber && absl::SimpleAtoi(json_.text(), &number) && number >= 0) {
          *into = number;
        }
        return json_.PassOver(token);
      });
    }
    if (json_.text() == "deviceProperties") return ReadDeviceProperties();
    if (json_.text() == "galenRemarks") {  // of a trace that this program rewrote
      return json_.ReadArray([&](Token token) {
        if (token == Token::kText && trace_.remarks.size() < kMostRemarks) {
          trace_.remarks.push_back(CleanText(json_.text(), 300));
        }
        return json_.PassOver(token);
      });
    }
    return json_.SkipValue();
  }

  bool ReadDeviceProperties() {
    const Token token = json_.Next();
    if (token != Token::kBeginArray) return json_.PassOver(token);
    Token next = json_.Next();
    for (; next == Token::kBeginObject; next = json_.Next()) {
      Token key = json_.Next();
      for (; key == Token::kKey; key = json_.Next()) {
        if (json_.text() != "name") {
          if (!json_.SkipValue()) return false;
        } else if (json_.Next() == Token::kText && trace_.gpus.size() < kMostGpus) {
          trace_.gpus.push_back(CleanText(json_.text(), 128));
        }
      }
      if (key != Token::kEndObject) return false;
    }
    return next == Token::kEndArray;
  }

  bool ReadEvents() {
    Event event;
    while (true) {
      const Token token = json_.Next();
      if (token == Token::kEndArray) return true;
      if (token != Token::kBeginObject) {
        if (!json_.PassOver(token)) return false;
        ++trace_.damaged;
        continue;
      }
      event.Clear();
      if (!ReadEvent(event)) return false;
      ++trace_.events;
      Take(event);
    }
  }

  bool ReadEvent(Event& event) {
    Token token = json_.Next();
    for (; token == Token::kKey; token = json_.Next()) {
      const std::string& key = json_.text();
      std::string* into = key == "ph"     ? &event.phase
                          : key == "cat"  ? &event.category
                          : key == "name" ? &event.name
                          : key == "pid"  ? &event.process
                          : key == "tid"  ? &event.thread
                          : key == "ts"   ? &event.begin
                          : key == "dur"  ? &event.duration
                                          : nullptr;
      if (into != nullptr) {
        if (!ReadScalar(*into)) return false;
      } else if (key == "args" && event.category != "cpu_op" && event.category != "ac2g" &&
                 event.category != "cuda_runtime") {
        if (!ReadArguments(event)) return false;
      } else if (!json_.SkipValue()) {
        return false;
      }
    }
    return token == Token::kEndObject;
  }

  bool ReadArguments(Event& event) {
    return json_.ReadObject([&](absl::string_view key) {
      std::string* into = key == "name"                 ? &event.label
                          : key == "device"             ? &event.device
                          : key == "stream"             ? &event.stream
                          : key == "Process Group Name" ? &event.group
                          : key == "Seq"                ? &event.sequence
                          : key == "dev-id"             ? &event.device  // and below: of rocprof
                          : key == "stream-id"          ? &event.stream
                          : key == "BeginNs"            ? &event.begin_ns
                          : key == "EndNs"              ? &event.end_ns
                                                        : nullptr;
      return into != nullptr ? ReadScalar(*into) : json_.SkipValue();
    });
  }

  bool ReadScalar(std::string& into) {
    const Token token = json_.Next();
    if (token == Token::kText || token == Token::kNumber) {
      into.assign(json_.text(), 0, kMostName);
      return true;
    }
    return token == Token::kOther || json_.PassOver(token);
  }

  void Take(const Event& event) {
    if (event.phase == "M") return TakeMetadata(event);
    if (event.phase != "X") return;
    const Sort sort = SortOf(event);
    if (sort == Sort::kOther && !event.category.empty()) return;
    Interval when;
    const auto begin = Nanoseconds(event.begin);
    const auto duration =
        event.duration.empty() ? std::optional<std::int64_t>(0) : Nanoseconds(event.duration);
    if (!begin.has_value() || !duration.has_value() || *duration < 0 || *duration > kLongest) {
      ++trace_.damaged;
      return;
    }
    when = {*begin, *begin + *duration};
    switch (sort) {
      case Sort::kGpu:
        TakeGpu(event, event.device.empty() ? event.process : event.device,
                event.stream.empty() ? event.thread : event.stream, Lane::kStream, when);
        break;
      case Sort::kHost:
        TakeHost(when);
        break;
      case Sort::kStep:
        if (!event.device.empty()) {
          Device* const on = DeviceOf(event.device);
          if (on == nullptr || on->steps.size() >= limits_.steps) break;
          on->steps.push_back({CleanText(event.name, 64), when});
        } else if (trace_.steps.size() < limits_.steps) {
          trace_.steps.push_back({CleanText(event.name, 64), when});
        }
        break;
      case Sort::kOther:
        TakeXla(event, when);
        break;
    }
  }

  // JAX writes the names of processes and threads before their events.
  void TakeMetadata(const Event& event) {
    if (names_of_.size() >= kMostProcesses) return;
    if (event.name == "process_name") {
      names_of_[event.process] = event.label;
    } else if (event.name == "thread_name") {
      names_of_[absl::StrCat(event.process, "/", event.thread)] = event.label;
    }
  }

  void TakeXla(const Event& event, Interval when) {
    const auto process = names_of_.find(event.process);
    if (process == names_of_.end()) return;
    if (TakeRocprof(event, process->second, when)) return;
    const std::size_t device = process->second.find("/device:");
    if (device == std::string::npos) {
      if (absl::StrContains(process->second, "/host:") && families_.IsXlaHost(event.name)) {
        TakeHost(when);
      }
      return;
    }
    const auto thread = names_of_.find(absl::StrCat(event.process, "/", event.thread));
    if (thread == names_of_.end()) return;
    const std::string& line = thread->second;
    trace_.xla = true;
    std::string name = process->second.substr(device + 8);
    std::replace(name.begin(), name.end(), ':', ' ');
    if (absl::StartsWith(line, "Stream #")) {
      TakeGpu(event, name, line, Lane::kStream, when);
    } else if (line == "XLA Ops") {
      TakeGpu(event, name, line, Lane::kOps, when);
    } else if (line == "Async XLA Ops") {
      TakeGpu(event, name, line, Lane::kAsyncOps, when);
    } else if (IsLine(line, "Steps")) {
      Device* found = DeviceOf(name);
      if (found == nullptr || found->steps.size() >= limits_.steps) return;
      found->steps.push_back({CleanText(event.name, 64), when});
    } else if (IsLine(line, "XLA Modules")) {
      if (DeviceOf(name) == nullptr) return;
      std::vector<Step>& into = modules_of_[name][line];
      if (into.size() < limits_.steps) into.push_back({CleanText(event.name, 64), when});
    }
  }

  // An event of rocprof's results.json, by the name of its process (ROCm/rocprofiler
  // bin/tblextr.py). Only its arguments have nanoseconds.
  bool TakeRocprof(const Event& event, absl::string_view process, Interval when) {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    if (!absl::SimpleAtoi(event.begin_ns, &begin) || !absl::SimpleAtoi(event.end_ns, &end)) {
      return false;
    }
    if (begin < 0 || begin > kLatestNs || end < begin || end - begin > kLongest) return false;
    when = {begin, end};
    if (process == "CPU HIP API") {
      TakeHost(when);
    } else if (process == "Markers and Ranges") {
      if (families_.IsStep(event.name) && trace_.steps.size() < limits_.steps) {
        trace_.steps.push_back({CleanText(event.name, 64), when});
      }
    } else if (process == "COPY") {
      Event copy = event;
      copy.name = absl::StrCat("Memcpy ", event.name);
      TakeGpu(copy, event.device.empty() ? "0" : event.device,
              event.stream.empty() ? "copies" : event.stream, Lane::kStream, when);
    } else if (absl::ConsumePrefix(&process, "GPU")) {
      // A barrier waits; it does no work.
      if (event.name == "<barrier packet>") return true;
      TakeGpu(event, std::string(process), event.stream.empty() ? event.thread : event.stream,
              Lane::kStream, when);
    } else {
      return false;
    }
    return true;
  }

  // "XLA Modules", or of one stream: "XLA Modules - from #16".
  static bool IsLine(absl::string_view line, absl::string_view name) {
    return absl::ConsumePrefix(&line, name) &&
           (line.empty() || absl::StartsWith(line, " - from #"));
  }

  // Each stream has runs of programs of its own: those of the stream that was busy longest are
  // used.
  void TakeModules() {
    for (auto& [name, lines] : modules_of_) {
      std::vector<Step>* longest = nullptr;
      std::int64_t most = -1;
      for (auto& [line, steps] : lines) {
        std::int64_t total = 0;
        for (const Step& step : steps) total += step.when.end - step.when.begin;
        if (total <= most) continue;
        most = total;
        longest = &steps;
      }
      Device* const device = DeviceOf(name);
      if (device != nullptr && longest != nullptr) device->modules = std::move(*longest);
    }
  }

  Device* DeviceOf(const std::string& key) {
    const auto known = devices_.find(key);
    if (known != devices_.end()) return &trace_.devices[known->second];
    if (trace_.devices.size() >= limits_.devices) return nullptr;
    devices_[key] = trace_.devices.size();
    int number = 0;
    trace_.devices.emplace_back();
    trace_.devices.back().name =
        absl::SimpleAtoi(key, &number) ? absl::StrCat("GPU ", number) : CleanText(key, 64);
    return &trace_.devices.back();
  }

  void TakeGpu(const Event& event, const std::string& device, const std::string& stream, Lane lane,
               Interval when) {
    Device* on = DeviceOf(device);
    const std::optional<std::uint32_t> name = NameOf(event.name);
    if (on == nullptr || !name.has_value() || spans_ >= limits_.spans) {
      ++left_out_;
      return;
    }
    const std::string key = absl::StrCat(device, "/", stream);
    const auto [it, added] = streams_.try_emplace(key, on->streams.size());
    if (added) {
      if (on->streams.size() >= limits_.streams) {
        streams_.erase(it);
        ++left_out_;
        return;
      }
      int number = 0;
      on->streams.push_back({absl::SimpleAtoi(stream, &number) ? absl::StrCat("stream ", number)
                                                               : CleanText(stream, 64),
                             lane,
                             {}});
    }
    on->streams[it->second].spans.push_back({when.begin, when.end, *name});
    ++spans_;
    const Family& family = families_.all()[trace_.names[*name].family];
    if (family.kind != Kind::kCommunication || collectives_ >= limits_.collectives) return;
    ++collectives_;
    std::int64_t sequence = -1;
    if (!absl::SimpleAtoi(event.sequence, &sequence)) sequence = -1;
    on->collectives.push_back({when, event.group, sequence, *name});
  }

  std::optional<std::uint32_t> NameOf(const std::string& text) {
    const auto known = names_.find(text);
    if (known != names_.end()) return known->second;
    if (trace_.names.size() >= limits_.names) return std::nullopt;
    const auto index = static_cast<std::uint32_t>(trace_.names.size());
    trace_.names.push_back({CleanText(text, kMostName), families_.IndexOf(text)});
    names_[text] = index;
    return index;
  }

  void TakeHost(Interval when) {
    if (host_over_) return;
    trace_.host_known = true;
    std::vector<Interval>& host = trace_.host;
    // Operators come in the order of their begin, an outer one before its inner ones.
    if (!host.empty() && when.begin >= host.back().begin && when.begin <= host.back().end) {
      host.back().end = std::max(host.back().end, when.end);
      return;
    }
    if (host.size() >= compact_at_) {
      host = Union(std::move(host));
      compact_at_ = std::max(compact_at_, 2 * host.size());
      if (host.size() > limits_.host) {
        host_over_ = true;
        host = {};
        return;
      }
    }
    host.push_back(when);
  }

  void Finish() {
    TakeModules();
    trace_.host = Union(std::move(trace_.host));
    if (host_over_) {
      trace_.host_known = false;
      trace_.remarks.push_back(
          "more work of the host than is kept: when it held the GPU up is not told");
    }
    if (left_out_ > 0) {
      trace_.remarks.push_back(absl::StrCat(
          left_out_, " operations of GPUs are left out: more than is kept of a trace"));
    }
    if (trace_.damaged > 0) {
      trace_.remarks.push_back(absl::StrCat(trace_.damaged, " events without a time are left out"));
    }
    trace_.bytes = json_.bytes();
  }

  JsonStream json_;
  const Families& families_;
  const ReadLimits limits_;
  Trace trace_;
  absl::flat_hash_map<std::string, std::string> names_of_;  // of processes and threads
  absl::flat_hash_map<std::string, std::size_t> devices_;
  absl::flat_hash_map<std::string, std::size_t> streams_;
  absl::flat_hash_map<std::string, std::uint32_t> names_;
  std::map<std::string, std::map<std::string, std::vector<Step>>> modules_of_;  // by device, line
  std::size_t spans_ = 0;
  std::size_t collectives_ = 0;
  std::size_t compact_at_ = std::size_t{1} << 16;
  std::int64_t left_out_ = 0;
  bool found_ = false;
  bool host_over_ = false;
};

}  // namespace

absl::StatusOr<Trace> ReadTrace(JsonStream::Source source, const Families& families,
                                const ReadLimits& limits) {
  return Reader(std::move(source), families, limits).Read();
}

}  // namespace galen::profile
