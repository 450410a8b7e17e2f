"""Many watchers of diagnoses at once, each on a connection of its own."""
import asyncio
import json


class Watcher:
    """What one client saw of a stream: sequences in the order they came, the longest wait between two, and how it ended."""

    def __init__(self):
        self.sequences, self.ended, self.bytes = [], None, 0

    def is_whole(self):
        """Every event once and in order, from the first on, and then the end."""
        return self.ended == "end" and self.sequences == list(range(1, len(self.sequences) + 1)) and bool(self.sequences)


async def watch(address, key, name, began):
    """Watches `name` to its end. `began` is told once the stream is open."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 24)
    writer.write(f"GET /v1/{name}:watch HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    watcher = Watcher()
    status = head.split(b" ", 2)[1]
    began()
    if status != b"200":
        watcher.ended = f"HTTP {status.decode()}: {(await reader.read(1000)).decode()}"
    chunk = b""
    while watcher.ended is None:
        size = int(await reader.readuntil(b"\r\n"), 16)
        piece = await reader.readexactly(size + 2)
        if size == 0:
            watcher.ended = "closed"
            break
        watcher.bytes += size
        chunk += piece[:-2]
        *events, chunk = chunk.split(b"\n\n")
        for event in events:
            fields = dict(line.partition(": ")[::2] for line in event.decode().split("\n"))
            if fields.get("event") == "end":
                watcher.ended = "end"
            elif "id" in fields:
                if json.loads(fields["data"])["sequence"] != fields["id"]:
                    watcher.ended = "an id that is not its event's"
                watcher.sequences.append(int(fields["id"]))
    writer.close()
    return watcher


async def _watch_all(address, key, names, ready):
    began, waiting = asyncio.Event(), [len(names)]

    def note():
        waiting[0] -= 1
        if waiting[0] == 0:
            began.set()

    tasks = [asyncio.create_task(watch(address, key, name, note)) for name in names]
    await began.wait()
    await asyncio.to_thread(ready)
    return await asyncio.gather(*tasks)


def watch_all(address, key, names, ready=lambda: None):
    """A Watcher for each of `names`, in the same order; `ready` is called when all streams are open."""
    return asyncio.run(_watch_all(address, key, names, ready))


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
