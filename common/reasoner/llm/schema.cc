#include "common/reasoner/llm/schema.h"

#include <utility>

namespace galen::reasoner::llm {

Json TextSchema(std::size_t most) { return {{"type", "string"}, {"maxLength", most}}; }

Json OneOf(const std::set<std::string>& choices) {
  Json schema = {{"type", "string"}};
  schema["enum"] = Json::array();
  for (const std::string& choice : choices) schema["enum"].push_back(choice);
  return schema;
}

Json ListOf(Json items, std::size_t most) {
  return {{"type", "array"}, {"items", std::move(items)}, {"maxItems", most}};
}

Json Object(Json properties) {
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

}  // namespace galen::reasoner::llm
