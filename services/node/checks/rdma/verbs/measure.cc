#include "services/node/checks/rdma/verbs/measure.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "services/node/checks/rdma/verbs/pair_message.h"

namespace galen::node {
namespace {

constexpr int kVersion = 1;
constexpr int kSlots = 16;
constexpr std::int64_t kMostPorts = 64;
constexpr std::size_t kLeastMessage = 4096;
// How long a stranger may take over its first line before it is hung up on.
constexpr absl::Duration kHelloTime = absl::Seconds(2);
// Time reserved for sending the result to the other node.
constexpr absl::Duration kTellTime = absl::Milliseconds(200);
// The latency is measured for this part of the time that each of both bandwidths is.
constexpr int kLatencyPart = 4;

EndpointOptions OptionsOf(const MeasuredPort& port, int qps, std::size_t bytes) {
  return {.device = port.device,
          .port = port.port,
          .gid_index = port.gid_index,
          .qps = qps,
          .slots = kSlots,
          .slot_bytes = bytes};
}

absl::Span<std::uint8_t> Written(absl::Span<std::uint8_t> memory, const Endpoint& endpoint) {
  return memory.subspan(0, static_cast<std::size_t>(endpoint.slots()) * endpoint.slot_bytes());
}

std::uint64_t NewSeed() {
  std::random_device random;
  return (static_cast<std::uint64_t>(random()) << 31) ^ random();
}

// Notes in `measured` that less time is left than a test takes: the port is not even opened.
void TellIfNoTimeIsLeft(const MeasureOptions& options, const WaitLimits& limits,
                        Measured* measured) {
  const absl::Duration takes = options.duration * 2 + options.duration / kLatencyPart;
  if (limits.deadline - SteadyNow() >= takes) return;
  measured->unmeasured = "no time was left to test it";
}

// Runs the three measurements from `from` to `to`. `measured` reports a transfer that fails, and
// one that the end of the time leaves unfinished.
absl::Status Measure(Endpoint& from, const EndpointAddress& to, const MeasureOptions& options,
                     const WaitLimits& limits, Measured* measured) {
  measured->message_bytes = from.slot_bytes();
  const auto run = [&]() -> absl::Status {
    const auto until = [&](absl::Duration duration) {
      return TrafficLimits{duration, SteadyNow() + duration + options.grace, limits.deadline,
                           limits.cancelled};
    };
    GALEN_ASSIGN_OR_RETURN(measured->latency,
                           MeasureLatency(from, to, until(options.duration / kLatencyPart)));
    GALEN_ASSIGN_OR_RETURN(measured->gbps_one,
                           MeasureBandwidth(from, to, 1, until(options.duration)));
    GALEN_ASSIGN_OR_RETURN(measured->gbps_many,
                           MeasureBandwidth(from, to, options.qps, until(options.duration)));
    return absl::OkStatus();
  };
  const absl::Status status = run();
  const bool failed = status.code() == absl::StatusCode::kAborted;
  if (!failed && status.code() != absl::StatusCode::kDeadlineExceeded) return status;
  (failed ? measured->failed : measured->unmeasured) = std::string(status.message());
  return absl::OkStatus();
}

// The reason that a `skip`, `refused` or `failed` gives.
std::string ReasonWords(const Measured& measured) {
  if (measured.failed.empty()) {
    return absl::StrCat("unmeasured=1 reason=", AsValue(measured.unmeasured));
  }
  return absl::StrCat("reason=", AsValue(measured.failed));
}

void TellReasonOfPeer(const PairMessage& message, Measured* measured) {
  measured->unmeasured_by_peer = !message.Text("unmeasured").empty();
  (measured->unmeasured_by_peer ? measured->unmeasured : measured->failed) =
      absl::StrCat("the other node: ", CleanText(message.Text("reason"), kMostPairLine));
}

// If this node's own port does not open either, it cannot blame the peer: reports its own failure.
void TellIfUnopenedHereToo(const std::shared_ptr<const VerbsLibrary>& library, Measured* measured) {
  const auto own = Endpoint::Open(library, OptionsOf(measured->own, 1, kLeastMessage));
  if (own.ok()) return;
  measured->unmeasured_by_peer = false;
  measured->unmeasured.clear();
  TellUnopened(own.status(), measured);
}

// Both ends of the conversation. A peer that disconnects during it is not a fault of this node, and
// neither is UNAVAILABLE.
class Talk {
 public:
  Talk(Connection connection, const WaitLimits& limits)
      : connection_(std::move(connection)), limits_(limits) {}

  absl::Status Say(absl::string_view line) { return OfPeer(connection_.SendLine(line, limits_)); }
  absl::StatusOr<PairMessage> Hear() { return Hear(limits_); }
  absl::StatusOr<PairMessage> Hear(const WaitLimits& limits) {
    auto line = connection_.ReceiveLine(kMostPairLine, limits);
    if (!line.ok()) return OfPeer(line.status());
    return ParsePairMessage(*line);
  }

 private:
  static absl::Status OfPeer(const absl::Status& status) {
    if (status.code() != absl::StatusCode::kUnavailable) return status;
    return absl::AbortedError(status.message());
  }

  Connection connection_;
  const WaitLimits& limits_;
};

// Waits for the one who knows the token.
absl::StatusOr<Talk> Greeted(Listener& listener, const std::string& token, std::size_t ports,
                             const WaitLimits& limits) {
  while (true) {
    auto connection = listener.Accept(limits);
    if (!connection.ok()) {
      if (connection.status().code() != absl::StatusCode::kDeadlineExceeded) {
        return connection.status();
      }
      return absl::DeadlineExceededError("the other node did not come in time");
    }
    Talk talk(*std::move(connection), limits);
    const WaitLimits hello_limits{std::min(limits.deadline, SteadyNow() + kHelloTime),
                                  limits.cancelled};
    const auto hello = talk.Hear(hello_limits);
    if (hello.status().code() == absl::StatusCode::kCancelled) return hello.status();
    if (!hello.ok() || hello->verb != "hello" || !SameSecret(hello->Text("token"), token)) continue;
    GALEN_RETURN_IF_ERROR(hello->Integer("version", kVersion, kVersion).status());
    GALEN_RETURN_IF_ERROR(talk.Say(absl::StrCat("welcome ports=", ports)));
    return talk;
  }
}

// The server's part for one port; `ask` is the client's `try`.
absl::Status ServePort(const std::shared_ptr<const VerbsLibrary>& library, const PairMessage& ask,
                       Talk& talk, Measured* measured) {
  GALEN_ASSIGN_OR_RETURN(const std::int64_t qps, ask.Integer("qps", 1, 16));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t bytes, ask.Integer("bytes", 4096, 8 << 20));
  std::uint64_t seed = 0;
  if (!absl::SimpleAtoi(ask.Text("seed"), &seed)) {
    return absl::InvalidArgumentError("the other side gives no seed");
  }
  GALEN_ASSIGN_OR_RETURN(const EndpointAddress client, ParseEndpoint(ask));
  auto endpoint = Endpoint::Open(
      library, OptionsOf(measured->own, static_cast<int>(qps), static_cast<std::size_t>(bytes)));
  absl::Status ready = endpoint.status();
  if (ready.ok()) ready = (*endpoint)->Connect(client);
  if (!ready.ok()) {
    TellUnopened(ready, measured);
    return talk.Say(absl::StrCat("refused device=", AsValue(measured->own.device), " ",
                                 ReasonWords(*measured)));
  }
  GALEN_RETURN_IF_ERROR(talk.Say(absl::StrCat("ready device=", AsValue(measured->own.device),
                                              " bytes=", (*endpoint)->slot_bytes(), " ",
                                              EndpointWords((*endpoint)->address()))));
  GALEN_ASSIGN_OR_RETURN(const PairMessage result, talk.Hear());
  if (result.verb == "failed") {
    TellReasonOfPeer(result, measured);
    return absl::OkStatus();
  }
  if (result.verb != "measured") return absl::InvalidArgumentError("the other side broke off");
  GALEN_ASSIGN_OR_RETURN(measured->gbps_one, result.Number("one"));
  GALEN_ASSIGN_OR_RETURN(measured->gbps_many, result.Number("many"));
  GALEN_ASSIGN_OR_RETURN(measured->latency.median_us, result.Number("median"));
  GALEN_ASSIGN_OR_RETURN(measured->latency.p99_us, result.Number("p99"));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t used, result.Integer("bytes", 4096, 8 << 20));
  measured->message_bytes = static_cast<std::size_t>(used);
  const std::size_t written =
      std::min(static_cast<std::size_t>(used) * kSlots, (*endpoint)->target().size());
  measured->wrong_words = CountWrongWords(seed, (*endpoint)->target().subspan(0, written));
  return talk.Say(absl::StrCat("verified wrong=", measured->wrong_words));
}

// The client's part for one port.
absl::Status TryPort(const std::shared_ptr<const VerbsLibrary>& library, int index,
                     const MeasureOptions& options, const WaitLimits& limits, Talk& talk,
                     Measured* measured) {
  const std::string device = AsValue(measured->own.device);
  const auto skip = [&] {
    return talk.Say(
        absl::StrCat("skip index=", index, " device=", device, " ", ReasonWords(*measured)));
  };
  TellIfNoTimeIsLeft(options, limits, measured);
  if (!measured->unmeasured.empty()) return skip();
  auto endpoint =
      Endpoint::Open(library, OptionsOf(measured->own, options.qps, options.message_bytes));
  if (!endpoint.ok()) {
    TellUnopened(endpoint.status(), measured);
    return skip();
  }
  const std::uint64_t seed = NewSeed();
  GALEN_RETURN_IF_ERROR(talk.Say(absl::StrCat(
      "try index=", index, " qps=", options.qps, " bytes=", (*endpoint)->slot_bytes(),
      " seed=", seed, " device=", device, " ", EndpointWords((*endpoint)->address()))));
  GALEN_ASSIGN_OR_RETURN(const PairMessage ready, talk.Hear());
  measured->peer = CleanText(ready.Text("device"), 64);
  if (ready.verb == "refused") {
    TellReasonOfPeer(ready, measured);
    return absl::OkStatus();
  }
  if (ready.verb != "ready") return absl::InvalidArgumentError("the other side broke off");
  GALEN_ASSIGN_OR_RETURN(const EndpointAddress server, ParseEndpoint(ready));
  GALEN_ASSIGN_OR_RETURN(const std::int64_t bytes, ready.Integer("bytes", 4096, 8 << 20));
  (*endpoint)->ShrinkSlots(static_cast<std::size_t>(bytes));
  FillPattern(seed, Written((*endpoint)->source(), **endpoint));
  if (absl::Status joined = (*endpoint)->Connect(server); !joined.ok()) {
    TellUnopened(joined, measured);
  } else {
    const WaitLimits traffic{limits.deadline - kTellTime, limits.cancelled};
    GALEN_RETURN_IF_ERROR(Measure(**endpoint, server, options, traffic, measured));
  }
  if (!measured->failed.empty() || !measured->unmeasured.empty()) {
    return talk.Say(absl::StrCat("failed ", ReasonWords(*measured)));
  }
  GALEN_RETURN_IF_ERROR(talk.Say(
      absl::StrCat("measured one=", measured->gbps_one, " many=", measured->gbps_many,
                   " median=", measured->latency.median_us, " p99=", measured->latency.p99_us,
                   " bytes=", (*endpoint)->slot_bytes())));
  GALEN_ASSIGN_OR_RETURN(const PairMessage verified, talk.Hear());
  GALEN_ASSIGN_OR_RETURN(const std::int64_t wrong, verified.Integer("wrong", 0, 1 << 30));
  measured->wrong_words = static_cast<std::uint64_t>(wrong);
  return absl::OkStatus();
}

}  // namespace

void TellUnopened(const absl::Status& status, Measured* measured) {
  const bool failed = status.code() == absl::StatusCode::kFailedPrecondition ||
                      status.code() == absl::StatusCode::kAborted;
  (failed ? measured->failed : measured->unmeasured) = std::string(status.message());
}

absl::StatusOr<Measured> MeasureLoopback(const std::shared_ptr<const VerbsLibrary>& library,
                                         const MeasuredPort& port, const MeasureOptions& options,
                                         const WaitLimits& limits) {
  const EndpointOptions make = OptionsOf(port, options.qps, options.message_bytes);
  Measured measured;
  measured.own = port;
  measured.peer = port.device;
  TellIfNoTimeIsLeft(options, limits, &measured);
  if (!measured.unmeasured.empty()) return measured;
  auto opened = Endpoint::Open(library, make);
  auto second = opened.ok() ? Endpoint::Open(library, make) : opened.status();
  if (!second.ok()) {
    if (second.status().code() == absl::StatusCode::kInvalidArgument) return second.status();
    TellUnopened(second.status(), &measured);
    return measured;
  }
  const std::unique_ptr<Endpoint> from = *std::move(opened);
  const std::unique_ptr<Endpoint> to = *std::move(second);
  const std::size_t bytes = std::min(from->slot_bytes(), to->slot_bytes());
  from->ShrinkSlots(bytes);
  to->ShrinkSlots(bytes);
  const std::uint64_t seed = NewSeed();
  FillPattern(seed, Written(from->source(), *from));
  absl::Status joined = from->Connect(to->address());
  if (joined.ok()) joined = to->Connect(from->address());
  if (!joined.ok()) {
    TellUnopened(joined, &measured);
    return measured;
  }
  GALEN_RETURN_IF_ERROR(Measure(*from, to->address(), options, limits, &measured));
  if (measured.failed.empty() && measured.unmeasured.empty()) {
    measured.wrong_words = CountWrongWords(seed, Written(to->target(), *to));
  }
  return measured;
}

absl::StatusOr<std::vector<Measured>> ServePair(const std::shared_ptr<const VerbsLibrary>& library,
                                                const std::vector<MeasuredPort>& ports,
                                                const std::string& token, Listener& listener,
                                                const WaitLimits& limits) {
  GALEN_ASSIGN_OR_RETURN(Talk talk, Greeted(listener, token, ports.size(), limits));
  std::vector<Measured> all;
  while (true) {
    GALEN_ASSIGN_OR_RETURN(const PairMessage ask, talk.Hear());
    if (ask.verb == "bye") return all;
    // Each port once, in order: a peer cannot keep this node busy without end.
    GALEN_ASSIGN_OR_RETURN(const std::int64_t index,
                           ask.Integer("index", static_cast<std::int64_t>(all.size()),
                                       static_cast<std::int64_t>(ports.size()) - 1));
    Measured measured;
    measured.own = ports[static_cast<std::size_t>(index)];
    measured.peer = CleanText(ask.Text("device"), 64);
    if (ask.verb == "skip") {
      TellReasonOfPeer(ask, &measured);
      if (measured.unmeasured_by_peer) TellIfUnopenedHereToo(library, &measured);
    } else if (ask.verb == "try") {
      GALEN_RETURN_IF_ERROR(ServePort(library, ask, talk, &measured));
    } else {
      return absl::InvalidArgumentError("the other side says what is not of the protocol");
    }
    all.push_back(std::move(measured));
  }
}

absl::StatusOr<std::vector<Measured>> MeasurePair(
    const std::shared_ptr<const VerbsLibrary>& library, const std::vector<MeasuredPort>& ports,
    const MeasureOptions& options, const std::string& token, const SocketAddress& peer,
    const std::function<void(int port, int ports)>& on_port, const WaitLimits& limits) {
  auto connection = Connection::Open(peer, limits);
  if (!connection.ok()) {
    if (connection.status().code() == absl::StatusCode::kCancelled) return connection.status();
    return absl::AbortedError(
        absl::StrCat("the other node is not reached: ", connection.status().message()));
  }
  Talk talk(*std::move(connection), limits);
  GALEN_RETURN_IF_ERROR(talk.Say(absl::StrCat("hello version=", kVersion, " token=", token)));
  GALEN_ASSIGN_OR_RETURN(const PairMessage welcome, talk.Hear());
  GALEN_ASSIGN_OR_RETURN(const std::int64_t theirs, welcome.Integer("ports", 1, kMostPorts));
  const int count = static_cast<int>(std::min<std::int64_t>(theirs, std::ssize(ports)));
  std::vector<Measured> all;
  for (int i = 0; i < count; ++i) {
    if (on_port) on_port(i + 1, count);
    Measured measured;
    measured.own = ports[static_cast<std::size_t>(i)];
    GALEN_RETURN_IF_ERROR(TryPort(library, i, options, limits, talk, &measured));
    all.push_back(std::move(measured));
  }
  GALEN_RETURN_IF_ERROR(talk.Say("bye"));
  return all;
}

}  // namespace galen::node
