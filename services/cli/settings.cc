#include "services/cli/settings.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::cli {

absl::StatusOr<std::vector<v1::CheckParameters>> ParseSettings(
    const std::vector<std::string>& settings) {
  std::map<std::string, v1::CheckParameters> by_check;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const std::size_t dot = setting.rfind('.', equals);
    if (equals == std::string::npos || dot == std::string::npos || dot == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set \"", setting, "\": is not CHECK.NAME=VALUE"));
    }
    v1::CheckParameters& check = by_check[setting.substr(0, dot)];
    (*check.mutable_values())[setting.substr(dot + 1, equals - dot - 1)] =
        setting.substr(equals + 1);
  }
  std::vector<v1::CheckParameters> parsed;
  for (auto& [name, check] : by_check) {
    check.set_check(name);
    parsed.push_back(std::move(check));
  }
  return parsed;
}

}  // namespace galen::cli
