"""Makes the initramfs of a guest: busybox, real tools with the libraries they link, kernel modules, and galen-node."""
import os
import re
import stat
import subprocess

# What the checks run and what the faults need, as Debian builds it; applets of busybox fill the rest.
PROGRAMS = (
    "chronyc", "chronyd", "df", "dmesg", "findmnt", "getent", "ib_write_bw", "ibv_devinfo", "ip", "kmod", "ls", "lscpu",
    "lspci", "ps", "rdma", "ss", "tc", "unshare", "prlimit")
# Loaded at boot, in this order; what they need goes first.
MODULES = (
    "virtio_pci", "virtio_console", "virtio_net", "crc32_generic", "crc32c_generic", "ib_uverbs", "rdma_ucm", "rdma_rxe",
    "veth", "sch_netem", "brd", "ext4")
NEEDED = re.compile(rb"\bdepends=([^\0]*)\0")


class Image:
    """Files of a root file system by path, written as a cpio archive."""

    def __init__(self):
        self.entries = {}

    def directory(self, path):
        path = path.strip("/")
        while path and path not in self.entries:
            self.entries[path] = (stat.S_IFDIR | 0o755, b"")
            path = os.path.dirname(path)

    def add(self, path, content, mode=0o644):
        path = path.strip("/")
        self.directory(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, content)

    def copy(self, source, path):
        with open(source, "rb") as file:
            self.add(path, file.read(), 0o755 if os.access(source, os.X_OK) else 0o644)

    def link(self, path, target):
        self.directory(os.path.dirname(path.strip("/")))
        self.entries[path.strip("/")] = (stat.S_IFLNK | 0o777, target.encode())

    def write(self, path):
        """As the "new ASCII" format of cpio that the kernel unpacks."""
        with open(path, "wb") as out:
            entries = sorted(self.entries.items()) + [("TRAILER!!!", (0, b""))]
            for number, (name, (mode, content)) in enumerate(entries, 1):
                name = name.encode() + b"\0"
                fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
                head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
                out.write(head + b"\0" * (-len(head) % 4))
                out.write(content + b"\0" * (-len(content) % 4))


class Unpacked:
    """The packages that fetch.sh unpacked, before the machine's own files."""

    def __init__(self, root):
        self.root = root

    def find(self, program):
        for base in (self.root, ""):
            for folder in ("usr/bin", "usr/sbin", "bin", "sbin"):
                path = os.path.join(base or "/", folder, program)
                if os.path.isfile(path) and not (base == "" and os.path.basename(
                        os.path.realpath(path)) == "busybox"):
                    return path
        raise FileNotFoundError(f"{program}: neither unpacked nor installed")

    def libraries(self, *programs):
        """The shared libraries of programs, and the loader."""
        places = [f"{self.root}/usr/lib/x86_64-linux-gnu", f"{self.root}/lib/x86_64-linux-gnu"]
        run = subprocess.run(["ldd", *programs], text=True, capture_output=True, check=True,
                             env={**os.environ, "LD_LIBRARY_PATH": ":".join(places)})
        missing = re.findall(r"^\s*(\S+) => not found", run.stdout, re.M)
        if missing:
            raise FileNotFoundError(f"shared libraries: {sorted(set(missing))}: not found; do guest_packages.txt and "
                                    "common/cmake/packages name what holds them?")
        return {path for path in re.findall(r"(/\S+) \(0x", run.stdout)}


def module_order(folder, names):
    """Paths of modules, what each needs before it; a name that is built into the kernel is left out."""
    paths, order = {}, []
    for base, _, files in os.walk(folder):
        for name in files:
            if name.endswith(".ko"):
                paths[name[:-3].replace("-", "_")] = os.path.join(base, name)

    def visit(name):
        path = paths.get(name)
        if path is None or path in order:
            return
        with open(path, "rb") as file:
            needed = NEEDED.search(file.read())
        for other in (needed.group(1).decode().split(",") if needed else ()):
            visit(other.replace("-", "_"))
        order.append(path)

    for name in names:
        visit(name)
    return order


def build(out, *, unpacked, release, node, knowledge, files, certs):
    """Writes the initramfs to `out`. `node` is galen-node, `knowledge` its directory, `files` a folder with the first
    program, `init`, and others that go to /etc, `certs` what `galen certs` made."""
    tools, image = Unpacked(unpacked), Image()
    for name in ("dev", "proc", "sys", "run", "tmp", "mnt", "root", "var/run", "var/lib/chrony", "var/log", "bb",
                 "usr/bin", "usr/lib", "usr/lib64"):
        image.directory(name)
    for name in ("bin", "lib", "lib64"):
        image.link(name, f"usr/{name}")
    image.link("sbin", "usr/bin")
    image.link("usr/sbin", "bin")
    image.copy(f"{files}/init", "init")
    for name in ("chrony.conf", "job"):
        image.copy(f"{files}/{name}", f"etc/{name}")
    for name in ("ca.pem", "node.pem", "node.key"):
        image.copy(f"{certs}/{name}", f"etc/galen/certs/{name}")
    image.copy(tools.find("busybox"), "usr/bin/busybox")
    image.link("usr/bin/sh", "busybox")
    image.add("etc/passwd", b"root:x:0:0::/root:/bin/sh\n_chrony:x:100:100::/var/lib/chrony:/bin/false\n")
    image.add("etc/group", b"root:x:0:\n_chrony:x:100:\n")
    image.add("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files\n")

    stripped = f"{out}.galen-node"
    subprocess.run(["strip", "-o", stripped, node], check=True)
    programs = [tools.find(name) for name in PROGRAMS]
    providers = f"{unpacked}/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so"
    for source in programs:
        image.copy(source, f"usr/bin/{os.path.basename(source)}")
    image.link("usr/bin/modinfo", "kmod")
    image.copy(stripped, "usr/bin/galen-node")
    image.copy(providers, "usr/lib/x86_64-linux-gnu/libibverbs/" + os.path.basename(providers))
    image.copy(f"{unpacked}/etc/libibverbs.d/rxe.driver", "etc/libibverbs.d/rxe.driver")
    for library in tools.libraries(*programs, node, providers):
        place = "lib64" if "ld-linux" in library else "lib/x86_64-linux-gnu"
        image.copy(library, f"usr/{place}/{os.path.basename(library)}")
    os.remove(stripped)

    for base, _, files in os.walk(knowledge):
        for name in files:
            path = os.path.join(base, name)
            image.copy(path, f"usr/share/galen/knowledge/{os.path.relpath(path, knowledge)}")

    kernel = f"lib/modules/{release}"
    order = module_order(f"{unpacked}/{kernel}", MODULES)
    for path in order:
        image.copy(path, f"usr/{kernel}/{os.path.basename(path)}")
    image.add("etc/modules", "".join(f"/{kernel}/{os.path.basename(path)}\n" for path in order).encode())
    image.write(out)
