#include "common/store/redis/link.h"

#include <hiredis/async.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/text.h"
#include "common/store/redis/bounded_reader.h"

namespace galen::store::redis {
namespace {

constexpr absl::Duration kFirstReconnectPause = absl::Milliseconds(10);
constexpr absl::Duration kLongestReconnectPause = absl::Milliseconds(500);

}  // namespace

// The thread's own side: everything here belongs to it.
class Link::Loop {
 public:
  explicit Loop(Link& link) : link_(link), reader_(std::nullopt) {}

  void Run() {
    // hiredis writes with write(2): without this a server that hung up would end the process.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (;;) {
      std::vector<Queued> taken;
      bool stopping = false;
      {
        MutexLock lock(link_.mu_);
        taken.swap(link_.queue_);
        stopping = link_.stopping_;
      }
      if (!taken.empty()) Take(std::move(taken));
      if (stopping) break;
      Poll();
    }
    Drop(absl::UnavailableError(absl::StrCat(Name(), ": this process shuts down")));
  }

 private:
  using Done = absl::AnyInvocable<void(absl::StatusOr<Reply>) &&>;
  struct Sent {
    Done done;
    absl::Time deadline;
  };
  // Writes of one batch: stored by the server, and not yet known to be with its replicas.
  struct Unconfirmed {
    std::vector<std::pair<Answer, Reply>> writes;
  };

  std::string Name() const { return ToString(link_.address_); }

  void Take(std::vector<Queued> taken) {
    if (context_ == nullptr && absl::Now() >= next_attempt_) Connect();
    if (context_ == nullptr) {
      for (Queued& queued : taken) std::move(queued.answer)(failure_);
    } else if (ready_) {
      Write(std::move(taken));
    } else {
      for (Queued& queued : taken) held_.push_back(std::move(queued));
    }
  }

  void Connect() {
    failure_ = absl::OkStatus();
    redisAsyncContext* context =
        redisAsyncConnect(link_.address_.host.c_str(), link_.address_.port);
    if (context == nullptr || context->err != 0) {
      NoteFailure(Broken(context == nullptr ? "out of memory" : context->errstr));
      if (context != nullptr) redisAsyncFree(context);
      return;
    }
    context_ = context;
    reader_.emplace(link_.options_.limits, [this] { return !sent_.empty(); });
    reader_->InstallIn(*context->c.reader);
    redisEnableKeepAlive(&context->c);
    context->data = this;
    context->ev.data = this;
    context->ev.addRead = [](void* loop) { static_cast<Loop*>(loop)->want_read_ = true; };
    context->ev.delRead = [](void* loop) { static_cast<Loop*>(loop)->want_read_ = false; };
    context->ev.addWrite = [](void* loop) { static_cast<Loop*>(loop)->want_write_ = true; };
    context->ev.delWrite = [](void* loop) { static_cast<Loop*>(loop)->want_write_ = false; };
    context->ev.cleanup = [](void* loop) { static_cast<Loop*>(loop)->context_ = nullptr; };
    want_read_ = want_write_ = false;
    redisAsyncSetConnectCallback(context, [](const redisAsyncContext*, int) {});
    ready_ = false;
    Greet();
  }

  // Nothing else is sent before the server has accepted all of this: a command must not run as
  // another user or in another database.
  void Greet() {
    const Options& options = link_.options_;
    if (!options.password.empty()) {
      std::vector<std::string> words = {"AUTH"};
      if (!options.user.empty()) words.push_back(options.user);
      words.push_back(options.password);
      Push(words, [this](absl::StatusOr<Reply> reply) {
        if (!reply.ok() || !reply->IsError()) return;
        Refuse(absl::PermissionDeniedError(absl::StrCat(
            Name(), ": Redis refuses user \"",
            link_.options_.user.empty() ? "default" : link_.options_.user,
            "\": ", CleanText(reply->text, 200), ": check user and password of --store")));
      });
    }
    if (options.database != 0) {
      Push({"SELECT", absl::StrCat(options.database)}, [this](absl::StatusOr<Reply> reply) {
        if (!reply.ok() || !reply->IsError()) return;
        Refuse(absl::FailedPreconditionError(absl::StrCat(
            Name(), ": database ", link_.options_.database, ": ", CleanText(reply->text, 200))));
      });
    }
    // A last word that every server answers says that all before it were.
    const bool role = options.must_be_master;
    Push({role ? "ROLE" : "PING"}, [this, role](absl::StatusOr<Reply> reply) {
      if (!reply.ok() || !failure_.ok()) return;
      if (role && !(reply->HasTexts(1) && reply->elements[0].text == "master")) {
        return Refuse(absl::UnavailableError(
            absl::StrCat(Name(), ": is not a master ",
                         reply->IsError() ? CleanText(reply->text, 200) : "(any more)")));
      }
      if (reply->IsError() && absl::StartsWith(reply->text, "NOAUTH")) {
        return Refuse(absl::PermissionDeniedError(
            absl::StrCat(Name(), ": Redis wants a user and a password: name them in --store")));
      }
      ready_ = true;
    });
  }

  void Refuse(absl::Status status) {
    if (failure_.ok()) failure_ = std::move(status);
  }

  void Write(std::vector<Queued> batch) {
    const Options& options = link_.options_;
    auto unconfirmed = std::make_shared<Unconfirmed>();
    bool writes = false;
    for (Queued& queued : batch) {
      if (queued.request.asking) Push({"ASKING"}, [](const absl::StatusOr<Reply>&) {});
      if (options.replicas == 0 || !queued.request.write) {
        Push(queued.request.words, std::move(queued.answer));
        continue;
      }
      writes = true;
      Push(queued.request.words,
           [unconfirmed, answer = std::move(queued.answer)](absl::StatusOr<Reply> reply) mutable {
             if (!reply.ok() || reply->IsError()) return std::move(answer)(std::move(reply));
             unconfirmed->writes.emplace_back(std::move(answer), *std::move(reply));
           });
    }
    if (!writes) return;
    // One for all of them: it speaks of everything that this connection wrote before it.
    Push({"WAIT", absl::StrCat(options.replicas),
          absl::StrCat(absl::ToInt64Milliseconds(options.answer / 2))},
         [this, unconfirmed](absl::StatusOr<Reply> reply) {
           const bool enough =
               reply.ok() && reply->IsInteger() && reply->integer >= link_.options_.replicas;
           const std::int64_t have = reply.ok() && reply->IsInteger() ? reply->integer : 0;
           for (auto& [answer, stored] : unconfirmed->writes) {
             if (enough) {
               std::move(answer)(std::move(stored));
             } else {
               std::move(answer)(absl::UnavailableError(
                   absl::StrCat(Name(), ": the write reached ", have, " replicas of the ",
                                link_.options_.replicas, " that --store asks for")));
             }
           }
         });
  }

  void Push(const std::vector<std::string>& words, Done done) {
    std::vector<const char*> starts;
    std::vector<std::size_t> sizes;
    starts.reserve(words.size());
    sizes.reserve(words.size());
    for (const std::string& word : words) {
      starts.push_back(word.data());
      sizes.push_back(word.size());
    }
    sent_.push_back({std::move(done), absl::Now() + link_.options_.answer});
    const int code = context_ == nullptr ? REDIS_ERR
                                         : redisAsyncCommandArgv(context_, &OnReply, nullptr,
                                                                 static_cast<int>(words.size()),
                                                                 starts.data(), sizes.data());
    if (code == REDIS_OK) return;
    Done refused = std::move(sent_.back().done);
    sent_.pop_back();
    std::move(refused)(Broken("the connection is closing"));
  }

  static void OnReply(redisAsyncContext* context, void* parsed, void*) {
    Loop& self = *static_cast<Loop*>(context->data);
    if (self.sent_.empty()) return;  // a reply that nobody asked for
    Done done = std::move(self.sent_.front().done);
    self.sent_.pop_front();
    if (parsed != nullptr) {
      self.failures_ = 0;
      return std::move(done)(ToReply(*static_cast<redisReply*>(parsed)));
    }
    if (self.failure_.ok() && self.reader_->Exceeded(*context->c.reader)) {
      self.failure_ = self.TooLarge();
    } else if (self.failure_.ok()) {
      const bool said = context->errstr != nullptr && context->errstr[0] != '\0';
      self.failure_ = self.Broken(said ? context->errstr : "the connection broke");
    }
    std::move(done)(self.failure_);
  }

  absl::Status Broken(absl::string_view fact) const {
    return absl::UnavailableError(
        absl::StrCat(Name(), ": Redis: ", CleanText(std::string(fact), 200)));
  }

  absl::Status TooLarge() const {
    return absl::UnavailableError(absl::StrCat(Name(), ": Redis: an answer of more than ",
                                               link_.options_.limits.bytes, " bytes or ",
                                               link_.options_.limits.elements, " parts: refused"));
  }

  void NoteFailure(absl::Status failure) {
    failure_ = std::move(failure);
    absl::Duration pause = kFirstReconnectPause;
    for (int i = 0; i < failures_ && pause < kLongestReconnectPause; ++i) pause *= 2;
    ++failures_;
    // From half to all of it, so that the clients of a server that came back come one by one.
    pause *= std::uniform_real_distribution<double>(0.5, 1)(random_);
    next_attempt_ = absl::Now() + std::min(pause, kLongestReconnectPause);
  }

  // Handles the end of the connection, by either side.
  void AfterLoss() {
    if (failure_.ok()) failure_ = Broken("the connection broke");
    NoteFailure(failure_);
    ready_ = false;
    std::vector<Queued> held = std::move(held_);
    held_.clear();
    for (Queued& queued : held) std::move(queued.answer)(failure_);
  }

  void Drop(absl::Status reason) {
    if (context_ == nullptr) return;
    failure_ = std::move(reason);
    redisAsyncFree(context_);  // answers what was sent, through OnReply, and clears context_
    AfterLoss();
  }

  void Poll() {
    pollfd files[2] = {{link_.wake_, POLLIN, 0}, {-1, 0, 0}};
    if (context_ != nullptr) {
      files[1].fd = context_->c.fd;
      files[1].events = static_cast<short>((want_read_ ? POLLIN : 0) | (want_write_ ? POLLOUT : 0));
    }
    int timeout = -1;
    if (!sent_.empty()) {
      const absl::Duration left = sent_.front().deadline - absl::Now();
      timeout = static_cast<int>(
          std::clamp<std::int64_t>(absl::ToInt64Milliseconds(left) + 1, 0, 60'000));
    }
    poll(files, 2, timeout);
    if (files[0].revents != 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const ssize_t n = read(link_.wake_, &count, sizeof(count));
    }
    if (context_ == nullptr) return;
    if ((files[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) redisAsyncHandleRead(context_);
    if (context_ != nullptr && reader_->Exceeded(*context_->c.reader)) return Drop(TooLarge());
    if (context_ != nullptr && (files[1].revents & POLLOUT) != 0) redisAsyncHandleWrite(context_);
    if (context_ == nullptr) return AfterLoss();
    if (!failure_.ok()) return Drop(failure_);  // the greeting was refused
    if (!sent_.empty() && sent_.front().deadline <= absl::Now()) {
      return Drop(
          Broken(absl::StrCat("no answer within ", absl::FormatDuration(link_.options_.answer))));
    }
    if (ready_ && !held_.empty()) {
      std::vector<Queued> held = std::move(held_);
      held_.clear();
      Write(std::move(held));
    }
  }

  Link& link_;
  redisAsyncContext* context_ = nullptr;
  std::optional<BoundedReader> reader_;
  bool want_read_ = false;
  bool want_write_ = false;
  bool ready_ = false;        // the greeting was accepted
  std::deque<Sent> sent_;     // in the order in which answers come
  std::vector<Queued> held_;  // until the greeting is accepted
  absl::Status failure_;      // why the connection goes, or went
  int failures_ = 0;          // since the last reply
  absl::Time next_attempt_ = absl::InfinitePast();
  std::minstd_rand random_{std::random_device{}()};
};

Link::Link(Address address, Options options)
    : address_(std::move(address)),
      options_(std::move(options)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Loop(*this).Run(); }) {}

Link::~Link() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof(one));
  thread_.join();
  close(wake_);
}

void Link::Send(Request request, Answer answer) {
  {
    MutexLock lock(mu_);
    queue_.push_back({std::move(request), std::move(answer)});
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_, &one, sizeof(one));
}

absl::StatusOr<Reply> Link::Ask(Request request) {
  struct Slot {
    Mutex mu;
    std::condition_variable changed;
    std::optional<absl::StatusOr<Reply>> reply ABSL_GUARDED_BY(mu);
  };
  const auto slot = std::make_shared<Slot>();
  Send(std::move(request), [slot](absl::StatusOr<Reply> reply) {
    {
      MutexLock lock(slot->mu);
      slot->reply = std::move(reply);
    }
    slot->changed.notify_one();
  });
  MutexLock lock(slot->mu);
  while (!slot->reply.has_value()) slot->mu.Wait(slot->changed);
  return *std::move(slot->reply);
}

}  // namespace galen::store::redis
