#ifndef TESTS_TESTING_REDIS_REDIS_SERVER_H_
#define TESTS_TESTING_REDIS_REDIS_SERVER_H_

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/store/redis/link.h"

namespace galen::testing {

// A port of the loopback interface on which nothing listens now.
int FreePort();

// Waits until `condition` holds; gives up, with false, only after a time no working machine needs.
bool Eventually(const std::function<bool()>& condition);

// A directory of its own below the temporary one, removed at the end.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A real redis-server on loopback; it dies with the thread that started it.
class RedisServer {
 public:
  struct Options {
    std::vector<std::string> arguments;  // in addition to port, bind and dir
    bool sentinel = false;
    std::string configuration;  // content of its file, which a sentinel needs
    absl::Duration slow_sync;   // its disk takes that much longer for each fsync
  };
  // Starts it and waits until it answers.
  explicit RedisServer(Options options);
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const { return port_; }
  std::string url() const;
  store::redis::Address address() const { return {"127.0.0.1", port_}; }
  const std::string& directory() const { return directory_.path(); }

  void Kill(int signal = SIGKILL);  // and waits for its end
  void Signal(int signal);          // SIGSTOP, SIGCONT
  void Start();                     // again, on the same port and directory

  // One command, as user default. An error of Redis or of the connection fails the test.
  store::redis::Reply Ask(std::vector<std::string> words);
  // The same, where an error is an answer as well.
  store::redis::Reply Try(std::vector<std::string> words);
  // The value after "key:" in a line of INFO.
  std::string Info(absl::string_view key);

 private:
  const Options options_;
  const int port_;
  const ScratchDirectory directory_;
  pid_t pid_ = -1;
  std::unique_ptr<store::redis::Link> link_;
};

// One master with one replica and three sentinels, which fail over after half a second.
class RedisSentinels {
 public:
  RedisSentinels();
  std::string url() const;
  RedisServer& master();  // by the sentinels' present answer
  RedisServer& replica();

 private:
  std::unique_ptr<RedisServer> servers_[2];
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

// Three masters that share the slots.
class RedisCluster {
 public:
  RedisCluster();
  std::string url() const;
  RedisServer& node(int i) { return *nodes_[static_cast<std::size_t>(i)]; }
  int OwnerOf(int slot);
  std::string IdOf(int node);

 private:
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_REDIS_REDIS_SERVER_H_
