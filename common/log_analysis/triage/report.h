#ifndef COMMON_LOG_ANALYSIS_TRIAGE_REPORT_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/log_analysis/triage/process_end.h"
#include "common/log_analysis/triage/series.h"
#include "common/log_analysis/triage/status.h"

namespace galen::triage {

// Place of the first occurrence.
struct Source {
  std::string log;
  std::int64_t line = 0;  // 1 and up
  std::optional<absl::Time> time;
  std::string writer;  // "rank 3"; "": unknown
  std::string text;    // the line, cleaned
};

// A class of failure that the log shows.
struct Shown {
  std::string name;
  std::string title;
  std::string relation;
  std::string stage;
  std::string signature;  // of the check log.triage; "": a pattern of the class found it
  Source first;
  std::int64_t count = 0;         // lines
  std::int64_t last_line = 0;     // in the log of the last line
  std::int64_t writers = 0;       // minimum, by name
  bool survived = false;          // steps continued after it
  std::vector<std::string> next;  // next steps for a person
};

struct Progress {
  std::string framework;
  std::string format;
  std::optional<std::int64_t> first_step;  // of the last run
  std::optional<std::int64_t> last_step;
  std::optional<std::int64_t> total_steps;  // requested
  std::optional<std::int64_t> final_step;   // the number of the last requested step
  std::int64_t reported = 0;                // by the reference writer, each step once
  std::int64_t runs = 0;                    // each restart is a run
  std::int64_t writers = 0;
  std::optional<Source> at;      // of the last step
  std::optional<bool> restored;  // from a checkpoint; nothing: the log does not say
  std::optional<std::int64_t> restored_step;

  std::optional<double> step_seconds;         // steady: without the first steps of a run
  std::optional<absl::Time> begin;            // the earliest time in the logs
  std::optional<absl::Time> end;              // the latest time in the logs
  std::optional<absl::Duration> wall;         // from begin to end
  double sum_seconds = 0;                     // of all steps of that writer, as reported
  bool timed = false;                         // sum_seconds is known
  std::optional<absl::Duration> unaccounted;  // wall without sum_seconds
  std::optional<absl::Duration> idle;         // from the last step to `end` or to now

  std::optional<std::int64_t> expected_step;  // by now, if it had continued
  std::optional<std::int64_t> checkpoint_period;
  std::optional<std::int64_t> saved_step;  // the last checkpoint that the log reports as written
  bool saved_by_period = false;            // saved_step is inferred from the period
  std::optional<std::int64_t> lost_steps;
  std::optional<absl::Duration> remaining;
};

// A quantity over steps.
struct Course {
  std::string name;  // "step seconds", "tokens per GPU and second"
  std::string unit;
  bool derived = false;  // computed from other numbers of the log
  std::int64_t count = 0;
  double steady = 0;
  double min = 0;
  double max = 0;
  std::optional<double> change;  // from the beginning to the end
  std::vector<Series::Point> points;
};

struct JobContext {
  std::optional<std::string> job;
  std::optional<std::string> node;
  std::optional<std::string> partition;
  std::optional<std::string> pod;
  std::optional<std::string> name_space;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> sequence_length;
};

struct ProcessEnd {
  int rank = -1;  // -1: unknown
  ExitReport end;
  std::string meaning;
};

struct LogRead {
  std::string name;
  std::int64_t lines = 0;
  std::int64_t bytes = 0;
  std::string trouble;  // why it was not read completely; "": it was
};

// Lines of one template that no entry of the catalogue matches: a lead, not a failure.
struct Lead {
  std::string text;  // the template
  Source first;
  std::int64_t count = 0;        // of the lines that were read
  std::int64_t writers = 0;      // minimum, by name
  std::vector<std::string> why;  // reasons to show it
};

// Result of the triage of a job's logs.
struct JobReport {
  Decision decision;
  std::string stage;  // "before training", "training", "after training"; "": unknown
  std::optional<Shown> primary;
  std::vector<Shown> others;  // the rest, in the order of their weight
  Progress progress;
  std::vector<Course> courses;
  std::vector<ProcessEnd> ends;  // at most kMostEnds, those with an error first
  std::int64_t ends_in_all = 0;
  JobContext context;
  std::string scheduler;               // "running", "ended"; "": unknown
  std::optional<Source> scheduler_at;  // place in the log; nothing: from the caller
  std::optional<absl::Time> now;
  std::vector<LogRead> logs;
  std::vector<std::string> unknown;  // facts missing in the logs, and their possible sources
  std::vector<std::string> next;     // next steps for a person
  std::vector<Lead> leads;           // the likeliest first

  static constexpr std::size_t kMostEnds = 64;
  static constexpr std::size_t kMostLeads = 10;
};

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_REPORT_H_
