#ifndef SERVICES_GATEWAY_CONSOLE_CONSOLE_FILES_H_
#define SERVICES_GATEWAY_CONSOLE_CONSOLE_FILES_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace galen::gateway {

struct ConsoleFile {
  absl::string_view name;  // "app.js"
  absl::string_view bytes;
};

// What lies in dist/; made by embed.cmake.
std::vector<ConsoleFile> ConsoleFiles();

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_CONSOLE_CONSOLE_FILES_H_
