"""Galen on a real NVIDIA GPU; skipped where there is none (exit code 77). Needs nothing that is built but galen and galen-gputest."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import galen

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda_program.py")
# Short, so that all of it takes a minute or two.
SECONDS = {"compute_test": 3, "gemm_rate": 1, "hbm_bandwidth": 1, "host_bandwidth": 0.5, "memory_test": 1,
           "stress_power": 10}
SET = [word for check, seconds in SECONDS.items() for word in ("--set", f"gpu.{check}.seconds={seconds}")]


def gpus():
    """How many GPUs CUDA has here."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    if library.cuInit(0) != 0 or library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def checks(*arguments, timeout=600):
    """Results of `galen checks run` by check."""
    run = galen.galen("checks", "run", "--json", *arguments, timeout=timeout)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    if not results:
        raise AssertionError(run.stderr)
    return {result["check"]: result for result in results}


def values(result, names=None):
    """The findings of a result, by device and name."""
    told = {}
    for finding in result.get("findings", []):
        if names is None or finding["name"] in names:
            value = [finding[key] for key in finding if key.endswith("Value")]
            told[finding.get("subject", {}).get("device", "node"), finding["name"]] = value
    return told


def used_mib():
    """What is used of the first GPU's memory, as nvidia-smi says."""
    run = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"],
                         text=True, capture_output=True, check=True)
    return float(run.stdout)


class Holder:
    """Somebody else's program that holds so much memory of the first GPU."""

    def __init__(self, mib):
        self.process = subprocess.Popen([sys.executable, PROGRAM, "hold", str(mib)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != "ready\n":
            raise AssertionError("it holds nothing")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()


class Gpu(unittest.TestCase):
    def until(self, condition, what, limit=10):
        end = time.monotonic() + limit
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def test_the_whole_catalogue_runs_and_the_active_tests_pass(self):
        results = checks("--allow-intrusive", *SET)
        self.assertGreater(len(results), 120)
        self.assertEqual([r for r in results.values() if r["status"] == "ERROR"], [])
        for check in (*SECONDS, "cuda_init"):
            result = results[f"gpu.{check}"]
            self.assertIn(result["status"], ("PASS", "FAIL"), result)
        for check in ("gpu.compute_test", "gpu.memory_test", "gpu.cuda_init"):
            self.assertEqual(results[check]["status"], "PASS", results[check])

    def test_nvml_and_nvidia_smi_tell_the_same(self):
        steady = {"gpu.ecc": None, "gpu.row_remap": None, "gpu.inventory": None, "gpu.firmware": None, "gpu.settings": None,
                  "gpu.inforom": {"corrupted", "image_version"}, "gpu.driver": None, "gpu.power": {"limit_w", "default_limit_w"},
                  "gpu.thermal": {"core_limit_c"}, "gpu.clocks": {"sm_max_mhz", "user_setting_changed"},
                  "gpu.pcie_link": {"gen_max", "width_max", "width_current"}, "gpu.nvlink_status": None}
        live = checks(*steady)
        with tempfile.TemporaryDirectory() as scratch:
            run = galen.galen("bundle", "capture", f"{scratch}/bundle", "--description", "a comparison")
            self.assertEqual(run.returncode, 0, run.stderr)
            captured = checks("--bundle", f"{scratch}/bundle", *steady)
        for check, names in steady.items():
            self.assertEqual(live[check]["status"], captured[check]["status"], (live[check], captured[check]))
            self.assertEqual(values(live[check], names), values(captured[check], names), check)

    def test_a_gpu_that_another_process_uses_is_refused_unless_that_is_allowed(self):
        with Holder(2048) as holder:
            refused = checks("gpu.memory_test", "--allow-intrusive", *SET)["gpu.memory_test"]
            self.assertEqual(refused["status"], "SKIPPED", refused)
            self.assertIn(str(holder.process.pid), refused["message"])
            processes = values(checks("gpu.processes")["gpu.processes"])
            self.assertEqual(processes["gpu:0", "processes_per_gpu"], ["1"])
            self.assertGreater(processes["gpu:0", "memory_used_mib"][0], 2000)
            allowed = checks("gpu.memory_test", "--allow-intrusive", "--allow-busy", *SET)["gpu.memory_test"]
            self.assertEqual(allowed["status"], "PASS", allowed)
            self.assertIsNone(holder.process.poll())

    def test_a_test_that_is_cancelled_leaves_nothing_behind(self):
        before = used_mib()
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            process = subprocess.Popen([f"{galen.BIN}/galen", "checks", "run", "gpu.memory_test", "--allow-intrusive", "--set",
                                        "gpu.memory_test.seconds=100"], cwd=galen.ROOT, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.addCleanup(process.kill)
            self.until(lambda: used_mib() > before + 4096, "the test takes memory", 30)
            began = time.monotonic()
            process.send_signal(sig)
            process.wait(10)
            self.until(lambda: used_mib() <= before, f"after {sig!r} memory is held")
            print(f"{sig.name}: the GPU is free after {time.monotonic() - began:.2f} s, by nvidia-smi", file=sys.stderr)

    def test_an_illegal_access_is_told_with_its_xid_and_as_soon_as_dmesg_shows_it(self):
        if subprocess.run(["dmesg"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("the kernel log may not be read")
        seen = {}

        def follow(name, argv):
            process = subprocess.Popen(argv, cwd=galen.ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

            def read():
                for line in process.stdout:
                    if "Xid" in line or "xid" in line:
                        seen.setdefault(name, (time.monotonic(), line))
            thread = threading.Thread(target=read)
            thread.start()
            return process, thread

        followers = [follow("dmesg", ["dmesg", "-W"]), follow("galen", [f"{galen.BIN}/galen", "watch", "--json"])]
        try:
            time.sleep(3)  # neither says when it has begun to listen
            began = time.monotonic()
            run = subprocess.run([sys.executable, PROGRAM, "illegal"], text=True, capture_output=True, check=False)
            self.assertIn("cuCtxSynchronize: error 7", run.stderr)
            if "dmesg" not in seen:
                time.sleep(2)
            if "dmesg" not in seen:
                self.skipTest("this driver logs no Xid of it")
            self.until(lambda: "galen" in seen, "galen watch tells of the Xid")
        finally:
            for process, thread in followers:
                process.terminate()
                process.wait(10)
                thread.join()
                process.stdout.close()
        print(f"after the program began: dmesg {seen['dmesg'][0] - began:.4f} s, galen watch "
              f"{seen['galen'][0] - began:.4f} s: {seen['dmesg'][1].strip()}", file=sys.stderr)
        log = checks("system.kernel_log")["system.kernel_log"]
        self.assertIn("Xid", json.dumps(log))


if __name__ == "__main__":
    if gpus() == 0:
        print("SKIPPED: no NVIDIA GPU that CUDA can use is here")
        sys.exit(77)
    unittest.main(verbosity=2)
