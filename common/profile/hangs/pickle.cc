#include "common/profile/hangs/pickle.h"

#include <bit>
#include <cstddef>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::hangs {

using Value = Pickle::Value;
using Kind = Pickle::Value::Kind;

// The machine that executes a pickle, without the instructions that make objects.
// https://github.com/python/cpython/blob/main/Lib/pickletools.py names them.
class Unpickler {
 public:
  explicit Unpickler(absl::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<Pickle> Run() {
    while (true) {
      if (at_ >= bytes_.size()) return absl::DataLossError("a pickle that is cut off");
      const auto op = static_cast<unsigned char>(bytes_[at_++]);
      if (op == '.') break;
      GALEN_RETURN_IF_ERROR(Step(op));
    }
    if (stack_.size() != 1 || stack_[0]->kind == Kind::kMark) return Malformed();
    pickle_.root_ = stack_[0];
    return std::move(pickle_);
  }

 private:
  static absl::Status Malformed() { return absl::DataLossError("a pickle that is malformed"); }

  Value* New(Kind kind) {
    pickle_.values_.push_back(std::make_unique<Value>());
    pickle_.values_.back()->kind = kind;
    return pickle_.values_.back().get();
  }

  Value* Push(Kind kind) {
    Value* value = New(kind);
    stack_.push_back(value);
    return value;
  }

  absl::StatusOr<std::uint64_t> Number(std::size_t size) {
    if (bytes_.size() - at_ < size) return Malformed();
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size && i < 8; ++i) {
      number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    }
    at_ += size;
    return number;
  }

  absl::StatusOr<absl::string_view> Bytes(std::uint64_t size) {
    if (bytes_.size() - at_ < size) return Malformed();
    const absl::string_view bytes = bytes_.substr(at_, size);
    at_ += size;
    return bytes;
  }

  absl::Status PushText(std::size_t length_size) {
    GALEN_ASSIGN_OR_RETURN(const std::uint64_t size, Number(length_size));
    GALEN_ASSIGN_OR_RETURN(const absl::string_view text, Bytes(size));
    Push(Kind::kText)->text = std::string(text);
    return absl::OkStatus();
  }

  absl::Status PushInt(std::size_t size, bool is_signed) {
    GALEN_ASSIGN_OR_RETURN(std::uint64_t number, Number(size));
    if (is_signed && size > 0 && size < 8 && ((number >> (8 * size - 1)) & 1) != 0) {
      number |= ~std::uint64_t{0} << (8 * size);
    }
    Push(Kind::kInt)->integer = static_cast<std::int64_t>(number);
    return absl::OkStatus();
  }

  // Takes the values above the last mark, and the mark.
  absl::StatusOr<std::vector<Value*>> PopMark() {
    for (std::size_t i = stack_.size(); i-- > 0;) {
      if (stack_[i]->kind != Kind::kMark) continue;
      std::vector<Value*> items(stack_.begin() + static_cast<std::ptrdiff_t>(i) + 1, stack_.end());
      stack_.resize(i);
      return items;
    }
    return Malformed();
  }

  absl::Status PushTuple(std::size_t size) {
    if (stack_.size() < size) return Malformed();
    Value* tuple = New(Kind::kList);
    tuple->items.assign(stack_.end() - static_cast<std::ptrdiff_t>(size), stack_.end());
    for (const Value* item : tuple->items) {
      if (item->kind == Kind::kMark) return Malformed();
    }
    stack_.resize(stack_.size() - size);
    stack_.push_back(tuple);
    return absl::OkStatus();
  }

  absl::Status Append(const std::vector<Value*>& items) {
    if (stack_.empty() || stack_.back()->kind != Kind::kList) return Malformed();
    std::vector<const Value*>& into = stack_.back()->items;
    into.insert(into.end(), items.begin(), items.end());
    return absl::OkStatus();
  }

  absl::Status SetItems(const std::vector<Value*>& items) {
    if (stack_.empty() || stack_.back()->kind != Kind::kDict || items.size() % 2 != 0) {
      return Malformed();
    }
    for (std::size_t i = 0; i < items.size(); i += 2) {
      stack_.back()->fields.emplace_back(items[i], items[i + 1]);
    }
    return absl::OkStatus();
  }

  absl::Status Put(std::uint64_t index) {
    if (stack_.empty() || stack_.back()->kind == Kind::kMark) return Malformed();
    memo_[index] = stack_.back();
    return absl::OkStatus();
  }

  absl::Status Get(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) return Malformed();
    stack_.push_back(found->second);
    return absl::OkStatus();
  }

  absl::Status Step(unsigned char op);
  absl::Status Collect(unsigned char op);

  absl::string_view bytes_;
  std::size_t at_ = 0;
  Pickle pickle_;
  std::vector<Value*> stack_;
  std::map<std::uint64_t, Value*> memo_;
};

absl::Status Unpickler::Collect(unsigned char op) {
  if (op == 'a' || op == 's') {
    const std::size_t size = op == 'a' ? 1 : 2;
    if (stack_.size() < size + 1) return Malformed();
    std::vector<Value*> items(stack_.end() - static_cast<std::ptrdiff_t>(size), stack_.end());
    stack_.resize(stack_.size() - size);
    for (const Value* item : items) {
      if (item->kind == Kind::kMark) return Malformed();
    }
    return op == 'a' ? Append(items) : SetItems(items);
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<Value*> items, PopMark());
  switch (op) {
    case 'e':
      return Append(items);
    case 'u':
      return SetItems(items);
    case 'd':
      Push(Kind::kDict);
      return SetItems(items);
    default:  // 't' and 'l'
      Push(Kind::kList);
      return Append(items);
  }
}

absl::Status Unpickler::Step(unsigned char op) {
  switch (op) {
    case 0x80:  // PROTO
      return Number(1).status();
    case 0x95:  // FRAME
      return Number(8).status();
    case 'N':
      Push(Kind::kNone);
      return absl::OkStatus();
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      Push(Kind::kBool)->integer = op == 0x88 ? 1 : 0;
      return absl::OkStatus();
    case 'J':  // BININT
      return PushInt(4, true);
    case 'K':  // BININT1
      return PushInt(1, false);
    case 'M':  // BININT2
      return PushInt(2, false);
    case 0x8a: {  // LONG1
      GALEN_ASSIGN_OR_RETURN(const std::uint64_t size, Number(1));
      return PushInt(size, true);
    }
    case 'G': {  // BINFLOAT, the only one in network order
      GALEN_ASSIGN_OR_RETURN(const std::uint64_t bits, Number(8));
      Push(Kind::kFloat)->number = std::bit_cast<double>(__builtin_bswap64(bits));
      return absl::OkStatus();
    }
    case 'X':  // BINUNICODE
    case 'B':  // BINBYTES
    case 'T':  // BINSTRING
      return PushText(4);
    case 0x8c:  // SHORT_BINUNICODE
    case 'C':   // SHORT_BINBYTES
    case 'U':   // SHORT_BINSTRING
      return PushText(1);
    case 0x8d:  // BINUNICODE8
    case 0x8e:  // BINBYTES8
      return PushText(8);
    case '}':
      Push(Kind::kDict);
      return absl::OkStatus();
    case ']':
    case ')':
      Push(Kind::kList);
      return absl::OkStatus();
    case '(':
      Push(Kind::kMark);
      return absl::OkStatus();
    case 0x85:
    case 0x86:
    case 0x87:
      return PushTuple(static_cast<std::size_t>(op - 0x84));
    case 'a':
    case 'e':
    case 's':
    case 'u':
    case 'd':
    case 't':
    case 'l':
      return Collect(op);
    case 'q': {  // BINPUT
      GALEN_ASSIGN_OR_RETURN(const std::uint64_t index, Number(1));
      return Put(index);
    }
    case 'r': {  // LONG_BINPUT
      GALEN_ASSIGN_OR_RETURN(const std::uint64_t index, Number(4));
      return Put(index);
    }
    case 0x94:  // MEMOIZE
      return Put(memo_.size());
    case 'h': {  // BINGET
      GALEN_ASSIGN_OR_RETURN(const std::uint64_t index, Number(1));
      return Get(index);
    }
    case 'j': {  // LONG_BINGET
      GALEN_ASSIGN_OR_RETURN(const std::uint64_t index, Number(4));
      return Get(index);
    }
    case '0':  // POP
      if (stack_.empty()) return Malformed();
      stack_.pop_back();
      return absl::OkStatus();
    default:
      return absl::DataLossError(absl::StrCat("a pickle of more than plain data (instruction ",
                                              static_cast<int>(op), ")"));
  }
}

absl::StatusOr<Pickle> Pickle::Parse(absl::string_view bytes) { return Unpickler(bytes).Run(); }

const Value* Value::Find(absl::string_view name) const {
  if (kind != Kind::kDict) return nullptr;
  for (const auto& [key, value] : fields) {
    if (key->kind == Kind::kText && key->text == name) return value;
  }
  return nullptr;
}

std::int64_t Value::Int(std::int64_t otherwise) const {
  return kind == Kind::kInt || kind == Kind::kBool ? integer : otherwise;
}

}  // namespace galen::hangs
