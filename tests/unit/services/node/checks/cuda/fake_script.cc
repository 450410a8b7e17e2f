#include "tests/unit/services/node/checks/cuda/fake_script.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace galen::fake {

double Script::Factor(int gpu, const std::string& what) const {
  for (const Slow& one : slow) {
    if (one.gpu == gpu && one.what == what) return one.factor;
  }
  return 1;
}

const BadPair* Script::PairOf(int from, int to) const {
  for (const BadPair& pair : bad_pairs) {
    if (pair.from == from && pair.to == to) return &pair;
  }
  return nullptr;
}

Script ReadScript() {
  Script script;
  const char* const path = std::getenv("GALEN_FAKE_CUDA");
  if (path == nullptr) return script;
  script.path = path;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    std::string text;
    if (word == "gpus") {
      words >> script.gpus;
    } else if (word == "mib") {
      words >> script.mib;
    } else if (word == "sms") {
      words >> script.sms;
    } else if (word == "capability") {
      words >> script.capability;
    } else if (word == "name") {
      std::getline(words >> std::ws, script.name);
    } else if (word == "log") {
      words >> script.log;
    } else if (word == "no_tensor") {
      script.no_tensor = true;
    } else if (word == "overload") {
      words >> script.overload_gpu >> script.overload_launches;
    } else if (word == "power") {
      words >> script.power;
    } else if (word == "power_limit") {
      words >> script.power_limit;
    } else if (word == "slow") {
      Script::Slow slow = {};
      words >> slow.gpu >> slow.what >> slow.factor;
      script.slow.push_back(slow);
    } else if (word == "error") {
      CallFault fault;
      words >> fault.call >> fault.code >> fault.gpu >> fault.after;
      script.faults.push_back(fault);
    } else if (word == "hang") {
      CallFault fault;
      fault.code = -1;
      words >> fault.call >> fault.gpu >> fault.after;
      script.faults.push_back(fault);
    } else if (word == "stuck") {
      StuckBit bit;
      words >> bit.gpu >> bit.offset >> bit.bit >> bit.value;
      script.stuck.push_back(bit);
    } else if (word == "sm") {
      BadSm bad;
      words >> bad.gpu >> bad.sm >> text;
      bad.nan = text == "nan";
      script.bad_sms.push_back(bad);
    } else if (word == "pair") {
      BadPair pair;
      words >> pair.from >> pair.to >> pair.what;
      script.bad_pairs.push_back(pair);
    } else {
      std::cerr << "fake libcuda: no such statement: " << line << "\n";
      _exit(99);
    }
    if (words.fail()) {
      std::cerr << "fake libcuda: cannot read: " << line << "\n";
      _exit(99);
    }
  }
  return script;
}

}  // namespace galen::fake
