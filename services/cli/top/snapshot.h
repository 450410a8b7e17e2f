#ifndef SERVICES_CLI_TOP_SNAPSHOT_H_
#define SERVICES_CLI_TOP_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "galen/v1/diagnosis.pb.h"
#include "services/cli/top/exposition.h"

namespace galen::cli::top {

// The programs' metrics at one time.
struct Reading {
  absl::Time time;
  // By address: the program's answer, or why it gave none.
  std::map<std::string, absl::StatusOr<std::vector<Series>>> programs;
  // Newest first, of every tenant that was asked for; or why there are none.
  absl::StatusOr<std::vector<v1::Diagnosis>> diagnoses;
};

struct DiagnosisRow {
  std::string name;  // without its tenant
  std::string tenant;
  std::string state;
  absl::Duration age;  // of one that is over: the time that it took
  std::string step;    // what is under way; "" when nothing is
  int pending_checks = 0;
  std::string cause;  // the confirmed cause, where there is one
  std::string trace_id;
  bool at_rest = false;
};

// Calls of one service, over all programs that were asked.
struct ServiceRow {
  std::string service;
  double calls = 0;   // a second
  double errors = 0;  // a second: calls that the service failed, not those that were wrong
  double in_flight = 0;
  std::optional<double> p50;  // seconds, without calls that watch; nullopt: no calls
  std::optional<double> p99;
};

struct ProgramRow {
  std::string address;
  std::string trouble;  // why it says nothing; "" when it does
  double processors = 0;
  double memory = 0;  // bytes
  double queued = 0;  // tasks that wait for a thread
};

struct Snapshot {
  absl::Time time;
  std::string diagnoses_trouble;        // why there are no rows; ""
  std::vector<DiagnosisRow> diagnoses;  // those that run first, then newest first
  double running = 0;                   // as the orchestrators count them
  double waiting = 0;
  double shed = 0;  // a second
  std::vector<ServiceRow> services;
  std::vector<ProgramRow> programs;
};

// The changes between two readings, and the state at the second one. A counter that went down was
// restarted. Without an earlier reading, rates are 0. Pure.
Snapshot Compare(const Reading& before, const Reading& now);

// The tenants named by the programs, for the next query of diagnoses; without those that share
// counters. Pure.
std::vector<std::string> TenantsIn(const Reading& reading);

}  // namespace galen::cli::top

#endif  // SERVICES_CLI_TOP_SNAPSHOT_H_
