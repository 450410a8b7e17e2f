#include "services/cli/triage/triage_json.h"

#include <optional>

#include "absl/time/time.h"
#include "common/base/time_text.h"
#include "nlohmann/json.hpp"

namespace galen::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
void Put(Json& object, const char* name, const std::optional<T>& value) {
  if (value.has_value()) object[name] = *value;
}
void Put(Json& object, const char* name, const std::optional<absl::Time>& time) {
  if (time.has_value()) object[name] = TimeText(*time, 3);
}
void Put(Json& object, const char* name, const std::optional<absl::Duration>& duration) {
  if (duration.has_value()) object[name] = absl::ToDoubleSeconds(*duration);
}
void PutText(Json& object, const char* name, const std::string& text) {
  if (!text.empty()) object[name] = text;
}

Json SourceJson(const triage::Source& source) {
  Json object = Json::object();
  PutText(object, "log", source.log);
  if (source.line > 0) object["line"] = source.line;
  Put(object, "time", source.time);
  PutText(object, "writer", source.writer);
  PutText(object, "text", source.text);
  return object;
}

Json ShownJson(const triage::Shown& shown) {
  Json object;
  object["class"] = shown.name;
  object["title"] = shown.title;
  object["relation"] = shown.relation;
  PutText(object, "stage", shown.stage);
  PutText(object, "signature", shown.signature);
  object["first"] = SourceJson(shown.first);
  object["lines"] = shown.count;
  if (shown.writers > 0) object["writers"] = shown.writers;
  object["survived"] = shown.survived;
  return object;
}

Json ProgressJson(const triage::Progress& progress) {
  Json object = Json::object();
  PutText(object, "framework", progress.framework);
  PutText(object, "format", progress.format);
  Put(object, "first_step", progress.first_step);
  Put(object, "last_step", progress.last_step);
  Put(object, "total_steps", progress.total_steps);
  object["reported_steps"] = progress.reported;
  object["runs"] = progress.runs;
  object["writers"] = progress.writers;
  if (progress.at.has_value()) object["last"] = SourceJson(*progress.at);
  Put(object, "restored", progress.restored);
  Put(object, "restored_step", progress.restored_step);
  Put(object, "step_seconds", progress.step_seconds);
  Put(object, "begin", progress.begin);
  Put(object, "end", progress.end);
  Put(object, "wall_seconds", progress.wall);
  if (progress.timed) object["sum_of_steps_seconds"] = progress.sum_seconds;
  Put(object, "unaccounted_seconds", progress.unaccounted);
  Put(object, "idle_seconds", progress.idle);
  Put(object, "expected_step", progress.expected_step);
  Put(object, "checkpoint_period", progress.checkpoint_period);
  Put(object, "saved_step", progress.saved_step);
  if (progress.saved_step.has_value()) object["saved_step_by_period"] = progress.saved_by_period;
  Put(object, "lost_steps", progress.lost_steps);
  Put(object, "remaining_seconds", progress.remaining);
  return object;
}

Json CourseJson(const triage::Course& course) {
  Json object;
  object["name"] = course.name;
  PutText(object, "unit", course.unit);
  object["derived"] = course.derived;
  object["count"] = course.count;
  object["steady"] = course.steady;
  object["min"] = course.min;
  object["max"] = course.max;
  Put(object, "change", course.change);
  Json points = Json::array();
  for (const triage::Series::Point& point : course.points) {
    points.push_back(Json::array({point.step, point.mean, point.count}));
  }
  object["points"] = std::move(points);
  return object;
}

}  // namespace

std::string TriageJson(const triage::JobReport& report) {
  Json object;
  object["status"] = std::string(triage::ToString(report.decision.status));
  object["why"] = report.decision.why;
  object["soft"] = report.decision.soft;
  object["stalled"] = report.decision.stalled;
  PutText(object, "stage", report.stage);
  if (report.primary.has_value()) object["primary"] = ShownJson(*report.primary);
  Json others = Json::array();
  for (const triage::Shown& shown : report.others) others.push_back(ShownJson(shown));
  object["others"] = std::move(others);
  object["progress"] = ProgressJson(report.progress);
  Json courses = Json::array();
  for (const triage::Course& course : report.courses) courses.push_back(CourseJson(course));
  object["courses"] = std::move(courses);
  Json ends = Json::array();
  for (const triage::ProcessEnd& end : report.ends) {
    Json one = Json::object();
    if (end.rank >= 0) one["rank"] = end.rank;
    Put(one, "exit_code", end.end.exit_code);
    Put(one, "signal", end.end.signal);
    PutText(one, "meaning", end.meaning);
    ends.push_back(std::move(one));
  }
  object["ends"] = std::move(ends);
  object["ends_in_all"] = report.ends_in_all;
  Json context = Json::object();
  Put(context, "job", report.context.job);
  Put(context, "node", report.context.node);
  Put(context, "partition", report.context.partition);
  Put(context, "pod", report.context.pod);
  Put(context, "namespace", report.context.name_space);
  Put(context, "world_size", report.context.world_size);
  Put(context, "sequence_length", report.context.sequence_length);
  PutText(context, "scheduler_state", report.scheduler);
  if (report.scheduler_at.has_value()) {
    context["scheduler_state_from"] = SourceJson(*report.scheduler_at);
  }
  Put(context, "now", report.now);
  object["context"] = std::move(context);
  Json logs = Json::array();
  for (const triage::LogRead& log : report.logs) {
    Json one;
    one["name"] = log.name;
    one["lines"] = log.lines;
    one["bytes"] = log.bytes;
    PutText(one, "trouble", log.trouble);
    logs.push_back(std::move(one));
  }
  object["logs"] = std::move(logs);
  Json leads = Json::array();
  for (const triage::Lead& lead : report.leads) {
    Json one;
    one["template"] = lead.text;
    one["first"] = SourceJson(lead.first);
    one["lines"] = lead.count;
    if (lead.writers > 0) one["writers"] = lead.writers;
    one["why"] = lead.why;
    leads.push_back(std::move(one));
  }
  object["leads"] = std::move(leads);
  object["unknown"] = report.unknown;
  object["next"] = report.next;
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace galen::cli
