"""Numbers of a small fleet as exporters write them, with faults that are planted: a second generator beside tests/scenarios.

Names and labels are those of the exporters' sources (../shared/findings/telemetry.md names the commits): NVIDIA/dcgm-exporter, prometheus/node_exporter,
ROCm/device-metrics-exporter, amd-agi/maxtext-slurm, utkuozdemir/nvidia_gpu_exporter. Levels are made up. A fault is a function that is asked for each
sample: (metric, node, device, minute, value) -> value, or None for none."""
import os
import random
import subprocess

import galen

NODES, GPUS, PORTS = 8, 4, 4
MINUTES, STEP = 150, 1.0  # of the window; minutes between scrapes
BEGIN = 1_780_000_000

# node_exporter's counters of an InfiniBand port that stand still on a machine that is well.
STILL = """local_ack_timeout_errors_total packet_sequence_errors_total roce_adp_retransmits_total roce_adp_retransmits_timeout_total
implied_nak_seq_errors_total out_of_sequence_packets_received_total duplicate_requests_packets_total symbol_error_total link_error_recovery_total
link_downed_total port_errors_received_total local_link_integrity_errors_total excessive_buffer_overrun_errors_total port_discards_transmitted_total
rnr_nak_retry_packets_received_total req_cqes_errors_total""".split()


def name_of(node):
    return f"gpu-a{node + 1:02d}"


class Fleet:
    def __init__(self, seed=1, gpu="dcgm", training="training", kubernetes=False, uname=True, interval=STEP, gap=0.0, named=name_of):
        self.random = random.Random(seed)
        self.gpu, self.training, self.kubernetes, self.uname = gpu, training, kubernetes, uname
        self.interval, self.gap, self.named = interval, gap, named
        self.faults, self.lines, self.logs = [], [], {}
        self.end = BEGIN + MINUTES * 60

    def plant(self, fault):
        self.faults.append(fault)
        return self

    def value(self, metric, node, device, minute, value):
        for fault in self.faults:
            value = fault(metric, node, device, minute, value)
            if value is None:
                return None
        return value

    def host(self, node, port):
        """The label instance: a name, or the address of a pod."""
        return f"10.20.{port % 250}.{12 + node}:{port}" if self.kubernetes else f"{self.named(node)}:{port}"

    def own(self, node):
        return {"Hostname": self.named(node), "instance": self.host(node, 9400)}

    def gauge(self, metric, labels, node, device, level, noise=0.01):
        minute = self.random.uniform(0, self.interval)
        while minute < MINUTES:
            value = self.value(metric, node, device, minute, level(minute) * self.random.gauss(1, noise))
            if value is not None and self.random.random() >= self.gap:
                self.sample(metric, labels, value, minute)
            minute += self.interval

    def counter(self, metric, labels, node, device, rate=lambda minute: 0.0, start=None):
        """`rate` a second; a fault changes the rate."""
        total = self.random.randrange(0, 2000) if start is None else start
        minute = self.random.uniform(0, self.interval)
        while minute < MINUTES:
            grows = self.value(metric, node, device, minute, rate(minute))
            if grows is not None:
                total += max(0, round(grows * self.interval * 60 * self.random.uniform(0.8, 1.2)))
                self.sample(metric, labels, total, minute)
            minute += self.interval

    def sample(self, metric, labels, value, minute):
        text = ",".join(f'{key}="{each}"' for key, each in labels.items())
        self.lines.append(f"{metric}{{{text}}} {value:.10g} {BEGIN + minute * 60:.3f}")

    def write(self):
        for node in range(NODES):
            for gpu in range(GPUS):
                getattr(self, "gpu_" + self.gpu)(node, gpu)
            self.machine(node)
        if self.training == "training":
            labels = {"job_id": "7", "rank": "0", "host": self.named(0)}
            self.gauge("training_tokens_per_second", labels, 0, 0, lambda minute: 52_000, 0.004)
        elif self.training:
            self.gauge(self.training, {"instance": self.host(0, 8000)}, 0, 0, lambda minute: 52_000, 0.004)
        return self

    def gpu_dcgm(self, node, gpu):
        labels = {"gpu": str(gpu), "UUID": f"GPU-{node}-{gpu}", "device": f"nvidia{gpu}", **self.own(node)}
        for metric, level in (("DCGM_FI_DEV_SM_CLOCK", 1755), ("DCGM_FI_DEV_POWER_USAGE", 640), ("DCGM_FI_DEV_GPU_TEMP", 58), ("DCGM_FI_DEV_MEMORY_TEMP", 66)):
            self.gauge(metric, labels, node, gpu, lambda minute, level=level: level)
        for metric, level in (("DCGM_FI_DEV_GPU_UTIL", 100), ("DCGM_FI_DEV_XID_ERRORS", 0), ("DCGM_FI_DEV_ROW_REMAP_FAILURE", 0),
                              ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", 0)):
            self.gauge(metric, labels, node, gpu, lambda minute, level=level: level, 0)
        for metric in ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
                       "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
                       "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"):
            self.counter(metric, labels, node, gpu)

    def gpu_amd(self, node, gpu):
        labels = {"gpu_id": str(gpu), "hostname": self.named(node), "instance": self.host(node, 5000)}
        for metric, level in (("gpu_package_power", 900), ("gpu_junction_temperature", 74)):
            self.gauge(metric, labels, node, gpu, lambda minute, level=level: level)
        self.gauge("gpu_gfx_activity", labels, node, gpu, lambda minute: 100, 0)
        self.gauge("gpu_clock", {**labels, "clock_index": "0", "clock_type": "system"}, node, gpu, lambda minute: 2100)
        self.gauge("gpu_clock", {**labels, "clock_index": "0", "clock_type": "memory"}, node, gpu, lambda minute: 1900)
        for reason in ("ppt", "socket_thermal", "processor_hot", "vr_thermal", "hbm_thermal"):
            self.gauge(f"gpu_violation_{reason}_residency_percentage", labels, node, gpu, lambda minute: 0, 0)
        for metric in ("gpu_ecc_correct_total", "gpu_ecc_uncorrect_total", "pcie_replay_count"):
            self.counter(metric, labels, node, gpu)

    def gpu_nvidia_smi(self, node, gpu):
        labels = {"uuid": f"{node:08x}-{gpu}", "instance": self.host(node, 9835)}
        for metric, level in (("nvidia_smi_clocks_current_sm_clock_hz", 1.755e9), ("nvidia_smi_power_draw_watts", 640), ("nvidia_smi_temperature_gpu", 58)):
            self.gauge(metric, labels, node, gpu, lambda minute, level=level: level)
        for metric, level in (("nvidia_smi_utilization_gpu_ratio", 1), ("nvidia_smi_clocks_event_reasons_hw_power_brake_slowdown", 0),
                              ("nvidia_smi_clocks_event_reasons_hw_thermal_slowdown", 0), ("nvidia_smi_clocks_event_reasons_sw_power_cap", 0)):
            self.gauge(metric, labels, node, gpu, lambda minute, level=level: level, 0)
        for metric in ("nvidia_smi_ecc_errors_uncorrected_volatile_total", "nvidia_smi_remapped_rows_uncorrectable"):
            self.counter(metric, labels, node, gpu)

    def machine(self, node):
        instance = {"instance": self.host(node, 9100)}
        for port in range(PORTS):
            labels = {"device": f"mlx5_{port}", "port": "1", **instance}
            for counter in STILL:
                self.counter(f"node_infiniband_{counter}", labels, node, port)
            self.counter("node_infiniband_port_data_transmitted_bytes_total", labels, node, port, lambda minute: 9e9)
            self.counter("node_infiniband_rp_cnp_packets_handled_total", labels, node, port, lambda minute: 20)
            self.gauge("node_infiniband_state_id", labels, node, port, lambda minute: 4, 0)
        self.counter("node_netstat_Tcp_RetransSegs", instance, node, 0, lambda minute: 2)
        for counter in ("node_network_receive_errs_total", "node_network_transmit_errs_total"):
            self.counter(counter, {"device": "eth0", **instance}, node, 0)
        self.counter("node_vmstat_oom_kill", instance, node, 0)
        self.counter("node_pressure_io_stalled_seconds_total", instance, node, 0, lambda minute: 0.001, 0)
        self.gauge("node_procs_running", instance, node, 0, lambda minute: 18, 0.05)
        self.gauge("node_memory_MemAvailable_bytes", instance, node, 0, lambda minute: 1.5e12, 0.002)
        self.gauge("node_memory_MemTotal_bytes", instance, node, 0, lambda minute: 1.62e12, 0)
        self.gauge("node_memory_Dirty_bytes", instance, node, 0, lambda minute: 1e8, 0.2)
        if self.uname:
            self.gauge("node_uname_info", {"nodename": self.named(node), "sysname": "Linux", **instance}, node, 0, lambda minute: 1, 0)

    def diagnose(self, folder, sentence, *arguments):
        """The bundle of this fleet, diagnosed: (exit code, Diagnosis, seconds are not taken)."""
        bundle = f"{folder}/bundle"
        nodes = [word for node in range(NODES) for word in ("--node", self.named(node))]
        made = galen.galen("bundle", "new", bundle, "--description", sentence, *nodes)
        assert made.returncode == 0, made.stderr
        os.makedirs(f"{bundle}/telemetry", exist_ok=True)
        with open(f"{bundle}/telemetry/fleet.om", "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines) + "\n# EOF\n")
        for name, text in self.logs.items():
            path = f"{folder}/{name}"
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            added = galen.galen("bundle", "add", bundle, "--log", path)
            assert added.returncode == 0, added.stderr
        return galen.galen("diagnose", "--bundle", bundle, "--json", *arguments, timeout=300)

    def tsdb(self, folder):
        """The same as the data folder of a Prometheus."""
        text = f"{folder}/fleet.om"
        with open(text, "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines) + "\n# EOF\n")
        made = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", text, f"{folder}/tsdb"], capture_output=True, text=True,
                              timeout=300, check=False)
        assert made.returncode == 0, made.stderr
        return f"{folder}/tsdb"


def after(minute, change, metric, nodes=None, devices=None):
    """A fault: from a minute on `change(value, minute)` of these metrics on these places."""
    metrics = {metric} if isinstance(metric, str) else set(metric)

    def fault(name, node, device, at, value):
        hit = name in metrics and at >= minute and (nodes is None or node in nodes) and (devices is None or device in devices)
        return change(value, at) if hit else value
    return fault
