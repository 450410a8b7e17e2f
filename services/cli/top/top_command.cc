#include "services/cli/top/top_command.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/steady.h"
#include "common/http/curl_transport.h"
#include "services/cli/certs/certs_command.h"
#include "services/cli/diagnosis_api.h"
#include "services/cli/gather.h"
#include "services/cli/top/screen.h"
#include "services/cli/top/snapshot.h"

namespace galen::cli::top {
namespace {

constexpr absl::Duration kTimeLimit = absl::Seconds(5);
constexpr std::size_t kMostBytes = 32 << 20;
constexpr int kPageSize = 50;
constexpr std::size_t kMostTenants = 64;

// A screen that restores the terminal's contents at the end.
class OwnScreen {
 public:
  explicit OwnScreen(std::ostream& out) : out_(out) { out_ << "\x1b[?1049h\x1b[?25l"; }
  ~OwnScreen() { out_ << "\x1b[?25h\x1b[?1049l" << std::flush; }
  OwnScreen(const OwnScreen&) = delete;
  OwnScreen& operator=(const OwnScreen&) = delete;
  void Draw(const std::string& text) { out_ << "\x1b[H\x1b[2J" << text << std::flush; }

 private:
  std::ostream& out_;
};

class Reader {
 public:
  Reader(const TopArguments& arguments, DiagnosisLister lister)
      : arguments_(arguments), lister_(std::move(lister)) {}

  Reading Read() {
    Reading reading;
    for (const std::string& address : arguments_.metrics) {
      reading.programs.emplace(address, Scrape(address));
    }
    std::vector<std::string> tenants = arguments_.tenants;
    if (tenants.empty()) tenants = TenantsIn(reading);
    if (tenants.empty()) tenants = {"default"};
    if (tenants.size() > kMostTenants) tenants.resize(kMostTenants);
    reading.diagnoses = List(tenants);
    reading.time = absl::Now();
    return reading;
  }

 private:
  absl::StatusOr<std::vector<Series>> Scrape(const std::string& address) {
    http::Request request;
    request.accept = "text/plain";
    request.target = absl::StrCat(
        "http://", address.find(':') == std::string::npos ? "127.0.0.1:" : "", address, "/metrics");
    request.deadline = SteadyNow() + kTimeLimit;
    request.most_bytes = kMostBytes;
    const absl::StatusOr<http::Reply> reply = transport_.Send(request, http::Secret());
    if (!reply.ok()) return reply.status();
    if (reply->code != 200) {
      return absl::UnavailableError(absl::StrCat("answers HTTP ", reply->code, " at /metrics"));
    }
    return ParseExposition(reply->body);
  }

  absl::StatusOr<std::vector<v1::Diagnosis>> List(const std::vector<std::string>& tenants) {
    std::vector<v1::Diagnosis> all;
    for (const std::string& tenant : tenants) {
      v1::ListDiagnosesRequest request;
      request.set_parent(absl::StrCat("tenants/", tenant));
      request.set_page_size(kPageSize);
      absl::StatusOr<v1::ListDiagnosesResponse> page = lister_(request);
      if (!page.ok()) return page.status();
      for (v1::Diagnosis& diagnosis : *page->mutable_diagnoses()) {
        all.push_back(std::move(diagnosis));
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::pair(a.create_time().seconds(), a.create_time().nanos()) >
             std::pair(b.create_time().seconds(), b.create_time().nanos());
    });
    return all;
  }

  const TopArguments& arguments_;
  const DiagnosisLister lister_;
  http::CurlTransport transport_{http::Options()};
};

// True when a signal ended the wait.
bool Interrupted(absl::Duration wait) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  const timespec time = absl::ToTimespec(wait);
  return sigtimedwait(&signals, nullptr, &time) > 0;
}

int Height() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

std::string ServerOf(const TopArguments& arguments) {
  if (!arguments.server.empty()) return arguments.server;
  const std::string socket = DefaultSocket();
  std::error_code ignored;
  const bool exists =
      std::filesystem::exists(std::string(absl::StripPrefix(socket, "unix:")), ignored);
  return exists ? socket : "127.0.0.1:50050";
}

bool NothingAnswers(const Reading& reading) {
  return !reading.diagnoses.ok() &&
         std::none_of(reading.programs.begin(), reading.programs.end(),
                      [](const auto& program) { return program.second.ok(); });
}

}  // namespace

CLI::App* DeclareTop(CLI::App& app, TopArguments& arguments) {
  CLI::App* top = app.add_subcommand("top", "Show what a mesh does now");
  top->add_option("--server", arguments.server,
                  "The mesh: its orchestrator, or `galen up`; none: a `galen up` of this user, or "
                  "else 127.0.0.1:50050")
      ->type_name("ADDRESS");
  top->add_option("--metrics", arguments.metrics,
                  "Address of a program's metrics; repeatable, or separated by commas")
      ->delimiter(',')
      ->type_name("[HOST:]PORT");
  top->add_option(
         "--tenant", arguments.tenants,
         "Tenant whose diagnoses are listed; repeatable; none: the tenants that the metrics name")
      ->type_name("NAME");
  top->add_option("--interval", arguments.interval, "Seconds between two measurements")
      ->check(CLI::Range(0.2, 3600.0))
      ->capture_default_str();
  top->add_flag("--once", arguments.once, "Measure twice, one interval apart, and print once");
  top->add_flag("--json", arguments.json, "A JSON object a look");
  DeclareCertificates(*top, arguments.security);
  return top;
}

ExitCode RunTop(const TopArguments& arguments, Console& console) {
  absl::StatusOr<DiagnosisLister> lister = ListerAt(ServerOf(arguments), arguments.security);
  if (!lister.ok()) {
    console.err << "galen: " << lister.status().message() << std::endl;
    return ExitCodeOf(lister.status());
  }
  Reader reader(arguments, *std::move(lister));
  const absl::Duration interval = absl::Seconds(arguments.interval);
  const bool once = arguments.once || (!console.terminal.interactive && !arguments.json);
  std::unique_ptr<OwnScreen> screen;
  if (!once && !arguments.json) screen = std::make_unique<OwnScreen>(console.out);
  Reading before = reader.Read();
  bool interrupted = false;
  // The first look has nothing to compare with, which only a screen that goes on can show.
  if (screen != nullptr)
    screen->Draw(ScreenOf(Compare(before, before), console.terminal, Height()));
  do {
    // Rates take two looks; without programs to ask there are none to wait for.
    if (!arguments.metrics.empty() || !once) interrupted = Interrupted(interval);
    if (interrupted) break;
    Reading now = reader.Read();
    const Snapshot snapshot = Compare(before, now);
    if (arguments.json) {
      console.out << JsonOf(snapshot) << std::flush;
    } else if (screen != nullptr) {
      Terminal terminal = Terminal::Of(STDOUT_FILENO);  // it may have been resized
      screen->Draw(ScreenOf(snapshot, terminal, Height() - 1));
    } else {
      console.out << ScreenOf(snapshot, console.terminal, 0) << std::flush;
    }
    before = std::move(now);
  } while (!once);
  return NothingAnswers(before) ? kUnreachable : kOk;
}

}  // namespace galen::cli::top
