#include "common/telemetry/prometheus_answer.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/json_depth.h"
#include "common/base/text.h"

namespace galen::telemetry {
namespace {

using Json = nlohmann::json;

constexpr int kMostDepth = 16;
constexpr std::size_t kMostDetail = 300;
constexpr std::size_t kMostAnswerWarnings = 16;
// Beyond that a time is nonsense, and its milliseconds would not fit: the year 10,000.
constexpr double kLatestTime = 253402300800.0;

// Takes the parts of an answer as the parser reads them. Keys identify a place in it.
class Handler final : public nlohmann::json_sax<Json> {
 public:
  Handler(const Limits& limits, ApiBody& body) : limits_(limits), body_(body) {}

  bool null() override { return Next(); }
  bool boolean(bool value) override {
    // VictoriaMetrics says so where some of its storage nodes did not answer
    // (https://docs.victoriametrics.com/victoriametrics/cluster-victoriametrics/).
    if (value && stack_.size() == 1 && stack_[0].key == "isPartial") body_.partial = true;
    return Next();
  }
  bool number_integer(number_integer_t value) override {
    return Number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return Number(value);
  }
  bool string(string_t& text) override { return Text(text) && Next(); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool key(string_t& name) override {
    if (stack_.empty()) return false;
    stack_.back().key = name;
    if (stack_.size() == 4 && Below("data", "result") && absl::StartsWith(name, "histogram"))
      body_.histograms = true;
    return true;
  }
  bool start_object(std::size_t /*size*/) override {
    // An item of data.result, or of data itself.
    const bool item = (stack_.size() == 3 && Below("data", "result") && !stack_[2].object) ||
                      (stack_.size() == 2 && Below("data") && !stack_[1].object);
    if (item && !NewSeries({})) return false;
    stack_.push_back({true, {}, 0});
    return true;
  }
  bool start_array(std::size_t /*size*/) override {
    if (stack_.empty()) return false;
    stack_.push_back({false, {}, 0});
    return true;
  }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    error_at_ = position;
    return false;
  }

  std::size_t error_at() const { return error_at_; }
  bool wrong() const { return wrong_; }

 private:
  struct Level {
    bool object = false;
    std::string key;        // the last one of an object
    std::size_t index = 0;  // items of an array so far
  };

  bool Below(absl::string_view first) const {
    return !stack_.empty() && stack_[0].object && stack_[0].key == first;
  }
  bool Below(absl::string_view first, absl::string_view second) const {
    return Below(first) && stack_.size() >= 2 && stack_[1].object && stack_[1].key == second;
  }

  bool Next() {
    if (stack_.empty()) return false;  // the whole text is a number or a string
    ++stack_.back().index;
    return true;
  }
  bool End() {
    stack_.pop_back();
    if (!stack_.empty()) ++stack_.back().index;
    return true;
  }
  bool Cut() {
    body_.cut = true;
    return false;
  }
  bool Wrong() {
    wrong_ = true;
    return false;
  }

  bool NewSeries(Labels labels) {
    if (body_.series.size() >= limits_.series) return Cut();
    body_.series.push_back({std::move(labels), {}});
    return true;
  }

  // Whether we are among the two of a sample: data.result[].value[], data.result[].values[][], or
  // data.result[] of a scalar.
  bool InSample() const {
    if (!Below("data", "result") || stack_.back().object) return false;
    if (stack_.size() == 3) return body_.series.empty() || scalar_;
    if (stack_.size() == 5) return stack_[3].object && stack_[3].key == "value";
    return stack_.size() == 6 && stack_[3].object && stack_[3].key == "values" && !stack_[4].object;
  }

  bool Number(double value) {
    if (InSample() && stack_.back().index == 0) {
      if (stack_.size() == 3) {
        if (!scalar_ && !NewSeries({})) return false;
        scalar_ = true;
      }
      if (!(std::fabs(value) < kLatestTime)) return Wrong();
      at_ = static_cast<std::int64_t>(std::llround(value * 1000));
    }
    return Next();
  }

  bool Sample(const std::string& text) {
    double value = 0;
    if (!absl::SimpleAtod(text, &value)) return body_.result_type == "string" || Wrong();
    if (++samples_ > limits_.samples) return Cut();
    if (body_.series.empty()) return Wrong();
    std::vector<timeseries::Sample>& samples = body_.series.back().samples;
    if (!samples.empty() && at_ <= samples.back().at) {
      body_.disordered = true;
    } else {
      samples.push_back({at_, value});
    }
    return true;
  }

  bool Text(const std::string& text) {
    const std::size_t depth = stack_.size();
    if (depth == 0) return false;
    if (depth == 1) {
      const std::string& key = stack_[0].key;
      if (key == "status") body_.success = text == "success";
      if (key == "errorType") body_.error_type = CleanText(text, 64);
      if (key == "error") body_.error = CleanText(text, kMostDetail);
      return true;
    }
    if (depth == 2 && (Below("warnings") || Below("infos")) && !stack_[1].object) {
      // Prometheus' "infos" (notes) do not make an answer incomplete, its warnings do.
      if (Below("warnings") && body_.warnings.size() < kMostAnswerWarnings)
        body_.warnings.push_back(CleanText(text, kMostDetail));
      return true;
    }
    if (!Below("data")) return true;
    if (depth == 2 && stack_[1].object && stack_[1].key == "resultType")
      body_.result_type = CleanText(text, 16);
    if (depth == 2 && !stack_[1].object) {
      if (body_.values.size() >= limits_.series) return Cut();
      body_.values.push_back(text);
    }
    const bool of_result =
        depth == 5 && Below("data", "result") && stack_[3].object && stack_[3].key == "metric";
    const bool of_series = depth == 3 && !stack_[1].object && stack_[2].object;
    if ((of_result || of_series) && stack_.back().object) {
      if (body_.series.empty()) return Wrong();
      body_.series.back().labels[stack_.back().key] = text;
    }
    if (InSample() && stack_.back().index == 1) return Sample(text);
    return true;
  }

  const Limits& limits_;
  ApiBody& body_;
  std::vector<Level> stack_;
  std::int64_t at_ = 0;
  std::size_t samples_ = 0;
  std::size_t error_at_ = 0;
  bool scalar_ = false;
  bool wrong_ = false;
};

}  // namespace

absl::StatusOr<ApiBody> ParseApiBody(absl::string_view text, const Limits& limits) {
  const absl::string_view begin = absl::StripLeadingAsciiWhitespace(text);
  if (!absl::StartsWith(begin, "{")) {
    return absl::DataLossError(
        absl::StrCat("no answer of Prometheus' API but \"", CleanText(begin, 60), "\""));
  }
  if (JsonNestsDeeperThan(text, kMostDepth))
    return absl::DataLossError("the answer's JSON nests too deep");
  ApiBody body;
  Handler handler(limits, body);
  const bool whole = Json::sax_parse(text.begin(), text.end(), &handler);
  if (handler.wrong()) return absl::DataLossError("the answer holds an invalid sample");
  if (!whole && !body.cut) {
    return absl::DataLossError(absl::StrCat("the answer is not JSON, or ends early, at byte ",
                                            handler.error_at(), " of ", text.size()));
  }
  if (!body.success && body.error_type.empty() && body.error.empty() && !body.cut) {
    return absl::DataLossError("the answer is JSON, but not of Prometheus' API: it has no status");
  }
  return body;
}

absl::Status ErrorOf(const ApiBody& body) {
  const std::string what = absl::StrCat(body.error_type, ": ", body.error);
  if (body.error_type == "bad_data") return absl::InvalidArgumentError(what);
  // Its own limit of time; while it reads series it says only that the execution went wrong.
  if (body.error_type == "timeout" ||
      (body.error_type == "execution" &&
       absl::StrContains(body.error, "context deadline exceeded"))) {
    return absl::DeadlineExceededError(
        absl::StrCat(what, "; ask for a shorter range or fewer series"));
  }
  if (body.error_type == "canceled") return absl::UnavailableError(what);
  if (body.error_type == "not_found") return absl::NotFoundError(what);
  if (body.error_type == "execution") {
    if (absl::StrContains(body.error, "context canceled")) return absl::UnavailableError(what);
    return absl::StrContains(body.error, "too many samples") ||
                   absl::StrContains(body.error, "limit")
               ? absl::ResourceExhaustedError(
                     absl::StrCat(what, "; ask for a shorter range or fewer series"))
               : absl::InvalidArgumentError(what);
  }
  return absl::UnavailableError(what);
}

absl::Status ErrorOf(int code, absl::string_view body) {
  const auto parsed = ParseApiBody(body, {});
  // VictoriaMetrics repeats the HTTP code as the type of its errors.
  const bool typed = parsed.ok() && !parsed->success &&
                     parsed->error_type.find_first_not_of("0123456789") != std::string::npos;
  if (typed && code != 401 && code != 403) return ErrorOf(*parsed);
  const std::string what =
      absl::StrCat("HTTP ", code, ": \"", CleanText(absl::StripAsciiWhitespace(body), 120), "\"");
  switch (code) {
    case 401:
    case 403:
      return absl::PermissionDeniedError(absl::StrCat(what, "; look at the key"));
    case 404:
    case 405:
      return absl::NotFoundError(
          absl::StrCat(what, "; there is no Prometheus API at this address"));
    case 408:
    case 504:
      return absl::DeadlineExceededError(what);
    case 400:
    case 422:
      return absl::InvalidArgumentError(what);
    case 413:
    case 429:
      return absl::ResourceExhaustedError(what);
    default:
      return code >= 500 ? absl::UnavailableError(what)
                         : absl::DataLossError(absl::StrCat(what, "; redirects are not followed"));
  }
}

}  // namespace galen::telemetry
