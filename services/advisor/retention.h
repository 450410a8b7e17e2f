#ifndef SERVICES_ADVISOR_RETENTION_H_
#define SERVICES_ADVISOR_RETENTION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace galen::advisor {

// Reports which records of a journal exceed the limits on their number, their runs and their bytes.
// Tracks blocks of 1/64 of a limit, so trimming may keep up to one block less than the limit. Not
// thread-safe.
class Retention {
 public:
  struct Sum {
    std::int64_t records = 0;
    std::int64_t runs = 0;
    std::int64_t bytes = 0;
  };
  explicit Retention(Sum most) : most_(most) {}

  // A record of the journal, in their order.
  void Add(std::int64_t position, std::int64_t runs, std::size_t bytes) {
    if (blocks_.empty() || IsFull(blocks_.back().sum)) blocks_.push_back({});
    blocks_.back().last = position;
    for (Sum* sum : {&blocks_.back().sum, &all_}) {
      ++sum->records;
      sum->runs += runs;
      sum->bytes += static_cast<std::int64_t>(bytes);
    }
    while (blocks_.size() > 1 &&
           (all_.records > most_.records || all_.runs > most_.runs || all_.bytes > most_.bytes)) {
      const Block& oldest = blocks_.front();
      all_.records -= oldest.sum.records;
      all_.runs -= oldest.sum.runs;
      all_.bytes -= oldest.sum.bytes;
      trim_ = oldest.last;
      blocks_.pop_front();
    }
  }

  // The position up to which the journal exceeds its limits; 0: it does not.
  std::int64_t trim() const { return trim_; }

 private:
  struct Block {
    std::int64_t last = 0;
    Sum sum;
  };
  bool IsFull(const Sum& sum) const {
    return sum.records >= std::max<std::int64_t>(1, most_.records / 64) ||
           sum.runs >= most_.runs / 64 || sum.bytes >= most_.bytes / 64;
  }

  Sum most_;
  Sum all_;
  std::deque<Block> blocks_;
  std::int64_t trim_ = 0;
};

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_RETENTION_H_
