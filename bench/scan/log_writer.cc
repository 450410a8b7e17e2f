#include "bench/scan/log_writer.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace galen::bench {
namespace {

// A small generator whose numbers are the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t Below(std::uint64_t bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ >> 33) % bound;
  }

 private:
  std::uint64_t state_;
};

class Writer {
 public:
  Writer(const LogShape& shape, const std::vector<std::string>& messages)
      : shape_(shape), messages_(messages), random_(shape.seed) {}

  // Appends the next line to `text`.
  void Line(std::string& text) {
    ++line_;
    if (random_.Below(40) == 0) now_ += absl::Milliseconds(7);
    const bool colour = shape_.colour_every > 0 && line_ % shape_.colour_every == 0;
    if (colour) text += "\x1b[36m(RayTrainWorker pid=81234, ip=10.0.3.17)\x1b[0m ";
    if (shape_.message_every > 0 && !messages_.empty() && line_ % shape_.message_every == 0) {
      Message(text);
    } else {
      Harmless(text);
    }
    if (shape_.carriage_every > 0 && line_ % shape_.carriage_every == 0) text += '\r';
    text += '\n';
  }

 private:
  std::string Host() { return absl::StrFormat("gpu-node-%03d", random_.Below(64)); }
  std::string Clock(const char* form) { return absl::FormatTime(form, now_, absl::UTCTimeZone()); }

  void Message(std::string& text) {
    const std::string& message = messages_[random_.Below(messages_.size())];
    absl::StrAppend(&text, "[rank", random_.Below(512), "]: ", Clock("%Y-%m-%d %H:%M:%E3S"), " ",
                    Host(), " ", message, "\n", "[rank", random_.Below(512),
                    "]:   File \"/opt/train/pretrain.py\", line ", random_.Below(900));
  }

  // In the shares that a large job's merged log has them.
  void Harmless(std::string& text) {
    const std::uint64_t kind = random_.Below(100);
    const std::uint64_t rank = random_.Below(512);
    if (kind < 34) {
      absl::StrAppendFormat(
          &text,
          " [%s] iteration %8d/ 500000 | consumed samples: %12d | elapsed time per iteration "
          "(ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: %.6E | global "
          "batch size: 1024 | lm loss: %.6E | loss scale: 1.0 | grad norm: %.3f | number of "
          "skipped iterations:   0 | number of nan iterations:   0 |",
          Clock("%Y-%m-%d %H:%M:%S"), line_ / 9, line_ * 113, 9000 + random_.Below(4000) / 10.0,
          400 + random_.Below(500) / 10.0, 3e-4, 1.5 + random_.Below(9999) / 1e4,
          random_.Below(2000) / 1e3);
    } else if (kind < 38) {
      absl::StrAppendFormat(
          &text, "%s:%d:%d [%d] NCCL INFO Channel %02d/%d : %d[%d] -> %d[%d] %s", Host(),
          7000 + random_.Below(3000), 9000 + random_.Below(3000), rank % 8, random_.Below(32),
          random_.Below(2), rank, rank % 8, (rank + 1) % 512, (rank + 1) % 8,
          random_.Below(2) == 0 ? "via P2P/CUMEM/read" : "[send] via NET/IB/3/GDRDMA");
    } else if (kind < 40) {
      absl::StrAppendFormat(
          &text, "%s:%d:%d [%d] NCCL INFO Trees [0] %d/-1/-1->%d->%d [1] %d/-1/-1->%d->%d", Host(),
          7000 + random_.Below(3000), 9000 + random_.Below(3000), rank % 8, rank + 1, rank,
          rank / 2, rank + 2, rank, rank / 4);
    } else if (kind < 60) {
      absl::StrAppendFormat(
          &text,
          "[%s,%03d] [INFO] [engine.py:%d:forward] [rank %d] step=%d, skipped=0, lr=[3e-04], "
          "mom=[(0.9, 0.95)] | fwd %.2f ms | bwd %.2f ms | allreduce %.2f ms | tokens/s %.1f",
          Clock("%Y-%m-%d %H:%M:%S"), random_.Below(1000), 100 + random_.Below(900), rank,
          line_ / 7, random_.Below(90000) / 100.0, random_.Below(90000) / 100.0,
          random_.Below(9000) / 100.0, 9000 + random_.Below(9999) / 10.0);
    } else if (kind < 74) {
      absl::StrAppendFormat(&text,
                            "[default%d]:%s - datasets.loader - INFO - worker %d: shard "
                            "/data/c4/train-%05d-of-08192.arrow opened, %d documents, cache hit %s",
                            rank % 8, Clock("%Y-%m-%d %H:%M:%E3S"), random_.Below(16),
                            random_.Below(8192), random_.Below(100000),
                            random_.Below(3) == 0 ? "no" : "yes");
    } else if (kind < 85) {
      absl::StrAppendFormat(&text,
                            "[rank%d]:I%s %d torch/distributed/distributed_c10d.py:%d] "
                            "[PG ID 0 PG GUID 0(default_pg) Rank %d] ProcessGroupNCCL: enqueued "
                            "ALLREDUCE, sequence %d, numel %d",
                            rank, Clock("%m%d %H:%M:%E6S"), 80000 + random_.Below(9999),
                            random_.Below(4000), rank, line_ / 3, 1 << random_.Below(26));
    } else if (kind < 90) {
      absl::StrAppendFormat(&text,
                            "%s %s kernel: [%d.%06d] mlx5_core 0000:%02x:00.0: mlx5_crdump: dump "
                            "collected, %d bytes",
                            Clock("%b %e %H:%M:%S"), Host(), line_ / 11, random_.Below(1000000),
                            random_.Below(256), random_.Below(65536));
    } else if (kind < 93) {
      absl::StrAppendFormat(
          &text, "%s %s slurmd[%d]: debug:  task %d on cpus 0x%012x, step %d.0 in cgroup",
          Clock("%Y-%m-%dT%H:%M:%E3S"), Host(), random_.Below(30000), rank,
          random_.Below(std::uint64_t{1} << 30), 100000 + random_.Below(5000));
    } else if (kind < 96) {
      absl::StrAppendFormat(&text,
                            "/opt/venv/lib/python3.11/site-packages/torch/autograd/graph.py:%d: "
                            "UserWarning: c10d::broadcast_: an autograd kernel was not registered "
                            "to the Autograd key(s), but we are trying to backprop through it.",
                            random_.Below(900));
    } else if (kind < 98) {
      absl::StrAppendFormat(&text,
                            "saving checkpoint at iteration %7d to /ckpt/run-%d/global_step%d in "
                            "torch_dist format, rank %d wrote %.2f GiB in %.1f s",
                            line_ / 9, random_.Below(20), line_ / 9, rank,
                            random_.Below(9000) / 100.0, random_.Below(900) / 10.0);
    } else {
      absl::StrAppendFormat(&text, "  %3d%%|%s| %d/100000 [%02d:%02d<%02d:%02d, %.2fit/s]",
                            random_.Below(100), std::string(random_.Below(20), '#'),
                            random_.Below(100000), random_.Below(60), random_.Below(60),
                            random_.Below(60), random_.Below(60), random_.Below(900) / 100.0);
    }
  }

  const LogShape& shape_;
  const std::vector<std::string>& messages_;
  Random random_;
  std::int64_t line_ = 0;
  absl::Time now_ = absl::FromCivil(absl::CivilSecond(2026, 5, 1, 12, 0, 0), absl::UTCTimeZone());
};

}  // namespace

absl::Status WriteLog(const std::string& path, const LogShape& shape,
                      const std::vector<std::string>& messages) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                             &std::fclose);
  if (file == nullptr) {
    return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  Writer writer(shape, messages);
  std::string text;
  for (std::int64_t written = 0; written < shape.bytes;) {
    text.clear();
    while (text.size() < (1 << 20) &&
           written + static_cast<std::int64_t>(text.size()) < shape.bytes) {
      writer.Line(text);
    }
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) {
      return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
    }
    written += static_cast<std::int64_t>(text.size());
  }
  return absl::OkStatus();
}

}  // namespace galen::bench
