// Writes a synthetic incident: see scene.h.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_join.h"
#include "tests/scenarios/scene.h"
#include "tests/scenarios/write_scene.h"

ABSL_FLAG(std::string, study, "", "which; all: a folder for each below DIR");
ABSL_FLAG(std::uint64_t, seed, 1,
          "moves nodes, times, magnitudes and noise; even and odd ones differ in style");
ABSL_FLAG(std::string, variant, "", "missing: what decides is left out");
ABSL_FLAG(std::vector<std::string>, format, std::vector<std::string>({"bundle"}),
          "bundle, tsdb, or both");
ABSL_FLAG(int, nodes, 0, "0: as the seed says");

namespace galen::scenarios {
namespace {

absl::Status Make(const std::string& study, const std::filesystem::path& directory) {
  SceneOptions options;
  options.missing = absl::GetFlag(FLAGS_variant) == "missing";
  options.nodes = absl::GetFlag(FLAGS_nodes);
  const absl::StatusOr<Scene> scene = MakeScene(study, absl::GetFlag(FLAGS_seed), options);
  if (!scene.ok()) return scene.status();
  std::filesystem::create_directories(directory);
  for (const std::string& format : absl::GetFlag(FLAGS_format)) {
    const absl::Status written = format == "tsdb"
                                     ? WriteTsdb(*scene, (directory / "tsdb").string())
                                     : WriteBundle(*scene, (directory / "bundle").string());
    if (!written.ok()) return written;
  }
  std::ofstream(directory / "truth.json") << TruthJson(*scene);
  std::cout << directory.string() << ": " << study << ", " << scene->nodes.size() << " nodes, "
            << scene->series.size() << " series, " << scene->samples() << " samples\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace galen::scenarios

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "scenario_maker DIR --study NAME [--seed N] [--variant missing] "
      "[--format bundle,tsdb]: DIR/bundle, DIR/tsdb and DIR/truth.json");
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  const std::string study = absl::GetFlag(FLAGS_study);
  const std::string variant = absl::GetFlag(FLAGS_variant);
  for (const std::string& format : absl::GetFlag(FLAGS_format)) {
    if (format != "bundle" && format != "tsdb") {
      std::cerr << "--format: bundle or tsdb\n";
      return 1;
    }
  }
  if (words.size() != 2 || study.empty() || (!variant.empty() && variant != "missing")) {
    std::cerr << absl::ProgramUsageMessage() << "\nstudies: all, "
              << absl::StrJoin(galen::scenarios::Studies(), ", ") << "\n";
    return 1;
  }
  const std::filesystem::path directory = words[1];
  for (const std::string& name : galen::scenarios::Studies()) {
    if (study != "all" && study != name) continue;
    if (study == "all" && variant == "missing" && !galen::scenarios::HasMissing(name)) continue;
    const absl::Status made =
        galen::scenarios::Make(name, study == "all" ? directory / name : directory);
    if (made.ok()) continue;
    std::cerr << made << "\n";
    return 1;
  }
  return 0;
}
