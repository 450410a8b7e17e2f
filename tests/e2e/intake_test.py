"""Inputs that once were missed, misread or misjudged (shared/findings/intake.md, judging.md): right in every way and form.

Each case is given as it is in one way, and in disguise in others. INTAKE_ALL=1 tries each way with each single change (7000 runs).
"""
import concurrent.futures
import html
import itertools
import json
import os
import re
import shlex
import tempfile
import typing
import unittest

import galen

THREADS = 2
HERE = os.uname().nodename.split(".")[0]


class Piece(typing.NamedTuple):
    """A log, or what a command printed."""
    content: str
    name: str
    typed: str = ""


class Case(typing.NamedTuple):
    name: str
    pieces: list
    sentence: str = ""
    first: str = ""  # the label that is named before all others
    among: tuple = ()  # labels that are named
    never: tuple = ()  # labels that are not named, not even as a suspect
    code: typing.Optional[int] = None  # 0: a cause is confirmed; 3: none is
    checks: dict = {}  # by name: the status that one has
    not_checks: dict = {}  # by name: the status that one does not have; it ran, or tried to
    ways: tuple = ()  # in these only
    loose: bool = False  # each line stands by itself: their order tells nothing
    brief: bool = False  # one of many of its kind: one disguise is enough
    without: dict = {}  # a change that takes away what decides: why


def log(content, name="train.log"):
    return [Piece(content.strip("\n") + "\n", name)]


def printed(typed, content):
    return [Piece(content.strip("\n") + "\n", re.sub(r"[^\w.-]+", "_", typed) + ".txt", typed)]


# Labels
DEVICE_LOST = "GPU.PCIE.DEVICE_LOST"
LINK_DOWNGRADED = "GPU.PCIE.LINK_DOWNGRADED"
UNCORRECTABLE_ECC = "GPU.MEMORY.UNCORRECTABLE_ECC"
SRAM_ECC = "GPU.MEMORY.SRAM_ECC"
ROW_REMAP_PENDING = "GPU.MEMORY.ROW_REMAP_PENDING"
ROW_REMAP_FAILURE = "GPU.MEMORY.ROW_REMAP_FAILURE"
THERMAL_THROTTLE = "GPU.THERMAL.THERMAL_THROTTLE"
GSP_FAULT = "GPU.FIRMWARE.GSP_FAULT"
GSP_DRIVER_DEFECT = "SYSTEM_SOFTWARE.DRIVER.GSP_DRIVER_DEFECT"
NVLINK_FAULT = "INTERCONNECT_NETWORKING.NVLINK.LINK_FAULT"
PATH_DEGRADED = "INTERCONNECT_NETWORKING.TCP_IP.ETHERNET_PATH_DEGRADED"
LOOPBACK = "INTERCONNECT_NETWORKING.TCP_IP.LOOPBACK_ADVERTISED"
FIREWALL = "INTERCONNECT_NETWORKING.TCP_IP.FIREWALL_BLOCKED"
IFNAME_WRONG = "INTERCONNECT_NETWORKING.NCCL_NET_CONFIG.SOCKET_IFNAME_WRONG"
PORT_DOWN = "INTERCONNECT_NETWORKING.RDMA_LINK.PORT_DOWN"
MISCABLED = "INTERCONNECT_NETWORKING.TOPOLOGY.MISCABLED"
RDMA_LIBS = "SYSTEM_SOFTWARE.CONTAINER_RUNTIME.RDMA_LIBS_MISSING"
VERSION_SKEW = "SYSTEM_SOFTWARE.DRIVER.USER_KERNEL_VERSION_SKEW"
MANAGER_DOWN = "SYSTEM_SOFTWARE.FABRIC_MANAGER.NOT_RUNNING"
MANAGER_MISMATCH = "SYSTEM_SOFTWARE.FABRIC_MANAGER.VERSION_MISMATCH"
CLOCK_SKEW = "SYSTEM_SOFTWARE.HOST_OS.CLOCK_SKEW"
HOST_MEMORY = "SYSTEM_SOFTWARE.HOST_OS.HOST_MEMORY_EXHAUSTED"
AFTER_SUSPEND = "SYSTEM_SOFTWARE.KERNEL_MODULE.STATE_LOST_AFTER_SUSPEND"
CGROUP_OOM = "SYSTEM_SOFTWARE.RESOURCE_LIMITS.CGROUP_OOM_KILL"
DEV_SHM = "SYSTEM_SOFTWARE.RESOURCE_LIMITS.DEV_SHM_TOO_SMALL"
MEMLOCK = "SYSTEM_SOFTWARE.RESOURCE_LIMITS.MEMLOCK_TOO_LOW"
OPEN_FILES = "SYSTEM_SOFTWARE.RESOURCE_LIMITS.PROCESS_OR_FD_LIMIT"
DISK_FULL = "SYSTEM_SOFTWARE.STORAGE.DISK_OR_QUOTA_FULL"
NFS_SLOTS = "SYSTEM_SOFTWARE.STORAGE.NFS_RPC_SLOTS_SATURATED"
OBJECT_STORE = "SYSTEM_SOFTWARE.STORAGE.OBJECT_STORE_ERRORS"
CREDENTIALS = "USER_APPLICATION.CODE.CREDENTIALS_INVALID"
OUT_OF_RANGE = "USER_APPLICATION.DATA.INDEX_OUT_OF_RANGE"
MORE_RANKS = "USER_APPLICATION.LAUNCH.MORE_RANKS_THAN_GPUS"
OUT_OF_MEMORY = "USER_APPLICATION.GPU_MEMORY.OUT_OF_MEMORY"

# Inputs
STAMP, LATER = "[ 1234.567890] ", "[ 1234.567901] "
XID79 = f"""
{STAMP}NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.
{LATER}NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.
"""
GLOBAL_OOM = """
[ 8214.101010] python invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0
[ 8214.101022] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=python,pid=4242,uid=1000
[ 8214.101031] Out of memory: Killed process 4242 (python) total-vm:212345678kB, anon-rss:128456789kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:251234kB oom_score_adj:0
"""
MEMCG_OOM = GLOBAL_OOM.strip().split("\n")[2].replace("Out of memory", "Memory cgroup out of memory")
SIGKILL = """
[2025-05-01 10:00:00,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) local_rank: 0 (pid: 4242) of binary: /usr/bin/python
Signal 9 (SIGKILL) received by PID 4242
"""
SHM_WRITE = "RuntimeError: unable to write to file </torch_4711_2233_0>: No space left on device (28)"
SHM_EXTEND = ("gpu07:311:402 [1] misc/shmutils.cc:77 NCCL WARN Error: failed to extend /dev/shm/nccl-Qz81kT to 4194660 bytes, "
              "error: No space left on device (28)")
SHM_OLD = """
gpu07:311:402 [1] include/shm.h:48 NCCL WARN Call to posix_fallocate failed : No space left on device
gpu07:311:402 [1] include/shm.h:62 NCCL WARN Error while creating shared memory segment nccl-shm-recv-1f2e3d-0-1-0 (size 9637888)
"""
NO_LIBIBVERBS = """
gpu07:900:900 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]
gpu07:900:900 [0] NCCL INFO NET/Socket : Using [0]ens5:10.1.0.4<0>
gpu07:900:900 [0] NCCL INFO Using network Socket
"""
NO_ROUTE = ("gpu07:900:931 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.1.0.5<41234> failed : "
            "No route to host")
WATCHDOG = ("[rank3]:[E501 10:00:00.123456 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=1201, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1802101 milliseconds "
            "before timing out.")
VETH = """
gpu07:900:900 [0] NCCL INFO NET/Socket : Using [0]ens5:10.1.0.4<0> [1]veth1a2b3c4:fe80::42:acff:fe11:2%veth1a2b3c4<0>
gpu07:900:931 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to fe80::42:acff:fe11:2%veth1a2b3c4<41234> failed : Network is unreachable
"""
DUPLICATE = ("gpu07:311:402 [0] init.cc:943 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1a000")
MUNGE = """
[2025-05-01T10:04:00.123] error: Munge decode failed: Expired credential
[2025-05-01T10:04:00.123] auth/munge: _print_cred: ENCODED: Thu May 01 09:57:11 2025
[2025-05-01T10:04:00.123] auth/munge: _print_cred: DECODED: Thu May 01 10:04:00 2025
[2025-05-01T10:04:00.123] error: Check for out of sync clocks
"""
TOO_MANY_REQUESTS = ("huggingface_hub.utils._errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: "
                     "https://huggingface.co/api/datasets/acme/words")
SLOW_DOWN = ("botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the GetObject operation "
             "(reached max retries: 4): Please reduce your request rate.")
ASSERTION = ("../aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: [3,0,0], thread: [5,0,0] "
             "Assertion `srcIndex < srcSelectDimSize` failed.")
NO_GPU_MEMORY = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
                 "of which 1.20 GiB is free.")
UNKNOWN_ERROR = ("RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env "
                 "variable CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero.")
DF = """
Filesystem      Size  Used Avail Use% Mounted on
/dev/sda1       1.8T  1.1T  700G  62% /
/dev/nvme0n1p1  3.5T  3.5T     0 100% /data
"""
ULIMIT = """
core file size              (blocks, -c) 0
data seg size               (kbytes, -d) unlimited
pending signals                     (-i) 1030539
max locked memory           (kbytes, -l) 64
max memory size             (kbytes, -m) unlimited
open files                          (-n) 1048576
stack size                  (kbytes, -s) 8192
max user processes                  (-u) 1030539
virtual memory              (kbytes, -v) unlimited
"""
SMI_TABLE = """
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:3B:00.0 Off |                   12 |
| N/A   41C    P0             118W / 700W |      4MiB / 81559MiB |      0%      Default |
|                                         |                      |             Disabled |
+-----------------------------------------+----------------------+----------------------+
"""
SMI_Q = """
==============NVSMI LOG==============

Driver Version                            : 550.90.07
CUDA Version                              : 12.4

Attached GPUs                             : 1
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Persistence Mode                      : Enabled
    GPU UUID                              : GPU-6d1c1f0a-0000-4000-8000-000000000001
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 9 MiB
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 0
    Temperature
        GPU Current Temp                  : 41 C
        GPU T.Limit Temp                  : 46 C
    Power Readings
        Power Draw                        : 118.20 W
        Current Power Limit               : 700.00 W
"""
HOT_SMI_Q = SMI_Q.replace("HW Thermal Slowdown           : Not", "HW Thermal Slowdown           :").replace(
    "HW Slowdown                       : Not", "HW Slowdown                       :").replace(": 41 C", ": 97 C").replace(": 46 C", ": -3 C")
IBSTAT = """
CA 'mlx5_0'
	CA type: MT4129
	Number of ports: 1
	Firmware version: 28.39.1002
	Node GUID: 0xa088c20300adeab8
	Port 1:
		State: Down
		Physical state: Polling
		Rate: 10
		Base lid: 65535
		LMC: 0
		SM lid: 0
		Capability mask: 0xa651e848
		Port GUID: 0xa088c20300adeab8
		Link layer: InfiniBand
"""
LSPCI = """
3b:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
	Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR+ FastB2B- DisINTx+
	Capabilities: [60] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <4us
		LnkCtl:	ASPM Disabled; RCB 64 bytes, Disabled- CommClk+
		LnkSta:	Speed 32GT/s (ok), Width x1 (downgraded)
	Kernel driver in use: nvidia
"""
ROCM_SMI = """
============================ ROCm System Management Interface ============================
======================================== Temperature =====================================
GPU[0]		: Temperature (Sensor junction) (C): 112.0
GPU[0]		: Temperature (Sensor memory) (C): 71.0
GPU[1]		: Temperature (Sensor junction) (C): 48.0
GPU[1]		: Temperature (Sensor memory) (C): 51.0
==========================================================================================
================================== End of ROCm SMI Log ===================================
"""
POD = """
Name:           trainer-0
Namespace:      ml
Node:           gpu07/10.1.0.5
Status:         Failed
{reason}IP:             10.2.0.9
Containers:
  main:
    Image:      registry.example.org/train:7
    State:      Terminated
{state}QoS Class:      Burstable
Events:         <none>
"""
LOW_STORAGE = "Message:        The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 2Gi."
EVICTED = POD.format(reason=f"Reason:         Evicted\n{LOW_STORAGE}\n", state="")
OOM_KILLED = POD.format(reason="", state="      Reason:     OOMKilled\n      Exit Code:  137\n")
MANAGER_JOURNAL = """
May 01 09:00:01 gpu07 systemd[1]: Starting NVIDIA fabric manager service...
May 01 09:00:02 gpu07 systemd[1]: nvidia-fabricmanager.service: Control process exited, code=exited, status=1/FAILURE
May 01 09:00:02 gpu07 systemd[1]: Failed to start NVIDIA fabric manager service.
"""
NFSIOSTAT = """
nas01:/scratch mounted on /scratch:

           ops/s       rpc bklog
        1204.331         645.210

read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)          errors
                1180.200       75532.800          64.000        0 (0.0%)           9.800         341.200         331.000        0 (0.0%)
"""
MOUNTSTATS = """
device nas01:/scratch mounted on /scratch with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,proto=tcp
	age:	4711
	bytes:	1 1 0 0 1 1 1 1
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	xprt:	tcp 875 1 5 0 0 1000 1000 0 8371 645000 128 2 4703
	per-op statistics
	        READ: 1000 1000 0 128000 65536000 331000 9800 341000 0
"""
PERFTEST = """
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 1		Transport type : IB
 Mtu             : 4096[B]
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 8388608    5000             46500.21           46498.70		   0.005812
---------------------------------------------------------------------------------------
"""


def meminfo(available_gib):
    return f"MemTotal:       65804312 kB\nMemFree:        {available_gib << 20} kB\nMemAvailable:   {available_gib << 20} kB\n"


def xid(code, more="pid=4711, name=python, Ch 00000008"):
    return log(f"{STAMP}NVRM: Xid (PCI:0000:3b:00): {code}, {more}")


def nccl_takes(interfaces, peer, error="Connection refused"):
    return log(f"gpu07:900:900 [0] NCCL INFO Bootstrap : Using {interfaces}\n"
               f"gpu07:900:900 [0] NCCL INFO NET/Socket : Using [0]{interfaces}\n"
               f"gpu07:900:931 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to {peer} failed : {error}\n")


# A description of a pod is read where the command that was typed tells its name.
COMMAND_IS_KNOWN = ("pasted", "an issue", "piped", "piped as a log", "a bundle")
# Where nothing holds an output together, its indented paragraphs are taken for pieces of code.
IN_A_FENCE = ("an issue", "files", "a bundle", "logs", "beside a bundle")
HALF = {"cut": "the half of a line that is left counts as another message"}
KERNEL_FAILS = {"system.kernel_log": "FAIL"}
TRIAGE_FAILS = {"log.triage": "FAIL"}

# intake.md, 3
OF_OTHER_MACHINES = [
    Case("a refusal of the driver", log("Feb 01 10:00:00 gpu07 kernel: NVRM: API mismatch: the client has the version 555.10, but"),
         "nvidia-smi fails on gpu07", first=VERSION_SKEW, never=(PATH_DEGRADED,), code=0, checks=KERNEL_FAILS),
    Case("a time-out of a collective", log(WATCHDOG), never=(PATH_DEGRADED,), code=3, checks=TRIAGE_FAILS),
    Case("an OOM kill", log(GLOBAL_OOM, "oom.txt"), "python was killed while loading the model", first=HOST_MEMORY),
    Case("peers that dial their own loopback", log(
        "RuntimeError: [enforce fail at gloo/transport/tcp/pair.cc:144] connect [127.0.1.1]:41234: Connection refused"), first=LOOPBACK),
]
# 4
WITHOUT_A_NODE = [
    Case("a device-side assertion", log(ASSERTION), first=OUT_OF_RANGE, code=0, checks=TRIAGE_FAILS),
    Case("Xid 48", xid(48, "pid=4711, name=python, DBE (double bit error) detected"), first=UNCORRECTABLE_ECC, checks=KERNEL_FAILS),
    Case("a full /dev/shm", log(SHM_WRITE), first=DEV_SHM, never=(DISK_FULL,), without={
        "cut": "the half of the line that is left is what a full disk prints"}),
]
# 5.1
REFUSED = [Case("an object store that refuses", log(SLOW_DOWN), "job hangs", first=OBJECT_STORE, code=0, checks=TRIAGE_FAILS)]
# 5.2
USUAL_OUTPUTS = [
    *[Case(f"Xid 79 in {typed}", printed(typed, XID79.replace(STAMP, stamp).replace(LATER, stamp)), "the card is gone",
           first=DEVICE_LOST, checks=KERNEL_FAILS, loose=True)
      for typed, stamp in [("dmesg", STAMP), ("dmesg -T", "[Thu May  1 10:00:00 2025] "), ("journalctl -k", "May 01 10:00:00 gpu07 kernel: ")]],
    Case("df -h", printed("df -h", DF), first=DISK_FULL, checks={"system.disk": "FAIL"}),
    Case("ulimit -a", printed("ulimit -a", ULIMIT), "ibv_reg_mr fails", first=MEMLOCK, checks={"job.limits": "FAIL"}),
    Case("nvidia-smi", printed("nvidia-smi", SMI_TABLE), among=(UNCORRECTABLE_ECC, SRAM_ECC)),
    Case("nvidia-smi -q of a healthy card", printed("nvidia-smi -q", SMI_Q), never=(OBJECT_STORE, THERMAL_THROTTLE), code=3),
    Case("nvidia-smi -q of a hot card", printed("nvidia-smi -q", HOT_SMI_Q), "training is slow", first=THERMAL_THROTTLE,
         checks={"gpu.thermal": "FAIL"}),
    Case("sudo ibstat", printed("sudo ibstat", IBSTAT), first=PORT_DOWN, checks={"rdma.link": "FAIL"}),
    Case("ibstat mlx5_0", printed("ibstat mlx5_0", IBSTAT), first=PORT_DOWN, checks={"rdma.link": "FAIL"}),
    Case("lspci -vvv", printed("lspci -vvv", LSPCI), "training is slow", first=LINK_DOWNGRADED),
    Case("rocm-smi", printed("rocm-smi", ROCM_SMI), "training is slow", checks={"gpu.thermal": "FAIL"}),
    Case("kubectl describe pod of an evicted pod", printed("kubectl -n ml describe pod trainer-0", EVICTED), first=DISK_FULL),
    Case("the message of an eviction", printed("kubectl -n ml describe pod trainer-0", LOW_STORAGE), first=DISK_FULL),
    Case("journalctl -u nvidia-fabricmanager", printed("journalctl -u nvidia-fabricmanager", MANAGER_JOURNAL),
         among=(MANAGER_DOWN, MANAGER_MISMATCH)),
]
# 5.3, and of judging.md, 6.13, the codes
KERNEL_LOGS = [
    Case("Xid 79", log(XID79), first=DEVICE_LOST, checks=KERNEL_FAILS),
    *[Case(f"Xid {code} alone", xid(code, *more), among=among, checks=KERNEL_FAILS, brief=True) for code, among, *more in [
        (13, (), "pid=4711, name=python, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address"),
        (31, (), "pid=4711, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ "
                   "0x7f12_34560000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"),
        (43, ()), (61, ()), (62, ()), (154, (), "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"),
        (64, (ROW_REMAP_FAILURE,), "pid=4711, name=python, Row Remapper: Error: Row remap failed"),
        (119, (GSP_DRIVER_DEFECT, GSP_FAULT), "pid=4711, name=python, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected "
                                              "function 76 (GSP_RM_CONTROL) (0x20800a4c 0x4)."),
        (145, (NVLINK_FAULT,), "NVLINK: RLW_SRC_TRACK fault on link 3")]],
    Case("a remapping of a row that is pending", xid(
        63, "pid=4711, name=python, Row Remapper: New row (0x00000000001b2c3d) marked for remapping, reset gpu to activate."),
        first=ROW_REMAP_PENDING, checks=KERNEL_FAILS, without=HALF),
    Case("an OOM kill in dmesg --time-format iso", printed(
        "dmesg --time-format iso", re.sub(r"(?m)^\[ \d+\.(\d+)\] ", r"2025-05-01T10:00:00,\1+00:00 ", GLOBAL_OOM)),
        first=HOST_MEMORY, never=(DEV_SHM,), checks=KERNEL_FAILS),
]
# 5.4
STAMPS = {
    "since boot": STAMP,
    "since boot, with the thread": "[ 1234.567890][  T812] ",
    "dmesg -T": "[Thu May  1 10:00:00 2025] ",
    "dmesg -T in Chinese": "[四 5月  1 10:00:00 2025] ",
    "dmesg -T in German": "[Do Mai  1 10:00:00 2025] ",
    "dmesg -H": "[May 1 10:00] ",
    "dmesg --time-format iso": "2025-05-01T10:00:00,123456+00:00 ",
    "dmesg -x": "kern  :err   : [ 1234.567890] ",
    "/dev/kmsg": "3,1234,1234567890,-;",
    "syslog": "May  1 10:00:00 gpu07 kernel: ",
    "syslog in Chinese": "5月  1 10:00:00 gpu07 kernel: ",
    "journalctl -o short-iso": "2025-05-01T10:00:00+0000 gpu07 kernel: ",
    "journalctl -o short-precise": "May 01 10:00:00.123456 gpu07 kernel: ",
    "rsyslog, RFC 3339": "2025-05-01T10:00:00.123456+00:00 gpu07 kernel: [ 1234.567890] ",
    "none": "",
}
TIMES = [Case(style, log(XID79.replace(STAMP, stamp).replace(LATER, stamp)), first=DEVICE_LOST, checks=KERNEL_FAILS, brief=True)
         for style, stamp in STAMPS.items()]
# 6 and 7
FACTS = [
    Case("ib_write_bw at full rate", printed("ib_write_bw -d mlx5_0 --report_gbits", PERFTEST), code=3),
    Case("a backlog in nfsiostat", printed("nfsiostat", NFSIOSTAT), "reading from /scratch is slow", among=(NFS_SLOTS,),
         ways=IN_A_FENCE),
    Case("a backlog in mountstats", printed("cat /proc/self/mountstats", MOUNTSTATS), "reading from /scratch is slow", among=(NFS_SLOTS,)),
    Case("an empty df -PT", printed("df -PT", ""), "the disk is full", not_checks={"system.disk": "PASS"}, ways=("a bundle",)),
    *[Case(f"a kernel log that holds {title}", log(f"[   12.345678] {line}"), not_checks={"system.kernel_log": "PASS"}) for title, line in [
        ("a card that kfd skips", "kfd kfd: amdgpu: skipped device 1002:73bf, PCI rejects atomics 730<0"),
        ("a card that kfd does not support", "kfd kfd: amdgpu: NAVI10 not supported in kfd"),
        ("a failed command of an EFA", "infiniband efa_0: Failed to process command ALLOC_PD (opcode 14) comp_status 1 err -12")]],
    Case("a device that only root may open", printed("ls -l /dev/kfd", "crw------- 1 root root 235,   0 May  1 10:00 /dev/kfd"),
         "no GPU is seen by the user", not_checks={"system.devices": "PASS"}),
]
# 8
ANNOYANCES = [
    Case("HW Slowdown : Not Active", log(SMI_Q, "smi.txt"), never=(OBJECT_STORE,), code=3),
    Case("/dev/shm in NCCL", log(SHM_EXTEND), first=DEV_SHM, never=(DISK_FULL,)),
    Case("/dev/shm in NCCL's old words", log(SHM_OLD), first=DEV_SHM, never=(DISK_FULL,), loose=True),
    Case("too many open files", log("OSError: [Errno 24] Too many open files: '/data/shard-0017.tar'"), first=OPEN_FILES),
    Case("no route to a host", log(NO_ROUTE), first=FIREWALL),
    Case("a hub that refuses", log(TOO_MANY_REQUESTS), first=OBJECT_STORE),
    Case("a credential of munge that expired", log(MUNGE, "slurmd.log"), first=CLOCK_SKEW, loose=True),
    Case("no memory on a GPU", log(NO_GPU_MEMORY), first=OUT_OF_MEMORY),
    Case("an error of NVML in one line", log("Failed to initialize NVML: Driver/library version mismatch"), first=VERSION_SKEW,
         never=(MISCABLED, CREDENTIALS)),
    Case("a card that suspend lost", log(UNKNOWN_ERROR), "after suspend the card is gone for CUDA", first=AFTER_SUSPEND, never=(DEV_SHM,)),
]
# judging.md, 6.5
ALL_CLEARS = [
    Case("memory that is free after an OOM kill", [*printed("dmesg", GLOBAL_OOM), *printed("cat /proc/meminfo", meminfo(60))],
         first=HOST_MEMORY),
    Case("a SIGKILL and an OOM kill", [*log(SIGKILL), *printed("dmesg", GLOBAL_OOM), *printed("cat /proc/meminfo", meminfo(12))],
         first=HOST_MEMORY, code=0),
    Case("an OOM kill of a cgroup", log(MEMCG_OOM), first=CGROUP_OOM, never=(HOST_MEMORY,), checks=KERNEL_FAILS),
    Case("a pod that was OOMKilled", printed("kubectl describe pod trainer-0", OOM_KILLED), "the pod died", first=CGROUP_OOM, code=0, ways=COMMAND_IS_KNOWN),
    Case("a pod that was OOMKilled, as the person says", printed("kubectl describe pod trainer-0", OOM_KILLED), "the pod was OOMKilled",
         first=CGROUP_OOM, code=0),
]
# 6.6
APPLICABLE = [
    Case("a machine without RDMA", log(NO_LIBIBVERBS), "loss is nan after 200 steps on one g4dn instance", never=(RDMA_LIBS,), code=3, without=HALF),
]
# 6.7
IN_USE = [Case(f"NCCL takes {interface}", nccl_takes(f"{interface}:{address}<0>", f"{address}<41234>"), "NCCL cannot connect two nodes",
               first=IFNAME_WRONG)
          for interface, address in [("lo", "127.0.0.1"), ("docker0", "172.17.0.1"), ("virbr0", "192.168.122.1"), ("cni0", "10.244.0.1"),
                                     ("br-1a2b3c4d5e6f", "172.18.0.1")]]
IN_USE += [
    Case("NCCL takes the end of a container's link", log(VETH), first=IFNAME_WRONG),
    Case("eight ranks on one card", [*log(DUPLICATE), *printed("nvidia-smi -L", "GPU 0: Tesla T4 (UUID: GPU-6d1c1f0a-0000-4000-8000-000000000001)")],
         "we start 8 ranks with --nproc_per_node=8 on one T4", first=MORE_RANKS),
]


# What people's programs make of a text: changes of a text, and what they come to together.
OTHER_NAMES = {"gpu07": "blade-31", "10.1.0.5": "10.77.3.9", "10.1.0.4": "10.77.3.8"}


def other_hosts(text):
    for name, other in OTHER_NAMES.items():
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", other, text)
    return text


def other_order(text):
    return "".join(reversed(text.splitlines(keepends=True)))


def cut(text):
    """Begins and ends within a line."""
    lines = text.rstrip("\n").split("\n")
    return "\n".join([lines[0][len(lines[0]) // 2:], *lines, lines[-1][:len(lines[-1]) // 2]])


def coloured(text):
    """As dmesg and grep do."""
    return re.sub(r"(?m)^(.{1,12})(.+)$", "\x1b[32m\\1\x1b[0m\x1b[1;31m\x1b[K\\2\x1b[m\x1b[K", text)


def no_breaks(text):
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def entities(text):
    return html.escape(text, quote=False).replace('"', "&#34;").replace("'", "&#39;")


def quoted(text):
    return re.sub(r"(?m)^(?=.)", "> ", text)


def quoted_again(text):
    return quoted(quoted(text))


def windows_lines(text):
    return text.replace("\n", "\r\n")


def utf8_mark(text):
    return b"\xef\xbb\xbf" + text.encode()


def utf16(text):
    return text.encode("utf-16")


def utf16_big(text):
    return b"\xfe\xff" + text.encode("utf-16-be")


def utf16_bare(text):
    return text.encode("utf-16-le")


CHANGES = [other_hosts, other_order, cut, coloured, no_breaks, entities, quoted, quoted_again, windows_lines, utf8_mark, utf16, utf16_big,
           utf16_bare]
DISGUISES = [
    [other_hosts, other_order, no_breaks, entities],  # of other machines, from a web page
    [cut, coloured],  # an excerpt, from a terminal
    [quoted, windows_lines, utf16],  # from a mail, on Windows
]
BYTES = [utf8_mark, utf16, utf16_big, utf16_bare]
# bundle add makes nothing plain yet; what it gets is as a program wrote it.
OF_BUNDLES = [other_hosts, other_order, cut, windows_lines]


class Given:
    """A case with changes, as files in a folder of its own. Each way gives arguments, and the file that is piped in."""

    def __init__(self, folder, case, changes):
        self.folder = folder
        self.said = ""
        renamed = other_hosts if other_hosts in changes else str
        self.sentence = renamed(case.sentence)
        self.node = renamed("gpu07")
        self.pieces = []
        for piece in case.pieces:
            content = piece.content
            for change in changes:
                if change is not other_order or case.loose:
                    content = change(content)
            self.pieces.append(piece._replace(content=content, typed=renamed(piece.typed)))
        if other_order in changes:
            self.pieces.reverse()

    def write(self, name, content):
        path = f"{self.folder}/{name}"
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def files(self):
        return [self.write(f"{number}-{piece.name}", piece.content) for number, piece in enumerate(self.pieces)]

    def transcript(self, fence=""):
        """All as one text."""
        if len(self.pieces) == 1 and not self.pieces[0].typed and not fence:
            return self.pieces[0].content
        blocks = [(f"$ {piece.typed}\n" if piece.typed else "") + piece.content.rstrip("\n") + "\n" for piece in self.pieces]
        return "\n".join(fence + block + fence for block in blocks)

    def said_of(self, *arguments):
        run = galen.galen(*arguments)
        if run.returncode != 0:
            raise AssertionError(f"{shlex.join(arguments)}: {run.stderr}")
        return run.stdout

    def words(self):
        return [self.sentence] if self.sentence else []

    def pasted(self):
        return [f"{self.sentence or 'it fails'}\n\n{self.transcript()}"], None

    def issue(self):
        text = self.transcript("```\n")
        return [self.write("issue.md", f"{self.sentence or 'It fails.'}\n\n{text}\nAny idea?\n")], None

    def piped(self):
        return [*self.words(), "-"], self.write("piped", self.transcript())

    def piped_as_log(self):
        return ["--log", "-", *self.words()], self.write("piped", self.transcript())

    def as_files(self):
        return [*self.words(), *self.files()], None

    def logs(self):
        return [*itertools.chain.from_iterable(("--log", path) for path in self.files()), *self.words()], None

    def bundle(self):
        bundle = f"{self.folder}/bundle"
        self.said_of("bundle", "new", bundle, "--description", self.sentence or "it fails", "--node", self.node)
        for path, piece in zip(self.files(), self.pieces):
            what = ["--output", path, "--", *shlex.split(piece.typed)] if piece.typed else ["--log", path]
            self.said += self.said_of("bundle", "add", bundle, "--node", self.node, *what)
        return ["--bundle", bundle], None

    def beside_a_bundle(self):
        bundle = f"{self.folder}/bundle"
        self.said_of("bundle", "new", bundle, "--description", self.sentence or "it fails")
        arguments, _ = self.logs()
        return ["--bundle", bundle, *arguments], None


WAYS = {"pasted": Given.pasted, "an issue": Given.issue, "files": Given.as_files, "piped": Given.piped, "a bundle": Given.bundle,
        "logs": Given.logs, "piped as a log": Given.piped_as_log, "beside a bundle": Given.beside_a_bundle}


def fits(case, way, change):
    """Bytes go into files, and into a pipe that carries nothing else."""
    if change.__name__ in case.without or (way == "a bundle" and change not in OF_BUNDLES):
        return False
    alone = len(case.pieces) == 1 and not case.pieces[0].typed
    return change not in BYTES or way in ("files", "logs", "beside a bundle") or (alone and way.startswith("piped"))


class Run(typing.NamedTuple):
    case: Case
    way: str
    changes: list

    def __str__(self):
        return " ".join([f"{self.case.name!r} as {self.way}", *[change.__name__ for change in self.changes]])


def diagnose(run):
    """The exit code and the Diagnosis."""
    with tempfile.TemporaryDirectory() as folder:
        arguments, piped = WAYS[run.way](Given(folder, run.case, run.changes))
        with open(piped or os.devnull, "rb") as standard_input:
            done = galen.galen("diagnose", "--json", *arguments, stdin=standard_input)
    if done.returncode not in (0, 3):
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return done.returncode, json.loads(done.stdout)


def confirmed(diagnosis):
    report = diagnosis["report"]
    return [cause["label"] for cause in [report.get("primaryCause"), *report.get("otherCauses", [])] if cause]


def named(diagnosis):
    """The labels that a report names, the likeliest first."""
    report = diagnosis["report"]
    causes = [*([report["presumedCause"]] if "presumedCause" in report else []), *report.get("suspects", [])]
    return confirmed(diagnosis) + [cause["label"] for cause in causes]


def statuses(diagnosis, check):
    return {result["status"] for result in diagnosis.get("checkResults", []) if result["check"] == check}


def wrong(case, code, diagnosis):
    """What is not as it should be. Once a cause is confirmed, further checks need not run."""
    labels = named(diagnosis)
    results = diagnosis.get("checkResults", [])
    logs = {given["kind"] for given in diagnosis["incident"].get("logs", [])}
    found = {"primaryCause", "presumedCause"} & set(diagnosis["report"])
    kinds = {artefact.get("kind") for artefact in diagnosis["incident"].get("artefacts", [])}
    steps = "\n".join(diagnosis["report"].get("nextSteps", []))
    return [told for told, is_so in [
        (f"first is {labels[:1]}, not {case.first}", case.first and labels[:1] != [case.first]),
        (f"{case.among} are not all among {labels}", not set(case.among) <= set(labels)),
        (f"{labels} hold one of {case.never}", set(case.never) & set(labels)),
        (f"exit {code}, not {case.code}", case.code not in (None, code)),
        (f"exit {code}, but {confirmed(diagnosis)}", bool(confirmed(diagnosis)) != (code == 0)),
        *[(f"{check} is {statuses(diagnosis, check)}, not {status}", status not in statuses(diagnosis, check))
          for check, status in case.checks.items() if statuses(diagnosis, check) or not confirmed(diagnosis)],
        *[(f"{check} is {statuses(diagnosis, check)}", status in statuses(diagnosis, check) or not statuses(diagnosis, check))
          for check, status in case.not_checks.items()],
        ("this machine took part", any(result["node"].split(".")[0] == HERE for result in results)),
        ("a check failed to run", any(result["status"] == "ERROR" for result in results)),
        ("asks for the kernel log that was given", found and "kernel.log" in kinds and "check system.kernel_log reads" in steps),
        ("asks for the log that was given", found and "JOB" in logs and "check log.triage reads" in steps),
    ] if is_so]


def runs(cases):
    """Each case as it is and in two disguises, each in another way. With INTAKE_ALL in each way, with each change."""
    every = bool(os.environ.get("INTAKE_ALL"))
    for number, case in enumerate(cases):
        ways = case.ways or tuple(WAYS)
        turned = DISGUISES[number % 3:] + DISGUISES[:number % 3]
        disguises = [[change] for change in CHANGES] if every else turned[:1 if case.brief else 2]
        for turn, changes in enumerate([[], *disguises]):
            for way in ways if every else [ways[(number + 3 * turn) % len(ways)]]:
                kept = [change for change in changes if fits(case, way, change)]
                if kept or not (every and changes):
                    yield Run(case, way, kept)


class Intake(unittest.TestCase):
    def right(self, cases):
        def one(run):
            try:
                return wrong(run.case, *diagnose(run))
            except AssertionError as error:
                return [str(error)]

        tried = list(runs(cases))
        with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
            for run, faults in zip(tried, threads.map(one, tried)):
                with self.subTest(str(run)):
                    self.assertEqual(faults, [])

    def test_the_machine_that_runs_the_command_stays_out(self):
        self.right(OF_OTHER_MACHINES)

    def test_a_log_is_read_where_no_node_is_known(self):
        self.right(WITHOUT_A_NODE)

    def test_every_form_of_the_command_takes_a_log(self):
        self.right(REFUSED)

    def test_the_usual_outputs_are_read(self):
        self.right(USUAL_OUTPUTS)

    def test_kernel_lines_are_a_kernel_log(self):
        self.right(KERNEL_LOGS)

    def test_every_style_of_times_is_read(self):
        self.right(TIMES)

    def test_what_was_captured_is_read_as_what_it_is(self):
        self.right(FACTS)

    def test_a_line_that_says_what_is_wrong_decides(self):
        self.right(ANNOYANCES)

    def test_who_could_not_see_the_fault_does_not_acquit(self):
        self.right(ALL_CLEARS)

    def test_what_is_missing_is_a_fault_only_where_it_is_wanted(self):
        self.right(APPLICABLE)

    def test_what_the_log_says_that_it_uses_counts(self):
        self.right(IN_USE)

    def test_a_log_may_come_through_any_pipe(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        with open(write, "w", encoding="utf-8") as end:
            end.write(XID79)
        for arguments, more in [(["--log", f"/dev/fd/{read}", "the card is gone"], {"pass_fds": [read]}),
                                (["--log", "/dev/stdin", "the card is gone"], {"input": XID79})]:
            with self.subTest(arguments[1]):
                done = galen.galen("diagnose", "--json", *arguments, **more)
                self.assertIn(done.returncode, (0, 3), done.stderr)
                self.assertEqual(named(json.loads(done.stdout))[:1], [DEVICE_LOST])

    def test_a_bundle_says_what_checks_read(self):
        with tempfile.TemporaryDirectory() as folder:
            given = Given(folder, Case("", [piece for case in USUAL_OUTPUTS for piece in case.pieces]), [])
            given.bundle()
            told = given.said.splitlines()
            self.assertEqual([line for line in told if not line.endswith("checks read it")], [])
            self.assertEqual(len(told), len(given.pieces))
            odd = Given(folder, Case("", printed("nvidia-smi -foo", "%% 1")), [])
            self.assertNotIn("checks read it", odd.said_of(
                "bundle", "add", f"{folder}/bundle", "--node", odd.node, "--output", *odd.files(), "--", "nvidia-smi", "-foo"))

    def test_a_report_begins_with_the_line_and_fits_on_a_screen(self):
        for text, line in [(XID79, "NVRM: Xid (PCI:0000:3b:00)"), (GLOBAL_OOM, "Out of memory: Killed"), (SHM_EXTEND, "gpu07:311:402 [1]"),
                           (TOO_MANY_REQUESTS, "429 Client Error"), (MUNGE, "Munge decode failed"), (NO_ROUTE, "gpu07:900:931 [0]")]:
            with self.subTest(line):
                shown = galen.galen("diagnose", "-", input=text).stdout.splitlines()
                self.assertIn(line, "\n".join(shown[:12]))
                self.assertLessEqual(len(shown), 40)


if __name__ == "__main__":
    unittest.main()
