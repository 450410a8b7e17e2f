#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "services/node/checks/cuda/gputest_run.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxFields = 32;
constexpr std::size_t kMaxValueBytes = 512;

}  // namespace

std::optional<GpuTestLine> ParseGpuTestLine(absl::string_view line) {
  if (line.empty() || line.front() != '@') return std::nullopt;
  GpuTestLine parsed;
  bool first = true;
  for (const absl::string_view part : absl::StrSplit(line.substr(1), '\t')) {
    if (std::exchange(first, false)) {
      if (part.empty() || part.size() > kMaxValueBytes) return std::nullopt;
      parsed.kind = std::string(part);
      continue;
    }
    const std::size_t equals = part.find('=');
    if (equals == absl::string_view::npos || equals == 0) return std::nullopt;
    if (parsed.fields.size() >= kMaxFields) return std::nullopt;
    parsed.fields[std::string(part.substr(0, std::min(equals, kMaxValueBytes)))] =
        std::string(part.substr(equals + 1, kMaxValueBytes));
  }
  return parsed;
}

const std::string& GpuTestLine::Text(absl::string_view name) const {
  static const std::string none;
  const auto found = fields.find(name);
  return found == fields.end() ? none : found->second;
}

std::optional<double> GpuTestLine::Number(absl::string_view name) const {
  double number = 0;
  if (!absl::SimpleAtod(Text(name), &number) || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<std::int64_t> GpuTestLine::Integer(absl::string_view name) const {
  std::int64_t number = 0;
  if (!absl::SimpleAtoi(Text(name), &number)) return std::nullopt;
  return number;
}

const GpuTestLine* GpuTestRun::Find(absl::string_view kind) const {
  for (const GpuTestLine& line : lines) {
    if (line.kind == kind) return &line;
  }
  return nullptr;
}

}  // namespace galen::node
