#ifndef COMMON_PROFILE_HANGS_PICKLE_H_
#define COMMON_PROFILE_HANGS_PICKLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::hangs {

// Plain data of a Python pickle: None, bool, int, float, str, bytes, list, tuple, dict. Anything
// that would build an object or call a function is refused, so nothing of a pickle is ever run.
class Pickle {
 public:
  struct Value {
    enum class Kind { kNone, kBool, kInt, kFloat, kText, kList, kDict, kMark };
    Kind kind = Kind::kNone;
    std::int64_t integer = 0;  // kBool, kInt (integers beyond 64 bits are cut)
    double number = 0;         // kFloat
    std::string text;
    std::vector<const Value*> items;                            // kList (tuples too)
    std::vector<std::pair<const Value*, const Value*>> fields;  // kDict
    // The field of that name; nullptr if this is not a dict or lacks the field. Linear.
    const Value* Find(absl::string_view name) const;
    // The value as int; `otherwise` if it is not one.
    std::int64_t Int(std::int64_t otherwise) const;
  };

  // DATA_LOSS: cut off, or not a pickle of plain data. Time and memory are linear in the input.
  static absl::StatusOr<Pickle> Parse(absl::string_view bytes);

  // Lives as long as this. May refer to itself in a circle: do not walk it without a limit.
  const Value& root() const { return *root_; }

 private:
  friend class Unpickler;
  std::vector<std::unique_ptr<Value>> values_;
  const Value* root_ = nullptr;
};

}  // namespace galen::hangs

#endif  // COMMON_PROFILE_HANGS_PICKLE_H_
