#include "tests/testing/redis/redis_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"

namespace galen::testing {

using store::redis::Link;
using store::redis::Reply;

int FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(listener);
  return ntohs(address.sin_port);
}

bool Eventually(const std::function<bool()>& condition) {
  const absl::Time end = absl::Now() + absl::Seconds(50);
  while (absl::Now() < end) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return false;
}

ScratchDirectory::ScratchDirectory() {
  std::string pattern = absl::StrCat(::testing::TempDir(), "galen_redis_XXXXXX");
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

RedisServer::RedisServer(Options options) : options_(std::move(options)), port_(FreePort()) {
  Start();
}

RedisServer::~RedisServer() {
  link_.reset();
  Kill();
}

std::string RedisServer::url() const { return absl::StrCat("redis://127.0.0.1:", port_); }

void RedisServer::Start() {
  const std::string configuration = absl::StrCat(directory(), "/redis.conf");
  if (!std::filesystem::exists(configuration)) {
    std::ofstream(configuration) << options_.configuration;
  }
  std::vector<std::string> words = {"redis-server", configuration,
                                    "--port",       absl::StrCat(port_),
                                    "--bind",       "127.0.0.1",
                                    "--dir",        directory(),
                                    "--logfile",    absl::StrCat(directory(), "/log")};
  for (const std::string& word : options_.arguments) words.push_back(word);
  if (options_.sentinel) words.push_back("--sentinel");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables;
  if (options_.slow_sync > absl::ZeroDuration()) {
    variables.push_back("LD_PRELOAD=" SLOW_FSYNC);
    variables.push_back(
        absl::StrCat("SLOW_FSYNC_US=", absl::ToInt64Microseconds(options_.slow_sync)));
  }
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.push_back(*variable);
  }
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    execvpe(argv[0], argv.data(), environment.data());
    _exit(127);
  }
  ASSERT_GT(pid_, 0);
  ASSERT_TRUE(Eventually([this] {
    EXPECT_EQ(waitpid(pid_, nullptr, WNOHANG), 0) << "redis-server ended at its start";
    const Reply pong = Try({"PING"});
    return !pong.IsError() || absl::StrContains(pong.text, "NOAUTH");
  })) << "redis-server does not answer";
}

void RedisServer::Signal(int signal) { kill(pid_, signal); }

void RedisServer::Kill(int signal) {
  if (pid_ <= 0) return;
  kill(pid_, signal);
  kill(pid_, SIGCONT);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Reply RedisServer::Try(std::vector<std::string> words) {
  if (link_ == nullptr) {
    Link::Options options;
    options.answer = absl::Seconds(20);
    link_ = std::make_unique<Link>(address(), options);
  }
  absl::StatusOr<Reply> reply = link_->Ask({std::move(words)});
  if (reply.ok()) return *std::move(reply);
  Reply error;
  error.type = Reply::Type::kError;
  error.text = std::string(reply.status().message());
  return error;
}

Reply RedisServer::Ask(std::vector<std::string> words) {
  const std::string first = words.front();
  Reply reply = Try(std::move(words));
  EXPECT_FALSE(reply.IsError()) << first << ": " << reply.text;
  return reply;
}

std::string RedisServer::Info(absl::string_view key) {
  const Reply info = Try({"INFO", "everything"});
  for (absl::string_view line : absl::StrSplit(info.text, '\n')) {
    if (absl::ConsumePrefix(&line, absl::StrCat(key, ":"))) {
      return std::string(absl::StripAsciiWhitespace(line));
    }
  }
  return "";
}

RedisSentinels::RedisSentinels() {
  servers_[0] = std::make_unique<RedisServer>(RedisServer::Options{{"--appendonly", "yes"}});
  servers_[1] = std::make_unique<RedisServer>(
      RedisServer::Options{{"--appendonly", "yes", "--replicaof", "127.0.0.1",
                            absl::StrCat(servers_[0]->port()), "--repl-diskless-sync-delay", "0"}});
  EXPECT_TRUE(Eventually([this] { return servers_[1]->Info("master_link_status") == "up"; }));
  for (int i = 0; i < 3; ++i) {
    sentinels_.push_back(std::make_unique<RedisServer>(
        RedisServer::Options{{},
                             /*sentinel=*/true,
                             absl::StrCat("sentinel monitor main 127.0.0.1 ", servers_[0]->port(),
                                          " 2\n", "sentinel down-after-milliseconds main 500\n",
                                          "sentinel failover-timeout main 1500\n")}));
    // By default these take some ten seconds: how often a sentinel polls and publishes.
    sentinels_.back()->Ask({"SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "200",
                            "ASK-PERIOD", "100", "ELECTION-TIMEOUT", "1000",
                            "MIN-LINK-RECONNECT-PERIOD", "200"});
  }
  // Before they know each other and the replica, they cannot fail over.
  for (const auto& sentinel : sentinels_) {
    EXPECT_TRUE(Eventually([&sentinel] {
      const Reply others = sentinel->Try({"SENTINEL", "SENTINELS", "main"});
      const Reply replicas = sentinel->Try({"SENTINEL", "REPLICAS", "main"});
      return others.elements.size() == 2 && replicas.elements.size() == 1;
    }));
  }
}

std::string RedisSentinels::url() const {
  std::string addresses;
  for (const auto& sentinel : sentinels_) {
    absl::StrAppend(&addresses, addresses.empty() ? "" : ",", "127.0.0.1:", sentinel->port());
  }
  return absl::StrCat("redis+sentinel://", addresses, "/main");
}

RedisServer& RedisSentinels::master() {
  const Reply where = sentinels_[0]->Ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"});
  const bool first =
      where.HasTexts(2) && where.elements[1].text == absl::StrCat(servers_[0]->port());
  return *servers_[first ? 0 : 1];
}

RedisServer& RedisSentinels::replica() {
  return &master() == servers_[0].get() ? *servers_[1] : *servers_[0];
}

RedisCluster::RedisCluster() {
  for (int i = 0; i < 3; ++i) {
    nodes_.push_back(std::make_unique<RedisServer>(RedisServer::Options{
        {"--appendonly", "yes", "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
         "--cluster-port", absl::StrCat(FreePort()), "--cluster-node-timeout", "2000"}}));
  }
  for (int i = 0; i < 3; ++i) {
    const int first = i * 5462;
    nodes_[static_cast<std::size_t>(i)]->Ask({"CLUSTER", "ADDSLOTSRANGE", absl::StrCat(first),
                                              absl::StrCat(i == 2 ? 16383 : first + 5461)});
    node(i).Ask({"CLUSTER", "SET-CONFIG-EPOCH", absl::StrCat(i + 1)});
  }
  for (int i = 1; i < 3; ++i) {
    const Reply bus = node(i).Ask({"CONFIG", "GET", "cluster-port"});
    node(0).Ask(
        {"CLUSTER", "MEET", "127.0.0.1", absl::StrCat(node(i).port()), bus.elements.at(1).text});
  }
  EXPECT_TRUE(Eventually([this] {
    for (const auto& node : nodes_) {
      const std::string info = node->Try({"CLUSTER", "INFO"}).text;
      if (!absl::StrContains(info, "cluster_state:ok") ||
          !absl::StrContains(info, "cluster_known_nodes:3")) {
        return false;
      }
    }
    return true;
  }));
}

std::string RedisCluster::url() const {
  return absl::StrCat("redis+cluster://127.0.0.1:", nodes_[0]->port());
}

std::string RedisCluster::IdOf(int i) { return node(i).Ask({"CLUSTER", "MYID"}).text; }

int RedisCluster::OwnerOf(int slot) {
  const Reply slots = node(0).Ask({"CLUSTER", "SLOTS"});
  for (const Reply& range : slots.elements) {
    if (slot < range.elements[0].integer || slot > range.elements[1].integer) continue;
    for (int i = 0; i < 3; ++i) {
      if (range.elements[2].elements[1].integer == node(i).port()) return i;
    }
  }
  ADD_FAILURE() << "nobody has slot " << slot;
  return 0;
}

}  // namespace galen::testing
