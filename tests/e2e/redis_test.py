"""The mesh on a real Redis: as on a file, with many orchestrators, killed ones, and a Redis that is killed itself."""
import subprocess
import tempfile
import time
import unittest

import galen
from redis_server import Redis

EXAMPLE = "cublas-ecc"


def ask(address, request_id):
    """A client that keeps trying, as a process."""
    return subprocess.Popen(
        [f"{galen.BIN}/galen", "diagnose", "--json", "--bundle", f"{galen.EXAMPLES}/{EXAMPLE}", "--server",
         address, "--request-id", request_id],
        text=True, cwd=galen.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class OnRedis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        undisturbed, _ = galen.diagnose(EXAMPLE)
        cls.events = int(undisturbed["lastSequence"])
        cls.expected = galen.comparable(undisturbed)

    def same(self, diagnosis):
        self.assertEqual(galen.comparable(diagnosis), self.expected)

    def test_the_report_is_that_of_a_file(self):
        with Redis() as redis, galen.Mesh(store=redis.url) as mesh:
            diagnosis, code = galen.diagnose(EXAMPLE, "--server", mesh.orchestrator.address)
            self.assertEqual(code, 0)
            self.same(diagnosis)
            self.assertEqual(redis.events(), self.events)

    def test_galen_alone_keeps_its_diagnosis_there(self):
        with Redis() as redis:
            diagnosis, code = galen.diagnose(EXAMPLE, "--store", redis.url)
            self.assertEqual(code, 0)
            self.same(diagnosis)
            self.assertEqual(redis.events(), self.events)

    def test_the_whole_mesh_in_one_process_keeps_them_there(self):
        with Redis() as redis:
            up = galen.Process("galen", "up", f"--store={redis.url}")
            try:
                diagnosis, code = galen.diagnose(EXAMPLE, "--server", up.address)
            finally:
                up.stop()
            self.assertEqual(code, 0)
            self.same(diagnosis)
            self.assertEqual(redis.events(), self.events)

    def test_a_redis_that_is_not_there_is_named(self):
        with Redis() as redis:
            redis.kill()
            run = galen.galen("diagnose", "--bundle", f"{galen.EXAMPLES}/{EXAMPLE}", "--store",
                              redis.url + "?timeout=200ms")
            self.assertEqual(run.returncode, 4, run.stderr)
            self.assertIn(f"127.0.0.1:{redis.port}", run.stderr)

    def test_an_orchestrator_killed_at_an_event_is_followed_by_another_under_another_name(self):
        with Redis() as redis, galen.Mesh(store=redis.url) as mesh:
            mesh.orchestrator.stop()
            for event in range(1, self.events + 1, 5):
                with self.subTest(event=event):
                    doomed = mesh.start_orchestrator(f"--crash_after_event={event}", f"--owner=a{event}",
                                                     "--lease_ttl=1s")
                    client = ask(doomed.address, f"crash-{event}")
                    self.assertEqual(doomed.process.wait(timeout=60), -9)
                    doomed.stop()
                    successor = mesh.start_orchestrator(f"--owner=b{event}", "--lease_ttl=1s", port=doomed.port)
                    out, err = client.communicate(timeout=120)
                    if event == 1 and client.returncode == 4:
                        out, err = ask(successor.address, f"crash-{event}").communicate(timeout=120)
                    self.assertTrue(out, err)
                    self.same(galen.json.loads(out))
                    successor.stop()

    def test_of_two_orchestrators_one_ends_what_the_other_left_and_nobody_has_to_ask(self):
        with Redis() as redis, galen.Mesh(store=redis.url,
                                          orchestrator_arguments=("--owner=b", "--lease_ttl=1s")) as mesh:
            survivor = mesh.orchestrator
            for done, event in enumerate(range(1, self.events, 7)):
                with self.subTest(event=event):
                    doomed = mesh.start_orchestrator(f"--crash_after_event={event}", "--owner=a", "--lease_ttl=1s")
                    client = ask(doomed.address, f"left-{event}")
                    self.assertEqual(doomed.process.wait(timeout=60), -9)
                    doomed.stop()
                    client.kill()
                    client.communicate()
                    deadline = time.monotonic() + 60
                    while redis.events() < (done + 1) * self.events and time.monotonic() < deadline:
                        time.sleep(0.05)
                    self.assertEqual(redis.events(), (done + 1) * self.events)
                    # The request names the diagnosis that is there, and makes no other.
                    diagnosis, _ = galen.diagnose(EXAMPLE, "--server", survivor.address, "--request-id", f"left-{event}")
                    self.same(diagnosis)
                    self.assertEqual(redis.events(), (done + 1) * self.events)

    def test_a_user_of_the_acl_with_a_password_from_a_file(self):
        with Redis() as redis, tempfile.NamedTemporaryFile("w") as password:
            redis.cli("ACL", "SETUSER", "galen", "on", ">s3cret", "resetkeys", "~galen:*", "-@all", "+ping", "+info",
                      "+role", "+wait", "+eval", "+evalsha", "+@hash", "+@stream", "+@sortedset", "+@string", "+del",
                      "+exists", "+pexpire")
            password.write("s3cret\n")
            password.flush()
            url = f"redis://galen@127.0.0.1:{redis.port}"
            with galen.Mesh(store=f"{url}?password_file={password.name}") as mesh:
                diagnosis, code = galen.diagnose(EXAMPLE, "--server", mesh.orchestrator.address)
                self.assertEqual(code, 0)
                self.same(diagnosis)
            run = galen.galen("diagnose", "--bundle", f"{galen.EXAMPLES}/{EXAMPLE}", "--store",
                              f"redis://galen:wrong-one@127.0.0.1:{redis.port}")
            self.assertNotEqual(run.returncode, 0)
            self.assertIn('user "galen"', run.stderr)
            self.assertNotIn("wrong-one", run.stderr)

    def killed_in_mid_diagnosis(self, redis):
        """The requests of clients, two for each time that this Redis is killed after it stored something, and each with
        what became of it: (mesh, {request: (standard output, standard error)})."""
        with galen.Mesh(store=redis.url + "?timeout=1s") as mesh:
            clients = {}
            for turn in range(4):
                before = redis.events()
                clients.update((f"{turn}-{i}", ask(mesh.orchestrator.address, f"{turn}-{i}")) for i in range(2))
                while redis.events() == before:  # something was stored
                    time.sleep(0.005)
                redis.kill()
                redis.start()
            yield mesh, {request: client.communicate(timeout=120) for request, client in clients.items()}

    def test_redis_killed_in_mid_diagnosis_loses_nothing(self):
        with Redis() as redis:
            for _, answers in self.killed_in_mid_diagnosis(redis):
                for out, err in answers.values():
                    self.assertTrue(out, err)
                    self.same(galen.json.loads(out))
            self.assertEqual(redis.events(), 8 * self.events)

    def test_what_a_redis_loses_that_syncs_every_second_is_done_again_and_nothing_twice(self):
        # While an fsync takes its time, what is written since lies in the memory of Redis, and dies with it.
        slow = {"LD_PRELOAD": f"{galen.BIN}/../tests/libgalen_slow_fsync.so", "SLOW_FSYNC_US": "1500000"}
        with Redis("--appendfsync", "everysec", environment=slow) as redis:
            for mesh, answers in self.killed_in_mid_diagnosis(redis):
                for request, (out, err) in answers.items():
                    if out:
                        self.same(galen.json.loads(out))
                    else:  # all of it was lost while its client read it
                        self.assertIn("diagnoses/", err)
                    # Nor need a client learn that what it was answered was lost later: who asks once more has it again.
                    out, err = ask(mesh.orchestrator.address, request).communicate(timeout=120)
                    self.assertTrue(out, err)
                    self.same(galen.json.loads(out))
            self.assertEqual(redis.cli("CONFIG", "GET", "appendfsync").split()[-1], "everysec")
            self.assertEqual(redis.events(), 8 * self.events)


if __name__ == "__main__":
    unittest.main()
