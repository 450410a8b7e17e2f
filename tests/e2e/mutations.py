"""Changes to a bundle that do not change its cause: other names, another time, another order, a second source less, noise."""
import datetime
import os
import random
import re

# Whole weeks, so that names of weekdays stay right.
SHIFT = datetime.timedelta(weeks=28)
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
# What another source in the same bundle tells as well: (program, a path below rootfs that holds the same facts).
TOLD_TWICE = [
    (["ibv_devinfo", "-v"], "sys/class/infiniband"),
    (["ibstat"], "sys/class/infiniband"),
    (["rdma", "-j", "link", "show"], "sys/class/infiniband"),
    (["show_gids"], "sys/class/infiniband"),
    (["ss", "-s"], "proc/net/netstat"),
    (["lscpu"], "proc/stat"),
    (["timedatectl", "show"], "proc/stat"),
    (["findmnt", "-J"], "proc/mounts"),
    (["uname", "-a"], "proc/version"),
]


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)


class Bundle:
    """The files of a bundle by path."""

    def __init__(self, root):
        self.files = {}
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                self.files[os.path.relpath(path, root)] = read(path)

    def save(self, root):
        for path, text in self.files.items():
            write(os.path.join(root, path), text)

    def substitute(self, pattern, replacement):
        pattern = re.compile(pattern)
        self.files = {pattern.sub(replacement, path): pattern.sub(replacement, text) for path, text in self.files.items()}

    def hosts(self):
        return sorted({path.split("/")[1] for path in self.files if path.startswith("nodes/")})

    def logs(self):
        return sorted(path for path in self.files if path.startswith("logs/") and path.endswith((".log", ".txt", ".out")))


def rename_hosts(bundle, chance, _):
    names = bundle.hosts()
    chance.shuffle(names)
    new = {name: f"blade-{chance.randrange(10, 99)}{chr(97 + at % 26)}{at}" for at, name in enumerate(names)}
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    if alternatives:
        bundle.substitute(rf"(?<![\w.-])({alternatives})(?![\w-])", lambda found: new[found.group(1)])


def rename_devices(bundle, *_):
    bundle.substitute(r"(?<![A-Za-z0-9])mlx5_(\d+)", lambda found: f"mlx5_{int(found.group(1)) + 20}")


def shift_times(bundle, *_):
    def moved(found, form):
        return (datetime.datetime.strptime(found.group(0), form) + SHIFT).strftime(form)

    def without_year(found):
        # Any year with a 29th of February.
        day = datetime.datetime(2024, MONTHS.index(found.group(1)) + 1, int(found.group(2))) + SHIFT
        return f"{MONTHS[day.month - 1]} {day.day:2d}"

    def epoch(found):
        return str(int(found.group(0)) + int(SHIFT.total_seconds()))

    def with_year(found):
        day = datetime.datetime(int(found.group(4)), MONTHS.index(found.group(1)) + 1, int(found.group(2))) + SHIFT
        return f"{MONTHS[day.month - 1]} {day.day:2d} {found.group(3)} {day.year}"

    months = "|".join(MONTHS)
    for path, text in bundle.files.items():
        text = re.sub(r"(?<!\d)20\d\d-\d\d-\d\d(?!\d)", lambda found: moved(found, "%Y-%m-%d"), text)
        text = re.sub(r"(?<!\d)20\d\d/\d\d/\d\d(?!\d)", lambda found: moved(found, "%Y/%m/%d"), text)
        text = re.sub(rf"\b({months}) ([ \d]\d) (\d\d:\d\d:\d\d) (20\d\d)", with_year, text)
        text = re.sub(rf"\b({months}) ([ \d]\d)(?= \d\d:\d\d:\d\d(?! 20\d\d))", without_year, text)
        text = re.sub(r"(?<![\d.])1[67]\d{8}(?=\.\d{3,9}\b)|(?<=^btime )\d+", epoch, text, flags=re.M)
        bundle.files[path] = text


def reorder(bundle, chance, _):
    """The logs of the incident, the commands of a node and the nodes in another order."""
    for path, text in bundle.files.items():
        if path.endswith("commands.yaml"):
            lines = text.splitlines(keepends=True)
            if all(line.startswith("- {") for line in lines):
                chance.shuffle(lines)
                bundle.files[path] = "".join(lines)
    lines = bundle.files["incident.yaml"].splitlines(keepends=True)
    logs = [at for at, line in enumerate(lines) if re.match(r'\s+- \{"?path', line)]
    order = list(logs)
    chance.shuffle(order)
    bundle.files["incident.yaml"] = "".join(lines[order[logs.index(at)]] if at in logs else line
                                            for at, line in enumerate(lines))


def drop_a_second_source(bundle, chance, _):
    for host in bundle.hosts():
        listed = f"nodes/{host}/commands.yaml"
        twice = [argv for argv, other in TOLD_TWICE
                 if any(path.startswith(f"nodes/{host}/rootfs/{other}") for path in bundle.files)]
        if not twice or listed not in bundle.files:
            continue
        argv = "argv: [" + ", ".join(f'"{word}"' for word in chance.choice(twice)) + "]"
        bundle.files[listed] = "".join(line for line in bundle.files[listed].splitlines(keepends=True) if argv not in line)


def add_noise(bundle, chance, harmless):
    """Lines of a healthy job into a log of this one."""
    logs = bundle.logs()
    if not logs:
        return
    log = chance.choice(logs)
    lines = bundle.files[log].splitlines(keepends=True)
    noise = chance.choice(harmless)
    start = chance.randrange(max(1, len(noise) - 15))
    at = chance.randrange(len(lines) + 1)
    if at and not lines[at - 1].endswith("\n"):
        at -= 1
    bundle.files[log] = "".join(lines[:at] + noise[start:start + 15] + lines[at:])


OPERATORS = [rename_hosts, rename_devices, shift_times, reorder, drop_a_second_source, add_noise]


def mutate(bundle, seed, harmless):
    """Changes `bundle` by one to three operators; gives their names."""
    chance = random.Random(seed)
    chosen = chance.sample(OPERATORS, chance.randint(1, 3))
    for operator in chosen:
        operator(bundle, chance, harmless)
    return [operator.__name__ for operator in chosen]
