#include "common/perfmodel/job.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace galen::perfmodel {
namespace {

constexpr std::int64_t kMostOfAGroup = 1 << 20;

absl::Status Wrong(absl::string_view name, absl::string_view value, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("shape: ", name, "=", value, ": ", what));
}

absl::Status Fit(Job& job) {
  const ModelShape& shape = job.shape;
  Layout& layout = job.layout;
  if (shape.gpus == 0) {
    return absl::InvalidArgumentError("shape: gpus: is missing; how many GPUs run the job");
  }
  if (shape.heads > kMostOfAGroup || shape.head_size > kMostOfAGroup) {
    return absl::InvalidArgumentError("shape: heads, head_size: more than a million");
  }
  // Each factor is at most 2^20 and their product grows step by step, so that nothing overflows.
  std::int64_t replica = 1;
  for (const std::int64_t part : {layout.tensor, layout.pipeline, layout.context}) {
    replica *= part;
    if (replica > shape.gpus) {
      return absl::InvalidArgumentError(
          "shape: tp * pp * cp: more than gpus; one replica needs so many");
    }
  }
  if (shape.gpus % replica != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape: tp * pp * cp = ", replica, ": does not divide gpus=", shape.gpus));
  }
  layout.data = shape.gpus / replica;
  if (layout.data > shape.batch || shape.batch % layout.data != 0 ||
      (shape.batch / layout.data) % layout.micro_batch != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape: batch=", shape.batch, ": is not a multiple of ", layout.data,
                     " replicas times ", layout.micro_batch, " sequences of a micro-batch"));
  }
  if (layout.pipeline > shape.layers || layout.pipeline * layout.chunks > shape.layers) {
    return absl::InvalidArgumentError("shape: pp: more stages than there are layers");
  }
  if (layout.expert > shape.experts || (layout.data * layout.context) % layout.expert != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shape: ep=", layout.expert, ": must divide the ", layout.data * layout.context,
        " replicas, and there are ", shape.experts, " experts"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Job> ParseJob(absl::string_view text) {
  Job job;
  Layout& layout = job.layout;
  const std::map<absl::string_view, std::int64_t*> numbers = {{"tp", &layout.tensor},
                                                              {"pp", &layout.pipeline},
                                                              {"cp", &layout.context},
                                                              {"ep", &layout.expert},
                                                              {"micro_batch", &layout.micro_batch},
                                                              {"chunks", &layout.chunks}};
  std::vector<absl::string_view> rest;
  std::set<absl::string_view> seen;
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(field.first);
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("shape: ", name, ": is set twice; keep one"));
    }
    if (const auto number = numbers.find(name); number != numbers.end()) {
      if (!absl::SimpleAtoi(value, number->second) || *number->second < 1 ||
          *number->second > kMostOfAGroup) {
        return Wrong(name, value, "is not a whole number from 1");
      }
    } else if (name == "zero") {
      if (!absl::SimpleAtoi(value, &layout.zero) || layout.zero < 0 || layout.zero > 3) {
        return Wrong(name, value, "is a stage from 0 to 3");
      }
    } else if (name == "flash") {
      if (!absl::SimpleAtob(value, &layout.flash)) return Wrong(name, value, "is true or false");
    } else if (name == "recompute") {
      if (value == "none") {
        layout.recompute = Recompute::kNone;
      } else if (value == "selective") {
        layout.recompute = Recompute::kSelective;
      } else if (value == "full") {
        layout.recompute = Recompute::kFull;
      } else {
        return Wrong(name, value, "is none, selective or full");
      }
    } else {
      rest.push_back(part);
    }
  }
  GALEN_ASSIGN_OR_RETURN(job.shape, ParseShape(absl::StrJoin(rest, ",")));
  GALEN_RETURN_IF_ERROR(Fit(job));
  return job;
}

}  // namespace galen::perfmodel
