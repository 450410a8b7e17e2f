// The same call of the public API over gRPC and as JSON over HTTP, in turns; gateway.py starts what
// answers.
//   public_calls --grpc=ADDRESS --http=ADDRESS --key=KEY --name=tenants/t/diagnoses/d --rounds=20
//   prints JSON, a line a round
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "galen/v1/diagnosis_service.grpc.pb.h"
#include "nlohmann/json.hpp"

ABSL_FLAG(std::string, grpc, "", "Address of galen-orchestrator.");
ABSL_FLAG(std::string, http, "", "Address of galen-gateway.");
ABSL_FLAG(std::string, key, "", "An API key.");
ABSL_FLAG(std::string, name, "", "The diagnosis to read.");
ABSL_FLAG(int, rounds, 20, "Rounds.");
ABSL_FLAG(int, turns, 20, "Turns of a round, of each side.");
ABSL_FLAG(int, calls, 20, "Calls of a turn.");

namespace galen::load {
namespace {

namespace beast = boost::beast;
using Tcp = boost::asio::ip::tcp;

class GrpcSide {
 public:
  explicit GrpcSide(const std::string& address)
      : stub_(v1::DiagnosisService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}
  // Bytes of the answer.
  absl::StatusOr<std::size_t> Get(const std::string& name) {
    grpc::ClientContext context;
    v1::GetDiagnosisRequest request;
    request.set_name(name);
    v1::Diagnosis diagnosis;
    const grpc::Status status = stub_->GetDiagnosis(&context, request, &diagnosis);
    if (!status.ok()) return absl::InternalError(absl::StrCat("gRPC: ", status.error_message()));
    return diagnosis.ByteSizeLong();
  }

 private:
  std::unique_ptr<v1::DiagnosisService::Stub> stub_;
};

class HttpSide {
 public:
  absl::Status Connect(const std::string& address, const std::string& key) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(address, ':');
    key_ = key;
    host_ = address;
    boost::system::error_code error;
    boost::asio::connect(socket_, Tcp::resolver(io_).resolve(parts.first, parts.second), error);
    if (error) return absl::UnavailableError(absl::StrCat(address, ": ", error.message()));
    socket_.set_option(Tcp::no_delay(true));
    return absl::OkStatus();
  }
  absl::StatusOr<std::size_t> Get(const std::string& name) {
    beast::http::request<beast::http::empty_body> request(beast::http::verb::get,
                                                          absl::StrCat("/v1/", name), 11);
    request.set("Host", host_);
    request.set("Authorization", absl::StrCat("Bearer ", key_));
    beast::http::response<beast::http::string_body> response;
    boost::system::error_code error;
    beast::http::write(socket_, request, error);
    if (!error) beast::http::read(socket_, buffer_, response, error);
    if (error) return absl::UnavailableError(absl::StrCat("HTTP: ", error.message()));
    if (response.result_int() != 200) return absl::InternalError(response.body());
    return response.body().size();
  }

 private:
  boost::asio::io_context io_;
  Tcp::socket socket_{io_};
  beast::flat_buffer buffer_;
  std::string host_;
  std::string key_;
};

double MedianMicroseconds(std::vector<absl::Duration>& times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return absl::ToDoubleMicroseconds(times[times.size() / 2]);
}

absl::Status Run() {
  GrpcSide grpc_side(absl::GetFlag(FLAGS_grpc));
  HttpSide http_side;
  GALEN_RETURN_IF_ERROR(http_side.Connect(absl::GetFlag(FLAGS_http), absl::GetFlag(FLAGS_key)));
  const std::string name = absl::GetFlag(FLAGS_name);
  struct Side {
    std::function<absl::StatusOr<std::size_t>()> call;
    std::vector<absl::Duration> times;
    std::size_t bytes = 0;
  };
  Side sides[] = {{[&] { return grpc_side.Get(name); }, {}, 0},
                  {[&] { return http_side.Get(name); }, {}, 0}};
  // Round 0 warms both up.
  for (int round = 0; round <= absl::GetFlag(FLAGS_rounds); ++round) {
    for (Side& side : sides) side.times.clear();
    for (int turn = 0; turn < absl::GetFlag(FLAGS_turns); ++turn) {
      for (Side& side : sides) {
        for (int i = 0; i < absl::GetFlag(FLAGS_calls); ++i) {
          const absl::Time begin = SteadyNow();
          GALEN_ASSIGN_OR_RETURN(side.bytes, side.call());
          side.times.push_back(SteadyNow() - begin);
        }
      }
    }
    if (round == 0) continue;
    std::cout << nlohmann::json{{"grpc_us", MedianMicroseconds(sides[0].times)},
                                {"http_us", MedianMicroseconds(sides[1].times)},
                                {"grpc_bytes", sides[0].bytes},
                                {"http_bytes", sides[1].bytes}}
              << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace galen::load

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = galen::load::Run();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
