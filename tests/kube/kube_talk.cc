// Sends the requests of standard input, a JSON object a line, to an API server through common/kube
// and writes the results to standard output: for tests against a real server (client_test.py).
//   kube_talk SERVER CA_FILE TOKEN_FILE REQUESTS_PER_SECOND BURST
#include <atomic>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/kube/client.h"
#include "common/kube/watch.h"

namespace galen::kube {
namespace {

std::mutex writing;

void Write(const Json& line) {
  const std::lock_guard lock(writing);
  std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

Json Failed(const absl::Status& status) {
  return {{"code", absl::StatusCodeToString(status.code())}, {"message", status.ToString()}};
}

Json Told(const absl::StatusOr<Json>& answer) {
  return answer.ok() ? Json{{"object", *answer}} : Failed(answer.status());
}

Selection SelectionOf(const Json& command) {
  return {{command.value("group", ""), command.value("version", "v1"), command.at("plural")},
          command.value("namespace", ""),
          command.value("labels", ""),
          command.value("fields", "")};
}

Watcher Teller(const std::string& id) {
  return {
      [id](const Change& change) {
        const char* const what = change.kind == Change::Kind::kAdded     ? "added"
                                 : change.kind == Change::Kind::kChanged ? "changed"
                                                                         : "deleted";
        Write({{"id", id}, {"watch", what}, {"name", TextAt(change.object, {"metadata", "name"})}});
      },
      [id] {
        Write({{"id", id}, {"watch", "synced"}});
      },
      [id](const absl::Status& status) {
        Json line = Failed(status);
        line["id"] = id;
        line["watch"] = "trouble";
        Write(line);
      }};
}

// As many lists at once as there are threads: how many were answered.
Json Flood(Client& client, const Json& command) {
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (int i = command.at("threads"); i > 0; --i) {
    threads.emplace_back([&] {
      for (int times = command.at("times"); times > 0; --times) {
        if (client.List(SelectionOf(command), {.timeout = absl::Minutes(2)}).ok()) ++answered;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return {{"answered", answered.load()}};
}

Json Do(Client& client, const Json& command, std::vector<std::unique_ptr<Watch>>& watches) {
  const std::string what = command.at("do");
  const Selection selection = SelectionOf(command);
  const ObjectName name{selection.space, command.value("name", "")};
  if (what == "watch") {
    watches.push_back(std::make_unique<Watch>(client, selection, Teller(command.at("id"))));
    return {{"watching", true}};
  }
  if (what == "list") {
    const auto listing = client.List(selection, {}, command.value("page", 500));
    if (!listing.ok()) return Failed(listing.status());
    return {{"items", listing->items.size()}, {"version", listing->resource_version}};
  }
  if (what == "flood") return Flood(client, command);
  if (what == "get") return Told(client.Get(selection.resource, name, {}));
  if (what == "create") {
    return Told(client.Create(selection.resource, selection.space, command.at("content"), {}));
  }
  Patch patch;
  patch.kind = what == "strategic" ? Patch::Kind::kStrategic
               : what == "apply"   ? Patch::Kind::kApply
                                   : Patch::Kind::kMerge;
  patch.content = command.at("content");
  patch.subresource = command.value("subresource", "");
  return Told(client.Apply(selection.resource, name, patch, {}));
}

int Main(char** argv) {
  Options options;
  options.server = argv[1];
  options.ca_file = argv[2];
  options.token_file = argv[3];
  if (!absl::SimpleAtod(argv[4], &options.requests_per_second) ||
      !absl::SimpleAtod(argv[5], &options.burst)) {
    return 2;
  }
  options.retry.most = 20;
  const auto client = Client::Make(options);
  if (!client.ok()) {
    std::cerr << client.status() << '\n';
    return 1;
  }
  std::vector<std::unique_ptr<Watch>> watches;
  for (std::string line; std::getline(std::cin, line);) {
    const Json command = Json::parse(line);
    Json answer = Do(**client, command, watches);
    answer["id"] = command.at("id");
    Write(answer);
  }
  return 0;
}

}  // namespace
}  // namespace galen::kube

int main(int argc, char** argv) { return argc == 6 ? galen::kube::Main(argv) : 2; }
