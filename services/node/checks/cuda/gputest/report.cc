#include "services/node/checks/cuda/gputest/report.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace galen::node::cuda {
namespace {

double patience = 1;

}  // namespace

void SetPatience(double factor) { patience = factor; }
double Patience() { return patience; }

void Say(const char* kind, std::initializer_list<Field> fields) {
  std::string line = kind;
  for (const auto& [name, value] : fields) {
    line += '\t';
    line += name;
    line += '=';
    for (const char c : value) line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  line += '\n';
  const char* at = line.data();
  std::size_t left = line.size();
  while (left > 0) {
    const ssize_t n = write(STDOUT_FILENO, at, left);
    if (n < 0 && errno == EINTR) continue;
    // Nobody listens any more.
    if (n <= 0) _exit(kExitFailed);
    at += n;
    left -= static_cast<std::size_t>(n);
  }
}

void SayStep(double limit, const std::string& what) {
  Say("@step", {{"limit", Text(limit * patience)}, {"what", what}});
}

void SayProgress(double done, const std::string& what) {
  Say("@progress", {{"done", Text(done)}, {"what", what}});
}

void SayErrorAndExit(const char* call, int code, const std::string& text) {
  Say("@error", {{"call", call}, {"code", std::to_string(code)}, {"text", text}});
  _exit(kExitFailed);
}

void SayHungAndExit(const std::string& what) {
  Say("@hung", {{"what", what}});
  _exit(kExitFailed);
}

void SayRefusedAndExit(const std::string& text) {
  Say("@refused", {{"text", text}});
  _exit(kExitRefused);
}

std::string Text(double number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.9g", number);
  return text.data();
}

std::string Text(std::uint64_t number) { return std::to_string(number); }

std::string Hex(std::uint64_t number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(number));
  return text.data();
}

}  // namespace galen::node::cuda
