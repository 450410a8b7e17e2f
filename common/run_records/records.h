#ifndef COMMON_RUN_RECORDS_RECORDS_H_
#define COMMON_RUN_RECORDS_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::run_records {

// A value of a scalar at a time.
struct Point {
  std::int64_t at = 0;     // milliseconds since 1970
  std::int64_t step = -1;  // -1: unknown
  double value = 0;        // may be no number: a loss that is NaN is a fact
};

// A scalar of one run: "train/loss".
struct RunSeries {
  std::string run;
  std::string tag;
  std::vector<Point> points;  // in the order of time; of one time one
};

struct RecordLimits {
  std::size_t series = 4096;
  std::size_t points = 2'000'000;  // 24 bytes each
};

// Collects scalars of runs; what is beyond the limits, or has no possible time, is counted and left
// out.
class RunRecords {
 public:
  explicit RunRecords(const RecordLimits& limits = {}) : limits_(limits) {}

  void Add(absl::string_view run, absl::string_view tag, const Point& point);
  // "events.out...: 2 records are damaged".
  void Note(std::string note);

  bool empty() const { return series_.empty(); }
  std::size_t points() const { return points_; }
  // All series, ordered by run and tag.
  std::vector<RunSeries> Take() &&;
  const std::vector<std::string>& notes() const { return notes_; }
  std::size_t left_out() const { return left_out_; }

 private:
  const RecordLimits limits_;
  std::map<std::pair<std::string, std::string>, std::vector<Point>> series_;
  std::vector<std::string> notes_;
  std::size_t points_ = 0;
  std::size_t left_out_ = 0;
};

// The names of the series that are made of scalars: job_log_scalar{run_id, tag}, and of the steps
// that a run reports, job_log_scalar_step{run_id} and the time of one,
// job_log_scalar_step_seconds{run_id}.
inline constexpr char kScalar[] = "job_log_scalar";
inline constexpr char kStep[] = "job_log_scalar_step";
inline constexpr char kStepSeconds[] = "job_log_scalar_step_seconds";

// One of those.
struct NamedSeries {
  std::string name;
  std::string run;
  std::string tag;  // "": of the run
  std::vector<Point> points;
};

// All of them; the steps are those of the scalar with most points. Pure.
std::vector<NamedSeries> Named(std::vector<RunSeries> series);

// The first line of a text of AsOpenMetrics(), which tells it from other texts of OpenMetrics.
inline constexpr char kFirstLine[] = "# TYPE job_log_scalar gauge";

// The series as OpenMetrics text of at most `most` bytes: if they have more, every n-th point of
// each is left out, and a comment says so.
std::string AsOpenMetrics(const std::vector<NamedSeries>& series, std::size_t most);

}  // namespace galen::run_records

#endif  // COMMON_RUN_RECORDS_RECORDS_H_
