// galen-read-logs STORE: holds every log of a store against the promises; a JSON line a diagnosis.
// Exit code 1: some are broken; 2: the store cannot be read.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/store/store.h"
#include "tests/chaos/promises.h"

namespace galen::chaos {
namespace {

constexpr int kPage = 500;

absl::StatusOr<bool> ReadLogs(const std::string& where) {
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store, store::OpenStore(where));
  bool kept = true;
  std::map<std::string, std::string> requests;  // request: diagnosis
  std::string page_token;
  do {
    GALEN_ASSIGN_OR_RETURN(const store::EventLog::Page page,
                           store->events().List("", kPage, page_token));
    page_token = page.next_page_token;
    for (const std::string& name : page.names) {
      std::vector<v1::DiagnosisEvent> log;
      for (bool more = true; more;) {
        GALEN_ASSIGN_OR_RETURN(
            const std::vector<v1::DiagnosisEvent> events,
            store->events().Read(name, static_cast<std::int64_t>(log.size()), kPage));
        more = !events.empty();
        log.insert(log.end(), events.begin(), events.end());
      }
      std::vector<std::string> broken = BrokenPromises(log);
      int retried = 0;
      for (const v1::DiagnosisEvent& event : log) retried += event.has_call_failed() ? 1 : 0;
      const std::string request = log.empty() ? "" : log.front().created().request_id();
      if (!request.empty()) {
        const auto [first, fresh] = requests.emplace(request, name);
        if (!fresh) broken.push_back("request " + request + " made " + first->second + " too");
      }
      kept = kept && broken.empty();
      std::cout << nlohmann::json{{"name", name},
                                  {"request_id", request},
                                  {"events", log.size()},
                                  {"calls_failed", retried},
                                  {"broken", broken}}
                       .dump()
                << '\n';
    }
  } while (!page_token.empty());
  return kept;
}

}  // namespace
}  // namespace galen::chaos

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "galen-read-logs: give the store, a file or a URL" << std::endl;
    return 2;
  }
  const absl::StatusOr<bool> kept = galen::chaos::ReadLogs(argv[1]);
  if (!kept.ok()) std::cerr << "galen-read-logs: " << kept.status().message() << std::endl;
  return !kept.ok() ? 2 : *kept ? 0 : 1;
}
