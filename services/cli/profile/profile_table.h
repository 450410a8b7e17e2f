#ifndef SERVICES_CLI_PROFILE_PROFILE_TABLE_H_
#define SERVICES_CLI_PROFILE_PROFILE_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace galen::cli {

// A duration with its unit: "615 ms".
std::string Time(double seconds);
std::string Percent(double share);
double Share(std::int64_t part, std::int64_t whole);

// Rows of which each column is as wide as it needs; numbers stand to the right.
class Table {
 public:
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::vector<std::string> Lines() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_PROFILE_PROFILE_TABLE_H_
