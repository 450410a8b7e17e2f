"""Makes JSON schemas for `kubeconform -strict` out of Kubernetes' own description of its API and out of definitions of custom
resources: a file a kind, KIND-GROUP-VERSION.json, in which a field that there is not is an error.

    schemas.py kubernetes SWAGGER.json DIRECTORY
    schemas.py resources DIRECTORY_OF_DEFINITIONS DIRECTORY
"""
import glob
import json
import os
import sys

import yaml

# YAML 1.1 has a type for "=", which no definition means.
yaml.SafeLoader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: node.value)
REFERENCE = "#/definitions/"
# Quantities, and what is a number or a name.
EITHER = {"oneOf": [{"type": "string"}, {"type": "number"}]}
LOOSE = {"io.k8s.apimachinery.pkg.util.intstr.IntOrString": EITHER, "io.k8s.apimachinery.pkg.api.resource.Quantity": EITHER}


def closed(schema):
    """The schema with every object closed that lists its fields."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return EITHER
    # "description" and the like may also be names of fields, so only what stands beside a type is dropped.
    result = {}
    for name, value in schema.items():
        if name in ("properties", "definitions") and isinstance(value, dict):
            result[name] = {field: closed(part) for field, part in value.items()}
        elif name in ("format", "description", "default", "nullable") or name.startswith("x-"):
            continue
        else:
            result[name] = closed(value)
    if "properties" in result and "additionalProperties" not in result and not schema.get("x-kubernetes-preserve-unknown-fields"):
        result["additionalProperties"] = False
    return result


def used(schema, found, definitions):
    """Adds to `found` what the schema refers to, directly or not."""
    if isinstance(schema, list):
        for part in schema:
            used(part, found, definitions)
    elif isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix(REFERENCE)
            if name not in found:
                found[name] = definitions[name]
                used(definitions[name], found, definitions)
        for part in schema.values():
            used(part, found, definitions)


def write(directory, kind, group, version, schema):
    # kubeconform's {{.ResourceKind}}{{.KindSuffix}}: of a group with dots the first word alone.
    parts = [kind.lower(), *([group.split(".")[0]] if group else []), version.lower()]
    with open(f"{directory}/{'-'.join(parts)}.json", "w", encoding="utf-8") as file:
        json.dump(schema, file)


def kubernetes(swagger, directory):
    with open(swagger, encoding="utf-8") as file:
        definitions = json.load(file)["definitions"]
    definitions = {name: LOOSE.get(name) or closed(schema) | {"kinds": schema.get("x-kubernetes-group-version-kind", [])}
                   for name, schema in definitions.items()}
    for name, schema in definitions.items():
        kinds = schema.get("kinds", [])
        if len(kinds) != 1:
            continue  # DeleteOptions and the like, which are of every group
        found = {}
        used(schema, found, definitions)
        write(directory, kinds[0]["kind"], kinds[0]["group"], kinds[0]["version"], {**schema, "definitions": found})


def resources(definitions, directory):
    for path in sorted(glob.glob(f"{definitions}/*.yaml")):
        with open(path, encoding="utf-8") as file:
            documents = [document for document in yaml.safe_load_all(file) if document]
        for document in documents:
            if document["kind"] != "CustomResourceDefinition":
                continue
            spec = document["spec"]
            for version in spec["versions"]:
                schema = closed(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                write(directory, spec["names"]["kind"], spec["group"], version["name"], schema)


if __name__ == "__main__":
    what, source, into = sys.argv[1:]
    os.makedirs(into, exist_ok=True)
    {"kubernetes": kubernetes, "resources": resources}[what](source, into)
