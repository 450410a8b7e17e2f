#include "services/execution/tenant_nodes.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/security/identity.h"
#include "common/yaml/yaml.h"

namespace galen::execution {
namespace {

constexpr absl::Duration kLook = absl::Seconds(1);

// In steps that grow with the product of both at most, whatever the pattern.
bool Matches(absl::string_view pattern, absl::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = absl::string_view::npos;
  std::size_t behind_star = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      behind_star = n;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      n = ++behind_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<std::string> Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) return std::nullopt;
  return text;
}

}  // namespace

absl::StatusOr<TenantNodes> TenantNodes::Parse(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml root, ParseYaml(text, file));
  const Yaml* const tenants = root.Find("tenants");
  if (tenants == nullptr || tenants->kind != Yaml::Kind::kMap || root.fields.size() != 1) {
    return YamlError(root, file, "is not \"tenants:\" with a list of nodes for each");
  }
  TenantNodes all;
  for (const Yaml::Field& tenant : tenants->fields) {
    if (tenant.value.kind != Yaml::Kind::kList) {
      return YamlError(tenant.value, file,
                       absl::StrCat(CleanText(tenant.name, 64), ": is not a list of host names"));
    }
    Nodes& nodes = all.tenants_[tenant.name];
    for (const Yaml& node : tenant.value.items) {
      if (node.kind != Yaml::Kind::kScalar || node.scalar.empty()) {
        return YamlError(node, file,
                         absl::StrCat(CleanText(tenant.name, 64), ": this is not a host name"));
      }
      if (node.scalar.find_first_of("*?") == std::string::npos) {
        nodes.named.insert(node.scalar);
      } else {
        nodes.patterns.push_back(node.scalar);
      }
    }
  }
  return all;
}

bool TenantNodes::Has(absl::string_view tenant, absl::string_view node) const {
  const auto it = tenants_.find(tenant);
  if (it == tenants_.end()) return false;
  return it->second.named.contains(node) ||
         std::any_of(it->second.patterns.begin(), it->second.patterns.end(),
                     [&](const std::string& pattern) { return Matches(pattern, node); });
}

absl::StatusOr<std::unique_ptr<TenantNodesFile>> TenantNodesFile::Open(
    const std::string& path, const Clock& clock,
    std::function<void(const std::string& news)> tell) {
  std::unique_ptr<TenantNodesFile> file(new TenantNodesFile(path, clock, std::move(tell)));
  std::optional<std::string> text = Contents(path);
  if (!text.has_value())
    return absl::NotFoundError(
        absl::StrCat(path, ": cannot be read; is it there, and may this process read it?"));
  GALEN_ASSIGN_OR_RETURN(TenantNodes nodes, TenantNodes::Parse(*text, path));
  MutexLock lock(file->mu_);
  file->nodes_ = std::make_shared<const TenantNodes>(std::move(nodes));
  file->read_ = *std::move(text);
  file->looked_ = clock.Now();
  return file;
}

std::shared_ptr<const TenantNodes> TenantNodesFile::Get() {
  MutexLock lock(mu_);
  const absl::Time now = clock_.Now();
  // A clock that was set back must not stop the looking.
  if (now >= looked_ && now - looked_ < kLook) return nodes_;
  looked_ = now;
  std::optional<std::string> text = Contents(path_);
  if (!text.has_value()) {
    tell_(absl::StrCat(path_, ": cannot be read; what was read last holds"));
    return nodes_;
  }
  if (*text == read_) return nodes_;
  absl::StatusOr<TenantNodes> nodes = TenantNodes::Parse(*text, path_);
  read_ = *std::move(text);
  if (!nodes.ok()) {
    tell_(absl::StrCat(nodes.status().message(), "; what was read last holds"));
    return nodes_;
  }
  nodes_ = std::make_shared<const TenantNodes>(*std::move(nodes));
  tell_(absl::StrCat(path_, ": reloaded"));
  return nodes_;
}

std::function<bool(const std::string& node)> NodesSeenBy(TenantNodesFile* file,
                                                         const std::string& diagnosis) {
  if (file == nullptr || diagnosis.empty()) {
    return [](const std::string&) { return true; };
  }
  return [nodes = file->Get(), tenant = std::string(security::TenantOf(diagnosis))](
             const std::string& node) { return nodes->Has(tenant, node); };
}

}  // namespace galen::execution
