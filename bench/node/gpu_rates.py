#!/usr/bin/env python3
"""Rates of a GPU as galen-gputest measures them, beside PyTorch's copies and products on random data,
in turns: a Markdown table for docs/measured, and all values as JSON.

Needs an NVIDIA GPU that nobody uses, and for the second opinion a python3 with PyTorch. Runs with what
galen-portable (images/portable.sh) carries to a machine, too.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from measure import spread

COPY_MIB = 1024
HOST_MIB = 256
SIZE = 4096
FAMILIES = "solid,checker,address,random"


def peer(seconds):
    """PyTorch's own measures, as one line of JSON. Events time each call on the GPU."""
    import torch

    def rate(work, amount):
        for _ in range(3):
            work()
        rates = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begin, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            done.record()
            done.synchronize()
            rates.append(amount / begin.elapsed_time(done) / 1e6)
        return statistics.median(rates)

    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    source = torch.randint(-2**31, 2**31 - 1, (COPY_MIB << 18,), dtype=torch.int32, device="cuda")
    target = torch.empty_like(source)
    told = {"copy_gb_s": rate(lambda: target.copy_(source), 2 * (COPY_MIB << 20))}
    there = torch.randint(-2**31, 2**31 - 1, (HOST_MIB << 18,), dtype=torch.int32).pin_memory()
    back = torch.empty_like(there).pin_memory()
    device = source[:HOST_MIB << 18]
    told["h2d_gb_s"] = rate(lambda: device.copy_(there, non_blocking=True), HOST_MIB << 20)
    told["d2h_gb_s"] = rate(lambda: back.copy_(device, non_blocking=True), HOST_MIB << 20)
    for name, kind, size in (("fp32", torch.float32, SIZE), ("bf16", torch.bfloat16, 2 * SIZE)):
        left, right = (torch.randn(size, size, device="cuda", dtype=kind) for _ in range(2))
        product = torch.empty_like(left)
        told[f"{name}_tflops"] = rate(lambda: torch.mm(left, right, out=product), 2 * size**3) / 1e3
    told["torch"] = torch.__version__
    told["gpu"] = torch.cuda.get_device_name()
    print(json.dumps(told))


def gputest(program, test, **options):
    """Fields of the @result line."""
    arguments = {"limit": 120, "patience": 1, **options}
    began = time.monotonic()
    run = subprocess.run([program, test, *(f"{name}={value}" for name, value in arguments.items())],
                         stdout=subprocess.PIPE, check=False, text=True)
    for line in run.stdout.splitlines():
        if line.startswith("@result\t"):
            fields = dict(part.split("=", 1) for part in line.split("\t")[1:])
            return {**{name: float(value) for name, value in fields.items()
                       if not value.startswith("0x")}, "wall": time.monotonic() - began}
    raise SystemExit(f"galen-gputest {test}: {run.stdout}")


def one_round(arguments, values):
    """Appends one value of each measure."""
    def own():
        program, gpu, seconds = arguments.gputest, arguments.gpu, arguments.seconds
        hbm = gputest(program, "hbm", gpu=gpu, seconds=seconds, mib=COPY_MIB)
        host = gputest(program, "host", gpu=gpu, seconds=seconds, mib=HOST_MIB)
        gemm = gputest(program, "gemm", gpu=gpu, seconds=seconds, size=SIZE)
        memory = gputest(program, "memory", gpu=gpu, seconds=0.1, share=0.95, families=FAMILIES)
        for name, value in (("copy", hbm["gb_s"]), ("h2d", host["h2d_gb_s"]),
                            ("d2h", host["d2h_gb_s"]), ("fp32", gemm["tflops"]),
                            ("traffic", memory["traffic_gb_s"]),
                            ("tested", memory["tested"] / 2**30),
                            ("wrong", memory["mismatches"] + gemm["wrong"] + host["wrong_bytes"]),
                            ("memory_wall", memory["wall"])):
            values.setdefault(name, []).append(value)

    def other():
        if not arguments.no_torch:
            run = subprocess.run([arguments.python, __file__, "--peer", "--seconds",
                                  str(arguments.seconds)], stdout=subprocess.PIPE, check=True)
            for name, value in json.loads(run.stdout).items():
                values.setdefault("torch_" + name, []).append(value)

    turns = [own, other]
    for turn in turns if len(values.get("copy", [])) % 2 == 0 else reversed(turns):
        turn()


def ratios(values, over, under):
    return [a / b for a, b in zip(values[over], values[under])]


def table(values):
    """Lines of Markdown."""
    lines = ["| | galen-gputest | PyTorch | ratio |", "|---|---|---|---|"]
    for what, own, other in (
            (f"copy in device memory, {COPY_MIB} MiB, read and written, GB/s", "copy", "torch_copy_gb_s"),
            (f"pinned memory to the GPU, {HOST_MIB} MiB, GB/s", "h2d", "torch_h2d_gb_s"),
            (f"GPU to pinned memory, {HOST_MIB} MiB, GB/s", "d2h", "torch_d2h_gb_s"),
            (f"product of {SIZE} × {SIZE} in single precision, TFLOP/s", "fp32", "torch_fp32_tflops")):
        if other in values:
            lines.append(f"| {what} | {spread(values[own])} | {spread(values[other])} "
                         f"| {spread(ratios(values, own, other), '{:.3f}')} |")
        else:
            lines.append(f"| {what} | {spread(values[own])} | | |")
    lines.append("")
    lines.append("| pattern test, four patterns and their complements | |")
    lines.append("|---|---|")
    lines.append(f"| memory tested, GiB | {spread(values['tested'])} |")
    lines.append(f"| written and read, GB/s | {spread(values['traffic'])} |")
    lines.append("| time over what the copy's rate allows "
                 f"| {spread(ratios(values, 'copy', 'traffic'), '{:.2f}')} |")
    if "torch_copy_gb_s" in values:
        lines.append("| time over what PyTorch's copy allows "
                     f"| {spread(ratios(values, 'torch_copy_gb_s', 'traffic'), '{:.2f}')} |")
    lines.append(f"| whole process, s | {spread(values['memory_wall'])} |")
    lines.append(f"| words, elements and bytes that were wrong | {int(sum(values['wrong']))} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gputest", default="build/bin/galen-gputest")
    parser.add_argument("--gpu", help="PCI address; none: the first GPU")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of each measure in a round")
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--json", help="where to write all values")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        peer(arguments.seconds)
        return
    if arguments.gpu is None:
        listing = subprocess.run([arguments.gputest, "list", "limit=60", "patience=1"],
                                 stdout=subprocess.PIPE, check=False, text=True).stdout
        found = [line for line in listing.splitlines() if line.startswith("@gpu\t")]
        if not found:
            raise SystemExit(f"no GPU: {listing}")
        arguments.gpu = dict(part.split("=", 1) for part in found[0].split("\t")[1:])["address"]
    values = {}
    for _ in range(arguments.rounds):
        one_round(arguments, values)
    print("\n".join(table(values)))
    if arguments.json:
        os.makedirs(os.path.dirname(os.path.abspath(arguments.json)), exist_ok=True)
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(values, file)


if __name__ == "__main__":
    main()
