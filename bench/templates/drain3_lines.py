#!/usr/bin/env python3
"""Groups the lines of a labelled file with Drain3, for run.py: drain3_lines.py example|same FILE. Prints the lines, the seconds of
processor time that they took, and the group of each."""
import json
import sys
import time

from drain3 import TemplateMiner
from drain3.masking import MaskingInstruction
from drain3.template_miner_config import TemplateMinerConfig

BEFORE, BEHIND = r"((?<=[^A-Za-z0-9])|^)", r"((?=[^A-Za-z0-9])|$)"
# As Drain3's examples/drain3.ini has them.
EXAMPLE = [
    (BEFORE + r"(([0-9a-f]{2,}:){3,}([0-9a-f]{2,}))" + BEHIND, "ID"),
    (BEFORE + r"(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})" + BEHIND, "IP"),
    (BEFORE + r"([0-9a-f]{6,} ?){3,}" + BEHIND, "SEQ"),
    (BEFORE + r"([0-9A-F]{4} ?){4,}" + BEHIND, "SEQ"),
    (BEFORE + r"(0x[a-f0-9A-F]+)" + BEHIND, "HEX"),
    (BEFORE + r"([\-\+]?\d+)" + BEHIND, "NUM"),
    (r'(?<=executed cmd )(".+?")', "CMD"),
]
# What common/log_analysis/templates/mask.h masks, as near as expressions come: paths, what is written in hexadecimal digits, digits within
# words; and masks that only joints part are one, which is Drain3's own sign for any token.
SAME = [
    (r"(?<![A-Za-z0-9])(//[\w.~+@%:#?=&/-]*|/[\w.~+@%-]*/[\w.~+@%/-]*)", "*"),
    (r"(?<![A-Za-z0-9])(0[xX][0-9a-fA-F]+|(?=[a-fA-F:.-]*[0-9])[0-9a-fA-F]+([:.-]+[0-9a-fA-F]+)*)(?![A-Za-z0-9])", "*"),
    (r"\d+", "*"),
    (r"<:\*:>([.:,/_+%~-]*<:\*:>)+", "*"),
]


def main() -> int:
    kind, path = sys.argv[1:]
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        lines = [line.rstrip("\n").split("\t", 1)[1] for line in file]
    config = TemplateMinerConfig()
    config.profiling_enabled = False
    config.drain_sim_th = 0.4
    config.drain_depth = 4
    config.drain_max_children = 100
    config.drain_max_clusters = 1024
    config.mask_prefix, config.mask_suffix = "<:", ":>"
    config.masking_instructions = [MaskingInstruction(pattern, name) for pattern, name in (EXAMPLE if kind == "example" else SAME)]
    miner = TemplateMiner(None, config)
    begin = time.process_time()
    groups = [miner.add_log_message(line)["cluster_id"] for line in lines]
    took = time.process_time() - begin
    print(json.dumps({"lines": len(lines), "seconds": took, "groups": groups}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
