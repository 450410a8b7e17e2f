#include "services/cli/advisor/inputs.h"

#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <fstream>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/yaml/yaml.h"

namespace galen::cli {
namespace {

using advisor::v1::RegisterJobRequest;

absl::StatusOr<double> YamlNumber(const Yaml& value, absl::string_view file,
                                  absl::string_view field) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(value, file, field));
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number) || number < 0) {
    return YamlError(value, file, absl::StrCat(field, ": is a number from 0 up"));
  }
  return number;
}

// "2.19.3", or a list of such.
absl::Status AddVersions(const Yaml& versions, absl::string_view file,
                         RegisterJobRequest& request) {
  if (versions.kind == Yaml::Kind::kNull) return absl::OkStatus();
  if (versions.kind != Yaml::Kind::kMap) {
    return YamlError(versions, file, "versions: is a map of components");
  }
  for (const Yaml::Field& field : versions.fields) {
    std::vector<std::string> texts;
    if (field.value.kind == Yaml::Kind::kList) {
      GALEN_ASSIGN_OR_RETURN(texts, YamlTexts(field.value, file, field.name));
    } else {
      GALEN_ASSIGN_OR_RETURN(std::string one, YamlText(field.value, file, field.name));
      texts.push_back(std::move(one));
    }
    advisor::v1::VersionsOf& of = (*request.mutable_versions())[field.name];
    for (std::string& text : texts) of.add_versions(std::move(text));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadInput(const std::string& path, std::istream& in, std::size_t most) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& from = path == "-" ? in : file;
  if (!from) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::string text(most + 1, '\0');
  from.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (from.bad()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  text.resize(static_cast<std::size_t>(from.gcount()));
  if (text.size() > most) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has more than ", most, " bytes"));
  }
  return text;
}

absl::StatusOr<std::string> ReadKey(const std::string& path, std::istream& in) {
  GALEN_ASSIGN_OR_RETURN(std::string key, ReadInput(path, in, 4096));
  absl::StripTrailingAsciiWhitespace(&key);
  return key;
}

absl::StatusOr<Setting> ParseSetting(absl::string_view flag, absl::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == absl::string_view::npos || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " \"", CleanText(text, 100), "\": is NAME=VALUE"));
  }
  return Setting{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

absl::StatusOr<std::vector<Setting>> ParseSettingsOf(absl::string_view flag,
                                                     const std::vector<std::string>& texts) {
  std::vector<Setting> settings;
  for (const std::string& text : texts) {
    GALEN_ASSIGN_OR_RETURN(Setting setting, ParseSetting(flag, text));
    settings.push_back(std::move(setting));
  }
  return settings;
}

absl::StatusOr<advisor::v1::Signature> ReadSignature(absl::string_view text,
                                                     absl::string_view file) {
  advisor::v1::Signature signature;
  const auto read = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(text.data(), text.size()), &signature);
  if (!read.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": is not what `galen advisor sign --json` prints"));
  }
  return signature;
}

absl::Status ReadHardware(absl::string_view text, absl::string_view file,
                          RegisterJobRequest& request) {
  GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(text, file));
  if (document.kind != Yaml::Kind::kMap) {
    return YamlError(document, file, "is a map: gpu, nic, driver, ... (docs/advisor.md)");
  }
  advisor::v1::Hardware& hardware = *request.mutable_hardware();
  for (const Yaml::Field& field : document.fields) {
    const auto text_into = [&](auto set) -> absl::Status {
      GALEN_ASSIGN_OR_RETURN(std::string value, YamlText(field.value, file, field.name));
      set(std::move(value));
      return absl::OkStatus();
    };
    const auto number_into = [&](auto set) -> absl::Status {
      GALEN_ASSIGN_OR_RETURN(const double value, YamlNumber(field.value, file, field.name));
      set(value);
      return absl::OkStatus();
    };
    absl::Status status;
    if (field.name == "gpu") {
      status = text_into([&](std::string value) { hardware.set_gpu(std::move(value)); });
    } else if (field.name == "nic") {
      status = text_into([&](std::string value) { hardware.set_nic(std::move(value)); });
    } else if (field.name == "driver") {
      status = text_into([&](std::string value) { hardware.set_driver(std::move(value)); });
    } else if (field.name == "gpus_per_node") {
      GALEN_ASSIGN_OR_RETURN(const std::int64_t count, YamlInteger(field.value, file, field.name));
      if (count < 0 || count > 1024) {
        status = YamlError(field.value, file, "gpus_per_node: is between 0 and 1,024");
      } else {
        hardware.set_gpus_per_node(static_cast<std::int32_t>(count));
      }
    } else if (field.name == "clock_limit") {
      status = number_into([&](double value) { hardware.set_clock_limit(value); });
    } else if (field.name == "power_limit") {
      status = number_into([&](double value) { hardware.set_power_limit(value); });
    } else if (field.name == "settings") {
      GALEN_ASSIGN_OR_RETURN(const auto settings, YamlTextMap(field.value, file, field.name));
      for (const auto& [name, value] : settings) (*hardware.mutable_settings())[name] = value;
    } else if (field.name == "conditions") {
      GALEN_ASSIGN_OR_RETURN(const auto words, YamlTexts(field.value, file, field.name));
      for (const std::string& word : words) request.add_conditions(word);
    } else if (field.name == "versions") {
      status = AddVersions(field.value, file, request);
    } else {
      status = YamlError(field.value, file,
                         absl::StrCat(CleanText(field.name, 100),
                                      ": unknown; there are gpu, nic, driver, gpus_per_node, "
                                      "clock_limit, power_limit, settings, conditions, "
                                      "versions"));
    }
    GALEN_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status ParseSigns(const std::vector<std::string>& texts,
                        advisor::v1::ReportProgressRequest& request) {
  for (const std::string& text : texts) {
    GALEN_ASSIGN_OR_RETURN(const Setting setting, ParseSetting("--sign", text));
    std::int32_t level = 0;
    if (!absl::SimpleAtoi(setting.value, &level) || level < 0 || level > 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("--sign ", CleanText(text, 100), ": a level is 0, 1, 2 or 3"));
    }
    advisor::v1::SignLevel& sign = *request.add_signs();
    sign.set_sign(setting.name);
    sign.set_level(level);
  }
  return absl::OkStatus();
}

}  // namespace galen::cli
