// Tries to recover the properties behind signatures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/advisor/learning/mix.h"
#include "services/advisor/learning/signature.h"

namespace galen::advisor {
namespace {

constexpr char kKey[] = "the key of the made-up fleet";

struct Candidate {
  Declared declared;
  std::int64_t gpus = 1;
};

// Shapes as they are published (widths of GPT, Llama, Qwen, Mixtral, DeepSeek and their kin) with
// the layouts that people use: what an attacker would try.
std::vector<Candidate> Candidates() {
  struct Shape {
    std::int64_t hidden, layers;
  };
  std::vector<Candidate> candidates;
  for (const Shape& shape : {Shape{2048, 24},
                             {2560, 32},
                             {3072, 28},
                             {4096, 32},
                             {4096, 48},
                             {5120, 40},
                             {6144, 44},
                             {7168, 61},
                             {8192, 64},
                             {8192, 80},
                             {12288, 96},
                             {16384, 126}}) {
    for (const std::int64_t sequence : {2048, 4096, 8192, 32768}) {
      for (const std::int64_t micro : {1, 2, 4}) {
        for (const std::int64_t tensor : {1, 2, 4, 8}) {
          for (const std::int64_t pipeline : {1, 4}) {
            for (const std::int64_t data : {1, 8, 64}) {
              for (const bool sharded : {false, true}) {
                for (const std::int64_t experts : {1, 8, 64}) {
                  Candidate each;
                  each.declared = {.layers = shape.layers, .hidden = shape.hidden};
                  each.declared.sequence = sequence;
                  each.declared.micro_batch = micro;
                  each.declared.accumulation = 8;
                  each.declared.tensor = tensor;
                  each.declared.pipeline = pipeline;
                  each.declared.data = data;
                  each.declared.sharded = sharded;
                  each.declared.experts = experts;
                  each.declared.active = experts == 1 ? 1 : 2;
                  each.declared.expert = std::min(experts, data);
                  each.gpus = tensor * pipeline * data;
                  candidates.push_back(each);
                }
              }
            }
          }
        }
      }
    }
  }
  return candidates;
}

// The gain of an attacker who has the key and all candidates, about one property: how often the
// best guess is right, with the signature and without (candidates are equally likely; with it, also
// for an attacker who already knows the number of GPUs).
struct Guess {
  double prior = 0;
  double posterior = 0;
};
template <typename Property>
Guess GuessOf(const std::map<std::string, std::vector<const Candidate*>>& by_signature,
              std::size_t all, Property property) {
  std::map<decltype(property(std::declval<Candidate>())), int> prior;
  int right = 0;
  for (const auto& [signature, candidates] : by_signature) {
    std::map<decltype(property(std::declval<Candidate>())), int> within;
    for (const Candidate* each : candidates) {
      ++within[property(*each)];
      ++prior[property(*each)];
    }
    int most = 0;
    for (const auto& [value, count] : within) most = std::max(most, count);
    right += most;
  }
  int most = 0;
  for (const auto& [value, count] : prior) most = std::max(most, count);
  return {static_cast<double>(most) / static_cast<double>(all),
          static_cast<double>(right) / static_cast<double>(all)};
}

std::map<std::string, std::vector<const Candidate*>> BySignature(
    const std::vector<Candidate>& candidates, Grain grain) {
  std::map<std::string, std::vector<const Candidate*>> by;
  for (const Candidate& each : candidates) {
    const auto mix = MixOf(each.declared);
    EXPECT_TRUE(mix.ok());
    by[CanonicalMix(*mix, each.gpus, grain)].push_back(&each);
  }
  return by;
}

// Names do not go in, so nothing can get them out: not even with the key.
TEST(Privacy, ADictionaryOfNamesHitsNothing) {
  const auto mix = MixOf(Declared{.layers = 32, .hidden = 4096, .sequence = 4096});
  ASSERT_TRUE(mix.ok());
  std::set<Signature, decltype([](const Signature& a, const Signature& b) {
             return std::tie(a.archetype, a.stack) < std::tie(b.archetype, b.stack);
           })>
      seen;
  for (const char* name : {"acme", "llama-next", "secret-model-70b", "run-2026-11-23"}) {
    // The most that a tenant could do to give a name away: as a component.
    const auto signature = Sign(kKey, *mix, 64, {{name, "1.0"}, {"nccl", "2.21"}});
    ASSERT_TRUE(signature.ok());
    seen.insert(*signature);
    // An attacker with the key tries each name in each place that is digested.
    for (const std::string& tried :
         {std::string(name), absl::StrCat("galen archetype 1\n", name),
          absl::StrCat("galen stack 1\n", name), absl::StrCat("galen stack 1\n", name, "=1.0")}) {
      EXPECT_FALSE(absl::StartsWith(HmacSha256Hex(kKey, tried), signature->archetype)) << tried;
      EXPECT_FALSE(absl::StartsWith(HmacSha256Hex(kKey, tried), signature->stack)) << tried;
    }
  }
  EXPECT_EQ(seen.size(), 1u) << "the signature depends on a name";
}

// The attack itself has to work where there is something to find: else the test above proves
// nothing.
TEST(Privacy, ADictionaryOfMixesHitsWithTheKeyAndWithoutItNever) {
  const std::vector<Candidate> candidates = Candidates();
  const Candidate& secret = candidates[candidates.size() / 3];
  const auto signature = Sign(kKey, MixOf(secret.declared).value(), secret.gpus, {});
  ASSERT_TRUE(signature.ok());
  const auto hits = [&](const std::string& key) {
    std::set<std::string> tried;
    int found = 0;
    for (const Candidate& each : candidates) {
      const std::string text = CanonicalMix(MixOf(each.declared).value(), each.gpus, Grain::kFine);
      if (!tried.insert(text).second) continue;
      found += absl::StartsWith(HmacSha256Hex(key, absl::StrCat("galen archetype 1\n", text)),
                                signature->archetype)
                   ? 1
                   : 0;
    }
    return found;
  };
  EXPECT_EQ(hits(kKey), 1);
  EXPECT_EQ(hits("another key of sixteen"), 0);
}

// The gain of an attacker with the key: a bucket, and the information in it about the shape. The
// limits are those that docs/advisor.md promises.
TEST(Privacy, WithTheKeyASignatureLeavesManyShapesPossible) {
  const std::vector<Candidate> candidates = Candidates();
  for (const Grain grain : {Grain::kFine, Grain::kCoarse}) {
    const auto by = BySignature(candidates, grain);
    double bits = 0;
    std::vector<std::size_t> sizes;  // of the candidates that share the signature, a candidate each
    for (const auto& [signature, members] : by) {
      const double n = static_cast<double>(members.size());
      bits += n / static_cast<double>(candidates.size()) *
              std::log2(static_cast<double>(candidates.size()) / n);
      sizes.insert(sizes.end(), members.size(), members.size());
    }
    std::sort(sizes.begin(), sizes.end());
    const std::size_t alone = static_cast<std::size_t>(std::count(sizes.begin(), sizes.end(), 1u));
    const Guess hidden =
        GuessOf(by, candidates.size(), [](const Candidate& c) { return c.declared.hidden; });
    const Guess layers =
        GuessOf(by, candidates.size(), [](const Candidate& c) { return c.declared.layers; });
    const Guess sequence =
        GuessOf(by, candidates.size(), [](const Candidate& c) { return c.declared.sequence; });
    const Guess micro =
        GuessOf(by, candidates.size(), [](const Candidate& c) { return c.declared.micro_batch; });
    const Guess whole = GuessOf(by, candidates.size(), [](const Candidate& c) {
      const Declared& d = c.declared;
      return std::make_tuple(d.hidden, d.layers, d.sequence, d.micro_batch, d.tensor, d.pipeline,
                             d.data, d.sharded, d.experts);
    });
    const char* name = grain == Grain::kFine ? "fine" : "coarse";
    printf(
        "%-6s %zu candidates, %zu signatures, %.2f of %.2f bits told; candidates a signature: 1%% "
        "%zu, 5%% %zu, median %zu; alone %zu\n",
        name, candidates.size(), by.size(), bits, std::log2(static_cast<double>(candidates.size())),
        sizes[sizes.size() / 100], sizes[sizes.size() / 20], sizes[sizes.size() / 2], alone);
    printf(
        "%-6s best guess right, prior to posterior: hidden %.3f to %.3f, layers %.3f to %.3f, "
        "sequence %.3f to %.3f, "
        "micro-batch %.3f to %.3f, all of it %.5f to %.5f\n",
        name, hidden.prior, hidden.posterior, layers.prior, layers.posterior, sequence.prior,
        sequence.posterior, micro.prior, micro.posterior, whole.prior, whole.posterior);
    EXPECT_LE(hidden.posterior, 0.33) << name;
    EXPECT_LE(layers.posterior, 0.33) << name;
    EXPECT_LE(whole.posterior, 0.03) << name;
    EXPECT_LE(static_cast<double>(alone), 0.005 * static_cast<double>(candidates.size())) << name;
    EXPECT_GE(sizes[sizes.size() / 20], 5u) << name;
  }
}

// The cost of the buckets: a mix that is measured again differs a little. This share of the
// candidates keeps its signature when every share moves by some 5 %.
TEST(Privacy, MostSignaturesStayTheSameWhenTheMixIsMeasuredAgain) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> noise(0, 0.05);
  for (const Grain grain : {Grain::kFine, Grain::kCoarse}) {
    int same = 0;
    int all = 0;
    for (const Candidate& each : Candidates()) {
      const OperatorMix mix = MixOf(each.declared).value();
      OperatorMix again = mix;
      double sum = 0;
      for (auto& [word, share] : again) sum += share *= std::exp(noise(random));
      for (auto& [word, share] : again) share /= sum;
      ++all;
      same += CanonicalMix(mix, each.gpus, grain) == CanonicalMix(again, each.gpus, grain) ? 1 : 0;
    }
    printf("%-6s the same signature after 5 %% of noise: %.3f\n",
           grain == Grain::kFine ? "fine" : "coarse", static_cast<double>(same) / all);
    EXPECT_GT(same, all * 7 / 10);
  }
}

}  // namespace
}  // namespace galen::advisor
