#!/usr/bin/env python3
"""Has Galen diagnose an incident over gRPC, with stubs generated from the protos, and prints what happens.

    pip install grpcio grpcio-tools
    python3 docs/examples/clients/diagnose.py "NCCL WARN Connect failed on every rank" [--server 127.0.0.1:50050]

With certificates (docs/security.md) a client is an operator or a gateway: --certs DIR has ca.pem, cert.pem, key.pem.
"""
import argparse
import importlib
import os
import pathlib
import sys
import tempfile

import grpc
from grpc_tools import protoc

PROTO = pathlib.Path(__file__).resolve().parents[3] / "proto"


def stubs():
    """The modules of galen.v1, generated into a directory of their own."""
    out = tempfile.mkdtemp(prefix="galen-stubs-")
    files = [str(path) for folder in ("galen/v1", "google/api", "google/rpc") for path in sorted((PROTO / folder).glob("*.proto"))]
    well_known = os.path.join(os.path.dirname(importlib.import_module("grpc_tools").__file__), "_proto")
    if protoc.main(["protoc", f"-I{PROTO}", f"-I{well_known}", f"--python_out={out}", f"--grpc_python_out={out}", *files]) != 0:
        sys.exit("protoc failed")
    sys.path.insert(0, out)
    return importlib.import_module("galen.v1.diagnosis_service_pb2"), importlib.import_module("galen.v1.diagnosis_service_pb2_grpc")


def channel(server, certs):
    if certs is None:
        return grpc.insecure_channel(server)
    read = [pathlib.Path(certs, name).read_bytes() for name in ("ca.pem", "key.pem", "cert.pem")]
    return grpc.secure_channel(server, grpc.ssl_channel_credentials(*read))


def main():
    parser = argparse.ArgumentParser(description="Has Galen diagnose an incident over gRPC.")
    parser.add_argument("description")
    parser.add_argument("--server", default="127.0.0.1:50050", help="address of galen-orchestrator")
    parser.add_argument("--tenant", default="default")
    parser.add_argument("--certs")
    arguments = parser.parse_args()

    messages, services = stubs()
    with channel(arguments.server, arguments.certs) as connection:
        galen = services.DiagnosisServiceStub(connection)
        request = messages.CreateDiagnosisRequest(parent=f"tenants/{arguments.tenant}")
        request.diagnosis.incident.description = arguments.description
        name = galen.CreateDiagnosis(request, timeout=30).name
        print(name)
        for event in galen.WatchDiagnosis(messages.WatchDiagnosisRequest(name=name), timeout=600):
            print(event.sequence, event.WhichOneof("event"))
        diagnosis = galen.GetDiagnosis(messages.GetDiagnosisRequest(name=name), timeout=30)
        print(diagnosis.State.Name(diagnosis.state), diagnosis.report.headline)


if __name__ == "__main__":
    main()
