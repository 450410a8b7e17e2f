#include "common/telemetry/stored_tsdb.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/host/process.h"

namespace galen::telemetry {
namespace {

constexpr absl::Duration kNap = absl::Milliseconds(50);
constexpr absl::Duration kOneTry = absl::Seconds(5);
constexpr std::size_t kMostLog = 256 << 10;

// A port that nobody listens on now; 0: none.
int FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  int port = 0;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port = ntohs(address.sin_port);
  }
  close(listener);
  return port;
}

// The last line of a log, where a program says why it ended.
std::string LastLine(absl::string_view log) {
  while (!log.empty() && log.back() == '\n') log.remove_suffix(1);
  const std::size_t begin = log.rfind('\n');
  return CleanText(begin == absl::string_view::npos ? log : log.substr(begin + 1), 300);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoredTsdb>> StoredTsdb::Open(const std::string& directory,
                                                             const StoredOptions& options,
                                                             const Call& call) {
  GALEN_ASSIGN_OR_RETURN(TsdbView view, TsdbView::Make(directory));
  auto tsdb = std::unique_ptr<StoredTsdb>(
      new StoredTsdb(std::move(view), absl::StrCat("TSDB ", CleanText(directory, 200))));
  GALEN_RETURN_IF_ERROR(tsdb->Start(options, call));
  return tsdb;
}

StoredTsdb::~StoredTsdb() {
  stop_.Cancel();
  if (process_.joinable()) process_.join();
}

absl::Status StoredTsdb::Start(const StoredOptions& options, const Call& call) {
  const std::string configuration = absl::StrCat(view_.path(), "/galen.yml");
  std::ofstream(configuration) << "global: {}\n";
  port_ = FreePort();
  if (port_ == 0) return absl::ResourceExhaustedError(absl::StrCat(name_, ": no free port"));
  const std::vector<std::string> argv = {
      options.program,
      absl::StrCat("--config.file=", configuration),
      absl::StrCat("--storage.tsdb.path=", view_.path()),
      // Nothing is old enough to go, and no two blocks become one.
      "--storage.tsdb.retention.time=100y",
      "--storage.tsdb.min-block-duration=1y",
      "--storage.tsdb.max-block-duration=1y",
      absl::StrCat("--web.listen-address=127.0.0.1:", port_),
      "--web.max-connections=64",
      "--query.max-concurrency=4",
      "--query.timeout=1m",
      "--log.level=warn",
  };
  const std::vector<std::string> environment = {absl::StrCat("GOMEMLIMIT=", options.memory),
                                                "GOMAXPROCS=2"};
  process_ = std::thread([this, argv, environment, options] {
    const host::ProcessLimits limits = {.time = options.most_time, .output = kMostLog};
    const auto result = host::RunProcess(argv, options.search_path, environment, limits, stop_);
    absl::Status ended = result.status();
    if (result.ok()) {
      ended = absl::UnavailableError(absl::StrCat(name_, ": its Prometheus ended with ",
                                                  result->exit_code, ": ", LastLine(result->err)));
    } else if (absl::IsNotFound(ended)) {
      ended = absl::NotFoundError(absl::StrCat(
          name_, ": ", ended.message(), "; a stored TSDB is read through a Prometheus of our own"));
    }
    MutexLock lock(mu_);
    ended_ = ended;
  });
  client_ = std::make_unique<PrometheusClient>(PrometheusOptions{
      .http = {.server = absl::StrCat("http://127.0.0.1:", port_), .connect = absl::Seconds(2)}});
  GALEN_RETURN_IF_ERROR(Await(options, call));
  first_ = view_.first();
  last_ = view_.last();
  if (!view_.has_log()) return absl::OkStatus();
  const absl::StatusOr<PrometheusClient::Head> head = client_->HeadTimes(call);
  if (head.ok() && head->first <= head->last) {
    first_ = std::min(first_, head->first);
    last_ = std::max(last_, head->last);
  }
  return absl::OkStatus();
}

absl::Status StoredTsdb::Ended() {
  MutexLock lock(mu_);
  return ended_;
}

absl::Status StoredTsdb::Await(const StoredOptions& options, const Call& call) {
  const absl::Time deadline = std::min(call.deadline, SteadyNow() + options.start);
  for (;;) {
    GALEN_RETURN_IF_ERROR(Ended());
    Call once;
    once.deadline = std::min(deadline, SteadyNow() + kOneTry);
    once.cancellation = call.cancellation;
    if (client_->Ready(once).ok()) {
      // Somebody else may have taken the port before it did.
      const auto folder = client_->Flag("storage.tsdb.path", once);
      if (folder.ok() && *folder == view_.path()) return absl::OkStatus();
    }
    if (call.cancellation != nullptr && call.cancellation->cancelled())
      return absl::CancelledError("stopped by the caller");
    if (SteadyNow() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          name_, ": its Prometheus was not ready in time; a long write-ahead log takes long"));
    }
    (call.cancellation != nullptr ? *call.cancellation : Cancellation::Never()).SleepFor(kNap);
  }
}

absl::StatusOr<Answer> StoredTsdb::Instant(const std::string& query, absl::Time at,
                                           const Call& call) {
  GALEN_RETURN_IF_ERROR(Ended());
  GALEN_ASSIGN_OR_RETURN(Answer answer, client_->Instant(query, at, call));
  answer.source = name_;
  return answer;
}

absl::StatusOr<Answer> StoredTsdb::RangeOf(const std::string& query, const Range& range,
                                           const Call& call) {
  GALEN_RETURN_IF_ERROR(Ended());
  GALEN_ASSIGN_OR_RETURN(Answer answer, client_->RangeOf(query, range, call));
  answer.source = name_;
  return answer;
}

absl::StatusOr<Answer> StoredTsdb::Samples(const std::string& selector, absl::Time start,
                                           absl::Time end, const Call& call) {
  GALEN_RETURN_IF_ERROR(Ended());
  GALEN_ASSIGN_OR_RETURN(Answer answer, client_->Samples(selector, start, end, call));
  answer.source = name_;
  return answer;
}

absl::StatusOr<Answer> StoredTsdb::SeriesOf(const std::string& selector, absl::Time start,
                                            absl::Time end, const Call& call) {
  GALEN_RETURN_IF_ERROR(Ended());
  GALEN_ASSIGN_OR_RETURN(Answer answer, client_->SeriesOf(selector, start, end, call));
  answer.source = name_;
  return answer;
}

absl::StatusOr<std::vector<std::string>> StoredTsdb::LabelValues(const std::string& label,
                                                                 const std::string& selector,
                                                                 absl::Time start, absl::Time end,
                                                                 const Call& call, bool* complete) {
  GALEN_RETURN_IF_ERROR(Ended());
  return client_->LabelValues(label, selector, start, end, call, complete);
}

}  // namespace galen::telemetry
