#!/usr/bin/env python3
"""What a site grows by: a diagnosis in Redis, and a machine that is registered, in processor time of galen-execution and Redis.

Starts the mesh as processes on loopback with a Redis that syncs each write, runs diagnoses of an example, then starts node executors that
register as often as they are told, and reads the kernel's account of each process. Wall time is not looked at, so other work on the machine
disturbs little. docs/operations.md has what it gave."""
import argparse
import os
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/e2e")
import galen  # noqa: E402 pylint: disable=wrong-import-position
from redis_server import Redis  # noqa: E402 pylint: disable=wrong-import-position


def processor(pid):
    """Seconds of processor time of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    """MiB of a process."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def info(redis, field):
    run = subprocess.run(["redis-cli", "-p", str(redis.port), "info"], text=True, capture_output=True, check=True)
    return next(int(line.split(":")[1]) for line in run.stdout.splitlines() if line.startswith(field + ":"))


def pid_of(redis):
    return info(redis, "process_id")


def sizes(mesh, redis, count):
    """Bytes of Redis' memory and of its file for each diagnosis of an example."""
    for example in ("cublas-ecc", "nccl-connection-refused"):
        galen.diagnose(example, "--server", mesh.orchestrator.address)  # what is there once is there
        memory, file = info(redis, "used_memory"), info(redis, "aof_current_size")
        events = 0
        for _ in range(count):
            diagnosis, _ = galen.diagnose(example, "--server", mesh.orchestrator.address)
            events += int(diagnosis["lastSequence"])
        print(f"{example}: {count} diagnoses of {events / count:.0f} events: {(info(redis, 'used_memory') - memory) / count / 1024:.1f} KiB of memory and "
              f"{(info(redis, 'aof_current_size') - file) / count / 1024:.1f} KiB of append-only file each")


def registrations(execution, redis, machines, ttl, seconds):
    """Processor time of a registration; memory of a machine that is registered."""
    before = resident(execution.process.pid)
    nodes = [galen.Process("galen-node", f"--knowledge={galen.ROOT}/knowledge", f"--host=machine-{number}", "--watch=false",
                           f"--execution={execution.address}", f"--register_ttl={ttl}s") for number in range(machines)]
    try:
        time.sleep(ttl)
        pids = execution.process.pid, pid_of(redis)
        begin = [processor(pid) for pid in pids], time.monotonic(), info(redis, "total_commands_processed")
        time.sleep(seconds)
        # Twice before two thirds of the time are over is told: so it is counted rather than believed.
        commands = info(redis, "total_commands_processed") - begin[2]
        gone = time.monotonic() - begin[1]
        used = [processor(pid) - first for pid, first in zip(pids, begin[0])]
        per_machine = (resident(pids[0]) - before) / machines * 1024
        rate = machines * 3 / ttl
        print(f"{machines} machines, --register_ttl={ttl}s, {gone:.0f} s: {commands / gone:.0f} commands a second in Redis; galen-execution "
              f"{used[0] / gone * 1000 / machines:.3f} ms and Redis {used[1] / gone * 1000 / machines:.3f} ms of processor a machine and second "
              f"(about {rate:.0f} registrations a second); {per_machine:.0f} KiB of galen-execution's memory a machine")
    finally:
        for node in nodes:
            node.process.kill()
        for node in nodes:
            node.stop()


def command(connection, *words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    connection.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))


def rosters(execution, redis, machines, seconds):
    """What knowing so many machines costs a replica of execution: it reads the table of all of them again and again. One that registered is
    copied under other names."""
    first = "machine-000000"
    node = galen.Process("galen-node", f"--knowledge={galen.ROOT}/knowledge", f"--host={first}", "--watch=false", f"--execution={execution.address}")
    try:
        while redis.cli("HEXISTS", "galen:{nodes}:records", first) != "1":
            time.sleep(0.1)
        record = subprocess.run(["redis-cli", "-p", str(redis.port), "HGET", "galen:{nodes}:records", first], capture_output=True, check=True).stdout[:-1]
        score = float(redis.cli("ZSCORE", "galen:{nodes}:expiry", first))
        before = resident(execution.process.pid), info(redis, "used_memory")
        with socket.create_connection(("127.0.0.1", redis.port)) as connection:
            answers = connection.makefile("rb")
            for begin in range(1, machines, 1000):
                names = [f"machine-{number:06d}".encode() for number in range(begin, min(begin + 1000, machines))]
                command(connection, "HSET", "galen:{nodes}:records", *[part for name in names for part in (name, record.replace(first.encode(), name))])
                command(connection, "ZADD", "galen:{nodes}:expiry", *[part for name in names for part in (repr(score * 2), name)])
                for _ in range(2):
                    assert answers.readline().startswith(b":")
        time.sleep(5)
        pids = execution.process.pid, pid_of(redis)
        begin, started = [processor(pid) for pid in pids], time.monotonic()
        time.sleep(seconds)
        used = [(processor(pid) - at) / (time.monotonic() - started) for pid, at in zip(pids, begin)]
        print(f"{machines} machines known, {len(record)} bytes each: a replica of execution takes {used[0]:.3f} and Redis {used[1]:.3f} of a core to read them again "
              f"and again; {(resident(pids[0]) - before[0]):.0f} MiB of the replica's memory and {(info(redis, 'used_memory') - before[1]) / 2**20:.0f} MiB of Redis'")
    finally:
        node.stop()
        redis.cli("DEL", "galen:{nodes}:records", "galen:{nodes}:expiry")
        time.sleep(5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="diagnoses of each example")
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=20)
    arguments = parser.parse_args()
    redis = Redis()
    try:
        with galen.Mesh(store=redis.url) as mesh:
            sizes(mesh, redis, arguments.count)
            execution = mesh.start("galen-execution", f"--knowledge={galen.ROOT}/knowledge", f"--store={redis.url}")
            for machines in (arguments.machines // 4, arguments.machines):
                registrations(execution, redis, machines, 3, arguments.seconds)
            for machines in (1, 10_000, 100_000):
                rosters(execution, redis, machines, arguments.seconds)
    finally:
        redis.kill()


if __name__ == "__main__":
    main()
