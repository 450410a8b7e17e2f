// pip: `pip list`, `pip freeze` and `conda list` as `pip list --format=json`.
// dpkg_l, apt_list: `dpkg -l` and `apt list --installed` as `dpkg-query -W`.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"

namespace galen::intake {
namespace {

constexpr std::size_t kMostPackages = 100000;

struct Package {
  std::string name;
  std::string version;
};

// A requirement by its wheel, whose name holds the version (PEP 427): "flash-attn @
// https://example.org/flash_attn-2.7.4+cu12torch2.5-cp310-cp310-linux_x86_64.whl".
bool ReadWheel(absl::string_view line, Package* package) {
  static const LazyRE2 kWheel = {
      R"(^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])? @ \S*/[A-Za-z0-9_.]+-([0-9][^-/\s]*)-(?:[0-9][^-/\s]*-)?[^-/\s]+-[^-/\s]+-[^-/\s]+\.whl\b)"};
  if (!RE2::PartialMatch(Piece(line), *kWheel, &package->name, &package->version)) return false;
  package->version = absl::StrReplaceAll(package->version, {{"%2B", "+"}, {"%2b", "+"}});
  return true;
}

// A row of a table or a requirement.
bool ReadPythonPackage(absl::string_view line, Package* package) {
  // "torch==2.3.1+cu121", with optional extras and an optional condition.
  static const LazyRE2 kPinned = {
      R"(^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*={2,3}\s*([0-9][^\s;#,]*))"};
  // "torch  2.6.0", with an optional path, or with conda's build and channel.
  static const LazyRE2 kRow = {
      R"(^([A-Za-z0-9_][A-Za-z0-9._-]*)\s+(v?[0-9][A-Za-z0-9.+!_-]*)(?:\s+(\S+)(?:\s+(\S+))?)?$)"};
  line = absl::StripAsciiWhitespace(line);
  return RE2::PartialMatch(Piece(line), *kPinned, &package->name, &package->version) ||
         ReadWheel(line, package) ||
         RE2::PartialMatch(Piece(line), *kRow, &package->name, &package->version);
}

// `state`: the wanted state, the actual state and an optional error, a letter each.
bool IsInstalled(absl::string_view state) {
  // The other states are "not installed" and "configuration files left".
  return state.size() >= 2 && absl::StrContains("uihrp", state[0]) &&
         absl::StrContains("iUFWHt", state[1]);
}

absl::StatusOr<Converted> DebianLines(absl::string_view form, const std::vector<Package>& packages,
                                      bool partial) {
  if (packages.empty()) return Unreadable(form, "no line names an installed package");
  Converted converted;
  for (const Package& package : packages) {
    absl::StrAppend(&converted.text, package.name, "\t", package.version, "\n");
  }
  converted.partial = partial;
  return converted;
}

}  // namespace

absl::StatusOr<Converted> PythonPackages(absl::string_view text, absl::string_view command) {
  nlohmann::json list = nlohmann::json::array();
  absl::flat_hash_set<std::string> names;
  bool heading = false;
  std::string conda_torch;
  for (const absl::string_view line : PastedLines(text)) {
    const std::vector<absl::string_view> words = PastedWords(line);
    heading |= words.size() >= 2 && ((words[0] == "Package" && words[1] == "Version") ||
                                     (words[0] == "#" && words[1] == "Name"));
    Package package;
    if (!ReadPythonPackage(line, &package) || list.size() == kMostPackages) continue;
    if (!names.insert(package.name).second) continue;
    if (package.name == "pytorch") conda_torch = package.version;
    list.push_back({{"name", package.name}, {"version", package.version}});
  }
  if (list.empty()) return Unreadable("pip", "no line names a package and its version");
  // conda's package pytorch contains the Python distribution torch.
  if (!conda_torch.empty() && !names.contains("torch")) {
    list.push_back({{"name", "torch"}, {"version", conda_torch}});
  }
  const bool filtered =
      TypedCommand(command, "pip").filtered() || TypedCommand(command, "pip3").filtered() ||
      TypedCommand(command, "conda").filtered() || TypedCommand(command, "python3").filtered();
  const bool freeze = absl::StrContains(command, "freeze");
  Converted converted;
  converted.text = list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  converted.partial = filtered || (!heading && !freeze);
  return converted;
}

absl::StatusOr<Converted> DebianPackages(absl::string_view text, absl::string_view command) {
  // "ii  libc6:amd64  2.35-0ubuntu3  amd64  GNU C Library: Shared libraries"
  static const LazyRE2 kPackage = {
      R"(^\s*([a-z][A-Za-z]R?)\s+([a-z0-9][a-z0-9+.:-]*)\s+([0-9]\S*)\s+\S)"};
  std::vector<Package> packages;
  bool heading = false;
  for (const absl::string_view line : PastedLines(text)) {
    heading |= absl::StartsWith(absl::StripAsciiWhitespace(line), "||/ Name");
    std::string state;
    Package package;
    if (RE2::PartialMatch(Piece(line), *kPackage, &state, &package.name, &package.version) &&
        IsInstalled(state) && packages.size() < kMostPackages) {
      packages.push_back(std::move(package));
    }
  }
  return DebianLines("dpkg_l", packages, !heading || TypedCommand(command, "dpkg").filtered());
}

absl::StatusOr<Converted> AptPackages(absl::string_view text, absl::string_view command) {
  // "libc6/jammy-updates,now 2.35-0ubuntu3.8 amd64 [installed,automatic]"
  static const LazyRE2 kPackage = {
      R"(^\s*([a-z0-9][a-z0-9+.-]*)/(\S+) ([0-9]\S*) (\S+)(?: \[([^\]]*)\]?)?)"};
  static const LazyRE2 kFrom = {R"(upgradable from: ([0-9]\S*))"};
  std::vector<Package> packages;
  bool heading = false;
  for (const absl::string_view line : PastedLines(text)) {
    heading |= absl::StartsWith(absl::StripAsciiWhitespace(line), "Listing...");
    Package package;
    std::string suites;
    std::string architecture;
    std::string state;
    if (packages.size() == kMostPackages ||
        !RE2::PartialMatch(Piece(line), *kPackage, &package.name, &suites, &package.version,
                           &architecture, &state)) {
      continue;
    }
    const bool now = absl::EndsWith(suites, ",now") || suites == "now";
    if (std::string from; RE2::PartialMatch(state, *kFrom, &from)) {
      // The first version is the archive's.
      if (!now) package.version = from;
    } else if (!now || absl::StrContains(state, "residual")) {
      continue;  // "now" is the suite of installed packages, in every language
    }
    packages.push_back(std::move(package));
  }
  return DebianLines("apt_list", packages, !heading || TypedCommand(command, "apt").filtered());
}

}  // namespace galen::intake
