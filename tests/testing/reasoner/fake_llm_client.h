#ifndef TESTS_TESTING_REASONER_FAKE_LLM_CLIENT_H_
#define TESTS_TESTING_REASONER_FAKE_LLM_CLIENT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/llm/client.h"
#include "common/reasoner/llm/section.h"

namespace galen::testing {

// A model in the process of the test: each question is answered by a function, and kept.
// Thread-safe.
class FakeLlmClient final : public llm::LlmClient {
 public:
  using Answer = std::function<absl::StatusOr<std::string>(const llm::ChatRequest& request)>;

  explicit FakeLlmClient(Answer answer) : answer_(std::move(answer)) {}

  absl::StatusOr<llm::ChatAnswer> Chat(const llm::ChatRequest& request,
                                       const llm::CallOptions& options) override {
    {
      MutexLock lock(mu_);
      requests_.push_back(request);
      deadlines_.push_back(options.deadline);
    }
    if (whole != nullptr) return whole(request);
    absl::StatusOr<std::string> text = answer_(request);
    if (!text.ok()) return text.status();
    llm::ChatAnswer answer;
    answer.text = *std::move(text);
    answer.usage.reported = report_usage;
    answer.usage.prompt_tokens = 100;
    answer.usage.completion_tokens = 10;
    return answer;
  }
  absl::StatusOr<llm::Embeddings> Embed(const llm::EmbedRequest&,
                                        const llm::CallOptions&) override {
    return absl::UnimplementedError("fake: embeds nothing");
  }
  absl::StatusOr<std::vector<std::string>> Models(const llm::CallOptions&) override {
    return std::vector<std::string>{"fake"};
  }
  llm::Settings SettingsOf(absl::string_view) const override { return settings; }
  std::string name() const override { return "fake"; }
  llm::Health health() const override { return {}; }

  std::vector<llm::ChatRequest> requests() const {
    MutexLock lock(mu_);
    return requests_;
  }
  std::vector<absl::Time> deadlines() const {
    MutexLock lock(mu_);
    return deadlines_;
  }

  // Set before the first question. `whole`: answers in place of the function of texts.
  std::function<absl::StatusOr<llm::ChatAnswer>(const llm::ChatRequest&)> whole;
  bool report_usage = true;
  llm::Settings settings{.model = "fake-1"};

 private:
  const Answer answer_;
  mutable Mutex mu_;
  std::vector<llm::ChatRequest> requests_ ABSL_GUARDED_BY(mu_);
  std::vector<absl::Time> deadlines_ ABSL_GUARDED_BY(mu_);
};

// The draft in a prompt, as an answer: a model that agrees with the rules.
inline std::string DraftOf(absl::string_view prompt) {
  constexpr absl::string_view kOpen = "<plain name=\"draft\">";
  const std::size_t open = prompt.rfind(kOpen);
  if (open == absl::string_view::npos) return "";
  const std::size_t begin = open + kOpen.size();
  return reasoner::llm::Unescape(prompt.substr(begin, prompt.find("</plain>", begin) - begin));
}

inline absl::StatusOr<std::string> AnswerTheDraft(const llm::ChatRequest& request) {
  return DraftOf(request.messages[1].content);
}

}  // namespace galen::testing

#endif  // TESTS_TESTING_REASONER_FAKE_LLM_CLIENT_H_
