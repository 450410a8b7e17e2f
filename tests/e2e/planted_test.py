"""Faults planted into numbers as real exporters name them, each beside look-alikes of another cause: what is named, what is not, and that nothing is cleared
while something grows."""
import datetime
import json
import shutil
import tempfile
import unittest

import fleet
import galen
from fleet import Fleet, after

SLOW = "Training got slower this morning."
BIT_ERRORS = "INTERCONNECT_NETWORKING.RDMA_LINK.HIGH_BIT_ERROR_RATE"
LIMIT = "SYSTEM_SOFTWARE.GPU_CONFIG.CLOCK_OR_POWER_LIMIT_LOW"
BRAKE = "GPU.POWER.HW_POWER_BRAKE"
HEARTBEAT = "FRAMEWORK_LIBRARY.JAX_XLA.HEARTBEAT_FALSE_POSITIVE"
LEAK = "FRAMEWORK_LIBRARY.CHECKPOINT.RESTORE_THREAD_LEAK"


class Planted(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="galen-planted-")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def diagnose(self, made, sentence=SLOW, *arguments):
        run = made.diagnose(self.folder, sentence, *arguments)
        self.assertTrue(run.stdout, run.stderr)
        self.answer = json.loads(run.stdout)
        self.report = self.answer["report"]
        return self.report

    def cause(self):
        return self.report.get("primaryCause", {}).get("label", "")

    def named(self):
        return {device["node"] for device in self.report.get("primaryCause", {}).get("devices", []) if device.get("node")}

    def family(self, name):
        return next(each for each in self.report["system"]["families"] if each["name"] == name)["state"]

    def ruled_out(self):
        return {each["label"] for each in self.report.get("ruledOut", [])}

    def finding(self, check, name, node, device=""):
        for result in self.answer["checkResults"]:
            if result["check"] != check or result["node"] != node:
                continue
            for each in result.get("findings", []):
                if each["name"] == name and each.get("subject", {}).get("device", "") == device:
                    return next((each[key] for key in each if key.endswith("Value")), None)
        return None

    # Retransmissions: whichever counter moves, and whether or not there is throughput.

    def lossy(self, counters, **more):
        made = Fleet(**more)
        for counter, rate in counters.items():
            made.plant(after(40, lambda value, minute, rate=rate: rate, counter, nodes={1, 4}, devices={2}))
        return made.write()

    def test_one_counter_that_moves_is_enough_whichever_it_is(self):
        for counter in ("packet_sequence_errors_total", "roce_adp_retransmits_total", "local_ack_timeout_errors_total", "implied_nak_seq_errors_total"):
            with self.subTest(counter):
                self.diagnose(self.lossy({f"node_infiniband_{counter}": 900}))
                self.assertEqual(self.cause(), BIT_ERRORS)
                self.assertEqual(self.named(), {"gpu-a02", "gpu-a05"})
                self.assertEqual(self.family("network"), "FAULTY")
            self.setUp()

    def test_bad_packets_of_one_machine_are_not_clear(self):
        self.diagnose(self.lossy({"node_infiniband_port_errors_received_total": 900}))
        self.assertEqual(self.family("network"), "FAULTY")
        self.assertEqual(self.finding("telemetry.link_events", "port_error_host", "gpu-a02"), "gpu-a02")
        self.assertNotIn(BIT_ERRORS, self.ruled_out())

    def test_without_throughput_the_outliers_are_found_all_the_same(self):
        self.diagnose(self.lossy({"node_infiniband_packet_sequence_errors_total": 900, "node_infiniband_roce_adp_retransmits_total": 1100}, training=""))
        self.assertEqual(self.cause(), BIT_ERRORS)
        self.assertEqual(self.named(), {"gpu-a02", "gpu-a05"})

    def test_what_all_ports_do_is_no_machines_fault(self):
        made = Fleet().plant(after(40, lambda value, minute: 40, "node_infiniband_roce_adp_retransmits_total")).write()
        self.diagnose(made)
        self.assertNotEqual(self.cause(), BIT_ERRORS)

    def test_an_error_counter_that_nobody_mapped_leaves_nothing_clear(self):
        made = Fleet()
        made.write()
        made.counter("node_infiniband_vendor_specific_fatal_errors_total", {"device": "mlx5_0", "port": "1", "instance": made.host(3, 9100)}, 3, 0,
                     lambda minute: 5)
        self.diagnose(made)
        self.assertEqual(self.family("network"), "UNKNOWN")
        self.assertNotIn(BIT_ERRORS, self.ruled_out())
        self.assertIn("vendor_specific_fatal_errors_total", json.dumps(self.answer))

    def test_well_machines_are_clear(self):
        for more in ({}, {"gpu": "amd"}, {"interval": 0.5}, {"gap": 0.08}, {"kubernetes": True}):
            with self.subTest(**more):
                self.diagnose(Fleet(**more).write())
                self.assertEqual(self.cause(), "")
                self.assertEqual({each["state"] for each in self.report["system"]["families"]}, {"CLEAN"},
                                 [each for each in self.report["system"]["families"] if each["state"] != "CLEAN"])
            self.setUp()

    # Clocks: what holds them is not in the clock.

    def slow_gpu(self, **more):
        made = Fleet(**more)
        clock, power = {"dcgm": ("DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_POWER_USAGE"), "amd": ("gpu_clock", "gpu_package_power"),
                        "nvidia_smi": ("nvidia_smi_clocks_current_sm_clock_hz", "nvidia_smi_power_draw_watts")}[made.gpu]
        made.plant(after(40, lambda value, minute: value * 0.54, clock, nodes={5}, devices={3}))
        return made.plant(after(40, lambda value, minute: value * 0.52, power, nodes={5}, devices={3}))

    def test_a_power_brake_is_a_power_brake(self):
        made = self.slow_gpu().plant(after(40, lambda value, minute: 0x80 | 0x8, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", nodes={5}, devices={3}))
        self.diagnose(made.write())
        self.assertEqual(self.cause(), BRAKE)
        self.assertEqual(self.named(), {"gpu-a06"})

    def test_so_it_is_by_another_exporter(self):
        made = self.slow_gpu(gpu="nvidia_smi").plant(
            after(40, lambda value, minute: 1, "nvidia_smi_clocks_event_reasons_hw_power_brake_slowdown", nodes={5}, devices={3}))
        self.diagnose(made.write())
        self.assertEqual(self.cause(), BRAKE)

    def test_a_power_limit_is_a_limit(self):
        made = self.slow_gpu().plant(after(40, lambda value, minute: 0x4, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", nodes={5}, devices={3}))
        self.diagnose(made.write())
        self.assertIn(self.cause(), (LIMIT, ""))
        self.assertIn(BRAKE, self.ruled_out())
        self.assertEqual(self.family("gpu"), "FAULTY")

    def test_amds_exporter_tells_the_clock_and_what_holds_it(self):
        made = self.slow_gpu(gpu="amd").plant(
            after(40, lambda value, minute: 95, "gpu_violation_ppt_residency_percentage", nodes={5}, devices={3}))
        self.diagnose(made.write())
        self.assertEqual(self.finding("telemetry.gpu_health", "power_cap_share", "gpu-a06", "gpu:3") > 0.8, True)
        self.assertGreater(self.finding("telemetry.gpu_health", "clock_drop_pct", "gpu-a06", "gpu:3"), 30)
        self.assertNotEqual(self.cause(), "USER_APPLICATION.COLLECTIVE_DESYNC.STUCK_IN_COLLECTIVE")

    def test_without_the_reason_nobody_convicts(self):
        made = self.slow_gpu()
        made.plant(lambda metric, node, device, minute, value: None if metric == "DCGM_FI_DEV_CLOCKS_EVENT_REASONS" else value)
        self.diagnose(made.write())
        self.assertEqual(self.cause(), "")
        self.assertEqual(self.family("gpu"), "FAULTY")

    # What counters of a GPU say.

    def test_an_xid_is_read(self):
        made = Fleet().plant(after(70, lambda value, minute: 94, "DCGM_FI_DEV_XID_ERRORS", nodes={3}, devices={2})).write()
        self.diagnose(made, "The job crashed.")
        self.assertEqual(self.finding("telemetry.ecc_rate", "xid", "gpu-a04", "gpu:2"), "94")
        self.assertEqual(self.family("gpu"), "FAULTY")
        self.assertIn("GPU.MEMORY.UNCORRECTABLE_ECC", (self.cause(), self.report.get("presumedCause", {}).get("label")))

    def test_an_xid_of_before_the_window_clears_nobody_and_accuses_nobody(self):
        made = Fleet().plant(after(0, lambda value, minute: 94, "DCGM_FI_DEV_XID_ERRORS", nodes={3}, devices={2})).write()
        self.diagnose(made, "The job crashed.")
        self.assertIsNone(self.finding("telemetry.ecc_rate", "xid", "gpu-a04", "gpu:2"))
        self.assertEqual(self.cause(), "")

    def test_counters_of_gpus_and_links_make_their_family_faulty(self):
        for metric, rate, family in (("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", 0.001, "gpu"), ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0.001, "gpu"),
                                     ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", 3, "gpu"), ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", 2, "network"),
                                     ("node_infiniband_symbol_error_total", 0.5, "network"), ("node_infiniband_link_error_recovery_total", 0.01, "network"),
                                     ("node_netstat_Tcp_RetransSegs", 400, "network"), ("node_network_receive_errs_total", 5, "network")):
            with self.subTest(metric):
                grows = after(20, lambda value, minute, rate=rate: rate + (1 if rate < 0.01 and int(minute) == 60 else 0) * 0.02, metric, nodes={6},
                              devices={0})
                self.diagnose(Fleet().plant(grows).write())
                self.assertEqual(self.family(family), "FAULTY")
            self.setUp()

    def test_a_row_that_cannot_be_remapped_is_the_cause(self):
        made = Fleet().plant(after(30, lambda value, minute: 1, "DCGM_FI_DEV_ROW_REMAP_FAILURE", nodes={2}, devices={1})).write()
        self.diagnose(made, "The job crashed.")
        self.assertEqual(self.cause(), "GPU.MEMORY.ROW_REMAP_FAILURE")
        self.assertEqual(self.named(), {"gpu-a03"})

    # Hosts.

    def test_memory_that_leaks_is_not_clear(self):
        leak = after(0, lambda value, minute: value - 1.38e12 * minute / fleet.MINUTES, "node_memory_MemAvailable_bytes", nodes={5})
        self.diagnose(Fleet().plant(leak).write())
        self.assertEqual(self.finding("telemetry.host_memory", "ramps", "gpu-a06"), True)
        self.assertEqual(self.family("memory"), "FAULTY")

    def test_addresses_of_pods_are_the_machines_that_they_are_of(self):
        self.diagnose(self.lossy({"node_infiniband_packet_sequence_errors_total": 900}, kubernetes=True))
        self.assertEqual(self.cause(), BIT_ERRORS)
        self.assertEqual(self.named(), {"gpu-a02", "gpu-a05"})
        self.assertEqual({result["node"] for result in self.answer["checkResults"]}, {fleet.name_of(node) for node in range(fleet.NODES)})

    # A log beside the numbers of a server.

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not here")
    def test_a_log_beside_numbers_needs_no_bundle(self):
        made = self.lossy({"node_infiniband_packet_sequence_errors_total": 900}, training="")
        log, at, step = [], fleet.BEGIN, 0
        while at < fleet.BEGIN + 80 * 60:
            took = 10 if at < fleet.BEGIN + 40 * 60 else 17
            at, step = at + took, step + 1
            stamp = datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
            log.append(f" [{stamp}] iteration {step:8}/   90000 | consumed samples: {step * 512:12} | elapsed time per iteration (ms): {took * 1000:.1f} | "
                       f"global batch size:   512 | lm loss: 2.1{step % 10}E+00 |")
        with open(f"{self.folder}/train.log", "w", encoding="utf-8") as file:
            file.write("\n".join(log) + "\n")
        run = galen.galen("diagnose", SLOW, "--log", f"{self.folder}/train.log", "--prometheus", made.tsdb(self.folder), "--json", timeout=300)
        self.assertTrue(run.stdout, run.stderr)
        self.answer = json.loads(run.stdout)
        self.report = self.answer["report"]
        self.assertEqual(self.cause(), BIT_ERRORS)
        self.assertEqual(self.named(), {"gpu-a02", "gpu-a05"})

    # Tasks that a coordinator gave up.

    def given_up(self, minute, silent):
        made = Fleet(training="")
        log = ["PASSTHROUGH_ARGS=steps=5000 jax_distributed_heartbeat_timeout_seconds=900"]
        log += [f"{node}: {fleet.name_of(node)}:2211:2400 [0] init.cc:2095 NCCL WARN MSCCL++: Feature not enabled" for node in range(fleet.NODES)]
        log += [f"{node}: completed step: {step}, seconds: 30.3, TFLOP/s/device: 207.9" for step in range(60) for node in (0, 3)]
        kill = fleet.BEGIN + minute * 60
        stamp = datetime.datetime.fromtimestamp(kill, datetime.timezone.utc).strftime("%m%d %H:%M:%S")
        log += ["0: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):", "0: /job:jax_worker/replica:0/task:3",
                "0: The tasks have crashed. Check the task logs for an earlier error",
                f"0: F{stamp}.000000 1 client.h:77] Terminating process because the JAX distributed service detected fatal errors."]
        made.logs["job.log"] = "\n".join(log) + "\n"
        # After the kill nobody works.
        if silent:
            # The process of task 3 is gone; the others wait for it, busy at the power of rest.
            made.plant(after(minute - 16, lambda value, at: made.random.gauss(130, 2), "DCGM_FI_DEV_POWER_USAGE"))
            made.plant(after(minute - 16, lambda value, at: made.random.gauss(76, 2), "DCGM_FI_DEV_POWER_USAGE", nodes={3}))
            made.plant(after(minute - 16, lambda value, at: 0, "DCGM_FI_DEV_GPU_UTIL", nodes={3}))
        for metric, level in (("DCGM_FI_DEV_POWER_USAGE", 76), ("DCGM_FI_DEV_GPU_UTIL", 0)):
            made.plant(after(minute, lambda value, at, level=level: level * made.random.gauss(1, 0.02), metric))
        return made.write()

    def test_who_worked_all_that_time_is_acquitted(self):
        self.diagnose(self.given_up(120, silent=False), "The job was killed: tasks stopped sending heartbeats.", "--end", "2026-05-29T00:00:00Z")
        self.assertEqual(self.finding("telemetry.liveness", "worked_to_the_end", "gpu-a04"), True)
        self.assertEqual(self.cause(), HEARTBEAT)
        self.assertEqual(self.named(), {"gpu-a04"})

    def test_whose_process_died_is_not(self):
        self.diagnose(self.given_up(120, silent=True), "The job was killed: tasks stopped sending heartbeats.", "--end", "2026-05-29T00:00:00Z")
        self.assertEqual(self.finding("telemetry.liveness", "worked_to_the_end", "gpu-a04"), False)
        self.assertEqual(self.finding("telemetry.liveness", "stopped_before_kill", "gpu-a04"), True)
        self.assertNotEqual(self.cause(), HEARTBEAT)


if __name__ == "__main__":
    unittest.main()
