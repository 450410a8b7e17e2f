#include "services/cli/feedback.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::cli {

ExitCode SendFeedback(DiagnosisApi& api, const FeedbackArguments& arguments, Console& console) {
  v1::SubmitFeedbackRequest request;
  request.set_name(absl::StrContains(arguments.name, '/')
                       ? arguments.name
                       : absl::StrCat("tenants/default/diagnoses/", arguments.name));
  request.set_text(arguments.text);
  request.set_confirmed_label(arguments.confirm);
  request.set_confirmed_by(arguments.by);
  const absl::StatusOr<v1::Diagnosis> diagnosis = api.SubmitFeedback(request);
  if (!diagnosis.ok()) {
    console.err << "galen: " << diagnosis.status().message() << std::endl;
    return ExitCodeOf(diagnosis.status());
  }
  console.out << diagnosis->name() << " is " << v1::Diagnosis::State_Name(diagnosis->state());
  if (!arguments.confirm.empty()) {
    console.out << "; its cause is " << diagnosis->confirmation().label() << ", says "
                << diagnosis->confirmation().by();
    if (arguments.server.empty() && !arguments.site.empty()) {
      console.out << "\nit is proposed as a past incident: galen kb review --site "
                  << arguments.site;
    } else if (arguments.server.empty()) {
      console.out << "\nno --site is named, so it is not proposed as a past incident";
    }
  }
  console.out << std::endl;
  return kOk;
}

}  // namespace galen::cli
