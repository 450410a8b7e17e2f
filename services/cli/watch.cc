#include "services/cli/watch.h"

#include <google/protobuf/util/json_util.h>
#include <signal.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/proto_time.h"
#include "common/base/time_text.h"
#include "common/clients/grpc_clients.h"
#include "common/knowledge/load.h"
#include "common/knowledge/rules.h"
#include "common/rpc/replicas/replicas.h"
#include "services/cli/answer.h"
#include "services/cli/local_mesh.h"
#include "services/cli/remote_checks.h"
#include "services/node/watch/event_hub.h"
#include "services/node/watch/watcher.h"

namespace galen::cli {
namespace {

// Events that may wait for the terminal; the oldest go first.
constexpr std::size_t kMaxQueuedEvents = 10'000;

// Events from other threads, for this one to print. Thread-safe.
class Inbox {
 public:
  void Put(execution::v1::NodeEvent event) {
    MutexLock lock(mu_);
    events_.push_back(std::move(event));
    if (events_.size() > kMaxQueuedEvents) events_.pop_front();
    changed_.notify_all();
  }
  void End(absl::Status status) {
    MutexLock lock(mu_);
    if (!end_.has_value()) end_ = std::move(status);
    changed_.notify_all();
  }
  // Waits for the next event; nothing once all were taken and the stream has ended.
  std::optional<execution::v1::NodeEvent> Next() {
    MutexLock lock(mu_);
    while (events_.empty() && !end_.has_value()) mu_.Wait(changed_);
    if (events_.empty()) return std::nullopt;
    execution::v1::NodeEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  absl::Status end() {
    MutexLock lock(mu_);
    return end_.value_or(absl::OkStatus());
  }

 private:
  Mutex mu_;
  std::condition_variable changed_;
  std::deque<execution::v1::NodeEvent> events_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);
};

// Ends the inbox by a signal, or when it is destroyed.
class Interrupt {
 public:
  explicit Interrupt(Inbox& inbox) : inbox_(inbox), thread_([this] { Wait(); }) {}
  ~Interrupt() {
    // It waits for that signal, and nothing else is done with it.
    pthread_kill(thread_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
    thread_.join();
  }

 private:
  void Wait() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    int received = 0;
    sigwait(&signals, &received);
    inbox_.End(absl::OkStatus());
  }
  Inbox& inbox_;
  std::thread thread_;
};

std::string TimeOf(const execution::v1::NodeEvent& event) {
  return TimeText(ToTime(event.has_noticed_at() ? event.noticed_at() : event.received_at()), 3);
}

void Print(const execution::v1::NodeEvent& event, bool json, Console& console) {
  if (json) {
    std::string text;
    if (google::protobuf::util::MessageToJsonString(event, &text).ok()) {
      console.out << text << std::endl;
    }
    return;
  }
  console.out << Paint(console.terminal, Colour::kDim, TimeOf(event)) << "  "
              << Paint(console.terminal, Colour::kBold, event.node()) << "  ";
  if (!event.trouble().empty()) {
    console.out << Paint(console.terminal, Colour::kYellow, event.trouble()) << std::endl;
    return;
  }
  const v1::Finding& finding = event.finding();
  std::string text = absl::StrCat(
      event.check(), "  ", finding.subject().device().empty() ? "node" : finding.subject().device(),
      " ", finding.name(), " = ", knowledge::ValueText(finding));
  if (!finding.unit().empty()) absl::StrAppend(&text, " ", finding.unit());
  console.out << Paint(console.terminal, Colour::kRed, text);
  if (!finding.event_value().text().empty()) {
    console.out << "\n    " << finding.event_value().text();
  }
  console.out << std::endl;
}

}  // namespace

CLI::App* DeclareWatch(CLI::App& app, WatchArguments& arguments) {
  CLI::App* watch =
      app.add_subcommand("watch", "Print what nodes notice by themselves, as it happens");
  watch
      ->add_option(
          "--server", arguments.server,
          "Watch the nodes of a mesh: the address of its galen-execution; none: this machine")
      ->type_name("HOST:PORT");
  watch->add_option("--node", arguments.nodes, "Only this node of the mesh; repeatable")
      ->type_name("HOST");
  watch->add_flag("--json", arguments.json, "Print one JSON object per line");
  DeclareKnowledge(*watch, arguments.knowledge);
  return watch;
}

ExitCode WatchNodes(const WatchArguments& arguments, Console& console) {
  const auto refuse = [&](const absl::Status& status) {
    console.err << "galen: " << status.message() << std::endl;
    return ExitCodeOf(status);
  };
  execution::v1::WatchNodesRequest request;
  for (const std::string& node : arguments.nodes) request.add_nodes(node);

  // Shared with the call, which may end after this does.
  const auto inbox = std::make_shared<Inbox>();
  const Interrupt interrupt(*inbox);
  const auto print_all = [&] {
    while (std::optional<execution::v1::NodeEvent> event = inbox->Next()) {
      Print(*event, arguments.json, console);
    }
  };
  if (!arguments.server.empty()) {
    const auto security = rpc::Security::Open(arguments.security);
    if (!security.ok()) return refuse(security.status());
    auto replicas =
        rpc::Replicas::Connect(arguments.server, **security, {security::Role::kExecution});
    if (!replicas.ok()) return refuse(replicas.status());
    const auto client = clients::MakeGrpcExecutionClient(*std::move(replicas));
    const clients::Cancel cancel = client->WatchNodes(
        request, [inbox](execution::v1::NodeEvent event) { inbox->Put(std::move(event)); },
        [inbox](absl::Status status) { inbox->End(std::move(status)); });
    print_all();
    cancel();
    const absl::Status status = inbox->end();
    return status.ok() ? kOk : refuse(ExecutionError(arguments.server, status));
  }
  const auto directories = knowledge::FindDirectories(arguments.knowledge);
  if (!directories.ok()) return refuse(directories.status());
  const auto knowledge = LoadKnowledge(arguments.knowledge);
  if (!knowledge.ok()) return refuse(knowledge.status());
  const LocalNode local(*knowledge, {});
  const auto host = local.hosts.Open("", "", nullptr);
  if (!host.ok()) return refuse(host.status());
  const SystemClock clock;
  node::EventHub hub(clock);
  const auto watcher = node::Watcher::Start(*directories, **knowledge, *host, hub);
  if (!watcher.ok()) return refuse(watcher.status());
  const auto listener = hub.Listen(
      [inbox, name = (*host)->name()](const node::v1::WatchEvent& event) {
        execution::v1::NodeEvent told;
        told.set_node(name);
        told.set_check(event.check());
        *told.mutable_finding() = event.finding();
        *told.mutable_noticed_at() = event.noticed_at();
        *told.mutable_received_at() = event.noticed_at();
        inbox->Put(std::move(told));
        return true;
      },
      [](const absl::Status&) {});
  if (!listener.ok()) return refuse(listener.status());
  print_all();
  hub.Leave(*listener);
  return kOk;
}

}  // namespace galen::cli
