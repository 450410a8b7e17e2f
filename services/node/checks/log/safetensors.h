#ifndef SERVICES_NODE_CHECKS_LOG_SAFETENSORS_H_
#define SERVICES_NODE_CHECKS_LOG_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::node {

// The header of a safetensors file (https://github.com/huggingface/safetensors#format).
struct SafetensorsHeader {
  std::set<std::string> tensors;
  std::int64_t file_bytes = 0;  // that the file has to have
};

// `start` is the beginning of the file. OUT_OF_RANGE: the header continues behind it. DATA_LOSS:
// the header is damaged, or larger than the format's 100 MB.
absl::StatusOr<SafetensorsHeader> ParseSafetensors(absl::string_view start);

// The shards of a "*.safetensors.index.json" or "pytorch_model.bin.index.json": file by tensor.
// DATA_LOSS: it is not that, or names a file outside of its own folder.
absl::StatusOr<std::map<std::string, std::string>> ParseShardIndex(absl::string_view json);

// Whether `end`, the last bytes of a file of `file_bytes` (all of a short one, else at least 64 KiB
// and 22), close a ZIP archive, as torch.save writes one: its directory is at the offset that its
// end record has. DATA_LOSS: they do not.
absl::Status CheckZipEnd(absl::string_view end, std::int64_t file_bytes);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_SAFETENSORS_H_
