#!/usr/bin/env python3
"""Fails when a library is used outside the folder that owns it, or a file outgrows one idea.

The layers between our own folders are kept by CMake; this keeps header-only and system headers,
which every target could see, in their places.
"""
import re
import subprocess
import sys

# header prefix: folders (regular expressions over paths) that may include it
OWNERS = {
    "grpcpp/": [r"^common/rpc/", r"^services/gateway/upstream/", r"^bench/(advisor|load|rpc)/", r"^common/clients/grpc_clients", r"_service\.(h|cc)$",
                r"^services/cli/(advisor/remote_advisor|remote_api|up)", r"^tests/", r"^bench/micro/observed_hop_bench", r"/main\.cc$"],
    "boost/": [r"^services/gateway/http/", r"^tests/unit/services/gateway/http/", r"^bench/load/public_calls"],
    "zlib": [r"^services/gateway/http/gzip\.cc$", r"^tests/unit/services/gateway/http/"],
    "curl/": [r"^common/http/curl_transport\.cc$"],
    "hiredis/": [r"^common/store/"],
    "openssl/": [r"^common/crypto/", r"^common/security/", r"^common/knowledge/files\.cc$", r"^common/reasoner/llm/prompt\.cc$",
                 r"^common/store/redis/command\.cc$", r"^services/cli/certs/directory\.cc$", r"^services/gateway/oidc/jwk_set\.h$", r"^services/gateway/(access/api_key|oidc/jwk_set|tickets/signature|webhooks/signature)\.cc$", r"^tests/"],
    "sqlite3.h": [r"^common/store/", r"^common/incident_history/store\.cc$", r"^common/profile/sqlite_database\.cc$",
                  r"^tests/unit/common/(profile|store)/"],
    "hs/": [r"^common/log_analysis/scan/", r"^tests/unit/common/knowledge/"],
    "yaml-cpp/": [r"^common/yaml/"],
    "archive": [r"^common/(host|log_analysis/scan)/", r"^tests/unit/common/"],
    "infiniband/": [r"^services/node/checks/rdma/verbs/", r"^tests/unit/services/node/checks/rdma/"],
    "prometheus/": [r"^common/observability/metrics/", r"_metrics\.(h|cc)$", r"^tests/unit/common/observability/metrics/"],
    "pugixml": [r"^services/node/checks/"],
    "CLI/": [r"^services/cli/", r"^bench/eval/"],
    "regex": [],  # std::regex overflows the stack on long lines; RE2 does not
}
MOST_LINES = 600


def main() -> int:
    files = subprocess.run(["git", "ls-files", "*.cc", "*.h"], check=True, text=True,
                           capture_output=True).stdout.split()
    faults = []
    for path in files:
        with open(path, encoding="utf-8") as source:
            lines = source.readlines()
        if len(lines) > MOST_LINES:
            faults.append(f"{path}: {len(lines)} lines, more than {MOST_LINES}: it holds two ideas")
        for number, line in enumerate(lines, 1):
            include = re.match(r'#include [<"]([^>"]+)[>"]', line)
            if not include:
                continue
            for prefix, owners in OWNERS.items():
                name = include.group(1)
                hit = name.startswith(prefix) if prefix.endswith("/") else name.split(".")[0] == prefix.split(".")[0]
                if hit and not any(re.search(owner, path) for owner in owners):
                    faults.append(f"{path}:{number}: {name} belongs to {owners or 'nobody'}")
    print("\n".join(faults) or f"{len(files)} files keep to their libraries")
    return 1 if faults else 0


sys.exit(main())
