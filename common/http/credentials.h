#ifndef COMMON_HTTP_CREDENTIALS_H_
#define COMMON_HTTP_CREDENTIALS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/curl_transport.h"
#include "common/http/secret.h"

namespace galen::http {

// Headers that a server wants with each request, beside the key. Their values may be secrets.
using Headers = std::vector<std::pair<std::string, Secret>>;

// A caller's key and further headers.
struct Credentials {
  std::string key_header = "Authorization: Bearer ";  // see Options
  Secret key;
  Headers headers;
};

// Reads them from files. `key_file` ("": none) holds the value of the Authorization header:
// "Bearer x", "Basic x", or x alone, which is a bearer's. `headers_file` ("": none) holds a header
// on each line: "X-Scope-OrgID: team-a"; empty lines and those with # at the beginning are left
// out. INVALID_ARGUMENT, or the error of the file; messages begin with `what`.
absl::StatusOr<Credentials> ReadCredentials(absl::string_view what, const std::string& key_file,
                                            const std::string& headers_file);

// The headers of a text, as above. `file` is for messages.
absl::StatusOr<Headers> ParseHeaders(absl::string_view text, absl::string_view file);

// Files that a server's credentials are read from; "": none.
struct CredentialFiles {
  std::string key;
  std::string headers;
};

// The files of `servers` servers, as options name them: the first file is of the first server, and
// so on; "none", or "", stands for no file. INVALID_ARGUMENT: there are files, but not one for each
// server, so that a key might go to another one. `key_option` and `headers_option` name the
// options.
absl::StatusOr<std::vector<CredentialFiles>> PairFiles(
    std::size_t servers, const std::vector<std::string>& key_files,
    const std::vector<std::string>& headers_files, absl::string_view key_option,
    absl::string_view headers_option);

// INVALID_ARGUMENT: `url` is not the http(s) address of a host, has a user in it or more than a
// path, or a secret would be sent to another machine without encryption.
absl::Status CheckServer(absl::string_view what, absl::string_view url, const Secret& key,
                         const Headers& headers);

// `text` without the key and the headers' values: for messages.
std::string WithoutSecrets(absl::string_view text, const Secret& key, const Headers& headers);

// Adds the headers to a request.
void AddHeaders(const Headers& headers, Request& request);

// `text` for the query of an address: all but letters, digits and -_.~ is escaped.
std::string Escaped(absl::string_view text);

}  // namespace galen::http

#endif  // COMMON_HTTP_CREDENTIALS_H_
