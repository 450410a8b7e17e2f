#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/log_analysis/triage/catalogue.h"
#include "common/yaml/knowledge_file.h"

namespace galen::triage {

absl::StatusOr<Catalogue> LoadCatalogue(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFolder(directories, "triage"));
  Catalogue catalogue;
  for (const KnowledgeFile& file : files) {
    GALEN_RETURN_IF_ERROR(AddTo(catalogue, file.text, file.path));
  }
  for (const absl::string_view name : {kHang, kRateDrop, kLossNotFinite}) {
    if (catalogue.FindClass(name) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("triage/classes.yaml: class ", name, " is missing; it is found by numbers"));
    }
  }
  return catalogue;
}

}  // namespace galen::triage
