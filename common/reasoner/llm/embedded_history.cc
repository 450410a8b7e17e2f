#include "common/reasoner/llm/embedded_history.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/llm/usage/usage.h"
#include "common/reasoner/llm/fallback.h"
#include "common/reasoner/llm/prompt.h"
#include "common/reasoner/retrieve.h"

namespace galen::reasoner::llm {
namespace {

using galen::v1::Reasoned;
using incident_history::Hit;
using incident_history::Vector;

// Bytes of a text to embed: many models read 512 tokens, and a token of a log has about three
// bytes.
constexpr std::size_t kMostBytes = 1'500;
// Texts of one request for past incidents.
constexpr std::size_t kBatch = 16;
// Share of the time until the caller's deadline that a model may take: the rest is for the caller.
constexpr double kEmbeddingShareOfTime = 0.5;

// Returns the vector of a question that is already embedded.
class Given final : public incident_history::Embedder {
 public:
  Given(std::string name, std::size_t dimensions, Vector vector)
      : name_(std::move(name)), dimensions_(dimensions), vector_(std::move(vector)) {}
  std::string name() const override { return name_; }
  size_t dimensions() const override { return dimensions_; }
  absl::StatusOr<Vector> EmbedDocument(absl::string_view) const override {
    return absl::UnimplementedError("holds the vector of one question");
  }
  absl::StatusOr<Vector> EmbedQuery(absl::string_view, incident_history::Rarity) const override {
    return vector_;
  }

 private:
  const std::string name_;
  const std::size_t dimensions_;
  const Vector vector_;
};

// Name of the model and the size of its vectors.
std::string EmbedderName(const Embedding& embedding) {
  return absl::StrCat(embedding.model, "/", embedding.dimensions);
}

std::string Embeddable(absl::string_view text) { return CleanText(text, kMostBytes); }

}  // namespace

double LikenessOf(double cosine, const std::vector<incident_history::Scored>& cosines,
                  std::size_t documents) {
  const std::size_t tenth = documents / 10;
  const double usual = tenth < cosines.size() ? std::max(0.0, cosines[tenth].score) : 0.0;
  if (!(usual < 1)) return 0;
  return std::clamp((cosine - usual) / (1 - usual), 0.0, 1.0);
}

EmbeddedHistory::EmbeddedHistory(const knowledge::Knowledge& knowledge, const Embedding& embedding,
                                 const Cancellation* cancellation)
    : knowledge_(knowledge),
      embedding_(embedding),
      name_(EmbedderName(embedding)),
      cancellation_(cancellation),
      started_(absl::Now()),
      thread_([this] { Run(); }) {}

EmbeddedHistory::~EmbeddedHistory() {
  closing_.Cancel();
  thread_.join();
}

void EmbeddedHistory::Run() {
  for (absl::Duration pause = embedding_.pause;; pause = std::min(pause * 2, embedding_.longest)) {
    const absl::Status status = Make();
    {
      const std::lock_guard<std::mutex> lock(mu_);
      failure_ = status;
    }
    changed_.notify_all();
    if (status.ok() || closing_.SleepFor(pause)) return;
  }
}

absl::Status EmbeddedHistory::Make() {
  std::vector<incident_history::Document> documents;
  std::vector<Vector> vectors;
  std::vector<std::string> texts;     // of the next request
  std::vector<std::size_t> wait_for;  // their places in `vectors`
  const auto embed = [&]() -> absl::Status {
    if (texts.empty()) return absl::OkStatus();
    galen::llm::Usage usage;  // not charged to a diagnosis
    GALEN_ASSIGN_OR_RETURN(std::vector<Vector> made,
                           VectorsOf(texts, {.cancellation = &closing_}, usage));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Keep(texts[i], made[i]);
      vectors[wait_for[i]] = std::move(made[i]);
    }
    texts.clear();
    wait_for.clear();
    return absl::OkStatus();
  };
  for (const knowledge::v1::PastIncident& incident : knowledge_.base().incidents()) {
    documents.push_back(DocumentOf(incident));
    vectors.emplace_back();
    std::string text = Embeddable(documents.back().text);
    if (text.empty()) continue;
    if (std::optional<Vector> kept = Kept(text)) {
      vectors.back() = *std::move(kept);
      continue;
    }
    texts.push_back(std::move(text));
    wait_for.push_back(vectors.size() - 1);
    if (texts.size() == kBatch) GALEN_RETURN_IF_ERROR(embed());
  }
  GALEN_RETURN_IF_ERROR(embed());

  auto index =
      std::make_shared<const incident_history::MemoryIndex>(std::move(documents), vectors, name_);
  const std::lock_guard<std::mutex> lock(mu_);
  made_ = std::move(index);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Vector>> EmbeddedHistory::VectorsOf(
    const std::vector<std::string>& texts, const galen::llm::CallOptions& options,
    galen::llm::Usage& usage) const {
  GALEN_ASSIGN_OR_RETURN(
      const galen::llm::Embeddings embeddings,
      embedding_.client->Embed({.texts = texts, .model = embedding_.model}, options));
  usage = embeddings.usage;
  std::vector<Vector> vectors;
  for (const std::vector<float>& components : embeddings.vectors) {
    if (components.size() != static_cast<std::size_t>(embedding_.dimensions)) {
      return absl::DataLossError(
          absl::StrCat("llm ", embedding_.client->name(), ": its vectors have ", components.size(),
                       " components; write embedding: {dimensions: ", components.size(), "}"));
    }
    vectors.push_back(incident_history::Quantize(components));
  }
  return vectors;
}

std::optional<Vector> EmbeddedHistory::Kept(const std::string& text) const {
  if (embedding_.vectors == nullptr) return std::nullopt;
  const std::optional<std::string> kept =
      embedding_.vectors->Get(DigestOf({"vector", name_, embedding_.client->name(), text}));
  std::string bytes;
  if (!kept.has_value() || !absl::Base64Unescape(*kept, &bytes) ||
      bytes.size() != static_cast<std::size_t>(embedding_.dimensions)) {
    return std::nullopt;
  }
  std::vector<float> components;
  for (const char byte : bytes) {
    components.push_back(static_cast<float>(static_cast<std::int8_t>(byte)));
  }
  return incident_history::Quantize(components);
}

void EmbeddedHistory::Keep(const std::string& text, const Vector& vector) const {
  if (embedding_.vectors == nullptr || vector.values.empty()) return;
  const std::string bytes(vector.values.begin(), vector.values.end());
  embedding_.vectors->Put(DigestOf({"vector", name_, embedding_.client->name(), text}),
                          absl::Base64Escape(bytes));
}

std::shared_ptr<const incident_history::MemoryIndex> EmbeddedHistory::Made(std::string& why) const {
  std::unique_lock<std::mutex> lock(mu_);
  const absl::Duration wait = started_ + embedding_.limit - absl::Now();
  if (wait > absl::ZeroDuration()) {
    changed_.wait_for(lock, absl::ToChronoNanoseconds(wait),
                      [this] { return made_ != nullptr || !failure_.ok(); });
  }
  if (made_ == nullptr) {
    why = absl::StrCat("past incidents are not embedded yet",
                       failure_.ok() ? "" : absl::StrCat(": ", failure_.message()));
  }
  return made_;
}

absl::StatusOr<Vector> EmbeddedHistory::QueryVector(const std::string& text,
                                                    const galen::v1::Spending& spending,
                                                    absl::Time deadline, Reasoned& account) const {
  if (std::optional<Vector> kept = Kept(text)) {
    account.set_cached(true);
    return *std::move(kept);
  }
  const std::int64_t tokens = usage::EstimateTokens(text);
  const usage::Refusal refusal = usage::Refuse(
      knowledge_, spending,
      {.question = usage::kEmbedding, .model = embedding_.model, .input_tokens = tokens});
  if (refusal.fallback != Reasoned::NONE) {
    FallBack(account, refusal.fallback, refusal.why);
    return absl::CancelledError(refusal.why);
  }
  const absl::Time now = absl::Now();
  const absl::Duration time =
      deadline == absl::InfiniteFuture()
          ? embedding_.limit
          : std::min(embedding_.limit, (deadline - now) * kEmbeddingShareOfTime);
  const auto took = [&](std::int64_t input, bool estimated) {
    account.set_calls(1);
    account.set_input_tokens(input);
    account.set_estimated(estimated);
    account.set_cost_nanos(usage::CostNanos(knowledge_.base(), embedding_.model, input, 0));
  };
  took(tokens, true);
  galen::llm::Usage usage;
  GALEN_ASSIGN_OR_RETURN(
      std::vector<Vector> made,
      VectorsOf({text}, {.deadline = now + time, .cancellation = cancellation_}, usage));
  if (usage.reported) took(usage.prompt_tokens, false);
  Keep(text, made.front());
  return std::move(made.front());
}

std::optional<std::vector<Hit>> EmbeddedHistory::Search(absl::string_view text, std::size_t limit,
                                                        const galen::v1::Spending& spending,
                                                        absl::Time deadline,
                                                        Reasoned& account) const {
  account.set_question(usage::kEmbedding);
  account.set_model(embedding_.model);
  const std::string embeddable = Embeddable(text);
  if (embeddable.empty() || knowledge_.base().incidents().empty()) {
    FallBack(account, Reasoned::NOT_NEEDED, "there is nothing to compare");
    return std::nullopt;
  }
  std::string why;
  const std::shared_ptr<const incident_history::MemoryIndex> index = Made(why);
  if (index == nullptr) {
    FallBack(account, Reasoned::UNAVAILABLE, why);
    return std::nullopt;
  }
  const absl::StatusOr<Vector> vector = QueryVector(embeddable, spending, deadline, account);
  if (!vector.ok()) {
    if (account.fallback() == Reasoned::NONE) {
      FallBack(account, FallbackOf(vector.status()), vector.status().message());
    }
    return std::nullopt;
  }
  std::vector<Hit> hits =
      incident_history::Search(
          {index.get()}, Given(name_, static_cast<std::size_t>(embedding_.dimensions), *vector),
          text, {.limit = limit})
          .hits;
  const std::vector<incident_history::Scored> cosines =
      index->SearchVectors(*vector, name_, index->documents(), "").value();  // in memory: no errors
  for (Hit& hit : hits) {
    hit.similarity = std::max(hit.similarity, LikenessOf(hit.cosine, cosines, index->documents()));
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const Hit& a, const Hit& b) { return a.similarity > b.similarity; });
  return hits;
}

}  // namespace galen::reasoner::llm
