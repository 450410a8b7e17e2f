"""Logs and bundles that customers send to galen-gateway, diagnosed by a mesh of processes that shares the gateway's directory."""
import io
import json
import os
import socket
import tarfile
import tempfile
import unittest

import galen
from gateway_test import Client, ask_for_all_of_another_tenant

MIB = 1 << 20
LOG = b"volta-34:1:1 [3] NCCL WARN NET/Socket : Connect failed : Connection refused\n"


class Uploads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = f"{cls.scratch.name}/uploads"
        cls.mesh = galen.Mesh(roots=f"{galen.EXAMPLES},{cls.directory}")
        cls.gateway = cls.start_gateway()
        cls.client = cls.make_client("acme")

    @classmethod
    def tearDownClass(cls):
        cls.mesh.__exit__()
        cls.scratch.cleanup()

    @classmethod
    def start_gateway(cls, *arguments):
        return cls.mesh.start("galen-gateway", f"--store={cls.mesh.store}", f"--orchestrator={cls.mesh.orchestrator.address}",
                              f"--uploads={cls.directory}", *arguments)

    @classmethod
    def make_client(cls, tenant, *arguments, gateway=None):
        made = galen.galen("keys", "create", "--store", cls.mesh.store, "--tenant", tenant, *arguments)
        assert made.returncode == 0, made.stderr
        client = Client((gateway or cls.gateway).address, made.stdout.strip())
        while client.ask("GET", "/v1/whoami").status == 401:
            pass
        return client

    def send(self, body, kind="log", name="train.log", client=None, tenant="acme", chunked=False, length=None):
        """Sends a body in pieces, and gives the status and the answer."""
        client = client or self.client
        with socket.create_connection(("127.0.0.1", int(client.address.rsplit(":", 1)[1])), timeout=120) as connection:
            framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body) if length is None else length}"
            connection.sendall(f"POST /v1/tenants/{tenant}/uploads?kind={kind}&fileName={name} HTTP/1.1\r\nHost: x\r\n"
                               f"Connection: close\r\nAuthorization: Bearer {client.key}\r\n{framing}\r\n\r\n".encode())
            try:
                for piece in [body] if isinstance(body, bytes) else body:
                    connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
                if chunked:
                    connection.sendall(b"0\r\n\r\n")
            except OSError:
                pass  # refused before all of it was sent
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        head, _, text = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(text)

    def memory(self):
        """The most memory that the gateway ever had, in MiB."""
        with open(f"/proc/{self.gateway.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024

    def diagnose(self, incident, client=None, tenant="acme"):
        client = client or self.client
        made = client.ask("POST", f"/v1/tenants/{tenant}/diagnoses", {"incident": incident})
        self.assertEqual(made.status, 200, made.body)
        client.watch(made.json["name"])
        return client.ask("GET", f"/v1/{made.json['name']}").json

    @staticmethod
    def bundle(example="cublas-ecc"):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as archive:
            archive.add(f"{galen.EXAMPLES}/{example}", example)
        return made.getvalue()

    def test_a_bundle_is_diagnosed_as_one_on_the_server_is(self):
        status, upload = self.send(self.bundle(), "bundle", "b.tar.gz")
        self.assertEqual(status, 200, upload)
        self.assertEqual(upload["nodes"], ["volta-31", "volta-34"])
        diagnosis = self.diagnose({"bundle": upload["name"]})
        self.assertEqual(diagnosis["report"]["primaryCause"]["label"], galen.CAUSES["cublas-ecc"][0])
        self.assertIn("cuBLAS", diagnosis["incident"]["description"])
        self.assertTrue(diagnosis["incident"]["bundle"].startswith(upload["name"]), diagnosis["incident"])
        self.assertNotIn(self.scratch.name, json.dumps(diagnosis))

    def test_a_log_that_is_too_large_for_a_request_is_read_whole(self):
        filler = b"iteration 1 loss 2.0\n" * 50_000  # a MiB
        status, upload = self.send([filler] * 8 + [LOG], chunked=True)
        self.assertEqual((status, upload["kind"], int(upload["sizeBytes"])), (200, "log", 8 * len(filler) + len(LOG)))
        diagnosis = self.diagnose({"description": "stopped", "logs": [{"path": upload["name"], "kind": "JOB"}]})
        lines = [int(signal["firstLine"]) for signal in diagnosis["summary"]["signals"] if signal["source"].endswith("train.log")]
        self.assertIn(400_001, lines)

    def test_the_api_description_has_uploads_as_they_are(self):
        _, upload = self.send(self.bundle(), "bundle", "b.tar.gz")
        document = self.client.ask("GET", "/openapi.json").json
        self.assertEqual(set(document["components"]["schemas"]["Upload"]["properties"]), set(upload))
        listed = self.client.ask("GET", "/v1/tenants/acme/uploads").json
        self.assertEqual(set(document["components"]["schemas"]["ListUploadsResponse"]["properties"]), set(listed))
        self.assertEqual(set(document["components"]["schemas"]["WhoAmI"]["properties"]), set(self.client.ask("GET", "/v1/whoami").json))
        names = {"tenant": "acme", "upload": upload["name"].split("/")[-1], "diagnosis": "d", "action": "a" * 16}
        asked = ask_for_all_of_another_tenant(self, self.client, self.make_client("stranger"), names)
        self.assertGreaterEqual(asked, 14)
        self.assertEqual(self.client.ask("GET", f"/v1/{upload['name']}").status, 200)

    def test_another_tenants_upload_is_not_there(self):
        _, upload = self.send(LOG)
        other = self.make_client("other")
        for method in ("GET", "DELETE"):
            self.assertEqual(other.ask(method, f"/v1/{upload['name']}").status, 404)
            self.assertEqual(other.ask(method, f"/v1/{upload['name'].replace('acme', 'other')}").status, 404)
        self.assertEqual(other.ask("GET", "/v1/tenants/acme/uploads").status, 404)
        self.assertEqual(self.send(LOG, client=other)[0], 404)
        for incident in ({"logs": [{"path": upload["name"]}]}, {"bundle": upload["name"]}):
            made = other.ask("POST", "/v1/tenants/other/diagnoses", {"incident": {"description": "x", **incident}})
            self.assertEqual(made.status, 404, made.body)
        self.assertEqual(self.client.ask("GET", f"/v1/{upload['name']}").status, 200)

    def test_paths_of_the_server_stay_refused(self):
        for incident in ({"bundle": self.directory}, {"logs": [{"path": "/etc/passwd"}]}, {"bundle": "/tenants/acme"}):
            made = self.client.ask("POST", "/v1/tenants/acme/diagnoses", {"incident": {"description": "x", **incident}})
            self.assertEqual((made.status, made.json["error"]["details"][0]["reason"]), (400, "SERVER_PATH"))
        made = self.client.ask("POST", "/v1/tenants/acme/diagnoses",
                               {"incident": {"description": "x", "bundle": "tenants/acme/uploads/../../../etc"}})
        self.assertEqual(made.status, 404, made.body)

    def test_ten_gigabytes_are_refused_before_they_are_sent(self):
        status, answer = self.send(b"", length=10 << 30)
        self.assertEqual((status, answer["error"]["details"][0]["reason"]), (413, "REQUEST_TOO_LARGE"))

    def test_a_large_log_goes_to_disk_and_not_to_memory(self):
        before = self.memory()
        piece = b"x" * MIB
        status, upload = self.send((piece for _ in range(256)), length=256 * MIB)
        self.assertEqual((status, upload.get("sizeBytes")), (200, str(256 * MIB)), upload)
        self.assertLess(self.memory() - before, 32)
        self.assertEqual(self.client.ask("DELETE", f"/v1/{upload['name']}").status, 200)

    def test_what_does_not_say_its_length_ends_where_it_is_too_long(self):
        gateway = self.start_gateway("--upload_bytes=1048576")
        client = self.make_client("acme", gateway=gateway)
        status, answer = self.send((b"x" * 65536 for _ in range(64)), client=client, chunked=True)
        self.assertEqual((status, answer["error"]["details"][0]["reason"]), (413, "UPLOAD_TOO_LARGE"))
        gateway.stop()
        self.assertEqual(os.listdir(f"{self.directory}/.incoming"), [])

    def test_what_is_no_bundle_is_refused_and_leaves_nothing(self):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as archive:
            entry = tarfile.TarInfo("../../outside")
            entry.size = 1
            archive.addfile(entry, io.BytesIO(b"x"))
        before = len(self.client.ask("GET", "/v1/tenants/acme/uploads").json["uploads"])
        for body in (b"no archive", made.getvalue(), b""):
            status, answer = self.send(body, "bundle", "b.tar.gz")
            self.assertEqual(status, 400, answer)
            self.assertNotIn(self.directory, json.dumps(answer))
        self.assertEqual(len(self.client.ask("GET", "/v1/tenants/acme/uploads").json["uploads"]), before)
        self.assertFalse(os.path.exists(f"{self.scratch.name}/outside"))

    def test_a_key_that_may_only_read_sends_nothing(self):
        reader = self.make_client("acme", "--scope", "diagnoses.read")
        self.assertEqual(self.send(LOG, client=reader)[0], 403)
        self.assertEqual(self.send(LOG, client=Client(self.gateway.address, "galen_none"))[0], 401)
        self.assertEqual(reader.ask("GET", "/v1/tenants/acme/uploads").status, 200)

    def test_says_what_is_wrong_with_the_request(self):
        for kind, status in (("other", 400), ("", 400)):
            self.assertEqual(self.send(LOG, kind=kind)[0], status)
        self.assertEqual(self.client.ask("DELETE", "/v1/tenants/acme/uploads").status, 405)
        self.assertEqual(self.client.ask("GET", "/v1/tenants/acme/uploads/none").status, 404)

    def test_one_that_breaks_off_leaves_nothing(self):
        with socket.create_connection(("127.0.0.1", self.gateway.port), timeout=60) as connection:
            connection.sendall(f"POST /v1/tenants/acme/uploads?kind=log HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.client.key}\r\n"
                               "Content-Length: 1000000\r\n\r\nhalf".encode())
            while not os.listdir(f"{self.directory}/.incoming"):
                pass
        while os.listdir(f"{self.directory}/.incoming"):
            pass


if __name__ == "__main__":
    unittest.main()
