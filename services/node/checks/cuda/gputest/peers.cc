#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/node/checks/cuda/gputest/gpu.h"
#include "services/node/checks/cuda/gputest/report.h"
#include "services/node/checks/cuda/gputest/tests.h"

namespace galen::node::cuda {
namespace {

// A copy of one buffer; over PCIe the largest takes less than a second.
constexpr double kCopyLimit = 10;
// How often it is said at most that copies go on, each of which may take its limit.
constexpr double kSayEvery = 0.25;
constexpr unsigned kSeed = 31;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

struct Peer {
  std::unique_ptr<Gpu> gpu;
  CuPointer buffer = 0;
  CuPointer found = 0;
};

std::uint64_t WrongWords(Peer& peer, std::uint64_t bytes, unsigned seed) {
  DeviceMismatches found = {};
  peer.gpu->MakeCurrent();
  peer.gpu->ToDevice(peer.found, &found, sizeof(found));
  peer.gpu->CheckPattern(peer.buffer, bytes, kRandom, seed, peer.buffer, false, peer.found);
  peer.gpu->FromDevice(&found, peer.found, sizeof(found));
  peer.gpu->Wait("checking what arrived", kCopyLimit);
  return found.count;
}

// Fills both ends with different data, copies, checks what arrived.
void TestPair(const CudaApi& api, Peer& from, Peer& to, const std::string& name,
              std::uint64_t bytes, unsigned repeats, bool& access, double& rate,
              std::uint64_t& wrong) {
  int can = 0;
  from.gpu->Require("cuDeviceCanAccessPeer",
                    api.DeviceCanAccessPeer(&can, from.gpu->device(), to.gpu->device()));
  access = can != 0;
  from.gpu->MakeCurrent();
  if (access) {
    const int code = api.CtxEnablePeerAccess(to.gpu->context(), 0);
    if (code != kCudaPeerAccessAlreadyEnabled) from.gpu->Require("cuCtxEnablePeerAccess", code);
  }
  to.gpu->MakeCurrent();
  to.gpu->WritePattern(to.buffer, bytes, kRandom + kInverted, kSeed, to.buffer);
  to.gpu->Wait("filling the target", kCopyLimit);
  from.gpu->MakeCurrent();
  from.gpu->WritePattern(from.buffer, bytes, kRandom, kSeed, from.buffer);
  from.gpu->Wait("filling the source", kCopyLimit);
  std::vector<double> rates;
  double said = Now();
  for (unsigned i = 0; i < repeats + 1; ++i) {
    if (Now() - said >= kSayEvery * std::min(1.0, Patience())) {
      SayStep(kCopyLimit * 2, "pair " + name);
      said = Now();
    }
    const double taken = from.gpu->Time("copy " + name, kCopyLimit, [&] {
      from.gpu->Require("cuMemcpyPeerAsync",
                        api.MemcpyPeerAsync(to.buffer, to.gpu->context(), from.buffer,
                                            from.gpu->context(), bytes, from.gpu->stream()));
    });
    // The first one maps what the others use.
    if (i > 0) rates.push_back(static_cast<double>(bytes) / std::max(taken, 1e-6) / 1e9);
  }
  std::sort(rates.begin(), rates.end());
  rate = rates[rates.size() / 2];
  SayStep(kCopyLimit * 2, "pair " + name);
  wrong = WrongWords(to, bytes, kSeed);
  // Over PCIe a context has room for the access to eight others.
  if (access) {
    from.gpu->MakeCurrent();
    from.gpu->Require("cuCtxDisablePeerAccess", api.CtxDisablePeerAccess(to.gpu->context()));
  }
}

}  // namespace

void TestPeers(const Options& options) {
  const std::vector<std::string> addresses = options.List("gpus");
  const std::vector<std::string> skipped = options.List("skip");
  const std::set<std::string> skip(skipped.begin(), skipped.end());
  const std::uint64_t bytes = options.Count("mib") * kMebibyte;
  const unsigned repeats = std::max(1U, options.Count("repeats"));
  CudaApi api;
  LoadAndInit(api);
  std::vector<Peer> peers;
  for (const std::string& address : addresses) {
    Peer peer;
    peer.gpu = std::make_unique<Gpu>(api, address);
    peer.buffer = peer.gpu->Allocate(bytes);
    peer.found = peer.gpu->Allocate(sizeof(DeviceMismatches));
    peers.push_back(std::move(peer));
  }
  const std::size_t pairs = peers.size() * (peers.size() - 1);
  std::size_t done = 0;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    for (std::size_t j = 0; j < peers.size(); ++j) {
      if (i == j) continue;
      ++done;
      const std::string name = std::to_string(i) + "-" + std::to_string(j);
      if (skip.contains(name)) continue;
      SayStep(kCopyLimit * 2, "pair " + name);
      SayProgress(static_cast<double>(done - 1) / static_cast<double>(pairs), "pair " + name);
      Say("@begin", {{"from", std::to_string(i)}, {"to", std::to_string(j)}});
      bool access = false;
      double rate = 0;
      std::uint64_t wrong = 0;
      TestPair(api, peers[i], peers[j], name, bytes, repeats, access, rate, wrong);
      Say("@pair", {{"from", std::to_string(i)},
                    {"to", std::to_string(j)},
                    {"access", access ? "1" : "0"},
                    {"gb_s", Text(rate)},
                    {"wrong", Text(wrong)}});
    }
  }
}

}  // namespace galen::node::cuda
