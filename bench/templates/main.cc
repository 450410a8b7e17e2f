// Groups lines of a labelled file with ours, for run.py: each line of it is "LABEL\tLINE".
//   templates_bench groups FILE [SIMILARITY]   prints the template's number of each line
//   templates_bench templates FILE             prints the templates
//   templates_bench time FILE SECONDS          groups the file's lines again and again, by a miner
//                                              of its own each time, for so long; prints lines and
//                                              seconds of processor time
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/log_analysis/templates/miner.h"

namespace {

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::vector<std::string> LinesOf(const char* path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) lines.push_back(line.substr(line.find('\t') + 1));
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  if (verb.empty()) return 2;
  const std::vector<std::string> lines = LinesOf(argv[2]);
  galen::log_templates::MinerOptions options;
  double number = 0;
  const bool given = argc > 3 && absl::SimpleAtod(argv[3], &number);
  if (verb == "groups") {
    if (given) options.similarity = number;
    galen::log_templates::Miner miner(options);
    for (const std::string& line : lines) std::cout << miner.Add(line) << '\n';
  } else if (verb == "templates") {
    galen::log_templates::Miner miner(options);
    for (const std::string& line : lines) miner.Add(line);
    for (const auto& one : miner.Templates()) {
      std::cout << one.id << '\t' << one.count << '\t' << one.text << '\n';
    }
  } else if (verb == "time" && given) {
    const double begin = ProcessorSeconds();
    double end = begin;
    std::size_t done = 0;
    std::uint64_t sum = 0;
    while (end - begin < number) {
      galen::log_templates::Miner miner(options);
      for (const std::string& line : lines) sum += miner.Add(line);
      done += lines.size();
      end = ProcessorSeconds();
    }
    std::cout << "{\"lines\": " << done << ", \"seconds\": " << end - begin << ", \"sum\": " << sum
              << "}\n";
  } else {
    return 2;
  }
  return 0;
}
