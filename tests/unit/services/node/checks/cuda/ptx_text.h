#ifndef TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_PTX_TEXT_H_
#define TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_PTX_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

// The parts of PTX that can be verified without NVIDIA's assembler.
namespace galen::fake {

struct PtxEntry {
  std::string name;
  std::vector<std::size_t> parameters;  // bytes of each
  std::string body;
};

struct PtxModule {
  std::string version;
  std::string target;
  int address_size = 0;
  std::vector<PtxEntry> entries;
  std::string fault;  // what makes it no PTX; empty: nothing
};

// Reads a module: directives, entries with their parameters, balanced braces; every register that
// is used is declared, every label that is jumped to exists, every symbol named is a shared
// variable of its entry or one of its parameters.
PtxModule ReadPtx(const std::string& text);

}  // namespace galen::fake

#endif  // TESTS_UNIT_SERVICES_NODE_CHECKS_CUDA_PTX_TEXT_H_
