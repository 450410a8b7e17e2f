#include "services/advisor/learning/signature.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/crypto/sha256.h"

namespace galen::advisor {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kTokenDigits = 32;
constexpr std::size_t kLeastKey = 16;
constexpr std::size_t kMostComponents = 64;

// Sorted.
constexpr std::array<absl::string_view, 20> kComponents = {"apex",
                                                           "cuda",
                                                           "cudnn",
                                                           "deepspeed",
                                                           "driver",
                                                           "flash_attn",
                                                           "jax",
                                                           "jaxlib",
                                                           "kernel",
                                                           "megatron",
                                                           "nccl",
                                                           "python",
                                                           "rccl",
                                                           "rocm",
                                                           "sglang",
                                                           "torch",
                                                           "transformer_engine",
                                                           "triton",
                                                           "vllm",
                                                           "xla"};

int BucketOf(double share) {
  // Factors of four above kLeastShare: the ends are 5, 20 and 80 %.
  return 1 + static_cast<int>(std::floor(std::log2(share / kLeastShare) / 2 + 1e-9));
}

int ScaleOf(std::int64_t gpus) {
  int scale = 0;
  for (; gpus > 1 && scale < 7; gpus = (gpus + 7) / 8) ++scale;
  return scale;
}

absl::Status CheckMix(const OperatorMix& mix) {
  double sum = 0;
  for (const auto& [word, share] : mix) {
    if (!IsOperator(word)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", absl::CHexEscape(word.substr(0, 64)),
                       "\" is not an operator of the closed list: it might tell more than the "
                       "signature is to tell"));
    }
    if (!(share >= 0 && share <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat(word, ": a share is between 0 and 1"));
    }
    sum += share;
  }
  if (std::abs(sum - 1) > 1e-6) {
    return absl::InvalidArgumentError(absl::StrCat("the shares add up to ", sum, " and not to 1"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string HmacSha256Hex(absl::string_view key, absl::string_view text) {
  std::string padded(key);
  if (padded.size() > kBlock) padded = absl::HexStringToBytes(Sha256Hex(padded));
  padded.resize(kBlock, '\0');
  std::string inner = padded;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : padded) c = static_cast<char>(c ^ 0x5c);
  absl::StrAppend(&inner, text);
  return Sha256Hex(absl::StrCat(padded, absl::HexStringToBytes(Sha256Hex(inner))));
}

std::string CanonicalMix(const OperatorMix& mix, std::int64_t gpus, Grain grain) {
  std::string text = grain == Grain::kFine ? "fine" : "coarse";
  for (const auto& [word, share] : mix) {
    if (share < kLeastShare) continue;
    absl::StrAppend(&text, " ", word);
    if (grain == Grain::kFine) absl::StrAppend(&text, "=", BucketOf(share));
  }
  absl::StrAppend(&text, " scale=", ScaleOf(gpus));
  return text;
}

bool IsComponent(absl::string_view component) {
  return std::find(kComponents.begin(), kComponents.end(), component) != kComponents.end();
}

std::string CanonicalVersions(const Versions& versions) {
  std::string text;
  for (const auto& [component, version] : versions) {
    if (!IsComponent(component)) continue;
    std::string shortened;
    int numbers = 0;
    for (const char c : version) {
      if (c == '.' && ++numbers == 2) break;
      if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.') break;
      shortened.push_back(c);
    }
    absl::StrAppend(&text, text.empty() ? "" : " ", component, "=", shortened);
  }
  return text;
}

absl::StatusOr<Signature> Sign(absl::string_view key, const OperatorMix& mix, std::int64_t gpus,
                               const Versions& versions, Grain grain) {
  if (key.size() < kLeastKey) {
    return absl::InvalidArgumentError("the key of signatures has fewer than 16 bytes");
  }
  if (versions.size() > kMostComponents) {
    return absl::InvalidArgumentError("more than 64 components with a version");
  }
  GALEN_RETURN_IF_ERROR(CheckMix(mix));
  // The prefixes prevent one text from passing as the other.
  return Signature{
      HmacSha256Hex(key, absl::StrCat("galen archetype 1\n", CanonicalMix(mix, gpus, grain)))
          .substr(0, kTokenDigits),
      HmacSha256Hex(key, absl::StrCat("galen stack 1\n", CanonicalVersions(versions)))
          .substr(0, kTokenDigits)};
}

bool IsToken(absl::string_view text) {
  return text.size() == kTokenDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace galen::advisor
