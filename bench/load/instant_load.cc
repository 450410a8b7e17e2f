// The two ends of a load on a mesh of processes; whole.py starts what is between them.
//   instant_load nodes --bundle=DIR --listen=127.0.0.1:0    node executor of each node of the
//   bundle, whose
//                                                   checks were made once and take no time
//   instant_load drive --bundle=DIR --server=ADDRESS --count=1000 --at_once=32    prints JSON
#include <grpcpp/grpcpp.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "bench/load/drive.h"
#include "bench/load/recording.h"
#include "common/base/status_macros.h"
#include "common/rpc/serve.h"
#include "common/rpc/stream.h"
#include "galen/node/v1/node.grpc.pb.h"
#include "nlohmann/json.hpp"
#include "services/cli/diagnosis_api.h"
#include "services/cli/local_mesh.h"

ABSL_FLAG(std::string, bundle, "", "The bundle whose incident and nodes these are.");
ABSL_FLAG(std::string, knowledge, "", "The knowledge directory.");
ABSL_FLAG(std::string, listen, "127.0.0.1:0", "Where the nodes listen.");
ABSL_FLAG(std::string, server, "", "Address of galen-orchestrator.");
ABSL_FLAG(std::string, tenant, "bench", "Whose diagnoses they are.");
ABSL_FLAG(int, count, 1000, "Diagnoses.");
ABSL_FLAG(int, at_once, 32, "Of which so many are under way at a time.");

namespace galen::load {
namespace {

class Nodes final : public node::v1::NodeService::CallbackService {
 public:
  explicit Nodes(const Recording& recording) : recording_(recording) {}
  grpc::ServerWriteReactor<galen::v1::CheckResult>* RunChecks(
      grpc::CallbackServerContext*, const node::v1::RunChecksRequest* request) override {
    auto stream = rpc::ServerStream<galen::v1::CheckResult>::Start();
    // Nodes at one address are asked in one call.
    std::vector<std::string> nodes(request->more_nodes().begin(), request->more_nodes().end());
    nodes.push_back(request->node());
    for (const std::string& node : nodes) {
      for (const std::string& check : request->checks()) {
        stream->Push(recording_.ResultOf(check, node));
      }
    }
    stream->End(absl::OkStatus());
    return stream.get();
  }

 private:
  const Recording& recording_;
};

absl::Status Run(const std::string& end) {
  const auto knowledge = cli::LoadKnowledge({absl::GetFlag(FLAGS_knowledge)});
  if (!knowledge.ok()) return knowledge.status();
  GALEN_ASSIGN_OR_RETURN(const Recording recording,
                         Recording::Make(absl::GetFlag(FLAGS_bundle), *knowledge));
  if (end == "nodes") {
    Nodes nodes(recording);
    return rpc::ServeUntilSignal({.address = absl::GetFlag(FLAGS_listen)}, {&nodes});
  }
  if (end != "drive") return absl::InvalidArgumentError("say `nodes` or `drive`");
  GALEN_ASSIGN_OR_RETURN(const auto mesh,
                         cli::ConnectTo(absl::GetFlag(FLAGS_server), rpc::SecurityOptions()));
  GALEN_ASSIGN_OR_RETURN(const Driven driven,
                         Drive(*mesh, recording.incident(), absl::GetFlag(FLAGS_tenant),
                               absl::GetFlag(FLAGS_count), absl::GetFlag(FLAGS_at_once)));
  const auto ms = [&](double share) {
    return absl::ToDoubleMilliseconds(driven.Percentile(share));
  };
  std::cout << nlohmann::json({{"per_second", driven.PerSecond()},
                               {"p50_ms", ms(0.5)},
                               {"p90_ms", ms(0.9)},
                               {"p99_ms", ms(0.99)},
                               {"max_ms", ms(1)},
                               {"events", static_cast<double>(driven.events) /
                                              static_cast<double>(driven.latencies.size())}})
                   .dump()
            << std::endl;
  return absl::OkStatus();
}

}  // namespace
}  // namespace galen::load

int main(int argc, char** argv) {
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  const absl::Status status = galen::load::Run(words.size() == 2 ? words[1] : "");
  if (!status.ok()) std::cerr << "instant_load: " << status.message() << std::endl;
  return status.ok() ? 0 : 1;
}
