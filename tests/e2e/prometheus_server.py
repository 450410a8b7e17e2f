"""Debian's Prometheus on loopback, with numbers of the past."""
import os
import re
import signal
import subprocess
import threading


class Prometheus:
    """Serves what an OpenMetrics text holds, for as long as it is entered."""

    def __init__(self, folder, text):
        self.folder = f"{folder}/prometheus"
        os.makedirs(f"{self.folder}/tsdb")
        metrics = f"{self.folder}/metrics.om"
        with open(metrics, "w", encoding="utf-8") as file:
            file.write(text)
        made = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", metrics, f"{self.folder}/tsdb"], capture_output=True, text=True,
                              timeout=120, check=False)
        if made.returncode != 0:
            raise AssertionError(f"promtool: {made.stderr}")
        os.remove(metrics)
        with open(f"{self.folder}/prometheus.yml", "w", encoding="utf-8") as file:
            file.write("global: {}\n")

    def __enter__(self):
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/tsdb", "--storage.tsdb.retention.time=10y",
             "--web.listen-address=127.0.0.1:0", "--log.level=info"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.url, ready = "", False  # logged by two goroutines, in any order
        told = []
        for line in self.process.stderr:
            told.append(line)
            if found := re.search(r'msg="Listening on" address=(?:\[::\]|127\.0\.0\.1):(\d+)', line):
                self.url = f"http://127.0.0.1:{found.group(1)}"
            ready = ready or "Server is ready" in line
            if self.url and ready:
                break
        else:
            self.process.kill()
            raise AssertionError("prometheus does not listen: " + "".join(told[-10:]))
        self.reader = threading.Thread(target=lambda: [None for _ in self.process.stderr])
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.reader.join()
        self.process.stderr.close()
