#include "common/kube/watch_state.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/retry_hint.h"
#include "common/base/text.h"

namespace galen::kube {
namespace {

// After this many connections in a row with nothing but errors, the version may be the reason.
constexpr int kListAfter = 5;
constexpr int kMostFailures = 30;  // counted

Json Tombstone(const std::string& space, const std::string& name, const std::string& uid) {
  Json metadata = {{"name", name}, {"uid", uid}};
  if (!space.empty()) metadata["namespace"] = space;
  return Json{{"metadata", std::move(metadata)}};
}

std::string VersionOf(const Json& object) {
  return TextAt(object, {"metadata", "resourceVersion"});
}

}  // namespace

WatchState::Step WatchState::Next() const { return {list_, version_, failures_, retry_after_}; }

void WatchState::Seen(Json object, std::vector<Change>& changes) {
  Known now{TextAt(object, {"metadata", "uid"}), VersionOf(object)};
  Key key{TextAt(object, {"metadata", "namespace"}), TextAt(object, {"metadata", "name"})};
  const auto found = known_.find(key);
  if (found == known_.end()) {
    known_.emplace(std::move(key), std::move(now));
    changes.push_back({Change::Kind::kAdded, std::move(object)});
    return;
  }
  Known& before = found->second;
  if (before.uid != now.uid) {  // another object of that name
    changes.push_back({Change::Kind::kDeleted, Tombstone(key.first, key.second, before.uid)});
    changes.push_back({Change::Kind::kAdded, std::move(object)});
  } else if (before.version != now.version) {
    changes.push_back({Change::Kind::kChanged, std::move(object)});
  }
  before = std::move(now);
}

absl::StatusOr<std::vector<Change>> WatchState::Listed(Listing listing) {
  if (listing.resource_version.empty()) {
    return absl::DataLossError("the list of the API server has no resourceVersion to watch from");
  }
  std::set<Key> there;
  for (const Json& object : listing.items) {
    Key key{TextAt(object, {"metadata", "namespace"}), TextAt(object, {"metadata", "name"})};
    if (key.second.empty()) return absl::DataLossError("an object of the list has no name");
    there.insert(std::move(key));
  }
  std::vector<Change> changes;
  for (auto at = known_.begin(); at != known_.end();) {
    if (there.count(at->first) > 0) {
      ++at;
      continue;
    }
    changes.push_back(
        {Change::Kind::kDeleted, Tombstone(at->first.first, at->first.second, at->second.uid)});
    at = known_.erase(at);
  }
  for (Json& object : listing.items) Seen(std::move(object), changes);
  version_ = std::move(listing.resource_version);
  list_ = false;
  heard_ = false;
  failures_ = 0;
  retry_after_.reset();
  return changes;
}

absl::StatusOr<std::vector<Change>> WatchState::Line(absl::string_view line) {
  std::vector<Change> changes;
  if (absl::StripAsciiWhitespace(line).empty()) return changes;
  absl::StatusOr<Json> event = ParseObject(line);
  if (!event.ok()) return event.status();
  const std::string type = TextAt(*event, {"type"});
  const auto found = event->find("object");
  if (found == event->end() || !found->is_object()) {
    return absl::DataLossError("a line of the watch has no object");
  }
  Json& object = *found;
  if (type == "ERROR") {
    const auto code = object.find("code");
    const bool number = code != object.end() && code->is_number_unsigned() && *code < 1000u;
    return StatusOfObject("watch", number ? code->get<int>() : 500, object, std::nullopt);
  }
  const std::string version = VersionOf(object);
  if (version.empty()) return absl::DataLossError("an object of the watch has no resourceVersion");
  if (type == "ADDED" || type == "MODIFIED" || type == "DELETED") {
    Key key{TextAt(object, {"metadata", "namespace"}), TextAt(object, {"metadata", "name"})};
    if (key.second.empty()) return absl::DataLossError("an object of the watch has no name");
    if (type != "DELETED") {
      Seen(std::move(object), changes);
    } else if (known_.erase(key) > 0) {
      changes.push_back({Change::Kind::kDeleted, std::move(object)});
    }
  } else if (type != "BOOKMARK") {
    return absl::DataLossError(
        absl::StrCat("the watch reports \"", CleanText(type, 40), "\", which is unknown"));
  }
  version_ = version;
  heard_ = true;
  failures_ = 0;
  retry_after_.reset();
  return changes;
}

void WatchState::Ended(const absl::Status& status) {
  retry_after_ = RetryAfter(status);
  if (absl::IsOutOfRange(status)) {
    // The list that follows is not a failure; several in a row without any event would be.
    failures_ = heard_ || list_ ? failures_ : failures_ + 1;
    list_ = true;
  } else if (!heard_ || !status.ok()) {
    if (failures_ < kMostFailures) ++failures_;
    if (failures_ % kListAfter == 0) list_ = true;
  }
  heard_ = false;
}

absl::Status Lines::Add(absl::string_view bytes,
                        const std::function<absl::Status(absl::string_view)>& take) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    const absl::string_view piece = bytes.substr(0, end);
    if (piece.size() > most_ - rest_.size()) {
      return absl::DataLossError(
          absl::StrCat("a line of the watch is longer than ", most_, " bytes"));
    }
    if (end == absl::string_view::npos) {
      rest_.append(piece.data(), piece.size());
      return absl::OkStatus();
    }
    absl::Status status;
    if (rest_.empty()) {
      status = take(piece);
    } else {
      rest_.append(piece.data(), piece.size());
      status = take(rest_);
      rest_.clear();
    }
    if (!status.ok()) return status;
    bytes.remove_prefix(end + 1);
  }
}

}  // namespace galen::kube
