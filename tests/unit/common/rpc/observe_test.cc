#include "common/rpc/observe.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/executor.h"
#include "common/clients/grpc_clients.h"
#include "common/observability/metrics/calls.h"
#include "common/observability/metrics/registry.h"
#include "common/rpc/channel.h"
#include "common/rpc/security.h"
#include "common/rpc/stream.h"
#include "common/rpc/unary.h"
#include "galen/node/v1/node.grpc.pb.h"

namespace galen::rpc {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kSpan[] = "00f067aa0ba902b7";
constexpr char kDiagnosis[] = "tenants/t/diagnoses/d";

// Reports what its calls came with, and ends them as the test sets.
class Echo final : public node::v1::NodeService::CallbackService {
 public:
  explicit Echo(Executor& executor) : executor_(executor) {}
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const node::v1::DescribeRequest*,
                                     node::v1::DescribeResponse* response) override {
    return RunUnary(context, executor_, [=, this](const Call&) {
      Note(*context);
      response->set_host("n1");
      return end;
    });
  }
  grpc::ServerWriteReactor<v1::CheckResult>* RunChecks(grpc::CallbackServerContext* context,
                                                       const node::v1::RunChecksRequest*) override {
    return RunServerStream<v1::CheckResult>(
        context, executor_, [=, this](const Call&, StreamWriter<v1::CheckResult>& writer) {
          Note(*context);
          writer.Write(v1::CheckResult());
          return end;
        });
  }

  absl::Status end;
  trace::Work work;  // of the last call
  std::string sent;  // its traceparent

 private:
  void Note(const grpc::CallbackServerContext& context) {
    work = trace::Current();
    const auto found = context.client_metadata().find(trace::kTraceparent);
    sent = found == context.client_metadata().end()
               ? ""
               : std::string(found->second.data(), found->second.size());
  }
  Executor& executor_;
};

class ObserveTest : public ::testing::Test {
 protected:
  ObserveTest() {
    grpc::ServerBuilder builder;
    builder.experimental().SetInterceptorCreators(ServerObservers());
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
    client_ = ClientTo(address_);
  }
  ~ObserveTest() override {
    client_.reset();
    server_->Shutdown();
  }

  std::unique_ptr<clients::NodeClient> ClientTo(const std::string& address) {
    return clients::MakeGrpcNodeClient(
        Connect(address, *security_, {security::Role::kNode}).value());
  }
  absl::Status Describe() {
    std::promise<absl::Status> done;
    client_->Describe(node::v1::DescribeRequest(), absl::Now() + absl::Seconds(20),
                      [&](const absl::StatusOr<node::v1::DescribeResponse>& response) {
                        done.set_value(response.status());
                      });
    return done.get_future().get();
  }
  absl::Status RunChecks() {
    std::promise<absl::Status> done;
    client_->RunChecks(
        node::v1::RunChecksRequest(), absl::Now() + absl::Seconds(20), [](v1::CheckResult) {},
        [&](const absl::Status& status) { done.set_value(status); });
    return done.get_future().get();
  }
  // Calls with metadata that no client of ours sends.
  void DescribeWith(const std::vector<std::pair<std::string, std::string>>& metadata) {
    const auto stub = node::v1::NodeService::NewStub(
        grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    for (const auto& [name, value] : metadata) context.AddMetadata(name, value);
    node::v1::DescribeResponse response;
    ASSERT_TRUE(stub->Describe(&context, node::v1::DescribeRequest(), &response).ok());
  }
  static double Value(const std::string& series) {
    metrics::Registry registry;
    registry.Add(metrics::ServerCalls());
    registry.Add(metrics::ClientCalls());
    for (const absl::string_view line : absl::StrSplit(registry.Text(), '\n')) {
      const std::size_t end = line.rfind(' ');
      if (line.substr(0, end) == series) return std::stod(std::string(line.substr(end + 1)));
    }
    return 0;
  }
  static std::string Series(absl::string_view side, absl::string_view method,
                            absl::string_view code) {
    return absl::StrCat("galen_rpc_", side,
                        "_calls_total{rpc_service=\"galen.node.v1.NodeService\",rpc_method=\"",
                        method, "\",code=\"", code, "\"}");
  }
  // A server counts a call when its status goes out, which its client may see first.
  static void WaitFor(const std::function<bool()>& is_so) {
    const absl::Time end = absl::Now() + absl::Seconds(20);
    while (!is_so() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_TRUE(is_so());
  }

  ThreadPool executor_{2, 8};
  Echo service_{executor_};
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  const std::unique_ptr<Security> security_ = Security::Open({}).value();
  std::unique_ptr<clients::NodeClient> client_;
};

TEST_F(ObserveTest, CountsWhatIsAnsweredAndWhatIsCalledByStatus) {
  std::map<std::string, double> before;
  for (const char* side : {"server", "client"}) {
    for (const char* method : {"Describe", "RunChecks"}) {
      for (const char* code : {"OK", "NOT_FOUND"}) {
        before[Series(side, method, code)] = Value(Series(side, method, code));
      }
    }
  }
  EXPECT_TRUE(Describe().ok());
  EXPECT_TRUE(RunChecks().ok());
  service_.end = absl::NotFoundError("nothing");
  EXPECT_FALSE(Describe().ok());
  EXPECT_FALSE(RunChecks().ok());
  for (const auto& [series, value] : before) {
    WaitFor([&, &series = series, &value = value] { return Value(series) == value + 1; });
  }
  for (const char* side : {"server", "client"}) {
    WaitFor([&] {
      return Value(absl::StrCat("galen_rpc_", side,
                                "_in_flight{rpc_service=\"galen.node.v1.NodeService\","
                                "rpc_method=\"Describe\"}")) == 0;
    });
  }
}

TEST_F(ObserveTest, CountsACallThatNobodyAnswers) {
  client_ = ClientTo("127.0.0.1:1");
  const std::string series = Series("client", "Describe", "UNAVAILABLE");
  const double before = Value(series);
  EXPECT_TRUE(absl::IsUnavailable(Describe()));
  EXPECT_EQ(Value(series), before + 1);
}

TEST_F(ObserveTest, CarriesTraceAndDiagnosisWithASpanForEachHop) {
  const trace::Context caller = *trace::Parse(absl::StrCat("00-", kTrace, "-", kSpan, "-01"));
  for (const bool stream : {false, true}) {
    {
      const trace::Scope scope({caller, kDiagnosis});
      EXPECT_TRUE((stream ? RunChecks() : Describe()).ok());
    }
    const std::optional<trace::Context> sent = trace::Parse(service_.sent);
    ASSERT_TRUE(sent.has_value()) << service_.sent;
    EXPECT_EQ(trace::TraceIdOf(*sent), kTrace);
    EXPECT_NE(sent->span_id, caller.span_id);
    EXPECT_EQ(trace::TraceIdOf(service_.work.context), kTrace);
    EXPECT_NE(service_.work.context.span_id, sent->span_id);
    EXPECT_EQ(service_.work.diagnosis, kDiagnosis);
  }
}

TEST_F(ObserveTest, BeginsATraceWhereNoneComes) {
  EXPECT_TRUE(Describe().ok());
  const std::string first = trace::TraceIdOf(service_.work.context);
  EXPECT_EQ(service_.work.diagnosis, "");
  EXPECT_TRUE(Describe().ok());
  EXPECT_TRUE(service_.work.context.valid());
  EXPECT_NE(trace::TraceIdOf(service_.work.context), first);
}

TEST_F(ObserveTest, GivesACallOneTraceWhoeverLooks) {
  service_.end = absl::OkStatus();
  DescribeWith({});
  // The handler sees the context that the server's own hook set.
  EXPECT_EQ(trace::TraceIdOf(trace::Parse(service_.sent).value()),
            trace::TraceIdOf(service_.work.context));
}

TEST_F(ObserveTest, BelievesNothingThatIsNoTraceparent) {
  const std::string good = absl::StrCat("00-", kTrace, "-", kSpan, "-01");
  DescribeWith({{"traceparent", good}});
  EXPECT_EQ(trace::TraceIdOf(service_.work.context), kTrace);
  const std::vector<std::vector<std::pair<std::string, std::string>>> cases = {
      {{"traceparent", "x"}},
      {{"traceparent", std::string(4000, '0')}},
      {{"traceparent", good}, {"traceparent", good}},
      {{"traceparent", absl::StrCat("00-", std::string(32, '0'), "-", kSpan, "-01")}}};
  for (const auto& metadata : cases) {
    DescribeWith(metadata);
    EXPECT_TRUE(service_.work.context.valid());
    EXPECT_NE(trace::TraceIdOf(service_.work.context), kTrace) << metadata[0].second;
  }
  DescribeWith({{"galen-diagnosis", "tenants/../../etc"}});
  EXPECT_EQ(service_.work.diagnosis, "");
}

}  // namespace
}  // namespace galen::rpc
