"""The chart, rendered: what the tests of tests/kube look at."""
import functools
import glob
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHART = f"{ROOT}/helm/galen"
TOOLS = os.environ.get("GALEN_KUBE_TOOLS", f"{ROOT}/helm/tools/installed")
BIN = os.environ.get("GALEN_BIN", f"{ROOT}/build/bin")
# The oldest version that the chart takes, and a new one: those of helm/tools/versions.txt.
VERSIONS = sorted(os.path.basename(path) for path in glob.glob(f"{TOOLS}/schemas/v*"))
SETS = sorted(glob.glob(f"{CHART}/ci/*.yaml"))
NAMESPACE = "galen"


def missing():
    """Why the tests cannot run; None when they can."""
    for tool in ("helm", "kubeconform", "kube-score"):
        if not os.access(f"{TOOLS}/bin/{tool}", os.X_OK):
            return f"there is no {tool}"
    if len(VERSIONS) < 2 or not glob.glob(f"{TOOLS}/schemas/custom/*.json"):
        return "there are no schemas"
    try:
        import yaml  # noqa: F401 pylint: disable=unused-import,import-outside-toplevel
    except ImportError:
        return "there is no PyYAML"
    return None


def main():
    """Runs the tests of the program that calls it, or says why not (77 is SKIPPED)."""
    why = missing()
    if why:
        print(f"SKIPPED: {why}; `make kube-tools` gets what is missing")
        sys.exit(77)
    unittest.main()


def helm(*arguments, **more):
    return subprocess.run([f"{TOOLS}/bin/helm", *arguments], text=True, capture_output=True, timeout=120, check=False, **more)


@functools.lru_cache(maxsize=None)
def text(*arguments, chart=CHART, release="galen"):
    """The manifests, as helm prints them."""
    # What has to be said, where a set of values does not say it.
    said = () if "--values" in arguments or any("tenancy=" in one for one in arguments) else ("--set", "tenancy=single")
    run = helm("template", release, chart, "--namespace", NAMESPACE, "--kube-version", VERSIONS[0], *said, *arguments)
    if run.returncode != 0:
        raise AssertionError(f"helm template {' '.join(arguments)}: {run.stderr}")
    return run.stdout


@functools.lru_cache(maxsize=None)
def render(*arguments, chart=CHART):
    """The objects that the chart makes of these arguments."""
    import yaml  # pylint: disable=import-outside-toplevel
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [document for document in yaml.load_all(text(*arguments, chart=chart), loader) if document]


def every():
    """(name, objects) of each set of values in helm/galen/ci."""
    for path in SETS:
        yield os.path.basename(path).removesuffix(".yaml"), render("--values", path)


def of(objects, *kinds):
    return [one for one in objects if one["kind"] in kinds]


def named(objects, kind, name):
    [found] = [one for one in of(objects, kind) if one["metadata"]["name"] == name]
    return found


def key(one):
    return f"{one['kind']}/{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"


def pods(objects):
    """(owner, metadata and spec of its pods) of everything that makes pods."""
    for one in of(objects, "Deployment", "DaemonSet", "StatefulSet"):
        yield one, one["spec"]["template"]
    for one in of(objects, "Pod"):
        yield one, one


def component(one):
    return one["metadata"]["labels"]["app.kubernetes.io/component"]


def flags(container):
    """Of a container: its flags by name."""
    result = {}
    for argument in container.get("args", []):
        name, _, value = argument.removeprefix("--").partition("=")
        result[name] = value
    return result
