#include "services/cli/llm/preview.h"

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "common/intake/kinds.h"
#include "common/llm/endpoint.h"
#include "common/llm/wire.h"
#include "common/reasoner/llm/open_model.h"
#include "services/cli/gather.h"
#include "services/cli/llm/draft_model.h"
#include "services/cli/local_mesh.h"

namespace galen::cli {
namespace {

// Answers what the built-in reasoner would, and keeps what it was asked. Thread-safe.
class Preview final : public llm::LlmClient {
 public:
  explicit Preview(llm::Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

  absl::StatusOr<llm::ChatAnswer> Chat(const llm::ChatRequest& request,
                                       const llm::CallOptions& options) override {
    absl::StatusOr<std::string> body = llm::ChatBody(endpoint_, request, endpoint_.stream);
    if (!body.ok()) return body.status();
    {
      MutexLock lock(mu_);
      sent_.push_back({request.purpose, llm::ChatUrl(endpoint_, request.model), *std::move(body)});
    }
    return draft_.Chat(request, options);
  }
  absl::StatusOr<llm::Embeddings> Embed(const llm::EmbedRequest& request,
                                        const llm::CallOptions& options) override {
    return draft_.Embed(request, options);
  }
  absl::StatusOr<std::vector<std::string>> Models(const llm::CallOptions& options) override {
    return draft_.Models(options);
  }
  llm::Settings SettingsOf(absl::string_view purpose) const override {
    return llm::SettingsFor(endpoint_, purpose);
  }
  std::string name() const override { return endpoint_.url; }
  llm::Health health() const override { return {}; }

  struct Sent {
    std::string purpose;
    std::string url;
    std::string body;
  };
  std::vector<Sent> sent() const {
    MutexLock lock(mu_);
    return sent_;
  }

 private:
  const llm::Endpoint endpoint_;
  DraftModel draft_;
  mutable Mutex mu_;
  std::vector<Sent> sent_ ABSL_GUARDED_BY(mu_);
};

// Keeps what the incident is made of until it is diagnosed.
struct Made {
  std::shared_ptr<const host::Bundle> bundle;
  Gathered gathered;
};

absl::Status DiagnoseOnce(const LlmArguments& arguments, reasoner::llm::Model model,
                          Console& console) {
  DiagnoseArguments given;
  given.words = arguments.words;
  given.logs = arguments.logs;
  given.bundle = arguments.bundle;
  Made made;
  if (!given.bundle.empty()) {
    GALEN_ASSIGN_OR_RETURN(made.bundle, host::Bundle::Open(given.bundle));
  }
  GALEN_ASSIGN_OR_RETURN(const std::vector<intake::Text> texts, GatherTexts(given, console.in));
  LocalMesh::Options options;
  options.knowledge = arguments.knowledge;
  GALEN_RETURN_IF_ERROR(options.Load());
  GALEN_ASSIGN_OR_RETURN(const auto kinds, intake::Kinds::Compile(options.loaded->base()));
  GALEN_ASSIGN_OR_RETURN(made.gathered,
                         GatherIncident(given, texts, made.bundle.get(), *kinds, OwnHostName()));
  options.job_logs = made.gathered.job_logs;
  options.model = model;
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<LocalMesh> mesh, LocalMesh::Start(options));
  v1::CreateDiagnosisRequest request;
  request.set_parent("tenants/default");
  *request.mutable_diagnosis()->mutable_incident() = made.gathered.incident;
  GALEN_ASSIGN_OR_RETURN(const v1::Diagnosis diagnosis, mesh->Create(request));
  return mesh->Watch(diagnosis.name(), 0, [](const v1::DiagnosisEvent&) {});
}

}  // namespace

ExitCode PreviewLlm(const LlmArguments& arguments, Console& console) {
  const auto refuse = [&](const absl::Status& status) {
    console.err << "galen: " << status.message() << std::endl;
    return ExitCodeOf(status);
  };
  if (arguments.file.empty()) {
    console.err << "galen: no endpoint is named; write --llm FILE, as docs/llm.md describes it"
                << std::endl;
    return kBadInput;
  }
  absl::StatusOr<llm::Endpoint> endpoint = llm::LoadEndpoint(arguments.file);
  if (!endpoint.ok()) return refuse(endpoint.status());
  const absl::StatusOr<host::CapturePlan> plan = reasoner::llm::SecretsOf(arguments.knowledge);
  if (!plan.ok()) return refuse(plan.status());
  Preview preview(*std::move(endpoint));
  reasoner::llm::Model model;
  model.client = &preview;
  model.redactor = &plan->redactor;
  if (const absl::Status status = DiagnoseOnce(arguments, model, console); !status.ok()) {
    return refuse(status);
  }
  const std::vector<Preview::Sent> sent = preview.sent();
  for (const Preview::Sent& each : sent) {
    if (!arguments.json) console.out << "POST " << each.url << "  (" << each.purpose << ")\n";
    console.out << each.body << '\n';
  }
  if (!arguments.json) {
    console.out << sent.size() << (sent.size() == 1 ? " request" : " requests")
                << "; nothing was sent. Further turns of an investigation hold these, the model's "
                   "answers, and what it asks to see.\n";
  }
  return kOk;
}

}  // namespace galen::cli
