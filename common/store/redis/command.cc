#include "common/store/redis/command.h"

#include <openssl/evp.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace galen::store::redis {

Script::Script(std::string text) : text_(std::move(text)) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text_.data(), text_.size(), digest, &size, EVP_sha1(), nullptr);
  sha1_ = absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

Command Read(absl::string_view key, std::vector<std::string> words) {
  return {std::move(words), SlotOf(key), /*write=*/false, nullptr};
}

Command Write(absl::string_view key, std::vector<std::string> words) {
  return {std::move(words), SlotOf(key), /*write=*/true, nullptr};
}

Command Eval(const Script& script, bool write, std::vector<std::string> keys,
             std::vector<std::string> arguments) {
  Command command;
  command.slot = SlotOf(keys.front());
  command.write = write;
  command.script = &script;
  command.words = {"EVALSHA", script.sha1(), absl::StrCat(keys.size())};
  for (std::string& key : keys) command.words.push_back(std::move(key));
  for (std::string& argument : arguments) command.words.push_back(std::move(argument));
  return command;
}

}  // namespace galen::store::redis
