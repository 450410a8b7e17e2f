#include "services/cli/certs/certs_command.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/cli/kb/table.h"

namespace galen::cli {
namespace {

ExitCode Refuse(const absl::Status& status, Console& console) {
  console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

ExitCode New(const CertsArguments& arguments, Console& console) {
  NewCertificates wanted = arguments.create;
  wanted.valid = absl::Hours(24) * arguments.days;
  const absl::Status made = MakeCertificates(arguments.directory, wanted, absl::Now());
  if (!made.ok()) return Refuse(made, console);
  console.out << arguments.directory << ": an authority and a certificate for each role of "
              << wanted.domain << "; give it to programs with --certs " << arguments.directory
              << ", and ca.key to nobody" << std::endl;
  return kOk;
}

ExitCode Show(const CertsArguments& arguments, Console& console) {
  const absl::Time now = absl::Now();
  const auto all = DescribeCertificates(arguments.directory, now);
  if (!all.ok()) return Refuse(all.status(), console);
  std::vector<std::vector<std::string>> rows;
  bool sound = true;
  for (const CertificateFacts& facts : *all) {
    sound = sound && facts.problem.empty();
    rows.push_back({facts.file, facts.identity.empty() ? facts.issuer : facts.identity,
                    absl::FormatTime("%Y-%m-%d %H:%M", facts.not_after, absl::UTCTimeZone()),
                    absl::StrCat(static_cast<std::int64_t>(
                        std::floor(absl::FDivDuration(facts.not_after - now, absl::Hours(24))))),
                    facts.fingerprint.substr(0, 16),
                    facts.problem.empty() ? "good" : facts.problem});
  }
  console.out << Table({"FILE", "IDENTITY", "GOOD UNTIL (UTC)", ">DAYS", "SHA-256", "STATE"}, rows,
                       console.terminal);
  return sound ? kOk : kBadInput;
}

ExitCode Renew(const CertsArguments& arguments, Console& console) {
  const absl::Time now = absl::Now();
  if (arguments.add_authority && arguments.retire_authorities) {
    return Refuse(absl::InvalidArgumentError(
                      "--add-authority and --retire-authorities are two steps, with a renewal "
                      "between them"),
                  console);
  }
  if (arguments.add_authority) {
    const absl::Status added = AddAuthority(arguments.directory, now);
    if (!added.ok()) return Refuse(added, console);
    console.out << arguments.directory
                << ": a new authority signs from now on, the old one is still trusted; when every "
                   "program has taken that up (2 s on this machine): galen certs renew "
                << arguments.directory << std::endl;
    return kOk;
  }
  if (arguments.retire_authorities) {
    const absl::Status retired = RetireAuthorities(arguments.directory, now);
    if (!retired.ok()) return Refuse(retired, console);
    console.out << arguments.directory << ": only the newest authority is trusted" << std::endl;
    return kOk;
  }
  const absl::StatusOr<int> renewed =
      RenewCertificates(arguments.directory, absl::Hours(24) * arguments.days, now);
  if (!renewed.ok()) return Refuse(renewed.status(), console);
  console.out << arguments.directory << ": " << *renewed
              << " certificates were issued again; running programs load them" << std::endl;
  return kOk;
}

}  // namespace

void DeclareCertificates(CLI::App& command, rpc::SecurityOptions& options) {
  command
      .add_option("--certs", options.directory,
                  "Directory of certificates (galen certs, docs/security.md); none: no TLS, and "
                  "only loopback addresses")
      ->envname("GALEN_CERTS")
      ->type_name("DIR");
  command.add_option("--tls-cert", options.files.certificate, "Instead of --certs: certificate")
      ->type_name("FILE");
  command.add_option("--tls-key", options.files.key, "Instead of --certs: its key")
      ->type_name("FILE");
  command
      .add_option("--tls-ca", options.files.authority,
                  "Instead of --certs: authorities that are trusted")
      ->type_name("FILE");
}

CLI::App* DeclareCerts(CLI::App& app, CertsArguments& arguments) {
  CLI::App* certs = app.add_subcommand("certs", "Certificates for development");
  certs->require_subcommand(1);
  CLI::App* create =
      certs->add_subcommand("new", "Make an authority and a certificate for each role");
  create->add_option("--domain", arguments.create.domain, "Trust domain of the identities")
      ->capture_default_str();
  create
      ->add_option("--node", arguments.create.nodes,
                   "A host whose node executor gets its own certificate; repeatable")
      ->type_name("HOST");
  CLI::App* show = certs->add_subcommand("show", "List the certificates and their expiry");
  CLI::App* renew = certs->add_subcommand("renew", "Issue all certificates again");
  renew->add_flag("--add-authority", arguments.add_authority,
                  "Only add an authority, which signs from now on; the old one remains trusted");
  renew->add_flag("--retire-authorities", arguments.retire_authorities,
                  "Only remove all authorities except the newest");
  for (CLI::App* command : {create, renew}) {
    command->add_option("--days", arguments.days, "Validity of certificates")
        ->check(CLI::Range(0.001, 3650.0))
        ->capture_default_str();
  }
  for (CLI::App* command : {create, show, renew}) {
    command->add_option("directory", arguments.directory, "Directory of the certificates")
        ->required();
  }
  return certs;
}

ExitCode RunCerts(const CLI::App& certs, const CertsArguments& arguments, Console& console) {
  if (certs.got_subcommand("new")) return New(arguments, console);
  if (certs.got_subcommand("show")) return Show(arguments, console);
  return Renew(arguments, console);
}

}  // namespace galen::cli
