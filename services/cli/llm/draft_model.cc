#include "services/cli/llm/draft_model.h"

#include "common/reasoner/llm/section.h"

namespace galen::cli {

absl::StatusOr<llm::ChatAnswer> DraftModel::Chat(const llm::ChatRequest& request,
                                                 const llm::CallOptions& /*options*/) {
  constexpr absl::string_view kOpen = "<plain name=\"draft\">";
  constexpr absl::string_view kClose = "</plain>";
  const absl::string_view text = request.messages.back().content;
  const std::size_t open = text.rfind(kOpen);
  const std::size_t close = open == absl::string_view::npos ? open : text.find(kClose, open);
  if (close == absl::string_view::npos) {
    return absl::DataLossError("draft: the question shows no draft");
  }
  const std::size_t begin = open + kOpen.size();
  llm::ChatAnswer answer;
  answer.text = reasoner::llm::Unescape(text.substr(begin, close - begin));
  answer.model = "draft";
  if (!request.tools.empty()) {
    // The same by the tool that ends an investigation.
    answer.tool_uses.push_back({"draft", request.tools.back().name, answer.text});
    answer.text.clear();
  }
  return answer;
}

absl::StatusOr<llm::Embeddings> DraftModel::Embed(const llm::EmbedRequest& /*request*/,
                                                  const llm::CallOptions& /*options*/) {
  return absl::UnimplementedError("draft: this model embeds nothing");
}

absl::StatusOr<std::vector<std::string>> DraftModel::Models(const llm::CallOptions& /*options*/) {
  return std::vector<std::string>{"draft"};
}

llm::Settings DraftModel::SettingsOf(absl::string_view /*purpose*/) const {
  llm::Settings settings;
  settings.model = "draft";
  return settings;
}

}  // namespace galen::cli
