"""Each service as a user of its own in a real Redis, by the table that the chart's ACL file is made of: each can do its work, and with
what one may write nobody makes a key, and no service writes to the keys of another."""
import hashlib
import json
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import galen
from redis_server import Redis

EXAMPLE = "cublas-ecc"


def table():
    """The rules by user, as helm/galen/files/redis-users.txt has them."""
    users = {}
    with open(f"{galen.ROOT}/helm/galen/files/redis-users.txt", encoding="utf-8") as file:
        for line in file:
            name, _, rules = line.strip().partition(" ")
            if name and not name.startswith("#"):
                users[name] = rules.split()
    return users


def field(number, value):
    """A field of protobuf whose value is bytes of less than 128."""
    return bytes([number << 3 | 2, len(value)]) + value


def key_record(text):
    """The record that would make this key an administrator's of all tenants."""
    _, identity, secret, _ = text.split("_")
    key = (field(1, identity.encode()) + field(2, b"*") + field(3, b"admin") + field(4, b"diagnoses.read")
           + field(5, hashlib.sha256(secret.encode()).digest()))
    return field(1, key)


class RedisUsers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(cls.close)
        cls.scratch = tempfile.TemporaryDirectory()
        cls.redis = Redis()
        cls.users = table()
        for name, rules in cls.users.items():
            cls.path(name, f"password of {name}")
            told = cls.redis.cli("ACL", "SETUSER", f"galen-{name}", "on", f">password of {name}", "resetkeys", "-@all", *rules)
            assert told == "OK", (name, told)
        cls.seal = cls.path("seal", "5" * 64)
        execution = [f"--store={cls.url('execution')}", f"--store_seal={cls.seal}"]
        cls.mesh = galen.Mesh(nodes=1, store=cls.url("orchestrator"), execution_arguments=execution)
        cls.gateway = cls.mesh.start("galen-gateway", f"--store={cls.url('gateway')}", f"--store_seal={cls.seal}",
                                     f"--knowledge={galen.ROOT}/knowledge", f"--orchestrator={cls.mesh.orchestrator.address}",
                                     f"--execution={cls.mesh.agents['execution'].address}")
        cls.mesh.start("galen-watch", f"--store={cls.url('watch')}", f"--knowledge={galen.ROOT}/knowledge",
                       f"--orchestrator={cls.mesh.orchestrator.address}", f"--execution={cls.mesh.agents['execution'].address}")
        cls.mesh.start("galen-advisor", f"--store={cls.url('advisor')}", f"--knowledge={galen.ROOT}/knowledge")

    @classmethod
    def close(cls):
        if hasattr(cls, "mesh"):
            cls.mesh.__exit__()
        if hasattr(cls, "redis"):
            cls.redis.__exit__()
        cls.scratch.cleanup()

    @classmethod
    def path(cls, name, text):
        with open(f"{cls.scratch.name}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        return file.name

    @classmethod
    def url(cls, name):
        return f"redis://galen-{name}@127.0.0.1:{cls.redis.port}?password_file={cls.scratch.name}/{name}"

    def keys(self, *arguments, seal=True):
        return galen.galen("keys", *arguments, "--store", self.url("toolbox"), *(["--store-seal", self.seal] if seal else []))

    def who(self, key):
        request = urllib.request.Request(f"http://{self.gateway.address}/v1/whoami", headers={"Authorization": f"Bearer {key}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, None

    def as_user(self, name, *words, last=None):
        """What Redis answers this user; `last` is a last word of any bytes."""
        run = subprocess.run(["redis-cli", "-p", str(self.redis.port), "--user", f"galen-{name}", "--pass", f"password of {name}",
                              "--no-auth-warning", *(["-x"] if last else []), *words], input=last, capture_output=True, timeout=60,
                             check=False)
        return run.stdout.strip().decode(errors="replace")

    def test_each_service_can_do_its_work(self):
        self.redis.cli("ACL", "LOG", "RESET")  # of the tests before
        made = self.keys("create", "--tenant", "acme")
        self.assertEqual(made.returncode, 0, made.stderr)
        key = made.stdout.strip()
        deadline = time.monotonic() + 30
        while self.who(key)[0] != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.who(key)[1]["tenant"], "acme")
        body = json.dumps({"incident": {"description": "NCCL WARN Connect failed on every rank"}}).encode()
        request = urllib.request.Request(f"http://{self.gateway.address}/v1/tenants/acme/diagnoses", data=body,
                                         headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            name = json.loads(answer.read())["name"]
        run = galen.galen("diagnose", "--json", "--bundle", f"{galen.EXAMPLES}/{EXAMPLE}", "--server", self.mesh.orchestrator.address)
        self.assertEqual(run.returncode, 0, run.stderr)
        deleted = galen.galen("delete", json.loads(run.stdout)["name"], "--server", self.mesh.orchestrator.address)
        self.assertEqual(deleted.returncode, 0, deleted.stderr)
        self.assertTrue(name.startswith("tenants/acme/diagnoses/"))
        for process in self.mesh.processes:
            self.assertIsNone(process.process.poll(), process)
        # Nothing that a service asked for was refused.
        self.assertEqual(self.redis.cli("ACL", "LOG"), "")

    def test_a_store_that_others_write_to_is_not_opened_without_a_seal(self):
        run = self.keys("create", "--tenant", "acme", seal=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("--store_seal", run.stderr)

    def test_a_key_that_was_written_to_redis_is_none(self):
        # The key's text, and no record of it in this store.
        key = galen.galen("keys", "create", "--store", f"{self.scratch.name}/other.db", "--tenant", "*", "--role", "admin").stdout.strip()
        record = key_record(key)
        script = "return redis.call('XADD', KEYS[1], '*', 'r', ARGV[1])"
        for name in self.users:
            with self.subTest(user=name):
                told = self.as_user(name, "EVAL", script, "1", "galen:{journal:gateway.keys}", last=record)
                if name in ("gateway", "toolbox"):
                    continue
                self.assertIn("NOPERM", told)
        told = self.as_user("gateway", "HSET", "galen:{records:actions}:values", "a", "forged")
        self.assertNotIn("NOPERM", told)  # its own: what stands there is not believed
        self.redis.cli("HDEL", "galen:{records:actions}:values", "a")
        time.sleep(3)  # the gateway looks every second
        self.assertEqual(self.who(key)[0], 401)

    def test_no_service_writes_to_what_is_anothers(self):
        own = {"galen:{journal:gateway.keys}": {"gateway", "toolbox"}, "galen:{records:actions}:values": {"gateway", "execution", "watch"},
               "galen:{records:failures}:values": {"orchestrator", "execution"}, "galen:{journal:watch.events}": {"watch"},
               "galen:{journal:advisor-runs}": {"advisor"}, "galen:value:answers:x": {"cache"}, "galen:rate:http/x": {"gateway"}, "galen:rate:bytes/tenants/x": {"orchestrator"},
               "galen:{nodes}:records": {"gateway", "execution", "watch"}, "elsewhere": set()}
        for key, users in own.items():
            for name in self.users:
                with self.subTest(key=key, user=name):
                    # The user's rules, asked without doing it.
                    told = self.redis.cli("ACL", "DRYRUN", f"galen-{name}", *(("SET", key, "x") if "value:" in key else ("DEL", key)))
                    allowed = told == "OK"
                    if name not in users:
                        self.assertFalse(allowed, told)
        for name in self.users:
            for words in (("ACL", "WHOAMI"), ("CONFIG", "SET", "dir", "/tmp"), ("FLUSHALL",), ("KEYS", "*"), ("SCRIPT", "FLUSH"), ("MODULE", "LIST")):
                with self.subTest(user=name, words=words):
                    self.assertIn("NOPERM", self.as_user(name, *words))


if __name__ == "__main__":
    unittest.main()
