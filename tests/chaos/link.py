"""The way from one process to another, that can be cut: bytes pass through this process, in threads of their own. No
rights are needed for it, and it cuts one pair of processes alone."""
import socket
import threading


class Link:
    """Listens on a port of the loopback interface and passes all on to `target`, a function that gives the port there."""

    role = "link"

    def __init__(self, name, target):
        self.name = name
        self.target = target
        self.whole = threading.Event()
        self.whole.set()
        self.lock = threading.Lock()
        self.connections = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connect, args=(near,), daemon=True).start()

    def connect(self, near):
        self.whole.wait()  # whoever connects while it is cut waits, as for a lost SYN
        try:
            far = socket.create_connection(("127.0.0.1", self.target()), timeout=5)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            self.connections.add((near, far))
        ways = [threading.Thread(target=self.carry, args=way, daemon=True) for way in ((near, far), (far, near))]
        for way in ways:
            way.start()
        for way in ways:
            way.join()
        with self.lock:
            self.connections.discard((near, far))
        near.close()
        far.close()

    def carry(self, source, sink):
        try:
            while True:
                data = source.recv(1 << 16)
                self.whole.wait()
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self, seconds, pause, break_them):
        """Nothing passes for `seconds`; then all goes on, or with `break_them` every connection is lost."""
        self.whole.clear()
        pause(seconds)
        if break_them:
            with self.lock:
                broken = list(self.connections)
            for pair in broken:
                for end in pair:
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
        self.whole.set()

    def close(self):
        self.listener.close()
        self.cut(0, lambda _: None, True)


def pick(links, rng):
    """A link, for how long, and whether its connections are lost, as the seed says."""
    return rng.choice(links), rng.uniform(0, 4), rng.random() < 0.5
