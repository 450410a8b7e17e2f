#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/kernel_lines.h"

namespace galen::node {
namespace {

bool Positive(const std::optional<std::int64_t>& count) { return count.value_or(0) > 0; }

// "2 uncorrectable DRAM errors since the driver was loaded, ..."; "" when nothing was counted.
std::string EccText(const GpuEcc& ecc) {
  std::vector<std::string> parts;
  const auto tell = [&](const std::optional<std::int64_t>& count, absl::string_view what,
                        absl::string_view when) {
    if (Positive(count)) {
      parts.push_back(absl::StrCat(Count(*count, absl::StrCat(what, " error")), " ", when));
    }
  };
  tell(ecc.since_boot.dram_uncorrectable, "uncorrectable DRAM", "since the driver was loaded");
  tell(ecc.since_boot.sram_uncorrectable, "uncorrectable SRAM", "since the driver was loaded");
  tell(ecc.lifetime.dram_uncorrectable, "uncorrectable DRAM", "in its life");
  tell(ecc.since_boot.dram_correctable, "corrected DRAM", "since the driver was loaded");
  if (ecc.sram_threshold_exceeded.value_or(false)) parts.push_back("SRAM threshold exceeded");
  return absl::StrJoin(parts, ", ");
}

// Whether an AMD GPU has as many bad pages as its driver bears: by the count and the threshold,
// else by what the driver logged.
std::optional<bool> ThresholdReached(const Gpu& gpu,
                                     const absl::StatusOr<KernelPciEvents>& events) {
  if (events.ok() && events->bad_page_threshold.contains(gpu.pci_address)) return true;
  const GpuRetiredPages& pages = gpu.retired_pages;
  if (!pages.count.has_value()) return std::nullopt;
  if (pages.threshold.value_or(0) > 0) return *pages.count >= *pages.threshold;
  // Every threshold is above none at all.
  if (*pages.count == 0) return false;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuEcc(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryGpus(context.host));
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    const GpuEcc& ecc = gpu.ecc;
    findings.Int("dram_uncorrectable_volatile", subject, ecc.since_boot.dram_uncorrectable);
    findings.Int("dram_uncorrectable_aggregate", subject, ecc.lifetime.dram_uncorrectable);
    findings.Int("sram_uncorrectable_volatile", subject, ecc.since_boot.sram_uncorrectable);
    findings.Bool("sram_threshold_exceeded", subject, ecc.sram_threshold_exceeded);
    findings.Int("dram_correctable_volatile", subject, ecc.since_boot.dram_correctable);
    findings.Int("dram_correctable_aggregate", subject, ecc.lifetime.dram_correctable);
    findings.Text("ecc_mode", subject, Known(ecc.mode));
    if (gpu.requires_reset) {
      sentence.Special(gpu, "needs a reset and gives no counts");
    } else if (gpu.lost) {
      sentence.Special(gpu, "is lost and gives no counts");
    } else if (ecc.mode == "Disabled") {
      sentence.Special(gpu, "ECC is off");
    } else if (const std::string text = EccText(ecc); !text.empty()) {
      sentence.Special(gpu, text);
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no GPU of this node reports ECC");
  }
  return std::move(findings).Finish(sentence, "no memory error",
                                    ExcerptOfFirst(state, "ecc_errors", [](const Gpu& gpu) {
                                      return !EccText(gpu.ecc).empty();
                                    }));
}

absl::StatusOr<CheckOutput> CheckGpuRowRemap(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryNvidia(context.host));
  const auto text = [](const GpuRowRemap& rows) {
    std::vector<std::string> parts;
    if (rows.failure_occurred.value_or(false)) parts.push_back("a remapping failed");
    if (rows.pending.value_or(false)) parts.push_back("a remapping waits for a reset");
    if (Positive(rows.uncorrectable_rows)) {
      parts.push_back(absl::StrCat(Count(*rows.uncorrectable_rows, "row"),
                                   " remapped for uncorrectable errors"));
    }
    if (Positive(rows.correctable_rows)) {
      parts.push_back(
          absl::StrCat(Count(*rows.correctable_rows, "row"), " remapped for corrected errors"));
    }
    if (Positive(rows.banks_without_spare)) {
      parts.push_back(
          absl::StrCat(Count(*rows.banks_without_spare, "bank"), " without a spare row"));
    }
    return absl::StrJoin(parts, ", ");
  };
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    findings.Bool("pending", subject, gpu.row_remap.pending).set_expected("false");
    findings.Bool("failure_occurred", subject, gpu.row_remap.failure_occurred)
        .set_expected("false");
    findings.Int("correctable_rows", subject, gpu.row_remap.correctable_rows);
    findings.Int("uncorrectable_rows", subject, gpu.row_remap.uncorrectable_rows);
    findings.Int("banks_without_spare", subject, gpu.row_remap.banks_without_spare);
    if (const std::string special = text(gpu.row_remap); !special.empty()) {
      sentence.Special(gpu, special);
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError(
        "no GPU of this node remaps rows (that came with Ampere data centre GPUs)");
  }
  return std::move(findings).Finish(sentence, "no remapped row",
                                    ExcerptOfFirst(state, "remapped_rows", [&](const Gpu& gpu) {
                                      return !text(gpu.row_remap).empty();
                                    }));
}

absl::StatusOr<CheckOutput> CheckGpuPageRetirement(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryGpus(context.host));
  const absl::StatusOr<KernelPciEvents> events = ReadKernelPciEvents(context.host);
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    // How many bad pages are too many, a GPU of AMD tells itself.
    findings.Int(gpu.vendor == "AMD" ? "bad_pages" : "retired_pages", subject,
                 gpu.retired_pages.count);
    findings.Bool("pending", subject, gpu.retired_pages.pending);
    const bool pending = gpu.retired_pages.pending.value_or(false);
    const std::optional<bool> full = ThresholdReached(gpu, events);
    if (gpu.vendor == "AMD") {
      findings.Bool("bad_page_threshold_reached", subject, full).set_expected("false");
    }
    if (pending || full.value_or(false) || Positive(gpu.retired_pages.count)) {
      sentence.Special(gpu, absl::StrCat(Count(gpu.retired_pages.count.value_or(0), "retired page"),
                                         pending ? ", more wait for a reset" : "",
                                         full.value_or(false) ? ", no room for more" : ""));
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError(
        "no GPU of this node retires pages (Ampere and later remap rows instead)");
  }
  return std::move(findings).Finish(sentence, "no retired page",
                                    ExcerptOfFirst(state, "retired_pages", [](const Gpu& gpu) {
                                      return Positive(gpu.retired_pages.count);
                                    }));
}

}  // namespace galen::node
