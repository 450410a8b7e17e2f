#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/node/checks/cuda/pattern/host_memory.h"
#include "services/node/checks/cuda/pattern/pattern_run.h"

namespace galen::node::cuda {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

constexpr std::uint64_t kBytes = 1 << 16;

class Buffer {
 public:
  Buffer() : words_(static_cast<std::uint32_t*>(std::aligned_alloc(64, kBytes)), &std::free) {}
  std::uint32_t* words() { return words_.get(); }

 private:
  std::unique_ptr<std::uint32_t, void (*)(void*)> words_;
};

// Memory with one bit that does not keep written values, and a record of the operations.
class StuckMemory final : public PatternMemory {
 public:
  StuckMemory(std::uint32_t* words, std::uint64_t offset, unsigned bit, unsigned value)
      : host_(words, kBytes), word_(words + offset / 4), mask_(1U << bit), value_(value) {}

  std::uint64_t bytes() const override { return kBytes; }
  std::uint64_t chunk() const override { return 4096; }
  void Write(Pattern pattern, std::uint64_t offset, std::uint64_t bytes) override {
    host_.Write(pattern, offset, bytes);
    Stick();
  }
  void Check(Pattern pattern, bool invert, std::uint64_t offset, std::uint64_t bytes,
             MismatchLog& log) override {
    host_.Check(pattern, invert, offset, bytes, log);
    Stick();
  }

 private:
  void Stick() { *word_ = value_ != 0 ? *word_ | mask_ : *word_ & ~mask_; }

  HostMemory host_;
  std::uint32_t* const word_;
  const std::uint32_t mask_;
  const unsigned value_;
};

bool GoOn(double) { return true; }

class HostMemorySweep : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PortableAndWide, HostMemorySweep, ::testing::Bool());

TEST_P(HostMemorySweep, WritesWhatThePatternSaysWordByWord) {
  Buffer buffer;
  HostMemory memory(buffer.words(), kBytes, GetParam());
  for (unsigned family = 0; family < kFamilies; ++family) {
    for (const unsigned pattern : {family, family + kInverted}) {
      memory.Write({.pattern = pattern, .seed = 5}, 128, kBytes - 128);
      for (std::uint64_t i = 32; i < kBytes / 4; ++i) {
        ASSERT_EQ(buffer.words()[i],
                  PatternWord(pattern, 5, reinterpret_cast<std::uint64_t>(buffer.words() + i)))
            << PatternName(pattern) << " at word " << i;
      }
    }
  }
}

TEST_P(HostMemorySweep, FindsEveryFlippedBitAndSaysWhere) {
  Buffer buffer;
  HostMemory memory(buffer.words(), kBytes, GetParam());
  for (unsigned family = 0; family < kFamilies; ++family) {
    const Pattern pattern{.pattern = family, .seed = 9};
    memory.Write(pattern, 0, kBytes);
    // The first word, the last, two neighbours, and one in the midst of a vector.
    const std::set<std::size_t> places = {0, 1001, 1002, 4711, kBytes / 4 - 1};
    for (const std::size_t place : places) buffer.words()[place] ^= 1U << (place % 32);
    MismatchLog log;
    memory.Check(pattern, /*invert=*/true, 0, kBytes, log);
    EXPECT_EQ(log.count, places.size());
    ASSERT_THAT(log.first, SizeIs(places.size()));
    std::size_t i = 0;
    for (const std::size_t place : places) {
      EXPECT_EQ(log.first[i].address, reinterpret_cast<std::uint64_t>(buffer.words() + place));
      EXPECT_EQ(log.first[i].expected ^ log.first[i].actual, 1U << (place % 32));
      ++i;
    }
    // The complement is everywhere, where it was wrong too.
    MismatchLog after;
    memory.Check({.pattern = family + kInverted, .seed = 9}, /*invert=*/false, 0, kBytes, after);
    EXPECT_EQ(after.count, 0U) << PatternName(family);
  }
}

TEST(PatternRun, GoodMemoryHoldsEveryFamilyAndItsComplement) {
  Buffer buffer;
  HostMemory memory(buffer.words(), kBytes);
  const PatternReport report = RunPatternTest(memory, {.rounds = 2}, GoOn);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.mismatches.count, 0U);
  EXPECT_EQ(report.patterns, 2U * 2 * kFamilies);
  EXPECT_EQ(report.bytes_written, 2U * 2 * kFamilies * kBytes);
  EXPECT_EQ(report.bytes_read, 2U * 2 * kFamilies * kBytes);
}

TEST(PatternRun, ABitThatIsStuckEitherWayIsFoundByEveryFamily) {
  for (unsigned family = 0; family < kFamilies; ++family) {
    for (const unsigned value : {0U, 1U}) {
      Buffer buffer;
      StuckMemory memory(buffer.words(), 8192 + 12, 17, value);
      const PatternReport report = RunPatternTest(memory, {.families = {family}}, GoOn);
      // Either the pattern or its complement wants the other value; the random seed decides which.
      EXPECT_EQ(report.mismatches.count, 1U) << PatternName(family) << ", stuck at " << value;
      EXPECT_EQ(report.mismatches.bits, 1U << 17);
    }
  }
}

TEST(PatternRun, CrossedAddressLinesAreFoundByTheAddressPattern) {
  // Memory in which one half mirrors the other, like with a dead address line.
  class Folded final : public PatternMemory {
   public:
    explicit Folded(std::uint32_t* words) : host_(words, kBytes) {}
    std::uint64_t bytes() const override { return kBytes; }
    std::uint64_t chunk() const override { return kBytes / 2; }
    void Write(Pattern pattern, std::uint64_t offset, std::uint64_t bytes) override {
      host_.Write(pattern, offset, bytes);
      // A write to one half appears in the other too.
      auto* const words = words_of();
      const std::uint64_t other = (offset + kBytes / 2) % kBytes;
      std::copy(words + offset / 4, words + (offset + bytes) / 4, words + other / 4);
    }
    void Check(Pattern pattern, bool invert, std::uint64_t offset, std::uint64_t bytes,
               MismatchLog& log) override {
      host_.Check(pattern, invert, offset, bytes, log);
    }
    std::uint32_t* words_of() { return words_; }
    void set(std::uint32_t* words) { words_ = words; }

   private:
    HostMemory host_;
    std::uint32_t* words_ = nullptr;
  };
  Buffer buffer;
  Folded memory(buffer.words());
  memory.set(buffer.words());
  EXPECT_EQ(RunPatternTest(memory, {.families = {kSolid, kChecker}}, GoOn).mismatches.count, 0U);
  EXPECT_GT(RunPatternTest(memory, {.families = {kAddress}}, GoOn).mismatches.count, 0U);
}

TEST(PatternRun, EndsWhenItIsToldToAndSaysThatItIsNotComplete) {
  Buffer buffer;
  StuckMemory memory(buffer.words(), 0, 0, 0);
  int asked = 0;
  std::vector<double> shares;
  const PatternReport report = RunPatternTest(memory, {}, [&](double done) {
    shares.push_back(done);
    return ++asked < 20;
  });
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(asked, 20);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_THAT(shares, Each(::testing::AllOf(::testing::Ge(0.0), ::testing::Lt(1.0))));
}

TEST(PatternRun, CountsAllMismatchesAndKeepsTheFirst) {
  Buffer buffer;
  HostMemory memory(buffer.words(), kBytes);
  memory.Write({.pattern = kSolid}, 0, kBytes);
  for (std::size_t i = 0; i < 1000; ++i) buffer.words()[i * 3] = 0xF0;
  MismatchLog log;
  memory.Check({.pattern = kSolid}, false, 0, kBytes, log);
  EXPECT_EQ(log.count, 1000U);
  EXPECT_EQ(log.bits, 0xF0U);
  EXPECT_THAT(log.first, SizeIs(MismatchLog::kKept));
}

}  // namespace
}  // namespace galen::node::cuda
