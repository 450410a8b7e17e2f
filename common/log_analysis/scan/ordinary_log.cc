#include "common/log_analysis/scan/ordinary_log.h"

namespace galen::log_scan {

absl::string_view OrdinaryLog() {
  return R"([2024-05-01 12:00:00,441] [info] [engine.py:180:forward] [rank 3] step=100, skipped=0, lr=[3e-04], mom=[(0.9, 0.95)]
 iteration 100/ 500000 | consumed samples: 102400 | elapsed time per iteration (ms): 9100.5 | learning rate: 3.0e-04 | global batch size: 1024 | lm loss: 1.88e+00 | loss scale: 1.0 | grad norm: 1.606 | num zeros: 0 | params norm: 2.1 | number of skipped iterations: 0 | number of nan iterations: 0 | throughput per gpu (tflop/s/gpu): 413.7 |
{'loss': 1.9532, 'grad_norm': 0.412, 'learning_rate': 0.0003, 'epoch': 0.31, 'train_loss': 1.9, 'eval_loss': 2.0, 'num_tokens': 9812.0}
node-7:8123:8190 [3] nccl info channel 05/0 : 3[3] -> 4[4] via p2p/cumem/read
node-7:8123:8190 [3] nccl info channel 05/0 : 3[3] -> 4[4] [send] via net/ib/3/gdrdma
node-7:8123:8190 [3] nccl info trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1
[rank3]:i0501 12:00:00.123456 8123 torch/distributed/distributed_c10d.py:3974] [pg id 0 pg guid 0(default_pg) rank 3] processgroupnccl: enqueued allreduce, sequence 1, numel 8192
[default0]:2024-05-01 12:00:00 - datasets.loader - info - worker 13: shard /data/c4/train-00018-of-08192.arrow opened, 53051 documents, cache hit yes
may  1 12:00:00 node-7 kernel: [0.783425] mlx5_core 0000:ba:00.0: pci device enabled
2024-05-01t12:00:00.123 node-7 slurmd[812]: debug: task 3 on cpus 0x0f, step 100.0 in cgroup
/opt/venv/lib/python3.11/site-packages/torch/autograd/graph.py:100: userwarning: an autograd kernel was not registered, this is deprecated; warnings.warn(
saving checkpoint at iteration 100 to /ckpt/run-3/global_step100 in torch_dist format, loading checkpoint shards, model state, optimizer, parameters
info 05-01 12:00:00 [loggers.py:100] engine 000: avg prompt throughput: 100.0 tokens/s, running: 3 reqs, waiting: 0 reqs, gpu kv cache usage: 3.1%, prefix cache hit rate: 10.0%
info: 10.0.0.7:1234 - "post /v1/completions http/1.1" 200 ok; received request
100%|##########| 100/100 [00:10<00:00, 9.8it/s], error rate: 0, errors: 0, failed: 0, status, version, timeout, unknown))";
}

}  // namespace galen::log_scan
