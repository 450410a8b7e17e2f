// The mesh in one process, without gRPC, so that ThreadSanitizer sees all of it: many diagnoses at
// once while agents and the store fail at random, leases are taken away, diagnoses are cancelled,
// and orchestrators are destroyed and replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/base/executor.h"
#include "common/host/bundle.h"
#include "common/knowledge/load.h"
#include "common/store/sqlite_event_log.h"
#include "services/orchestrator/orchestrator.h"
#include "tests/chaos/promises.h"
#include "tests/integration/in_process/dice.h"
#include "tests/integration/in_process/real_agents.h"
#include "tests/integration/in_process/unsteady_agents.h"
#include "tests/integration/in_process/unsteady_event_log.h"
#include "tests/testing/status_matchers.h"

namespace galen::in_process {
namespace {

using ::galen::testing::IsOk;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kTenant[] = "tenants/t";
constexpr std::array kExamples = {"nccl-connection-refused", "cublas-ecc", "invalid-device-ordinal",
                                  "nccl-ib-unable-to-open", "healthy"};
constexpr int kDiagnoses = 40;
constexpr int kClients = 8;
constexpr int kThreads = 4;
constexpr int kFaults = 120;  // in addition to those of the store and of the agents

void Pause(Dice& dice, int most_milliseconds) {
  absl::SleepFor(absl::Milliseconds(dice.Pick(most_milliseconds)));
}

v1::Incident IncidentOf(const std::string& example) {
  return host::Bundle::Open(absl::StrCat(GALEN_SOURCE_DIR, "/docs/examples/", example))
      .value()
      ->incident();
}

// The parts that two runs of one incident must share: report and results, except names and
// durations.
std::string Comparable(v1::Diagnosis diagnosis) {
  std::string text = diagnosis.report().DebugString();
  for (v1::CheckResult& result : *diagnosis.mutable_check_results()) {
    result.clear_duration();
    text += result.DebugString();
  }
  return absl::StrReplaceAll(text, {{diagnosis.name(), "NAME"}});
}

// Two orchestrators on one store, each of which may be missing for a moment.
class Orchestrators {
 public:
  Orchestrators(store::EventLog& log, const orchestrator::Agents& agents, Executor& executor)
      : log_(log), agents_(agents), executor_(executor) {
    for (std::size_t i = 0; i < seats_.size(); ++i) Begin(i);
  }
  ~Orchestrators() {
    for (Seat& seat : seats_) End(seat);
  }

  // Destroys an orchestrator and replaces it under the same name.
  void Renew(std::size_t i) {
    Seat& seat = seats_.at(i);
    const std::unique_lock<std::shared_mutex> lock(seat.mu);
    End(seat);
    Begin(i);
  }

  // Asks one of them until it can be reached.
  template <typename Ask>
  auto Try(Dice& dice, Ask ask) {
    for (;;) {
      {
        Seat& seat = seats_.at(static_cast<std::size_t>(dice.Pick(kSeats)));
        const std::shared_lock<std::shared_mutex> lock(seat.mu);
        auto answer = ask(*seat.one);
        if (answer.ok() || !absl::IsUnavailable(StatusOf(answer))) return answer;
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  // The next events of a diagnosis. Waits for them without holding an orchestrator.
  absl::StatusOr<orchestrator::EventBatch> Next(Dice& dice, const std::string& name,
                                                std::int64_t after) {
    v1::WatchDiagnosisRequest request;
    request.set_name(name);
    request.set_after_sequence(after);
    std::promise<absl::StatusOr<orchestrator::EventBatch>> next;
    {
      Seat& seat = seats_.at(static_cast<std::size_t>(dice.Pick(kSeats)));
      const std::shared_lock<std::shared_mutex> lock(seat.mu);
      seat.one->WatchNext(request, [&next](absl::StatusOr<orchestrator::EventBatch> batch) {
        next.set_value(std::move(batch));
      });
    }
    return next.get_future().get();
  }

 private:
  static constexpr int kSeats = 2;
  struct Seat {
    std::shared_mutex mu;  // held alone by who destroys and makes it, shared by who asks it
    std::unique_ptr<orchestrator::Orchestrator> one;
  };

  static const absl::Status& StatusOf(const absl::Status& status) { return status; }
  template <typename T>
  static const absl::Status& StatusOf(const absl::StatusOr<T>& answer) {
    return answer.status();
  }

  void Begin(std::size_t i) {
    orchestrator::Options options;
    options.owner = absl::StrCat("o", i);
    options.lease_ttl = absl::Milliseconds(300);
    options.orphan_scan = absl::Milliseconds(100);
    options.store_retry = absl::Milliseconds(20);
    options.call_timeout = options.summary_timeout = options.checks_timeout = absl::Seconds(20);
    do {
      seats_.at(i).one =
          std::make_unique<orchestrator::Orchestrator>(log_, agents_, clock_, executor_, options);
    } while (!seats_.at(i).one->Start().ok());
  }
  static void End(Seat& seat) {
    seat.one->EndWatches();
    seat.one.reset();
  }

  store::EventLog& log_;
  const orchestrator::Agents agents_;
  Executor& executor_;
  const SystemClock clock_;
  std::array<Seat, kSeats> seats_;
};

// A client's view of one diagnosis.
struct Seen {
  std::string example;
  std::vector<v1::DiagnosisEvent> events;
  v1::Diagnosis diagnosis;
  bool disturbed = false;  // cancelled, or asked again: its report is its own
};

class InProcessChaos : public ::testing::TestWithParam<int> {
 protected:
  struct Mesh {
    // `file`: ":memory:", or one that the store is kept in and answers later for.
    Mesh(std::uint64_t seed, double percent, const std::string& file)
        : dice(seed),
          kept(store::SqliteEventLog::Open(file).value()),
          log(*kept, dice, percent),
          unsteady(real.agents(), dice, percent),
          orchestrators(log, unsteady.agents(), pool) {}

    Dice dice;
    const std::unique_ptr<store::EventLog> kept;
    UnsteadyEventLog log;
    ThreadPool agents_pool{kThreads, 10'000};
    RealAgents real{Knowledge(), agents_pool};
    UnsteadyAgents unsteady;
    ThreadPool pool{kThreads, 10'000};
    Orchestrators orchestrators;
  };

  static const std::shared_ptr<const knowledge::Knowledge>& Knowledge() {
    static const auto& knowledge = *new std::shared_ptr<const knowledge::Knowledge>(
        knowledge::Load({absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")}, {}).value());
    return knowledge;
  }

  // Follows the diagnosis until it is over or waits for a person.
  static void Follow(Mesh& mesh, Dice& dice, const std::string& name, Seen& seen) {
    for (;;) {
      absl::StatusOr<orchestrator::EventBatch> batch =
          mesh.orchestrators.Next(dice, name, static_cast<std::int64_t>(seen.events.size()));
      if (!batch.ok()) {
        ASSERT_TRUE(absl::IsUnavailable(batch.status())) << batch.status();
        absl::SleepFor(absl::Milliseconds(1));
        continue;
      }
      for (v1::DiagnosisEvent& event : batch->events) seen.events.push_back(std::move(event));
      if (batch->ended) break;
    }
    v1::GetDiagnosisRequest get;
    get.set_name(name);
    seen.diagnosis =
        mesh.orchestrators.Try(dice, [&](auto& orchestrator) { return orchestrator.Get(get); })
            .value();
  }

  static Seen Diagnose(Mesh& mesh, Dice& dice, int number) {
    Seen seen;
    seen.example = kExamples.at(static_cast<std::size_t>(number) % kExamples.size());
    v1::CreateDiagnosisRequest create;
    create.set_parent(kTenant);
    create.set_request_id(absl::StrCat("request-", number));
    *create.mutable_diagnosis()->mutable_incident() = IncidentOf(seen.example);
    const std::string name =
        mesh.orchestrators
            .Try(dice, [&](auto& orchestrator) { return orchestrator.Create(create); })
            .value()
            .name();
    if (number % 7 == 6) {
      Pause(dice, 200);
      v1::CancelDiagnosisRequest cancel;
      cancel.set_name(name);
      cancel.set_reason("nobody waits for it");
      seen.disturbed = true;
      const absl::Status cancelled =
          mesh.orchestrators
              .Try(dice, [&](auto& orchestrator) { return orchestrator.Cancel(cancel); })
              .status();
      EXPECT_TRUE(cancelled.ok() || absl::IsFailedPrecondition(cancelled)) << cancelled;
    }
    Follow(mesh, dice, name, seen);
    if (seen.diagnosis.state() == v1::Diagnosis::AWAITING_FEEDBACK && number % 2 == 0) {
      v1::SubmitFeedbackRequest feedback;
      feedback.set_name(name);
      feedback.set_text("it hangs again");
      feedback.set_request_id(absl::StrCat("feedback-", number));
      seen.disturbed = true;
      EXPECT_THAT(
          mesh.orchestrators.Try(
              dice, [&](auto& orchestrator) { return orchestrator.SubmitFeedback(feedback); }),
          IsOk());
      Follow(mesh, dice, name, seen);
    }
    return seen;
  }

  static std::map<std::string, std::string> Undisturbed() {
    Mesh mesh(0, 0, ":memory:");
    std::map<std::string, std::string> reports;
    for (std::size_t i = 0; i < kExamples.size(); ++i) {
      Seen seen;
      seen.example = kExamples.at(i);
      v1::CreateDiagnosisRequest create;
      create.set_parent(kTenant);
      *create.mutable_diagnosis()->mutable_incident() = IncidentOf(seen.example);
      const v1::Diagnosis created =
          mesh.orchestrators
              .Try(mesh.dice, [&](auto& orchestrator) { return orchestrator.Create(create); })
              .value();
      Follow(mesh, mesh.dice, created.name(), seen);
      reports[seen.example] = Comparable(seen.diagnosis);
    }
    return reports;
  }

  // Takes the lease of a diagnosis, like a replica that considers its owner dead, and does nothing
  // with it.
  static void TakeLeaseAway(Mesh& mesh) {
    const absl::StatusOr<store::EventLog::Page> page = mesh.kept->List(kTenant, 1000, "");
    if (!page.ok() || page->names.empty()) return;
    const int which = mesh.dice.Pick(static_cast<int>(page->names.size()));
    const absl::StatusOr<store::Lease> lease =
        mesh.kept->AcquireLease(page->names[static_cast<std::size_t>(which)], "rival",
                                absl::Now() + absl::Hours(1), absl::Seconds(1));
    if (!lease.ok()) return;
    EXPECT_THAT(mesh.kept->ReleaseLease(*lease), IsOk());
  }
};

TEST_P(InProcessChaos, LosesNothingAndReportsWhatAnUndisturbedRunReports) {
  const std::map<std::string, std::string> expected = Undisturbed();
  const auto seed = static_cast<std::uint64_t>(GetParam());
  const std::filesystem::path directory =
      std::filesystem::path(::testing::TempDir()) / absl::StrCat("galen_chaos_", getpid());
  std::filesystem::create_directories(directory);
  Mesh mesh(seed, 2, seed % 2 == 0 ? ":memory:" : (directory / "galen.db").string());
  std::vector<Seen> seen(kDiagnoses);
  std::atomic<int> next = 0;
  std::atomic<bool> over = false;
  std::thread monkey([&] {
    // Then the faults stop, and all remaining diagnoses must come to their end.
    for (int fault = 0; fault < kFaults && !over; ++fault) {
      Pause(mesh.dice, 100);
      if (mesh.dice.Falls(20)) {
        mesh.orchestrators.Renew(static_cast<std::size_t>(mesh.dice.Pick(2)));
      } else {
        TakeLeaseAway(mesh);
      }
    }
    mesh.dice.Calm();
  });
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      Dice dice(seed * 1000 + static_cast<std::uint64_t>(i));
      for (int number = next++; number < kDiagnoses; number = next++) {
        seen[static_cast<std::size_t>(number)] = Diagnose(mesh, dice, number);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  over = true;
  monkey.join();

  for (const Seen& one : seen) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", one.example, ", ", one.diagnosis.name()));
    std::vector<v1::DiagnosisEvent> log = mesh.kept->Read(one.diagnosis.name(), 0, 100'000).value();
    EXPECT_THAT(chaos::BrokenPromises(log), IsEmpty());
    // A watcher sees every event, once, in order.
    ASSERT_THAT(one.events, SizeIs(log.size()));
    for (std::size_t i = 0; i < log.size(); ++i) {
      ASSERT_EQ(one.events[i].DebugString(), log[i].DebugString());
    }
    if (one.disturbed) continue;
    EXPECT_EQ(Comparable(one.diagnosis), expected.at(one.example));
  }
  EXPECT_THAT(mesh.kept->List(kTenant, 1000, "").value().names, SizeIs(kDiagnoses));
  std::filesystem::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(Seeds, InProcessChaos, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace galen::in_process
