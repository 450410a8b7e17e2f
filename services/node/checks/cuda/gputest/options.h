#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_OPTIONS_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_OPTIONS_H_

#include <map>
#include <string>
#include <vector>

namespace galen::node::cuda {

// The arguments of galen-gputest, each "name=value". The parent has checked their bounds; a missing
// or unreadable value ends the program.
class Options {
 public:
  // False: some argument is not "name=value".
  bool Parse(int argc, char** argv, int first);

  std::string Text(const char* name) const;
  double Number(const char* name) const;
  unsigned Count(const char* name) const { return static_cast<unsigned>(Number(name)); }
  // Values separated by commas; empty for an empty text.
  std::vector<std::string> List(const char* name) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_OPTIONS_H_
