#ifndef COMMON_TALK_MENTIONS_H_
#define COMMON_TALK_MENTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::talk {

// An address as it stands in a sentence.
struct Mention {
  std::size_t begin = 0;  // bytes of the sentence that it takes, its port and brackets included
  std::size_t end = 0;
  std::string address;      // canonical: "10.0.0.5", "fd00::5"
  std::optional<int> port;  // written at the address
  // A network ("10.0.0.0/24"), a mask or a version: not a machine.
  bool no_machine = false;
  // Only its end was said (".17"): the beginning is that of the address before it.
  bool short_form = false;
  int prefix_bits = -1;  // of "10.0.0.0/24"
};

// A port that is said apart from its address.
struct PortMention {
  std::size_t begin = 0;
  std::size_t end = 0;
  int port = 0;
  bool flag = false;  // "-p 2222" of a command
};

// The addresses of a sentence in their order. Ranges ("10.0.0.5-8", "10.0.0.5 through 8") become
// one mention for each, up to 64. Pure.
std::vector<Mention> AddressesIn(absl::string_view sentence);

// What only ends an address: ".17" or "dot 17" after a space. `sentence` in lower case. Pure.
std::vector<Mention> ShortFormsIn(absl::string_view sentence);

// Ports by the words around them: "port 2222", "ports 22", "-p 2222", "ssh on 2222", "sshd listens
// on twenty-two twenty-two", "the usual ssh port". Between 1 and 65535. `sentence` in lower case.
// Pure.
std::vector<PortMention> PortsIn(absl::string_view sentence);

}  // namespace galen::talk

#endif  // COMMON_TALK_MENTIONS_H_
