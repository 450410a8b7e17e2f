#!/usr/bin/env python3
"""Writes the plain manifests of k8s/ out of the chart, and the chart's copies of k8s/observability (a chart can hold only what is
below it). `--check` writes nothing and says what is not in step. Needs `make kube-tools`."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HELM = os.path.join(os.environ.get("GALEN_KUBE_TOOLS", f"{ROOT}/helm/tools/installed"), "bin/helm")
# Every version that the chart takes is given the same.
KUBERNETES = "1.30.0"
# file of k8s/: what it says of itself, arguments of helm
MANIFESTS = {
    "galen.yaml": ("Galen without Helm: k8s/README.md says how.", ["--values", f"{ROOT}/helm/plain.yaml"]),
    "certificates.yaml": ("The secrets that galen.yaml wants, made by cert-manager with the authority of authority.yaml.",
                          ["--values", f"{ROOT}/helm/plain.yaml", "--set", "tls.mode=certManager", "--set", "tls.issuerRef.kind=ClusterIssuer",
                           "--set", "tls.issuerRef.name=galen-ca", "--show-only", "templates/certificates.yaml"]),
}


def render(told, arguments):
    run = subprocess.run([HELM, "template", "galen", f"{ROOT}/helm/galen", "--namespace", "galen", "--kube-version", KUBERNETES, *arguments],
                         text=True, capture_output=True, check=False)
    if run.returncode != 0:
        sys.exit(f"helm/render.py: {run.stderr}")
    # What helm says of itself would not be true of manifests that are applied without it.
    lines = [line.replace("managed-by: Helm", "managed-by: kubectl") for line in run.stdout.splitlines()
             if not line.startswith("# Source: ") and "helm.sh/chart:" not in line]
    return "\n".join([f"# {told}", "# Rendered from helm/galen by helm/render.py: not to be edited.", *lines]) + "\n"


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def main():
    wanted = {f"{ROOT}/k8s/{name}": render(*how) for name, how in MANIFESTS.items()}
    for name in ("alerts.yaml", "grafana-dashboard.json"):
        wanted[f"{ROOT}/helm/galen/files/{name}"] = read(f"{ROOT}/k8s/observability/{name}")
    old = [path for path, content in wanted.items() if read(path) != content]
    if "--check" in sys.argv:
        if old:
            sys.exit("\n".join(f"{os.path.relpath(path, ROOT)}: is not in step; run helm/render.py" for path in old))
        return
    # The copies first: what is rendered holds them.
    for path in sorted(old, key=lambda path: "/files/" not in path):
        name = os.path.basename(path)
        content = render(*MANIFESTS[name]) if name in MANIFESTS else wanted[path]
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        print(f"{os.path.relpath(path, ROOT)}: written")


if __name__ == "__main__":
    main()
