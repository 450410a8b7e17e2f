#ifndef TESTS_TESTING_LLM_SCRIPTED_ENDPOINT_H_
#define TESTS_TESTING_LLM_SCRIPTED_ENDPOINT_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/testing/llm/certificates.h"

namespace galen::testing {

// A request as it came.
struct Recorded {
  int number = 0;      // of the endpoint, from 0
  int connection = 0;  // on which it came, from 0
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// The endpoint's behaviour for a request.
struct Scripted {
  enum class Then {
    kFinish,  // all is sent, and the connection is kept
    kReset,   // the available part of the body is sent, and the connection reset
    kHang,    // the same, and nothing more until the client goes away
    kClose,   // the same, and the connection is closed like after a complete answer
  };
  int code = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string type = "application/json";
  std::string body;
  bool chunked = false;  // no Content-Length; the body comes as one chunk for each of its events
  Then then = Then::kFinish;
  bool no_head = false;  // not even a status line, also before a reset or a hang
  std::string raw_head;  // instead of all that, these bytes
};

// A server on a free port of the loopback interface that speaks OpenAI's protocol as the test
// scripts it, and records its requests. It stops when it is destroyed.
class ScriptedEndpoint {
 public:
  using Script = std::function<Scripted(const Recorded&)>;

  // `script` is called on threads of the endpoint, one call at a time.
  explicit ScriptedEndpoint(Script script);
  // The replies in their order; the last one again and again.
  explicit ScriptedEndpoint(std::vector<Scripted> replies);
  // The same with TLS.
  ScriptedEndpoint(Script script, const Certificate& certificate);
  ~ScriptedEndpoint();
  ScriptedEndpoint(const ScriptedEndpoint&) = delete;
  ScriptedEndpoint& operator=(const ScriptedEndpoint&) = delete;

  // "http://127.0.0.1:41233/v1"
  std::string url() const;
  int port() const { return port_; }
  std::vector<Recorded> requests() const;
  // Waits until `count` requests have come.
  void WaitForRequests(std::size_t count) const;

 private:
  class Stream;
  struct Context;

  void Listen();
  void Accept();
  void Serve(int socket, int connection);
  // Reads and answers one request. False when the connection is over.
  bool ServeOne(Stream& stream, std::string& buffer, int connection);

  const std::unique_ptr<Context> context_;
  const Script script_;
  int listener_ = -1;
  int port_ = 0;
  int stop_read_ = -1;  // readable once the endpoint stops
  int stop_write_ = -1;
  mutable std::mutex mu_;
  mutable std::condition_variable changed_;
  std::vector<Recorded> requests_;        // guarded by mu_
  std::vector<std::thread> connections_;  // guarded by mu_
  std::thread acceptor_;
};

// Replies.
struct Tokens {
  int prompt = 100;
  int cached = 0;
  int completion = 10;
};
Scripted ChatReply(const std::string& text, const Tokens& tokens = {});
// The same, streamed: one event for each piece.
Scripted StreamReply(const std::vector<std::string>& pieces, const Tokens& tokens = {});
Scripted ErrorReply(int code, const std::string& message);
Scripted Throttled(const std::string& retry_after);
Scripted Hang();
// The beginning of a streamed answer, and then a reset connection.
Scripted ResetMidStream();
// `bytes` of an answer; its size is announced, or not.
Scripted HugeReply(std::size_t bytes, bool announced);
Scripted NotUtf8();
Scripted EmbeddingReply(const std::vector<std::vector<float>>& vectors);
Scripted ModelsReply(const std::vector<std::string>& names);

}  // namespace galen::testing

#endif  // TESTS_TESTING_LLM_SCRIPTED_ENDPOINT_H_
