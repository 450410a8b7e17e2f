// galen-lying-node: a node executor that answers nonsense, of a different kind each time, chosen by
// a seed. All its texts contain the word LIAR, so that they can be found anywhere.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <stdio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/serve.h"
#include "common/rpc/stream.h"
#include "galen/node/v1/node.grpc.pb.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:0", "Address to serve gRPC on.");
ABSL_FLAG(std::uint64_t, seed, 1, "Of what it says.");

namespace galen::chaos {
namespace {

using v1::CheckResult;

// Falsifications of an answer.
enum class Lie {
  kPass,
  kWrongId,
  kNeverAsked,
  kForANeighbour,
  kAboutANeighbour,
  kHugeText,
  kHugeName,
  kNotUtf8,
  kManyFindings,
  kTwice,
  kNoNumber,
  kNoStatus,
  kRunningOn,
  kControl,
  kError,
  kNothing,
  kFlood,
};
constexpr int kLies = 17;

CheckResult Honest(const std::string& check, const std::string& node) {
  CheckResult result;
  result.set_id(absl::StrCat(check, "@", node));
  result.set_check(check);
  result.set_node(node);
  result.set_status(CheckResult::PASS);
  result.set_message("LIAR: nothing to complain of");
  result.set_excerpt("LIAR");
  return result;
}

v1::Finding Found(const std::string& node) {
  v1::Finding finding;
  finding.set_name("count");
  finding.mutable_subject()->set_node(node);
  finding.mutable_subject()->set_device("gpu:LIAR");
  finding.set_int_value(-1);
  finding.set_abnormal(true);
  return finding;
}

class Liar final : public node::v1::NodeService::CallbackService {
 public:
  explicit Liar(std::uint64_t seed) : seed_(seed) {}

  grpc::ServerWriteReactor<CheckResult>* RunChecks(
      grpc::CallbackServerContext*, const node::v1::RunChecksRequest* request) override {
    auto stream = rpc::ServerStream<CheckResult>::Start(std::size_t{1} << 17);
    std::mt19937_64 random(seed_ ^ (0x9e3779b97f4a7c15u * ++calls_));
    absl::Status end;
    for (const std::string& check : request->checks()) {
      const auto lie = static_cast<Lie>(random() % kLies);
      if (lie == Lie::kError) end = absl::InternalError("LIAR: the node is on fire");
      if (lie == Lie::kNothing || lie == Lie::kError) continue;
      Tell(*stream, lie, check, request->node());
    }
    stream->End(end);
    return stream.get();
  }

  grpc::ServerWriteReactor<node::v1::WatchEvent>* Watch(grpc::CallbackServerContext*,
                                                        const node::v1::WatchRequest*) override {
    auto stream = rpc::ServerStream<node::v1::WatchEvent>::Start();
    stream->End(absl::InternalError("LIAR: it watches nothing"));
    return stream.get();
  }

 private:
  using Stream = rpc::ServerStream<CheckResult>;

  static void Tell(Stream& stream, Lie lie, const std::string& check, const std::string& node) {
    CheckResult result = Honest(check, node);
    switch (lie) {
      case Lie::kPass:
      case Lie::kError:
      case Lie::kNothing:
        break;
      case Lie::kWrongId:
        result.set_id("LIAR@LIAR@");
        break;
      case Lie::kNeverAsked:
        result = Honest("gpu.LIAR", node);
        break;
      case Lie::kForANeighbour:
        result = Honest(check, "node0");
        break;
      case Lie::kAboutANeighbour:
        result.set_status(CheckResult::FAIL);
        *result.add_findings() = Found("node0");
        break;
      case Lie::kHugeText:
        result.set_message(Huge(3 << 20));
        result.set_excerpt(Huge(512 << 10));
        break;
      case Lie::kHugeName:
        result = Honest(Huge(1 << 20), Huge(1 << 20));
        break;
      case Lie::kNotUtf8:
        result.set_message("LIAR \xff\xfe\xc0\x80");
        break;
      case Lie::kManyFindings:
        for (int i = 0; i < 10'000; ++i) *result.add_findings() = Found(node);
        break;
      case Lie::kTwice:
        stream.Push(result);
        result.set_status(CheckResult::FAIL);
        break;
      case Lie::kNoNumber:
        *result.add_findings() = Found(node);
        result.mutable_findings(0)->set_double_value(std::numeric_limits<double>::quiet_NaN());
        *result.add_findings() = Found(node);
        result.mutable_findings(1)->set_double_value(-std::numeric_limits<double>::infinity());
        result.mutable_duration()->set_seconds(std::numeric_limits<std::int64_t>::min());
        break;
      case Lie::kNoStatus:
        result.set_status(static_cast<CheckResult::Status>(99));
        break;
      case Lie::kRunningOn:
        result.set_status(CheckResult::RUNNING);
        result.set_progress(-1e300);
        for (int i = 0; i < 1000; ++i) stream.Push(result);
        break;
      case Lie::kControl:
        result.set_message(std::string("LIAR \x1b[2J\x1b]0;LIAR\x07\r\n\0 </script> `x` | |", 41));
        break;
      case Lie::kFlood:
        for (int i = 0; i < 10'000; ++i) stream.Push(Honest(absl::StrCat("LIAR.", i), node));
        break;
    }
    stream.Push(std::move(result));
  }

  static std::string Huge(std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += "LIAR ";
    return text;
  }

  const std::uint64_t seed_;
  std::atomic<std::uint64_t> calls_ = 0;
};

}  // namespace
}  // namespace galen::chaos

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("a node executor that answers nonsense");
  absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  galen::chaos::Liar liar(absl::GetFlag(FLAGS_seed));
  const absl::Status status = galen::rpc::ServeUntilSignal(
      {.address = absl::GetFlag(FLAGS_listen),
       .on_listening =
           [](int port) {
             fprintf(stderr, "galen-lying-node: listening (port %d)\n", port);
             fflush(stderr);
           }},
      {&liar});
  if (!status.ok()) {
    fprintf(stderr, "galen-lying-node: %s\n", std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}
