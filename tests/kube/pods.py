"""Starts the pods of a rendered chart as containers of the local Docker engine: with the users, capabilities, read-only file systems,
mounts, flags and variables that Kubernetes would give them, and the names of services in the network's DNS."""
import base64
import ipaddress
import json
import os
import subprocess
import time

DOCKER = os.environ.get("DOCKER", "docker")


def docker(*arguments, check=True, **more):
    run = subprocess.run([DOCKER, *arguments], text=True, capture_output=True, timeout=300, check=False, **more)
    if check and run.returncode != 0:
        raise AssertionError(f"docker {' '.join(arguments)}: {run.stderr}{run.stdout}")
    return run


def grpc_health(address, service):
    """What a kubelet's gRPC probe reads: True where `service` is SERVING."""
    request = b"\x0a" + bytes([len(service)]) + service.encode()
    frame = b"\x00" + len(request).to_bytes(4, "big") + request
    run = subprocess.run(["curl", "-s", "--max-time", "3", "--http2-prior-knowledge", "-H", "content-type: application/grpc", "-H", "te: trailers",
                          "--data-binary", "@-", f"http://{address}/grpc.health.v1.Health/Check"], input=frame, capture_output=True, check=False)
    return run.stdout[5:] == b"\x08\x01"


class Pod:
    """A container; `spec` is what it was made of."""

    def __init__(self, name, address, component, spec):
        self.name, self.address, self.component, self.spec = name, address, component, spec
        self.container = spec["containers"][0]

    def ready(self):
        probe = self.container.get("readinessProbe")
        if probe is None:
            return docker("inspect", "--format", "{{.State.Running}}", self.name).stdout.strip() == "true"
        if "grpc" in probe:
            return grpc_health(f"{self.address}:{probe['grpc']['port']}", probe["grpc"]["service"])
        if "exec" in probe:
            return docker("exec", self.name, *probe["exec"]["command"], check=False).returncode == 0
        ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        get = probe["httpGet"]
        return subprocess.run(["curl", "-sf", "--max-time", "3", f"http://{self.address}:{ports[get['port']]}{get['path']}"],
                              capture_output=True, check=False).returncode == 0

    def alive(self):
        port = self.container["livenessProbe"]["grpc"]
        return grpc_health(f"{self.address}:{port['port']}", port["service"])

    def logs(self):
        run = docker("logs", self.name, check=False)
        return run.stdout + run.stderr

    def status(self):
        """Of its first process: /proc/PID/status as a dictionary."""
        pid = docker("inspect", "--format", "{{.State.Pid}}", self.name).stdout.strip()
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


class Cluster:
    """One machine, one network; `objects` are what was rendered, `secrets` name to {key: bytes}."""

    def __init__(self, objects, secrets, scratch, node="machine-1"):
        self.objects, self.scratch, self.node = objects, scratch, node
        self.prefix = f"galen-test-{os.getpid()}"
        self.pods = []
        self.mounted = []
        self.count = 0
        self.secrets = dict(secrets)
        for one in objects:
            if one["kind"] == "Secret":
                plain = {key: value.encode() for key, value in one.get("stringData", {}).items()}
                self.secrets[one["metadata"]["name"]] = plain | {key: base64.b64decode(value) for key, value in one.get("data", {}).items()}
        self.maps = {one["metadata"]["name"]: one["data"] for one in objects if one["kind"] == "ConfigMap"}
        docker("network", "create", self.prefix, "--subnet", "172.31.77.0/24", "--ip-range", "172.31.77.128/25")
        self.free = ipaddress.ip_address("172.31.77.10")

    def owner(self, component):
        [found] = [one for one in self.objects if one["kind"] in ("Deployment", "StatefulSet", "DaemonSet")
                   and one["metadata"]["labels"]["app.kubernetes.io/component"] == component]
        return found

    def start(self, component, image=None):
        """A pod of a component, as its Deployment describes it; it may not be ready yet."""
        owner = self.owner(component)
        template = owner["spec"]["template"]
        spec = template["spec"]
        [container] = spec["containers"]
        self.count += 1
        name = f"{self.prefix}-{component}-{self.count}"
        address = str(self.free)
        self.free += 1
        known = {"POD_NAME": name, "POD_IP": address, "NODE_NAME": self.node}
        context, own = spec["securityContext"], container["securityContext"]
        command = ["run", "--detach", "--name", name, "--network", self.prefix, "--ip", address, "--hostname", name,
                   "--user", f"{context['runAsUser']}:{context['runAsGroup']}", "--memory", container["resources"]["limits"]["memory"].replace("Mi", "m").replace("Gi", "g")]
        if "fsGroup" in context:
            command += ["--group-add", str(context["fsGroup"])]
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}  # which is what Docker does unasked
        if own["readOnlyRootFilesystem"]:
            command += ["--read-only"]
        if not own["allowPrivilegeEscalation"]:
            command += ["--security-opt", "no-new-privileges"]
        command += [f"--cap-drop={one}" for one in own["capabilities"]["drop"]] + [f"--cap-add={one}" for one in own["capabilities"].get("add", [])]
        for variable in container.get("env", []):
            if "value" in variable:
                known[variable["name"]] = variable["value"]
            command += ["--env", f"{variable['name']}={known[variable['name']]}"]
        for service in self.objects:
            if service["kind"] == "Service" and service["spec"]["selector"].items() <= template["metadata"]["labels"].items():
                meta = service["metadata"]
                command += ["--network-alias", f"{meta['name']}.{meta['namespace']}.svc.cluster.local"]
        for mount in container["volumeMounts"]:
            command += self.mount(name, mount, spec, owner, context)
        if "command" in container:
            command += ["--entrypoint", container["command"][0]]
        command.append(image or container["image"])
        command += container.get("command", [])[1:]
        for argument in container.get("args", []):
            for variable, value in known.items():
                argument = argument.replace(f"$({variable})", value)
            command.append(argument)
        docker(*command)
        pod = Pod(name, address, component, spec)
        self.pods.append(pod)
        return pod

    def mount(self, name, mount, spec, owner, context):
        path, read_only = mount["mountPath"], mount.get("readOnly", False)
        volume = next((one for one in spec["volumes"] if one["name"] == mount["name"]), None)
        if volume is None:  # of the StatefulSet's claims
            volume = {"persistentVolumeClaim": {"claimName": f"{mount['name']}-{owner['metadata']['name']}"}}
        group = context.get("fsGroup", 0)
        if "emptyDir" in volume:
            size = volume["emptyDir"]["sizeLimit"].replace("Mi", "m")
            return ["--mount", f"type=tmpfs,destination={path},tmpfs-size={size},tmpfs-mode=1777"]
        if "hostPath" in volume:
            return ["--volume", f"{volume['hostPath']['path']}:{path}:ro"]
        if "persistentVolumeClaim" in volume:
            directory = f"{self.scratch}/claims/{volume['persistentVolumeClaim']['claimName']}"
            os.makedirs(directory, exist_ok=True)
            os.chown(directory, 0, group)
            os.chmod(directory, 0o2775)
            return ["--volume", f"{directory}:{path}" + (":ro" if read_only else "")]
        directory = f"{self.scratch}/{name}/{mount['name']}"
        os.makedirs(directory)
        if "secret" in volume:
            source = ("secret", volume["secret"]["secretName"])
            items = {item["key"]: item["path"] for item in volume["secret"].get("items", [])}
            mode = volume["secret"]["defaultMode"]
        else:
            source, items, mode = ("configMap", volume["configMap"]["name"]), {}, 0o644
        self.mounted.append((source, directory, items, mode, group))
        self.write(*self.mounted[-1])
        return ["--volume", f"{directory}:{path}:ro"]

    def write(self, source, directory, items, mode, group):
        """The files of a Secret or ConfigMap as a kubelet lays them: links to a directory that is exchanged as a whole."""
        kind, name = source
        files = self.secrets[name] if kind == "secret" else {key: value.encode() for key, value in self.maps[name].items()}
        fresh = f"..{time.time_ns()}"
        os.makedirs(f"{directory}/{fresh}")
        for key, content in files.items():
            if items and key not in items:
                continue
            path = f"{directory}/{fresh}/{items.get(key, key)}"
            with open(path, "wb") as file:
                file.write(content)
            os.chown(path, 0, group)
            os.chmod(path, mode)
        for one in (directory, f"{directory}/{fresh}"):
            os.chmod(one, 0o755)
        os.symlink(fresh, f"{directory}/..new")
        os.rename(f"{directory}/..new", f"{directory}/..data")
        for key in os.listdir(f"{directory}/{fresh}"):
            if not os.path.lexists(f"{directory}/{key}"):
                os.symlink(f"..data/{key}", f"{directory}/{key}")

    def update(self, kind, changed):
        """Secrets (or ConfigMaps) by name, changed in the cluster: every pod that mounts one gets its files anew."""
        (self.secrets if kind == "secret" else self.maps).update(changed)
        for mounted in self.mounted:
            if mounted[0][0] == kind and mounted[0][1] in changed:
                self.write(*mounted)

    def await_ready(self, *pods):
        """As `kubectl rollout status` does; a pod whose program ended is started anew, as a kubelet does."""
        limit = time.monotonic() + 120
        waiting = list(pods)
        while waiting:
            waiting = [pod for pod in waiting if not pod.ready()]
            for pod in waiting:
                if docker("inspect", "--format", "{{.State.Status}}", pod.name).stdout.strip() == "exited":
                    docker("start", pod.name)
            if time.monotonic() > limit:
                raise AssertionError("\n".join(f"{pod.name} is not ready: {pod.logs()[-2000:]}" for pod in waiting))
            if waiting:
                time.sleep(0.2)

    def stop(self, pod):
        """Ends a pod as a kubelet does: it sleeps, is told to end, and is killed when its time is over. Gives the exit code."""
        sleep = pod.container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        time.sleep(sleep)
        docker("stop", "--time", str(pod.spec["terminationGracePeriodSeconds"] - sleep), pod.name)
        code = int(docker("inspect", "--format", "{{.State.ExitCode}}", pod.name).stdout)
        docker("rm", pod.name)
        self.pods.remove(pod)
        return code

    def of(self, component):
        return [pod for pod in self.pods if pod.component == component]

    def close(self):
        if self.pods:
            docker("rm", "--force", *[pod.name for pod in self.pods], check=False)
        docker("network", "rm", self.prefix, check=False)


def image_label(image, label):
    return json.loads(docker("image", "inspect", "--format", "{{json .Config.Labels}}", image).stdout)[label]
