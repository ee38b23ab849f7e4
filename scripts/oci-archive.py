#!/usr/bin/env python3
"""Writes a root file system as an OCI image archive to standard output, for what
imports images but no bare file systems.

  oci-archive.py FILE.tar NAME [ARCHITECTURE]    NAME with its registry; default: this machine's

Media types and names of fields: the OCI image specification, version 1.0.
"""

import hashlib
import io
import json
import os
import platform
import sys
import tarfile

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
GO_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}


def described(kind, data):
    return {"mediaType": kind, "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data)}


def main():
    layer, name = sys.argv[1], sys.argv[2]
    machine = sys.argv[3] if len(sys.argv) > 3 else GO_NAMES.get(platform.machine(), platform.machine())
    with open(layer, "rb") as f:
        digest = "sha256:" + hashlib.file_digest(f, "sha256").hexdigest()
    config = json.dumps({
        "architecture": machine, "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [digest]},
    }).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": described(CONFIG, config),
        "layers": [{"mediaType": LAYER, "digest": digest, "size": os.path.getsize(layer)}],
    }).encode()
    entry = described(MANIFEST, manifest)
    entry["platform"] = {"architecture": machine, "os": "linux"}
    entry["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rsplit(":", 1)[-1]}
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}).encode()
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        for path, data in {
            "oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": index,
            "blobs/" + described("", config)["digest"].replace(":", "/"): config,
            "blobs/" + entry["digest"].replace(":", "/"): manifest,
        }.items():
            info = tarfile.TarInfo(path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        info = tarfile.TarInfo("blobs/" + digest.replace(":", "/"))
        info.size = os.path.getsize(layer)
        with open(layer, "rb") as f:
            tar.addfile(info, f)


main()
