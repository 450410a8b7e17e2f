#ifndef TESTS_UNIT_COMMON_CURATION_SITE_FILES_H_
#define TESTS_UNIT_COMMON_CURATION_SITE_FILES_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/load.h"

namespace galen::curation {

// A directory that lives as long as the object.
class Folder {
 public:
  Folder() {
    std::string path = ::testing::TempDir() + "galen-curation-XXXXXX";
    root_ = ::mkdtemp(path.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  Folder& Write(const std::string& name, absl::string_view text) {
    const std::filesystem::path path = std::filesystem::path(root_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return *this;
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(root_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  bool Has(const std::string& name) const { return std::filesystem::exists(root_ + "/" + name); }
  const std::string& path() const { return root_; }

 private:
  std::string root_;
};

inline knowledge::v1::KnowledgeBase Parsed(const std::vector<std::string>& directories) {
  std::vector<knowledge::Problem> problems;
  auto base = knowledge::Parse(directories, problems);
  EXPECT_TRUE(base.ok()) << base.status();
  for (const auto& problem : problems) ADD_FAILURE() << knowledge::ToString(problem);
  return base.ok() ? *base : knowledge::v1::KnowledgeBase();
}

inline knowledge::v1::KnowledgeBase ParsedText(absl::string_view yaml) {
  Folder folder;
  folder.Write("a.yaml", yaml);
  return Parsed({folder.path()});
}

// A small world: memory faults and cables.
constexpr absl::string_view kBook = R"(checks:
  - name: gpu.memory
    title: Errors of GPU memory
    kind: native
    cost: 1s
    reads: ['nvidia-smi -q', dmesg]
    findings:
      - {name: ecc_errors, type: int, subject: gpu, abnormal: {op: '>', value: 0}}
      - {name: temperature, type: int, subject: gpu}
  - name: net.cable
    title: State of the link
    kind: native
    cost: 1s
    reads: ['ibstat']
    findings:
      - {name: link_down, type: bool, subject: port, abnormal: {op: ==, value: true}}
labels:
  - {label: GPU, title: GPU, first_checks: [gpu.memory]}
  - {label: GPU.MEMORY, title: GPU memory}
  - label: GPU.MEMORY.ECC
    title: Uncorrectable memory error
    description: A cell of the GPU memory is broken and the error cannot be corrected.
    symptoms: [the job dies with an uncorrectable ECC error]
    owner: provider
    severity: high
    prior: high
    signals: [{pattern: 'uncorrectable ECC error', where: [job_log, description], strength: decisive}]
    confirm: [{check: gpu.memory, finding: ecc_errors, op: '>', value: 0}]
  - {label: NET, title: Network, first_checks: [net.cable]}
  - {label: NET.LINK, title: Links}
  - label: NET.LINK.DOWN
    title: Link down
    description: The cable or its port is broken and the link went down.
    symptoms: [connections between two nodes time out]
    owner: provider
    severity: high
    prior: medium
    signals: [{pattern: 'port [0-9]+ went down', where: [job_log, kernel_log], strength: strong}]
    confirm: [{check: net.cable, finding: link_down, op: ==, value: true}]
incidents:
  - id: old-1
    date: 2025-01-10
    title: Training dies with a memory error
    description: After an hour CUDA says uncorrectable ECC error encountered.
    label: GPU.MEMORY.ECC
)";

}  // namespace galen::curation

#endif  // TESTS_UNIT_COMMON_CURATION_SITE_FILES_H_
