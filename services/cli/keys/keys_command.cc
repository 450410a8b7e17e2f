#include "services/cli/keys/keys_command.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/store/seal.h"
#include "common/store/store.h"
#include "services/cli/kb/table.h"
#include "services/gateway/access/api_key_store.h"

namespace galen::cli {
namespace {

std::string Day(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M", absl::FromUnixSeconds(time.seconds()),
                          absl::UTCTimeZone());
}

absl::Status Create(const KeysArguments& arguments, gateway::ApiKeyStore& key_store,
                    Console& console) {
  gateway::ApiKeyStore::NewKey wanted;
  wanted.tenant = arguments.tenant;
  const std::optional<gateway::UserRole> role = gateway::ParseUserRole(arguments.role);
  if (!role) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--role: \"", arguments.role, "\" is none of customer, operator, approver, admin"));
  }
  wanted.role = *role;
  wanted.scopes = arguments.scopes;
  wanted.note = arguments.note;
  if (!arguments.never) wanted.lifetime = absl::Hours(24) * arguments.days;
  GALEN_ASSIGN_OR_RETURN(const std::string key, key_store.Create(wanted, absl::Now()));
  // The key alone on standard output, for scripts.
  console.out << key << std::endl;
  console.err << "this key is shown once: only its hash is stored" << std::endl;
  return absl::OkStatus();
}

void List(const gateway::ApiKeyStore& key_store, Console& console) {
  std::vector<std::vector<std::string>> rows;
  for (const gateway::v1::ApiKey& key : key_store.List()) {
    const bool expired =
        key.has_expire_time() && absl::FromUnixSeconds(key.expire_time().seconds()) <= absl::Now();
    rows.push_back({key.id(), key.tenant(), key.role(), absl::StrJoin(key.scopes(), ","),
                    Day(key.create_time()),
                    !key.has_expire_time() ? "never"
                    : expired              ? absl::StrCat(Day(key.expire_time()), " (expired)")
                                           : Day(key.expire_time()),
                    key.note()});
  }
  console.out << Table({"ID", "TENANT", "ROLE", "SCOPES", "CREATED (UTC)", "EXPIRES (UTC)", "NOTE"},
                       rows, console.terminal);
}

absl::Status Run(const CLI::App& keys, const KeysArguments& arguments, Console& console) {
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Store> store,
                         store::OpenStore(arguments.store));
  GALEN_ASSIGN_OR_RETURN(const std::optional<store::Seal> seal,
                         store::OpenSeal(arguments.seal, store->IsShared(), arguments.unsealed));
  gateway::ApiKeyStore key_store(
      store->journal(), seal ? &*seal : nullptr,
      [&console](const std::string& news) { console.err << news << std::endl; });
  GALEN_RETURN_IF_ERROR(key_store.Refresh());
  if (keys.got_subcommand("create")) return Create(arguments, key_store, console);
  if (keys.got_subcommand("revoke")) {
    GALEN_RETURN_IF_ERROR(key_store.Revoke(arguments.id));
    console.out << arguments.id << ": revoked; gateways refuse it within about a second"
                << std::endl;
    return absl::OkStatus();
  }
  List(key_store, console);
  return absl::OkStatus();
}

}  // namespace

CLI::App* DeclareKeys(CLI::App& app, KeysArguments& arguments) {
  CLI::App* keys = app.add_subcommand("keys", "API keys of the gateway (docs/api.md)");
  keys->require_subcommand(1);
  CLI::App* create = keys->add_subcommand("create", "Make a key and print it once");
  create->add_option("--tenant", arguments.tenant, "Tenant whose diagnoses it may see; \"*\": all")
      ->required();
  create->add_option("--role", arguments.role, "customer, operator, approver or admin")
      ->capture_default_str();
  create->add_option("--scope", arguments.scopes,
                     "diagnoses.read, diagnoses.write; repeatable; none: both");
  create->add_option("--days", arguments.days, "Days until it expires")->capture_default_str();
  create->add_flag("--never-expires", arguments.never, "It does not expire; it can be revoked");
  create->add_option("--note", arguments.note, "Note on its holder");
  CLI::App* list = keys->add_subcommand("list", "List the keys that are not revoked");
  CLI::App* revoke = keys->add_subcommand("revoke", "Revoke a key");
  revoke->add_option("id", arguments.id, "Id of the key: its second part, or from the list")
      ->required();
  for (CLI::App* command : {create, list, revoke}) {
    command
        ->add_option("--store", arguments.store,
                     "The store of the gateway: an SQLite file or a Redis URL (docs/store.md)")
        ->required();
    command->add_option("--store-seal", arguments.seal,
                        "Key file that seals the records in the store: the gateway's --store_seal "
                        "(docs/security.md)");
    command->add_flag("--unsealed-store", arguments.unsealed,
                      "The gateway runs with --unsealed_store");
  }
  return keys;
}

ExitCode RunKeys(const CLI::App& keys, const KeysArguments& arguments, Console& console) {
  const absl::Status status = Run(keys, arguments, console);
  if (!status.ok()) console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli
