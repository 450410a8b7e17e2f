"""A time server (SNTP, RFC 4330) on the loopback interface, for the guests to compare their clocks with."""
import socket
import struct
import threading
import time

SECONDS_1900_TO_1970 = 2208988800


def stamp(seconds):
    seconds += SECONDS_1900_TO_1970
    return struct.pack("!II", int(seconds), int(seconds % 1 * 2**32))


class Clock:
    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                request, sender = self.socket.recvfrom(512)
            except OSError:
                return
            now = time.time()
            if len(request) < 48:
                if request == b"stop":
                    return
                continue
            version = request[0] >> 3 & 7
            # No leap second, a server, a primary source, precision of a microsecond.
            head = struct.pack("!BBBbII4s", version << 3 | 4, 1, request[2], -20, 0, 0, b"LOCL")
            answer = head + stamp(now) + request[40:48] + stamp(now) + stamp(time.time())
            try:
                self.socket.sendto(answer, sender)
            except OSError:
                return

    def stop(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.sendto(b"stop", ("127.0.0.1", self.port))
        self.thread.join()
        self.socket.close()
