#include "services/gateway/api/openapi_extras.h"

#include "common/base/json_access.h"

namespace galen::gateway {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kInfoApi[] = R"json({
  "/v1/whoami": {"get": {
    "operationId": "InfoApi_WhoAmI", "tags": ["InfoApi"], "parameters": [],
    "description": "The owner of the key and its permissions.",
    "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/WhoAmI"}}}},
                  "default": {"$ref": "#/components/responses/Error"}}}},
  "/v1/knowledge": {"get": {
    "operationId": "InfoApi_Knowledge", "tags": ["InfoApi"], "parameters": [],
    "description": "The taxonomy and the catalogue of checks, for people to read.",
    "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"type": "object"}}}},
                  "default": {"$ref": "#/components/responses/Error"}}}},
  "/v1/nodes": {"get": {
    "operationId": "InfoApi_Nodes", "tags": ["InfoApi"], "parameters": [],
    "description": "The node executors that announced themselves. For operators.",
    "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Nodes"}}}},
                  "default": {"$ref": "#/components/responses/Error"}}}}
})json";

constexpr char kUploads[] = R"json({
  "/v1/tenants/{tenant}/uploads": {
    "get": {
      "operationId": "Uploads_List", "tags": ["Uploads"],
      "description": "The tenant's uploads, newest first.",
      "parameters": [{"name": "tenant", "in": "path", "required": true, "schema": {"type": "string"}}],
      "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ListUploadsResponse"}}}},
                    "default": {"$ref": "#/components/responses/Error"}}},
    "post": {
      "operationId": "Uploads_Create", "tags": ["Uploads"],
      "description": "Takes a log, or unpacks a bundle. The body is the file itself. An incident names the upload then, in `bundle` or in `path` of a log.",
      "parameters": [{"name": "tenant", "in": "path", "required": true, "schema": {"type": "string"}},
                     {"name": "kind", "in": "query", "required": false, "description": "Kind of the upload; log if absent.", "schema": {"type": "string", "enum": ["log", "bundle"]}},
                     {"name": "fileName", "in": "query", "required": false, "description": "What people are shown.", "schema": {"type": "string"}}],
      "requestBody": {"required": true, "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
      "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Upload"}}}},
                    "default": {"$ref": "#/components/responses/Error"}}}},
  "/v1/tenants/{tenant}/uploads/{upload}": {
    "get": {
      "operationId": "Uploads_Get", "tags": ["Uploads"],
      "description": "One upload; not its content.",
      "parameters": [{"name": "tenant", "in": "path", "required": true, "schema": {"type": "string"}},
                     {"name": "upload", "in": "path", "required": true, "schema": {"type": "string"}}],
      "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Upload"}}}},
                    "default": {"$ref": "#/components/responses/Error"}}},
    "delete": {
      "operationId": "Uploads_Delete", "tags": ["Uploads"],
      "description": "Removes it. A diagnosis that is still to read it then finds nothing.",
      "parameters": [{"name": "tenant", "in": "path", "required": true, "schema": {"type": "string"}},
                     {"name": "upload", "in": "path", "required": true, "schema": {"type": "string"}}],
      "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": {"type": "object"}}}},
                    "default": {"$ref": "#/components/responses/Error"}}}}
})json";

constexpr char kSchemas[] = R"json({
  "WhoAmI": {"type": "object", "properties": {
    "tenant": {"type": "string", "description": "\"*\": of all tenants."},
    "role": {"type": "string", "enum": ["customer", "operator", "approver", "admin"]},
    "mayRead": {"type": "boolean"}, "mayWrite": {"type": "boolean"},
    "uploads": {"type": "boolean", "description": "Whether this gateway takes uploads."}}},
  "Nodes": {"type": "object", "properties": {"nodes": {"type": "array", "items": {"type": "object", "properties": {
    "name": {"type": "string"}, "address": {"type": "string"}, "expireTime": {"type": "string", "format": "date-time"}}}}}},
  "Upload": {"type": "object", "properties": {
    "name": {"type": "string", "description": "tenants/{tenant}/uploads/{upload}"},
    "kind": {"type": "string", "enum": ["log", "bundle"]},
    "fileName": {"type": "string"},
    "sizeBytes": {"type": "string", "format": "int64"},
    "createTime": {"type": "string", "format": "date-time"},
    "expireTime": {"type": "string", "format": "date-time"},
    "description": {"type": "string", "description": "For a bundle: the description of its incident."},
    "nodes": {"type": "array", "description": "For a bundle: its nodes.", "items": {"type": "string"}}}},
  "ListUploadsResponse": {"type": "object", "properties": {"uploads": {"type": "array", "items": {"$ref": "#/components/schemas/Upload"}}}}
})json";

}  // namespace

OpenApiExtras DescribeOpenApiExtras(bool uploads) {
  OpenApiExtras beside{ParseJson<Json>(kInfoApi), ParseJson<Json>(kSchemas)};
  if (uploads) {
    beside.paths.update(ParseJson<Json>(kUploads));
  } else {
    beside.schemas.erase("Upload");
    beside.schemas.erase("ListUploadsResponse");
  }
  return beside;
}

}  // namespace galen::gateway
