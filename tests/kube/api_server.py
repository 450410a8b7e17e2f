"""A kube-apiserver with an etcd of its own, on free loopback ports, and what tests ask of it over HTTP."""
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import chart


def missing():
    """Why there is none; None when there is."""
    if not os.access(f"{chart.TOOLS}/bin/kube-apiserver", os.X_OK):
        return "there is no kube-apiserver: helm/tools/api_server.sh builds it"
    if shutil.which("etcd") is None:
        return "there is no etcd: apt-get install etcd-server"
    return None


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class ApiServer:
    """Authenticates one token and allows it everything; runs the admission that Kubernetes runs by default, Pod Security among it. With
    `authorization` RBAC, others may do what their roles say."""

    def __init__(self, authorization="AlwaysAllow"):
        self.scratch = tempfile.TemporaryDirectory()
        folder = self.scratch.name
        self.etcd, peer, self.port = free_port(), free_port(), free_port()
        self.authorization = authorization
        with open(f"{folder}/tokens.csv", "w", encoding="utf-8") as file:
            file.write("token-of-the-test,admin,admin,system:masters\n")
        subprocess.run(["openssl", "genrsa", "-out", f"{folder}/account.key", "2048"], check=True, capture_output=True)
        # A certificate that clients can verify, which the server's own is not.
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/server.key", "-out", f"{folder}/server.crt"],
                       check=True, capture_output=True)
        self.ca = f"{folder}/server.crt"
        self.log = open(f"{folder}/log", "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.processes = [subprocess.Popen(["etcd", "--data-dir", f"{folder}/etcd", "--listen-client-urls", f"http://127.0.0.1:{self.etcd}",
                                            "--advertise-client-urls", f"http://127.0.0.1:{self.etcd}", "--listen-peer-urls", f"http://127.0.0.1:{peer}"],
                                           stdout=self.log, stderr=self.log)]
        self.resources = {}
        self.start()

    def start(self, *flags, port=None):
        """Starts a server on the etcd that there is, and waits until it is ready."""
        folder = self.scratch.name
        self.port = port or self.port
        self.processes.append(subprocess.Popen(
            [f"{chart.TOOLS}/bin/kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd}", "--bind-address=127.0.0.1",
             f"--secure-port={self.port}", f"--cert-dir={folder}/certs", f"--tls-cert-file={self.ca}", f"--tls-private-key-file={folder}/server.key",
             f"--token-auth-file={folder}/tokens.csv", f"--authorization-mode={self.authorization}", "--service-account-issuer=https://test",
             f"--service-account-key-file={folder}/account.key", f"--service-account-signing-key-file={folder}/account.key",
             "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none", *flags],
            stdout=self.log, stderr=self.log))
        limit = time.monotonic() + 300
        while self.ask("GET", "/readyz")[0] != 200:
            if time.monotonic() > limit or any(process.poll() is not None for process in self.processes):
                told = self.told()
                self.close()
                raise AssertionError(f"kube-apiserver is not ready: {told}")
            time.sleep(0.5)

    def stop(self):
        """Ends the server; its etcd goes on."""
        server = self.processes.pop()
        server.kill()
        server.wait()

    def compact(self):
        """Drops what etcd keeps of the past."""
        def post(path, body):
            request = urllib.request.Request(f"http://127.0.0.1:{self.etcd}{path}", data=json.dumps(body).encode(), method="POST")
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        revision = post("/v3/kv/range", {"key": "AA==", "limit": "1"})["header"]["revision"]
        post("/v3/kv/compaction", {"revision": revision, "physical": True})

    def told(self):
        with open(f"{self.scratch.name}/log", encoding="utf-8", errors="replace") as file:
            return file.read()[-3000:]

    def ask(self, method, path, body=None, kind="application/json"):
        """(status, answer, warnings)."""
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE  # its certificate is its own, on loopback
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}{path}", method=method, data=json.dumps(body).encode() if body else None,
                                         headers={"Authorization": "Bearer token-of-the-test", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, timeout=60, context=trust) as answer:
                return answer.status, answer.read().decode(), answer.headers.get_all("Warning") or []
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.headers.get_all("Warning") or []
        except OSError as error:
            return 0, str(error), []

    def path(self, version, kind, namespace):
        """Where objects of a kind are."""
        root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        if version not in self.resources:
            status, answer, _ = self.ask("GET", root)
            assert status == 200, answer
            self.resources[version] = {one["kind"]: one for one in json.loads(answer)["resources"] if "/" not in one["name"]}
        found = self.resources[version][kind]
        return f"{root}/namespaces/{namespace}/{found['name']}" if found["namespaced"] else f"{root}/{found['name']}"

    def create(self, one):
        """(status, answer, warnings); a field that there is not is refused."""
        path = self.path(one["apiVersion"], one["kind"], one["metadata"].get("namespace", "default"))
        return self.ask("POST", path + "?fieldValidation=Strict", one)

    def define(self, one):
        """A CustomResourceDefinition, once its objects are served."""
        status, answer, _ = self.create(one)
        assert status == 201, answer
        spec = one["spec"]
        for version in spec["versions"]:
            if version["served"]:
                limit = time.monotonic() + 60
                while f'"{spec["names"]["kind"]}"' not in self.ask("GET", f"/apis/{spec['group']}/{version['name']}")[1]:
                    assert time.monotonic() < limit, one["metadata"]["name"]
                    time.sleep(0.2)

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.log.close()
        self.scratch.cleanup()
