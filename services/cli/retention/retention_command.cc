#include "services/cli/retention/retention_command.h"

#include <unistd.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/store/store.h"
#include "services/cli/certs/certs_command.h"
#include "services/cli/gather.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {
namespace {

constexpr int kPage = 1000;
// Long enough for the largest log, short enough that a killed command does not hold one up.
constexpr absl::Duration kLease = absl::Minutes(1);

void DeclareWhere(CLI::App& command, RetentionArguments& arguments) {
  CLI::Option* const server =
      command.add_option("--server", arguments.server, "Mesh that has the diagnoses")
          ->type_name("HOST:PORT");
  command
      .add_option("--store", arguments.store,
                  "SQLite file or Redis that has the diagnoses (docs/store.md)")
      ->type_name("FILE|URL")
      ->excludes(server);
  DeclareCertificates(command, arguments.security);
}

ExitCode Ended(const absl::Status& status, Console& console) {
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

std::string OwnerFor(const std::string& store) {
  // Not that of a `galen up` on that store, which keeps what it runs.
  return OwnerIn(store, "galen retention", absl::StrCat(getpid()));
}

std::string StoreOf(const RetentionArguments& arguments) {
  return arguments.store.empty() ? DefaultStore() : arguments.store;
}

void Tell(std::int64_t deleted, std::int64_t waiting, bool trial, Console& console) {
  console.out << (trial ? "would delete " : "deleted ") << deleted << " diagnoses";
  if (waiting > 0) {
    console.out << "; " << waiting << " older ones wait for a person (--delete-waiting)";
  }
  console.out << std::endl;
}

std::string LineOf(const std::string& name, v1::Diagnosis::State state,
                   const google::protobuf::Timestamp& last) {
  return absl::StrCat(name, "  ", v1::Diagnosis::State_Name(state), "  ",
                      absl::FormatTime("%Y-%m-%d", ToTime(last), absl::UTCTimeZone()), "\n");
}

bool IsOver(v1::Diagnosis::State state, bool waiting) {
  switch (state) {
    case v1::Diagnosis::SUCCEEDED:
    case v1::Diagnosis::FAILED:
    case v1::Diagnosis::CANCELLED:
      return true;
    case v1::Diagnosis::AWAITING_FEEDBACK:
    case v1::Diagnosis::ESCALATED:
      return waiting;
    default:
      return false;
  }
}

absl::Status Retain(const RetentionArguments& arguments, Console& console) {
  absl::StatusOr<orchestrator::RetentionPolicy> policy =
      orchestrator::ParseRetention(arguments.keep);
  if (!policy.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--keep: ", policy.status().message()));
  }
  policy->waiting = arguments.waiting;
  if (!arguments.server.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<DiagnosisApi> api,
                           ConnectTo(arguments.server, arguments.security));
    return ApplyRetentionAt(*api, *policy, arguments.tenant, arguments.trial, absl::Now(), console);
  }
  const std::string where = StoreOf(arguments);
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store, store::OpenStore(where));
  return ApplyRetention(store->events(), *policy, OwnerFor(where), arguments.trial, console);
}

absl::Status DeleteOne(const RetentionArguments& arguments, Console& console) {
  const std::string name = absl::StrContains(arguments.name, '/')
                               ? arguments.name
                               : absl::StrCat("tenants/default/diagnoses/", arguments.name);
  if (!arguments.server.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<DiagnosisApi> api,
                           ConnectTo(arguments.server, arguments.security));
    GALEN_RETURN_IF_ERROR(api->Delete(name));
  } else {
    const std::string where = StoreOf(arguments);
    GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store, store::OpenStore(where));
    GALEN_RETURN_IF_ERROR(orchestrator::DeleteDiagnosis(
        store->events(), name, OwnerFor(where), absl::Now(), kLease,
        [](const orchestrator::State& state) -> absl::Status {
          if (orchestrator::IsInactive(state)) return absl::OkStatus();
          return absl::FailedPreconditionError(
              absl::StrCat(state.name, ": is ", v1::Diagnosis::State_Name(state.lifecycle),
                           ": cancel it before you delete it"));
        }));
  }
  console.out << name << ": deleted" << std::endl;
  return absl::OkStatus();
}

}  // namespace

CLI::App* DeclareRetention(CLI::App& app, RetentionArguments& arguments) {
  CLI::App* retention =
      app.add_subcommand("retention", "Delete diagnoses that are older than they are kept");
  retention
      ->add_option("--keep", arguments.keep,
                   "How long diagnoses are kept after their last event: 90d, 36h, or of single "
                   "tenants acme=30d, globex=forever; repeatable, or separated by commas")
      ->delimiter(',')
      ->required()
      ->type_name("TIME");
  retention->add_option("--tenant", arguments.tenant, "With --server: tenant of the diagnoses")
      ->capture_default_str();
  retention->add_flag("--delete-waiting", arguments.waiting,
                      "Also delete diagnoses that wait for a person");
  retention->add_flag("--dry-run", arguments.trial, "Only print which diagnoses would be deleted");
  DeclareWhere(*retention, arguments);
  return retention;
}

CLI::App* DeclareDelete(CLI::App& app, RetentionArguments& arguments) {
  CLI::App* remove = app.add_subcommand("delete", "Delete a diagnosis for good");
  remove->add_option("diagnosis", arguments.name, "Name of the diagnosis, or its last part")
      ->required();
  DeclareWhere(*remove, arguments);
  return remove;
}

ExitCode RunRetention(const RetentionArguments& arguments, Console& console) {
  return Ended(Retain(arguments, console), console);
}

ExitCode RunDelete(const RetentionArguments& arguments, Console& console) {
  return Ended(DeleteOne(arguments, console), console);
}

absl::Status ApplyRetention(store::EventLog& log, const orchestrator::RetentionPolicy& policy,
                            const std::string& owner, bool trial, Console& console) {
  const SystemClock clock;
  orchestrator::Retention retention(
      log, clock, policy, [&](const std::string& name, orchestrator::MayDelete may) {
        std::string line;
        const auto noting = [&](const orchestrator::State& state) -> absl::Status {
          line = LineOf(name, state.lifecycle, state.update_time);
          return may(state);
        };
        absl::Status status;
        if (trial) {
          const absl::StatusOr<orchestrator::State> state = orchestrator::LoadState(log, name);
          status = state.ok() ? noting(*state) : state.status();
        } else {
          status = orchestrator::DeleteDiagnosis(log, name, owner, clock.Now(), kLease, noting);
        }
        if (status.ok()) console.out << line;
        return status;
      });
  GALEN_ASSIGN_OR_RETURN(const orchestrator::Retention::Pass pass,
                         retention.Run(std::numeric_limits<std::int64_t>::max()));
  Tell(pass.deleted, pass.kept_waiting, trial, console);
  return pass.problem;
}

absl::Status ApplyRetentionAt(DiagnosisApi& api, const orchestrator::RetentionPolicy& policy,
                              const std::string& tenant, bool trial, absl::Time now,
                              Console& console) {
  const absl::Duration keep = policy.KeepFor(tenant);
  // All names first: a page is found by the last name of the page before, which must exist.
  std::vector<v1::Diagnosis> due;
  std::int64_t waiting = 0;
  v1::ListDiagnosesRequest request;
  request.set_parent(absl::StrCat("tenants/", tenant));
  request.set_page_size(kPage);
  do {
    GALEN_ASSIGN_OR_RETURN(v1::ListDiagnosesResponse page, api.List(request));
    for (v1::Diagnosis& diagnosis : *page.mutable_diagnoses()) {
      if (ToTime(diagnosis.update_time()) + keep > now) continue;
      if (IsOver(diagnosis.state(), policy.waiting)) {
        diagnosis.clear_report();
        diagnosis.clear_incident();
        due.push_back(std::move(diagnosis));
      } else if (IsOver(diagnosis.state(), /*waiting=*/true)) {
        ++waiting;
      }
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  std::int64_t deleted = 0;
  for (const v1::Diagnosis& diagnosis : due) {
    const absl::Status status = trial ? absl::OkStatus() : api.Delete(diagnosis.name());
    // Somebody else was faster, or it goes on.
    if (absl::IsNotFound(status) || absl::IsFailedPrecondition(status)) continue;
    GALEN_RETURN_IF_ERROR(status);
    ++deleted;
    console.out << LineOf(diagnosis.name(), diagnosis.state(), diagnosis.update_time());
  }
  Tell(deleted, waiting, trial, console);
  return absl::OkStatus();
}

}  // namespace galen::cli
