"""Reads an image as `docker save` writes it and writes it again under another name: with its own list of what is in it
(usr/share/galen/sbom.json) as a label, and without the moment at which it was built, so that the same files are the same image.

    docker save IMAGE | finish.py NAME:TAG SECONDS | docker load
"""
import datetime
import hashlib
import io
import json
import re
import sys
import tarfile

SBOM = "usr/share/galen/sbom.json"


def add(archive, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def main():
    name, epoch = sys.argv[1], int(sys.argv[2])
    with tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read())) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        # A layer that is there already is a link to it.
        links = {member.name: member.linkname for member in archive if member.issym() or member.islnk()}
    [manifest] = json.loads(files["manifest.json"])
    config = json.loads(files[manifest["Config"]])

    def layer_of(path):
        while path in links:
            path = re.sub(r"[^/]+/\.\./", "", f"{path.rsplit('/', 1)[0]}/{links[path]}")
        return files[path]

    layers = [layer_of(path) for path in manifest["Layers"]]
    sbom = None
    for layer in layers:
        with tarfile.open(fileobj=io.BytesIO(layer)) as tree:
            for member in tree:
                if member.name.lstrip("./") == SBOM:
                    sbom = tree.extractfile(member).read().decode()
    if sbom is None:
        sys.exit(f"finish.py: {name}: there is no {SBOM}")
    title, version = name.rsplit(":", 1)
    when = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    inner = {key: value for key, value in config["config"].items() if key in ("User", "Env", "Entrypoint", "Cmd", "WorkingDir")}
    inner["Labels"] = {"io.galen.sbom": json.dumps(json.loads(sbom), separators=(",", ":")), "org.opencontainers.image.created": when,
                       "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.title": title,
                       "org.opencontainers.image.version": version}
    finished = json.dumps({"architecture": config["architecture"], "os": config["os"], "created": when, "config": inner, "rootfs": config["rootfs"],
                           "history": [{"created": when, "created_by": "images/Dockerfile"} for _ in layers]}, sort_keys=True).encode()
    config_name = hashlib.sha256(finished).hexdigest() + ".json"
    paths = [f"{hashlib.sha256(layer).hexdigest()}/layer.tar" for layer in layers]
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        for path, layer in zip(paths, layers):
            add(archive, path, layer)
        add(archive, config_name, finished)
        add(archive, "manifest.json", json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": paths}]).encode())


if __name__ == "__main__":
    main()
