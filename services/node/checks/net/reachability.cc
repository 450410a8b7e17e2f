#include "services/node/checks/net/reachability.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostPeers = 256;
constexpr std::size_t kMostLine = 256;
constexpr std::size_t kLeastToken = 16;
constexpr std::size_t kMostToken = 128;
constexpr absl::Duration kReserve = absl::Milliseconds(500);
// The first SYN is sent again after 1 s, the second after 2 s more (RFC 6298, sections 2.1
// and 5.5), and a busy host answers late: with less patience than this, one lost packet or a slow
// machine would be a connection that failed.
constexpr absl::Duration kConnectTime = absl::Seconds(4);
// How long the other side's program may take to answer. Its kernel has taken the connection by
// then.
constexpr absl::Duration kAnswerTime = absl::Seconds(1);
// How long a stranger may take over its line.
constexpr absl::Duration kLineTime = absl::Seconds(2);
// The time limit of ping: five packets, and a second of margin.
constexpr absl::Duration kPingTime = absl::Seconds(3);

std::optional<int> PathMtu(const Connection& connection) {
  int mtu = 0;
  socklen_t length = sizeof(mtu);
  const bool v6 = connection.Own().storage.ss_family == AF_INET6;
  const int failed = getsockopt(connection.socket(), v6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                v6 ? IPV6_MTU : IP_MTU, &mtu, &length);
  return failed == 0 && mtu > 0 ? std::optional<int>(mtu) : std::nullopt;
}

// Makes one connection; sends `line` unless it is empty. A late answer is not a failure: the
// network has made the connection.
absl::Status Once(const SocketAddress& peer, absl::string_view line, const WaitLimits& limits,
                  Reached* reached) {
  const absl::Time start = SteadyNow();
  GALEN_ASSIGN_OR_RETURN(Connection connection, Connection::Open(peer, limits));
  const double took = absl::ToDoubleMilliseconds(SteadyNow() - start);
  if (!line.empty()) {
    const WaitLimits answer{std::min(limits.deadline, SteadyNow() + kAnswerTime), limits.cancelled};
    GALEN_RETURN_IF_ERROR(connection.SendLine(line, answer));
    const absl::Status answered = connection.ReceiveLine(kMostLine, answer).status();
    if (!answered.ok() && !absl::IsDeadlineExceeded(answered)) return answered;
  }
  reached->path_mtu = PathMtu(connection);
  reached->connect_ms = reached->connect_ms == 0 ? took : std::min(reached->connect_ms, took);
  return absl::OkStatus();
}

absl::StatusOr<Reached> ReachSaying(const SocketAddress& peer, absl::string_view line, int attempts,
                                    absl::Duration each, const WaitLimits& limits) {
  Reached reached;
  for (int i = 0; i < std::clamp(attempts, 1, 100); ++i) {
    const absl::Time now = SteadyNow();
    if (now >= limits.deadline) break;
    const WaitLimits one{std::min(limits.deadline, now + each), limits.cancelled};
    const absl::Status status = Once(peer, line, one, &reached);
    if (status.code() == absl::StatusCode::kCancelled) return status;
    // An attempt that the deadline cut short is not evidence.
    if (absl::IsDeadlineExceeded(status) && now + each > limits.deadline) break;
    ++reached.attempts;
    if (status.ok()) continue;
    ++reached.failed;
    reached.reason = std::string(status.message());
    reached.refused = absl::StrContains(status.message(), "refused");
  }
  return reached;
}

void Add(const CheckContext& context, const std::string& peer, const Reached& reached,
         const std::optional<double>& ping_loss, CheckOutput* output) {
  const std::string& node = context.host.name();
  const std::string device = absl::StrCat("peer:", peer);
  const bool tried = reached.attempts > 0;
  output->findings.push_back(tried ? IntFinding("connect_failed", node, device, reached.failed)
                                   : UnknownFinding("connect_failed", node, device));
  output->findings.push_back(reached.failed < reached.attempts
                                 ? FloatFinding("connect_ms", node, device, reached.connect_ms)
                                 : UnknownFinding("connect_ms", node, device));
  output->findings.push_back(reached.path_mtu.has_value()
                                 ? IntFinding("path_mtu", node, device, *reached.path_mtu)
                                 : UnknownFinding("path_mtu", node, device));
  // If connections succeed and every ping is lost, ICMP is filtered, which is not packet loss.
  const bool filtered = reached.failed < reached.attempts && ping_loss.value_or(0) >= 100;
  output->findings.push_back(ping_loss.has_value() && !filtered
                                 ? FloatFinding("packet_loss_pct", node, device, *ping_loss)
                                 : UnknownFinding("packet_loss_pct", node, device));
  // A refusal comes from the host itself: it is reached, and the port is not open.
  output->findings.push_back(
      tried && ping_loss.has_value()
          ? BoolFinding("icmp_ok_tcp_fails", node, device,
                        *ping_loss < 100 && reached.failed == reached.attempts && !reached.refused)
          : UnknownFinding("icmp_ok_tcp_fails", node, device));
}

std::optional<double> PingLoss(const CheckContext& context, const SocketAddress& peer,
                               const WaitLimits& limits) {
  if (limits.deadline - SteadyNow() <= kPingTime) return std::nullopt;
  const auto run = context.host.Run(
      std::vector<std::string>{"ping", "-c", "5", "-i", "0.2", "-W", "1", peer.Host()});
  if (!run.ok()) return std::nullopt;
  const auto loss = ParsePingLoss(run->out);
  return loss.ok() ? std::optional<double>(*loss) : std::nullopt;
}

absl::StatusOr<CheckOutput> ReachAll(const CheckContext& context, const std::string& peers,
                                     const WaitLimits& limits) {
  std::vector<SocketAddress> addresses;
  for (const absl::string_view text : absl::StrSplit(peers, ',', absl::SkipEmpty())) {
    GALEN_ASSIGN_OR_RETURN(const SocketAddress address, ParseSocketAddress(text));
    if (addresses.size() >= kMostPeers) {
      return absl::InvalidArgumentError(
          absl::StrCat("peers: more than ", kMostPeers, " addresses; ask for them in parts"));
    }
    addresses.push_back(address);
  }
  if (addresses.empty()) return absl::InvalidArgumentError("peers: no address is named");
  CheckOutput output;
  std::vector<std::string> wrong;
  std::size_t untried = 0;
  const int attempts = static_cast<int>(context.parameters.Integer("attempts"));
  for (const SocketAddress& address : addresses) {
    GALEN_ASSIGN_OR_RETURN(const Reached reached, Reach(address, attempts, kConnectTime, limits));
    Add(context, address.Text(), reached, PingLoss(context, address, limits), &output);
    untried += reached.attempts == 0;
    if (reached.failed == 0) continue;
    wrong.push_back(absl::StrCat(address.Text(), ": ", reached.failed, " of ", reached.attempts,
                                 " connections failed (", reached.reason, ")"));
  }
  if (untried == addresses.size()) {
    return absl::DeadlineExceededError("no time was left to connect to any peer");
  }
  if (untried > 0) {
    wrong.push_back(absl::StrCat(untried, " of ", addresses.size(),
                                 " peers were not tried: the time was over"));
  }
  output.message = wrong.empty()
                       ? absl::StrCat("all of ", addresses.size(), " peers are reached by TCP")
                       : absl::StrJoin(wrong, "; ");
  return output;
}

absl::StatusOr<CheckOutput> Serve(const CheckContext& context, const std::string& token,
                                  const WaitLimits& limits) {
  SocketAddress own = OwnAddress();
  if (const std::string& asked = context.parameters.Text("address"); !asked.empty()) {
    GALEN_ASSIGN_OR_RETURN(own, ParseSocketAddress(asked));
  }
  GALEN_ASSIGN_OR_RETURN(Listener listener, Listener::Open(own));
  if (context.progress) {
    context.progress(0, absl::StrCat("listening on ", listener.address().Text()));
  }
  int came = 0;
  std::string peer;
  std::optional<int> mtu;
  while (true) {
    auto connection = listener.Accept(limits);
    if (connection.status().code() == absl::StatusCode::kDeadlineExceeded) break;
    if (!connection.ok()) return connection.status();
    const WaitLimits one{std::min(limits.deadline, SteadyNow() + kLineTime), limits.cancelled};
    const auto line = connection->ReceiveLine(kMostLine, one);
    if (line.status().code() == absl::StatusCode::kCancelled) return line.status();
    if (!line.ok()) continue;
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(*line, absl::MaxSplits(' ', 1));
    if (!SameSecret(words.second, token)) continue;
    peer = connection->Peer().Host();
    mtu = PathMtu(*connection);
    came += words.first == "reach";
    // A client that does not wait for its answer is none of the server's troubles.
    connection->SendLine(words.first == "bye" ? "bye" : "reached", one).IgnoreError();
    if (words.first == "bye") break;
  }
  if (came == 0) return absl::DeadlineExceededError("the other node did not come in time");
  CheckOutput output;
  const std::string device = absl::StrCat("peer:", peer);
  // This side made no connection; the failures of the other side's connections are its findings.
  output.findings.push_back(UnknownFinding("connect_failed", context.host.name(), device));
  output.findings.push_back(mtu.has_value()
                                ? IntFinding("path_mtu", context.host.name(), device, *mtu)
                                : UnknownFinding("path_mtu", context.host.name(), device));
  output.message = absl::StrCat(peer, " connected ", came, " times");
  return output;
}

absl::StatusOr<CheckOutput> Join(const CheckContext& context, const std::string& token,
                                 const WaitLimits& limits) {
  GALEN_ASSIGN_OR_RETURN(const SocketAddress peer,
                         ParseSocketAddress(context.parameters.Text("peer")));
  GALEN_ASSIGN_OR_RETURN(
      const Reached reached,
      ReachSaying(peer, absl::StrCat("reach ", token),
                  static_cast<int>(context.parameters.Integer("attempts")), kConnectTime, limits));
  if (reached.attempts == 0) {
    return absl::DeadlineExceededError("no time was left to connect to the other node");
  }
  Reached last;
  const WaitLimits one{std::min(limits.deadline, SteadyNow() + kAnswerTime), limits.cancelled};
  // If it does not arrive, the server ends by its own deadline.
  Once(peer, absl::StrCat("bye ", token), one, &last).IgnoreError();
  CheckOutput output;
  Add(context, peer.Host(), reached, PingLoss(context, peer, limits), &output);
  output.message = reached.failed == 0
                       ? absl::StrCat(peer.Text(), " is reached, ", reached.attempts, " times")
                       : absl::StrCat(peer.Text(), ": ", reached.failed, " of ", reached.attempts,
                                      " connections failed (", reached.reason, ")");
  return output;
}

}  // namespace

absl::StatusOr<Reached> Reach(const SocketAddress& peer, int attempts, absl::Duration each,
                              const WaitLimits& limits) {
  return ReachSaying(peer, "", attempts, each, limits);
}

absl::StatusOr<double> ParsePingLoss(absl::string_view text) {
  for (const absl::string_view line : Lines(text)) {
    const std::size_t at = line.find("% packet loss");
    if (at == absl::string_view::npos) continue;
    const std::size_t start = line.substr(0, at).rfind(' ');
    double loss = 0;
    if (start == absl::string_view::npos ||
        !absl::SimpleAtod(line.substr(start + 1, at - start - 1), &loss) || !(loss >= 0) ||
        loss > 100) {
      continue;
    }
    return loss;
  }
  return absl::InvalidArgumentError("ping: the output has no summary");
}

absl::StatusOr<CheckOutput> CheckReachability(const CheckContext& context) {
  if (!context.host.live()) {
    return absl::UnavailableError("connections are tried on a live node only");
  }
  const WaitLimits limits{context.deadline - kReserve, context.cancelled};
  if (const std::string& peers = context.parameters.Text("peers"); !peers.empty()) {
    return ReachAll(context, peers, limits);
  }
  const std::string& token = context.parameters.Text("token");
  if (token.empty()) {
    return absl::FailedPreconditionError(
        "no peer is known: ask for it over several nodes, or set parameter peers");
  }
  if (token.size() < kLeastToken || token.size() > kMostToken || absl::StrContains(token, '\n')) {
    return absl::InvalidArgumentError("token: not 16 to 128 characters");
  }
  return context.parameters.Text("role") == "client" ? Join(context, token, limits)
                                                     : Serve(context, token, limits);
}

}  // namespace galen::node
