#include "services/node/checks/cuda/gputest/options.h"

#include <cstdlib>
#include <sstream>

#include "services/node/checks/cuda/gputest/report.h"

namespace galen::node::cuda {

bool Options::Parse(int argc, char** argv, int first) {
  for (int i = first; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) return false;
    values_[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  return true;
}

std::string Options::Text(const char* name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) SayRefusedAndExit(std::string(name) + "= is missing");
  return found->second;
}

double Options::Number(const char* name) const {
  const std::string text = Text(name);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(number >= 0) || number > 1e15) {
    SayRefusedAndExit(std::string(name) + "= is not a number");
  }
  return number;
}

std::vector<std::string> Options::List(const char* name) const {
  std::vector<std::string> values;
  std::istringstream text(Text(name));
  for (std::string value; std::getline(text, value, ',');) values.push_back(value);
  return values;
}

}  // namespace galen::node::cuda
