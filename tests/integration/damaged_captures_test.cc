// No check passes by a capture that is empty, cut or data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/host/bundle.h"
#include "common/knowledge/load.h"
#include "services/node/executor.h"
#include "services/node/registry.h"
#include "tests/testing/status_matchers.h"

namespace galen::node {
namespace damaged_captures_test {

namespace fs = std::filesystem;
using ::galen::testing::IsOk;

using Damage = std::function<std::string(const std::string&)>;

// A machine of a bundle all of whose outputs and files are damaged.
class DamagedHost final : public host::Host {
 public:
  DamagedHost(std::shared_ptr<const host::Host> host, Damage damage)
      : host_(std::move(host)), damage_(std::move(damage)) {}

  const std::string& name() const override { return host_->name(); }
  bool live() const override { return false; }
  absl::StatusOr<host::CommandResult> Run(absl::Span<const std::string> argv,
                                          host::View view) const override {
    auto result = host_->Run(argv, view);
    if (!result.ok()) return result;
    result->out = damage_(result->out);
    result->err = damage_(result->err);
    result->exit_code = 0;
    return result;
  }
  absl::StatusOr<std::string> ReadFile(absl::string_view path, host::View view) const override {
    auto content = host_->ReadFile(path, view);
    return content.ok() ? damage_(*content) : content;
  }
  absl::StatusOr<std::vector<std::string>> Glob(absl::string_view, host::View) const override {
    return absl::UnavailableError("was not captured");
  }
  absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const override {
    return absl::UnavailableError("was not captured");
  }
  std::vector<std::vector<std::string>> Captured(absl::Span<const std::string> prefix,
                                                 host::View view) const override {
    return host_->Captured(prefix, view);
  }

 private:
  const std::shared_ptr<const host::Host> host_;
  const Damage damage_;
};

class DamagedHosts final : public HostSource {
 public:
  explicit DamagedHosts(Damage damage) : damage_(std::move(damage)) {}
  absl::StatusOr<std::shared_ptr<const host::Host>> Open(
      const std::string& bundle, const std::string& node,
      std::shared_ptr<const Cancellation> cancelled) const override {
    auto host = hosts_.Open(bundle, node, std::move(cancelled));
    if (!host.ok()) return host;
    return std::make_shared<DamagedHost>(*std::move(host), damage_);
  }
  const std::string& name() const override { return hosts_.name(); }

 private:
  const LocalHosts hosts_{{}};
  const Damage damage_;
};

std::string RandomBytes(const std::string& text) {
  static auto* const random = new std::mt19937(5);
  std::string bytes(std::min<std::size_t>(std::max<std::size_t>(text.size(), 256), 65536), '\0');
  for (char& c : bytes) c = static_cast<char>((*random)() & 0xff);
  return bytes;
}

// Checks that pass, of those that passed on the whole bundles.
std::set<std::string> Passing(const std::vector<std::shared_ptr<const host::Bundle>>& bundles,
                              const HostSource& hosts) {
  static const auto* const knowledge = new std::shared_ptr<const knowledge::Knowledge>(
      knowledge::Load({GALEN_SOURCE_DIR "/knowledge"}, {}).value());
  const NodeExecutor executor(hosts, *knowledge, AllChecks(), {.max_parallel = 1});
  const auto described = executor.Describe();
  std::set<std::string> passing;
  for (const auto& bundle : bundles) {
    v1::RunChecksRequest request;
    request.set_bundle(bundle->root());
    for (const std::string& check : described.checks()) request.add_checks(check);
    for (const std::string& node : bundle->nodes()) {
      request.set_node(node);
      EXPECT_THAT(executor.RunChecks(request, absl::Now() + absl::Minutes(2),
                                     [&](const galen::v1::CheckResult& result) {
                                       if (result.status() == galen::v1::CheckResult::PASS) {
                                         passing.insert(result.check());
                                       }
                                     }),
                  IsOk());
    }
  }
  return passing;
}

TEST(DamagedCaptures, AreNoSignOfHealth) {
  const std::string directory = std::string(GALEN_SOURCE_DIR) + "/../shared/eval/dev2/bundles";
  if (!fs::exists(directory)) GTEST_SKIP() << directory << " is not here";
  std::vector<std::string> paths;
  for (const auto& file : fs::directory_iterator(directory)) {
    // Incidents without a cause, where most checks pass.
    const std::string path = file.path().string();
    if (path.find("none") != std::string::npos) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::shared_ptr<const host::Bundle>> bundles;
  for (const std::string& path : paths) bundles.push_back(host::Bundle::Open(path).value());
  const LocalHosts sound({});
  EXPECT_GE(Passing(bundles, sound).size(), 40u);
  const std::map<std::string, Damage> damages = {
      {"empty", [](const std::string&) { return std::string(); }},
      {"blank", [](const std::string&) { return std::string(" \n\n"); }},
      {"half",
       [](const std::string& text) {
         // Within a line, as a copy that was cut ends: a cut between two lines cannot be seen.
         std::string half = text.substr(0, text.size() / 2);
         while (!half.empty() && (half.back() == '\n' || half.back() == '}' || half.back() == ']' ||
                                  half.back() == '>' || text[half.size()] == '\n')) {
           half.pop_back();
         }
         return half;
       }},
      {"data", RandomBytes},
  };
  // It reads no content: the absence of the directory of channels is in the list of captured paths,
  // which none of these damages affects.
  const std::set<std::string> absent = {"system.imex_channel"};
  for (const auto& [name, damage] : damages) {
    EXPECT_THAT(Passing(bundles, DamagedHosts(damage)), ::testing::IsSubsetOf(absent)) << name;
  }
}

}  // namespace damaged_captures_test
}  // namespace galen::node
