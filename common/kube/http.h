#ifndef COMMON_KUBE_HTTP_H_
#define COMMON_KUBE_HTTP_H_

#include "common/http/curl_transport.h"

namespace galen::kube {

using HttpRequest = http::Request;
using HttpReply = http::Reply;
// How requests reach the API server.
using Transport = http::Transport;

}  // namespace galen::kube

#endif  // COMMON_KUBE_HTTP_H_
