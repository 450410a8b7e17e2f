#ifndef COMMON_LOG_ANALYSIS_TRIAGE_SERIES_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_SERIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace galen::triage {

// A sum that does not lose small numbers beside large ones (Neumaier).
class ExactSum {
 public:
  void Add(double value);
  double Get() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

// A series of numbers over steps, of any length in constant memory: its course as means of runs of
// equal length, and exact count, sum, minimum, maximum, first and last numbers.
class Series {
 public:
  static constexpr std::size_t kPoints = 256;
  // Numbers in the comparison of the end with the beginning.
  static constexpr std::size_t kLast = 10;

  struct Point {
    std::int64_t step = 0;  // of the first number of the run
    double mean = 0;
    std::int64_t count = 0;
  };

  // Numbers that are not finite are ignored. `warm`: not one of the first steps of a run.
  void Add(std::int64_t step, double value, bool warm);

  std::int64_t count() const { return count_; }
  double sum() const { return sum_.Get(); }
  double min() const { return min_; }
  double max() const { return max_; }
  // At most kPoints of them; the last one may stand for fewer numbers than the others.
  std::vector<Point> Points() const;
  // Mean of the warm numbers, or of all if none is warm. Nothing: there are no numbers.
  std::optional<double> SteadyMean() const;
  // Change from the mean of the kLast numbers after the first five to that of the last kLast, as a
  // fraction: -0.1 is a tenth less. Nothing: too few numbers.
  std::optional<double> Change() const;

 private:
  void Halve();

  std::int64_t count_ = 0;
  ExactSum sum_;
  std::int64_t warm_count_ = 0;
  ExactSum warm_sum_;
  double min_ = 0;
  double max_ = 0;
  std::int64_t stride_ = 1;
  std::vector<Point> points_;  // sums until they are read
  std::array<double, kLast> early_ = {};
  std::size_t early_count_ = 0;
  std::array<double, kLast> last_ = {};  // a ring
};

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_SERIES_H_
