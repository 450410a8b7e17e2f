// A server that has ten million series and sends them all, in spite of any limit in the request:
// the amount read is bounded, and reported as too much.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/steady.h"
#include "common/telemetry/discovery.h"
#include "common/telemetry/prometheus_client.h"
#include "tests/testing/memory.h"
#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using Code = absl::StatusCode;

constexpr std::int64_t kMillions = 10'000'000;
const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// Answers each request with `begin`, then `item(0)`, ",", `item(1)`, ... `end`, as they go out: the
// whole is never in memory. It stops when the client goes, or when it is destroyed.
class Torrent {
 public:
  using Item = std::function<void(std::int64_t i, std::string& out)>;
  Torrent(std::string begin, std::int64_t items, Item item, std::string end)
      : begin_(std::move(begin)), items_(items), item_(std::move(item)), end_(std::move(end)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~Torrent() {
    stop_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  PrometheusClient Client() const {
    return PrometheusClient({.http = {.server = absl::StrCat("http://127.0.0.1:", port_)}});
  }
  std::int64_t sent() const { return sent_; }

 private:
  void Serve() {
    while (!stop_) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      Answer(client);
      close(client);
    }
  }
  bool Send(int client, const std::string& bytes) {
    std::size_t at = 0;
    while (at < bytes.size() && !stop_) {
      const ssize_t written = send(client, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (written <= 0) return false;
      at += static_cast<std::size_t>(written);
      sent_ += written;
    }
    return !stop_;
  }
  void Answer(int client) {
    const timeval patience = {.tv_sec = 0, .tv_usec = 200'000};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    std::string request(64 << 10, '\0');
    // (The questions are short: one piece.)
    if (recv(client, request.data(), request.size(), 0) <= 0) return;
    std::string bytes = absl::StrCat(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n", begin_);
    for (std::int64_t i = 0; i < items_; ++i) {
      if (i > 0) bytes += ',';
      item_(i, bytes);
      if (bytes.size() < (256 << 10)) continue;
      if (!Send(client, bytes)) return;
      bytes.clear();
    }
    Send(client, bytes + end_);
  }

  const std::string begin_;
  const std::int64_t items_;
  const Item item_;
  const std::string end_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> sent_{0};
  std::thread thread_;
};

void OneSeries(std::int64_t i, std::string& out) {
  absl::StrAppend(&out, R"({"__name__":"node_load1","instance":"n)", i, R"(:9100","job":"node"})");
}
void OneSample(std::int64_t i, std::string& out) {
  absl::StrAppend(&out, R"({"metric":{"__name__":"node_load1","instance":"n)", i,
                  R"(:9100"},"values":[[1700000000,"1"],[1700000015,"2"]]})");
}
void OneName(std::int64_t i, std::string& out) { absl::StrAppend(&out, "\"m", i, "\""); }

const char kList[] = R"({"status":"success","data":[)";
const char kMatrix[] = R"({"status":"success","data":{"resultType":"matrix","result":[)";

// The most memory that this process has had since Forget, in bytes.
class Peak {
 public:
  Peak() {
    std::ofstream("/proc/self/clear_refs") << "5";
    before_ = Read("VmRSS:");
  }
  std::int64_t growth() const { return Read("VmHWM:") - before_; }

 private:
  static std::int64_t Read(const char* what) {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
      std::int64_t kibibytes = 0;
      if (word == what && status >> kibibytes) return kibibytes << 10;
    }
    return 0;
  }
  std::int64_t before_ = 0;
};

// An answer, its parts as numbers and words, and room for a buffer that grows: three of its size.
void ExpectBounded(const Peak& peak, const Limits& limits) {
  if (!galen::testing::kMemoryIsOurs) return;
  EXPECT_LT(peak.growth(), static_cast<std::int64_t>(limits.bytes) * 3);
}

TEST(OverloadTest, TenMillionSeriesAreTooMuchAndNotKept) {
  const Torrent server(kList, kMillions, OneSeries, "]}");
  PrometheusClient client = server.Client();
  const Peak peak;
  EXPECT_THAT(client.SeriesOf("node_load1", kNow, kNow, {}).status(),
              StatusIs(Code::kResourceExhausted,
                       AllOf(HasSubstr("Prometheus"), HasSubstr("ask for less at a time"))));
  ExpectBounded(peak, {});
  // No more of its 600 MB was taken than is allowed, plus the contents of buffers on the way.
  EXPECT_LT(server.sent(), std::int64_t{128} << 20);
}

TEST(OverloadTest, TheSamplesOfTenMillionSeriesAreTooMuchAndNotKept) {
  const Torrent server(kMatrix, kMillions, OneSample, "]}}");
  PrometheusClient client = server.Client();
  const Peak peak;
  EXPECT_THAT(client.Samples("node_load1", kNow, kNow + absl::Hours(1), {}).status(),
              StatusIs(Code::kResourceExhausted, HasSubstr("ask for less at a time")));
  ExpectBounded(peak, {});
}

TEST(OverloadTest, TenMillionValuesOfALabelAreTooMuchAndNotKept) {
  const Torrent server(kList, kMillions, OneName, "]}");
  PrometheusClient client = server.Client();
  const Peak peak;
  bool complete = true;
  EXPECT_THAT(client.LabelValues("pod", "", kNow, kNow, {}, &complete).status(),
              StatusIs(Code::kResourceExhausted, HasSubstr("ask for less at a time")));
  ExpectBounded(peak, {});
}

TEST(OverloadTest, WhatIsManyAndNotLongIsTruncatedAndSaidToBe) {
  constexpr std::int64_t kFit = 4'000'000;
  const Torrent names(kList, kFit, OneName, "]}");
  PrometheusClient of_names = names.Client();
  const Peak peak;
  bool complete = true;
  const auto values = of_names.LabelValues("pod", "", kNow, kNow, {}, &complete);
  ASSERT_THAT(values, IsOk());
  EXPECT_THAT(*values, SizeIs(Limits().series));
  EXPECT_FALSE(complete);
  ExpectBounded(peak, {});

  const Torrent series(kList, 800'000, OneSeries, "]}");
  PrometheusClient of_series = series.Client();
  const auto cut = of_series.SeriesOf("node_load1", kNow, kNow, {});
  ASSERT_THAT(cut, IsOk());
  EXPECT_THAT(cut->series, SizeIs(Limits().series));
  EXPECT_FALSE(cut->complete);
  EXPECT_THAT(cut->warnings, ::testing::ElementsAre(HasSubstr("ask for fewer")));
}

TEST(OverloadTest, WhoAsksWhatIsThereIsToldThatItIsTooMuch) {
  const auto rules = LoadRules({GALEN_SOURCE_DIR "/knowledge"});
  ASSERT_THAT(rules, IsOk());
  const Torrent server(kList, kMillions, OneName, "]}");
  PrometheusClient client = server.Client();
  EXPECT_THAT(Discover(client, *rules, kNow, kNow, {"n1"}, {}).status(),
              StatusIs(Code::kResourceExhausted, HasSubstr("Prometheus")));
  // Names that fit, but too many: the first ones are returned, marked as incomplete.
  const Torrent fewer(kList, 200'000, OneName, "]}");
  PrometheusClient of_fewer = fewer.Client();
  const auto inventory = Discover(of_fewer, *rules, kNow, kNow, {"n1"}, {});
  ASSERT_THAT(inventory, IsOk());
  EXPECT_FALSE(inventory->complete);
}

TEST(OverloadTest, WhoMeasuresAQuantityOfTenMillionSeriesIsToldAndNotLeftWithAPart) {
  const auto rules = LoadRules({GALEN_SOURCE_DIR "/knowledge"});
  ASSERT_THAT(rules, IsOk());
  const Range range = {kNow, kNow + absl::Minutes(5), absl::Seconds(15)};
  const Torrent server(kMatrix, kMillions, OneSample, "]}}");
  PrometheusClient client = server.Client();
  EXPECT_THAT(Measure(client, *rules, "runnable_tasks", range, absl::Minutes(1), {}).status(),
              StatusIs(Code::kResourceExhausted, HasSubstr("Prometheus")));
  const Torrent fewer(kMatrix, 30'000, OneSample, "]}}");
  PrometheusClient of_fewer = fewer.Client();
  const auto part = Measure(of_fewer, *rules, "runnable_tasks", range, absl::Minutes(1), {});
  ASSERT_THAT(part, IsOk());
  EXPECT_FALSE(part->complete);
  EXPECT_THAT(part->rows, SizeIs(Limits().series));
}

TEST(OverloadTest, ADeadlineCountsWhileAnAnswerWithoutEndComes) {
  const Torrent server(kList, std::int64_t{1} << 60, OneSeries, "]}");
  PrometheusClient client = server.Client();
  Call call;
  call.limits.bytes = std::size_t{1} << 40;
  call.deadline = SteadyNow() + absl::Milliseconds(150);
  EXPECT_THAT(client.SeriesOf("node_load1", kNow, kNow, call).status(),
              StatusIs(Code::kDeadlineExceeded, HasSubstr("Prometheus")));
}

}  // namespace
}  // namespace galen::telemetry
