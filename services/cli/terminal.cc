#include "services/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace galen::cli {
namespace {

constexpr int kPipeWidth = 100;
constexpr int kLeastWidth = 60;

bool StartsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

const char* Code(Colour colour) {
  switch (colour) {
    case Colour::kBold:
      return "1";
    case Colour::kDim:
      return "2";
    case Colour::kRed:
      return "31";
    case Colour::kGreen:
      return "32";
    case Colour::kYellow:
      return "33";
    case Colour::kBlue:
      return "34";
    case Colour::kNone:
      break;
  }
  return nullptr;
}

}  // namespace

Terminal Terminal::Of(int fd) {
  Terminal terminal;
  terminal.width = kPipeWidth;
  if (isatty(fd) == 0) return terminal;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = std::max<int>(size.ws_col, kLeastWidth);
  }
  const char* term = std::getenv("TERM");
  const char* no_colour = std::getenv("NO_COLOR");
  const bool dumb = term == nullptr || absl::string_view(term) == "dumb";
  terminal.interactive = !dumb && (no_colour == nullptr || *no_colour == '\0');
  return terminal;
}

std::string Paint(const Terminal& terminal, Colour colour, absl::string_view text) {
  const char* code = Code(colour);
  if (!terminal.interactive || code == nullptr) return std::string(text);
  return absl::StrCat("\x1b[", code, "m", text, "\x1b[0m");
}

std::size_t Columns(absl::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), StartsCharacter));
}

std::string Pad(absl::string_view text, std::size_t columns) {
  const std::size_t used = Columns(text);
  return absl::StrCat(text, std::string(used < columns ? columns - used : 0, ' '));
}

std::vector<std::string> Wrap(absl::string_view text, std::size_t columns) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    const std::size_t length = Columns(word);
    if (used != 0 && used + 1 + length > columns) {
      lines.emplace_back();
      used = 0;
    }
    if (used != 0) {
      lines.back() += ' ';
      ++used;
    }
    absl::StrAppend(&lines.back(), word);
    used += length;
  }
  return lines;
}

std::string Shorten(absl::string_view text, std::size_t columns) {
  if (Columns(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  std::size_t kept = 0;
  std::size_t characters = 0;
  while (kept < text.size()) {
    if (StartsCharacter(text[kept]) && ++characters == columns) break;
    ++kept;
  }
  return absl::StrCat(text.substr(0, kept), "…");
}

}  // namespace galen::cli
