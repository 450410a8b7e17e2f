"""What a mesh tells of itself: metrics against their list, a dashboard and alert rules against a real Prometheus,
one trace through every process, and log lines that a collector can read."""
import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import galen

EXAMPLE = "cublas-ecc"
DOC = f"{galen.ROOT}/docs/observability.md"
DASHBOARD = f"{galen.ROOT}/k8s/observability/grafana-dashboard.json"
ALERTS = f"{galen.ROOT}/k8s/observability/alerts.yaml"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
WORD = re.compile(r"\b(?:galen|process)_[a-z0-9_]+\b")
WAIT = 120  # seconds that a condition may take on a machine that does much else


def catalogue():
    """The metrics that docs/observability.md lists: (type, labels) by name."""
    listed = {}
    with open(DOC, encoding="utf-8") as page:
        for line in page:
            row = re.match(r"\| `((?:galen|process)_\w+)` \| (\w+) \| (.*?) \|", line)
            if row:
                listed[row.group(1)] = (row.group(2), set(re.findall(r"`(\w+)`", row.group(3))))
    return listed


def base(name, listed):
    """The metric that a series belongs to."""
    for end in ("_bucket", "_sum", "_count"):
        if name.endswith(end) and listed.get(name[:-len(end)], ("",))[0] == "histogram":
            return name[:-len(end)]
    return name


def scrape(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
        return page.read().decode()


def metrics_port(process):
    return re.search(r"metrics on port (\d+)", "".join(process.log)).group(1)


def expressions():
    """(where, PromQL) of all panels and rules, as Prometheus reads them."""
    with open(DASHBOARD, encoding="utf-8") as file:
        dashboard = json.load(file)
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"].replace("$__rate_interval", "1m").replace("$job", ".*")
            yield f'panel "{panel["title"]}"', text
    with open(ALERTS, encoding="utf-8") as file:
        text = file.read()
    for name, block in re.findall(r"- alert: (\w+)\n\s+expr: \|-\n((?:\s{10}.*\n)+)", text):
        yield f"alert {name}", re.split(r"\n\s{8}for:", block)[0].strip()


def wait_for(condition, what):
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"did not come: {what}")


class Prometheus:
    """A real one, on a free port of the loopback interface, that scrapes `targets` every second. It ends with this
    process."""

    def __init__(self, targets, rules):
        self.scratch = tempfile.TemporaryDirectory()
        config = f"{self.scratch.name}/prometheus.yml"
        listed = ", ".join(f'"127.0.0.1:{port}"' for port in targets)
        with open(config, "w", encoding="utf-8") as file:
            file.write("global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
                       f"rule_files: [{rules}]\n"
                       "scrape_configs:\n  - job_name: galen\n    static_configs:\n"
                       f"      - targets: [{listed}]\n")
        for _ in range(5):  # the port may be taken between the two steps
            with socket.create_server(("127.0.0.1", 0)) as probe:
                self.port = probe.getsockname()[1]
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "prometheus", f"--config.file={config}",
                 f"--storage.tsdb.path={self.scratch.name}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.log = []
            self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
            self.reader.start()
            if wait_for(lambda: self.ready() or self.process.poll() is not None,
                        "Prometheus") and self.process.poll() is None:
                return
            self.stop()
            os.makedirs(self.scratch.name, exist_ok=True)
        raise AssertionError("".join(self.log))

    def ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5) as page:
                return page.status == 200
        except OSError:
            return False

    def get(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as page:
                return json.load(page)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def query(self, text):
        return self.get("query", query=text)

    def values(self, text):
        """The values of the series that `text` gives, without those that are no number."""
        answer = self.query(text)
        if answer["status"] != "success":
            raise AssertionError(f"{text}: {answer}")
        return [float(series["value"][1]) for series in answer["data"]["result"]
                if series["value"][1] != "NaN"]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.reader.join()
        self.process.stderr.close()
        self.scratch.cleanup()


class Files(unittest.TestCase):
    """The files that are made for Prometheus and Grafana."""

    def test_every_metric_in_them_is_one_that_galen_exports(self):
        listed = catalogue()
        self.assertGreater(len(listed), 40)
        used = set()
        for where, text in expressions():
            for name in WORD.findall(text):
                self.assertIn(base(name, listed), listed, f"{where}: {name}")
                used.add(base(name, listed))
            for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", text) + re.findall(r"\{([^}]*)\}", text):
                for label in re.findall(r"(\w+)(?:\s*(?:=~|!~|!=|=)|\s*,|\s*$)", re.sub(r'"[^"]*"', "", labels)):
                    known = set().union(*(listed[base(name, listed)][1] for name in WORD.findall(text)
                                          if base(name, listed) in listed), set())
                    self.assertIn(label, known | {"job", "instance", "le"}, f"{where}: label {label}")
        self.assertEqual(used & {name for name in listed if name.startswith("galen_diag")},
                         {name for name in listed if name.startswith("galen_diag")})

    def test_all_rules_are_read_here(self):
        with open(ALERTS, encoding="utf-8") as file:
            names = re.findall(r"- alert: (\w+)", file.read())
        self.assertEqual(names, [where.split()[1] for where, _ in expressions() if where.startswith("alert")])

    @unittest.skipUnless(shutil.which("promtool"), "needs promtool (Debian: prometheus)")
    def test_promtool_takes_the_rules(self):
        run = subprocess.run(["promtool", "check", "rules", ALERTS], text=True, capture_output=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


class OneProcess(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.up = galen.Process("galen", "up", "--store", f"{self.scratch.name}/galen.db",
                                "--metrics=127.0.0.1:0")
        self.addCleanup(self.up.stop)
        self.port = metrics_port(self.up)

    @unittest.skipUnless(shutil.which("prometheus") and shutil.which("setpriv"),
                         "needs prometheus (Debian: prometheus)")
    def test_a_prometheus_evaluates_dashboard_and_rules_with_data(self):
        prometheus = Prometheus([self.port], ALERTS)
        self.addCleanup(prometheus.stop)
        wait_for(lambda: prometheus.values('galen_rpc_server_calls_total') == [] and
                 prometheus.values("up") == [1], "the first scrape")
        diagnosis, code = galen.diagnose(EXAMPLE, "--server", self.up.address)
        self.assertEqual(code, 0)
        done = 'galen_diagnoses_ended_total{state="SUCCEEDED"}'
        wait_for(lambda: prometheus.values(done) == [1], "the diagnosis in Prometheus")
        # A rate takes two scrapes with the diagnosis between them.
        galen.diagnose(EXAMPLE, "--server", self.up.address)
        wait_for(lambda: any(value > 0 for value in prometheus.values(f"rate({done}[1m])")), "a rate")
        # Nothing failed, no model is there, and nothing is called over a wire.
        quiet = ("steps", "to other processes", "model", "Tokens", "Cost", "Circuit", "end in ERROR")

        def empty():
            """Panels without data that ought to have some. Every expression is evaluated."""
            without = []
            for where, text in expressions():
                answer = prometheus.query(text)
                self.assertEqual(answer["status"], "success", f"{where}: {text}: {answer}")
                self.assertEqual(answer.get("warnings", []), [], f"{where}: {text}")
                if (where.startswith("panel") and not answer["data"]["result"]
                        and not any(word in where for word in quiet)):
                    without.append(where)
            return without
        missing = [None]

        def full():
            missing[0] = empty()
            return not missing[0]
        try:
            wait_for(full, "data in every panel")
        except AssertionError:
            self.fail(f"no data in {missing[0]}")
        rules = prometheus.get("rules")["data"]["groups"]
        self.assertEqual(len([rule for group in rules for rule in group["rules"]]),
                         len([where for where, _ in expressions() if where.startswith("alert")]))
        for group in rules:
            for rule in group["rules"]:
                self.assertEqual(rule.get("lastError", ""), "", rule["name"])
        firing = [alert["labels"]["alertname"] for alert in prometheus.get("alerts")["data"]["alerts"]
                  if alert["state"] == "firing"]
        self.assertEqual(firing, [], "a mesh that is well raises no alarm")

    def test_top_shows_diagnoses_services_and_programs(self):
        diagnosis, _ = galen.diagnose(EXAMPLE, "--server", self.up.address)
        run = galen.galen("top", "--server", self.up.address, "--metrics", self.port, "--once",
                          "--json", "--interval", "0.5")
        self.assertEqual(run.returncode, 0, run.stderr)
        top = json.loads(run.stdout)
        self.assertEqual(top["diagnoses"][0]["id"], diagnosis["name"].rsplit("/", 1)[1])
        self.assertEqual(top["diagnoses"][0]["trace_id"], diagnosis["traceId"])
        self.assertEqual({row["service"] for row in top["services"]},
                         {"conclusion", "execution", "node", "orchestrator", "planning",
                          "reflection", "summarization"})
        self.assertGreater(top["programs"][0]["memory_bytes"], 1 << 20)
        text = galen.galen("top", "--server", self.up.address, "--metrics", self.port, "--interval", "0.5")
        self.assertIn("SUCCEEDED", text.stdout)
        self.assertNotIn("\x1b", text.stdout)

    def test_top_draws_in_place_on_a_terminal_and_gives_it_back(self):
        leader, follower = pty.openpty()
        top = subprocess.Popen(
            [f"{galen.BIN}/galen", "top", "--server", self.up.address, "--metrics", self.port,
             "--interval", "0.2"], stdin=follower, stdout=follower, stderr=follower, cwd=galen.ROOT,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": ""})
        os.close(follower)
        shown = b""
        while shown.count(b"\x1b[H") < 3:
            self.assertTrue(select.select([leader], [], [], WAIT)[0], shown)
            shown += os.read(leader, 65536)
        top.send_signal(signal.SIGINT)
        while not shown.endswith(b"\x1b[?1049l"):
            self.assertTrue(select.select([leader], [], [], WAIT)[0], shown)
            shown += os.read(leader, 65536)
        self.assertEqual(top.wait(timeout=WAIT), 0)
        os.close(leader)
        self.assertTrue(shown.startswith(b"\x1b[?1049h"))

    def test_top_says_that_nothing_answers(self):
        run = galen.galen("top", "--server", "127.0.0.1:1", "--metrics", "1", "--once", "--interval", "0.2")
        self.assertEqual(run.returncode, 4)
        self.assertIn("no diagnoses: 127.0.0.1:1", run.stdout)

    def test_a_log_format_that_there_is_none_of_is_refused(self):
        run = galen.galen("up", "--log-format", "xml")
        self.assertEqual(run.returncode, 2)
        self.assertIn("text, json or auto", run.stderr)


class ManyProcesses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mesh = galen.Mesh(nodes=2, everywhere=("--metrics=127.0.0.1:0", "--log_calls"))
        jobs = tempfile.TemporaryDirectory()
        cls.addClassCleanup(jobs.cleanup)
        with open(f"{jobs.name}/a-job.yaml", "w", encoding="utf-8") as file:
            file.write("no description of a job\n")
        cls.watch = galen.Process("galen-watch", f"--knowledge={galen.ROOT}/knowledge",
                                  f"--store={cls.mesh.scratch.name}/watch.db",
                                  f"--orchestrator={cls.mesh.orchestrator.address}",
                                  "--early_warning", "--prometheus=http://127.0.0.1:9", f"--early_jobs={jobs.name}",  # nobody is there
                                  *cls.mesh.everywhere)
        cls.gateway = galen.Process("galen-gateway", f"--store={cls.mesh.scratch.name}/keys.db",
                                    f"--orchestrator={cls.mesh.orchestrator.address}", *cls.mesh.everywhere)
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://{cls.gateway.address}/v1/tenants/t/diagnoses")  # without a key
        cls.diagnosis, cls.code = galen.diagnose_with(
            EXAMPLE, {"TRACEPARENT": TRACEPARENT}, "--server", cls.mesh.orchestrator.address)

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()
        cls.watch.stop()
        cls.mesh.__exit__()

    def lines(self, process):
        return [json.loads(line) for line in list(process.log)]

    def test_what_each_tells_is_on_the_list_as_it_stands_there(self):
        listed = catalogue()
        seen = set()
        for process in (*self.mesh.processes, self.watch, self.gateway):
            for line in scrape(metrics_port(process)).splitlines():
                kind = re.match(r"# TYPE (\S+) (\S+)", line)
                if kind:
                    self.assertEqual(listed.get(kind.group(1), ("",))[0], kind.group(2),
                                     f"{process.program}: {kind.group(1)}")
                    seen.add(kind.group(1))
                elif not line.startswith("#"):
                    name = re.match(r"\w+", line).group(0)
                    labels = set(re.findall(r'[{,](\w+)="', line.rsplit(" ", 1)[0])) - {"le"}
                    self.assertEqual(labels, listed[base(name, listed)][1], f"{process.program}: {line}")
        # The gateway here hears no webhooks and files no tickets: E2e.webhooks and E2e.tickets look at those.
        expected = {name for name in listed if not name.startswith(("galen_llm_", "galen_webhook_", "galen_tickets_"))}
        self.assertEqual(seen, expected)

    def test_callers_and_called_count_the_same_calls(self):
        def differ():
            called = {"server": {}, "client": {}}
            for process in self.mesh.processes:
                for side, method, value in re.findall(
                        r'galen_rpc_(server|client)_calls_total\{rpc_service="galen\.(?:planning|reflection|node)[^"]*",'
                        r'rpc_method="(\w+)",code="\w+"\} (\d+)', scrape(metrics_port(process))):
                    called[side][method] = called[side].get(method, 0) + int(value)
            self.assertGreater(called["server"]["Judge"], 0)
            self.assertGreater(called["server"]["RunChecks"], 0)
            return called["server"] != called["client"] and called
        # A caller that goes away counts its call as cancelled; the status of an answer arrives after it is sent.
        wait_for(lambda: not differ(), "the same numbers on both sides")

    def test_one_trace_goes_through_every_process_and_into_the_event_log(self):
        self.assertEqual(self.code, 0)
        self.assertEqual(self.diagnosis["traceId"], TRACE)
        name = self.diagnosis["name"]
        for process in self.mesh.processes:
            def told(process=process):
                return [line for line in self.lines(process)
                        if line.get("trace_id") == TRACE and line.get("diagnosis") == name]
            wait_for(told, f"a line of {process.program} with trace and diagnosis")
        methods = {line["method"] for node in self.mesh.nodes for line in self.lines(node)
                   if line.get("trace_id") == TRACE and "method" in line}
        self.assertEqual(methods, {"/galen.node.v1.NodeService/RunChecks"})
        again = galen.galen("diagnose", "--server", self.mesh.orchestrator.address, "--json",
                            "--bundle", f"{galen.EXAMPLES}/{EXAMPLE}")
        self.assertNotEqual(json.loads(again.stdout)["traceId"], TRACE)
        self.assertRegex(json.loads(again.stdout)["traceId"], "^[0-9a-f]{32}$")

    def test_every_line_of_every_log_is_an_object_with_its_fields(self):
        for process in self.mesh.processes:
            lines = self.lines(process)
            self.assertGreater(len(lines), 1)
            for line in lines:
                self.assertLessEqual({"time", "level", "service", "message"}, set(line))
                self.assertEqual(line["service"], process.program)
                self.assertIn(line["level"], ("INFO", "WARNING", "ERROR"))


if __name__ == "__main__":
    unittest.main()
