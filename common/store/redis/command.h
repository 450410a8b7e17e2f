#ifndef COMMON_STORE_REDIS_COMMAND_H_
#define COMMON_STORE_REDIS_COMMAND_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/store/redis/slot.h"

namespace galen::store::redis {

// A Lua script, sent by its hash; whole only to a server that does not know it yet.
class Script {
 public:
  explicit Script(std::string text);
  const std::string& text() const { return text_; }
  const std::string& sha1() const { return sha1_; }  // in hexadecimal

 private:
  std::string text_;
  std::string sha1_;
};

// One command, which may be sent more than once: until an answer comes, nobody can know whether it
// was carried out. So it must be one whose repetition changes nothing, or is recognised.
struct Command {
  std::vector<std::string> words;
  int slot = 0;                    // of its keys; all of them share one
  bool write = false;              // counts as done once Config::replicas have it
  const Script* script = nullptr;  // words[1] is its hash
};

Command Read(absl::string_view key, std::vector<std::string> words);
Command Write(absl::string_view key, std::vector<std::string> words);
// A script over keys of one slot. `script` must outlive the command.
Command Eval(const Script& script, bool write, std::vector<std::string> keys,
             std::vector<std::string> arguments);

}  // namespace galen::store::redis

#endif  // COMMON_STORE_REDIS_COMMAND_H_
