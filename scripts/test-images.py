#!/usr/bin/env python3
"""Writes root file systems for tests as tar archives, from what this Debian
machine has installed: no registry, no network.

  test-images.py DIR    DIR/busybox.tar and DIR/tools.tar

busybox.tar holds the static busybox alone. tools.tar holds bash, git, python3,
make and what else the probes call, with all that these packages depend on.
"""

import io
import os
import re
import subprocess
import sys
import tarfile

TOOLS = [
    "bash", "coreutils", "curl", "dash", "diffutils", "findutils", "gawk", "git", "grep", "gzip", "hostname", "libc-bin", "login",
    "make", "mawk", "ncurses-base", "passwd", "procps", "python3", "sed", "tar", "util-linux",
]
# Documents and data that no test opens.
SKIP = re.compile(r"^/usr/share/(doc|man|locale|info|lintian|bug|i18n|zoneinfo|perl|gitweb|pixmaps|applications)/|/__pycache__/")
PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
GROUP = "root:x:0:\nnogroup:x:65534:\n"


def closure(names):
    """All installed packages that the named ones need."""
    status = {}
    out = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package}\t${db:Status-Status}\t${Provides}\t${Pre-Depends}, ${Depends}\n"],
        check=True, capture_output=True, text=True).stdout
    provides = {}
    for line in out.splitlines():
        package, state, provided, needs = line.split("\t")
        if state != "installed":
            continue
        status[package] = [[re.split(r"[ (:]", a.strip())[0] for a in need.split("|")] for need in needs.split(",") if need.strip()]
        for p in provided.split(","):
            if p.strip():
                provides.setdefault(re.split(r"[ (:]", p.strip())[0], []).append(package)
    found, todo = set(), [n for n in names if n in status]
    while todo:
        package = todo.pop()
        if package in found:
            continue
        found.add(package)
        for alternatives in status[package]:
            for a in alternatives:
                have = [a] if a in status else provides.get(a, [])[:1]
                if have:
                    todo += have
                    break
    return sorted(found)


def add(tar, name, **fields):
    info = tarfile.TarInfo(name.lstrip("/"))
    info.type = fields.get("type", tarfile.REGTYPE)
    info.mode = fields.get("mode", 0o755)
    info.linkname = fields.get("link", "")
    text = fields.get("text", "").encode()
    info.size = len(text)
    tar.addfile(info, io.BytesIO(text))


def skeleton(tar):
    for d in ["dev", "etc", "proc", "root", "run", "sys", "tmp", "usr", "usr/bin", "var", "var/tmp"]:
        add(tar, d, type=tarfile.DIRTYPE, mode=0o1777 if d.endswith("tmp") else 0o755)
    add(tar, "etc/passwd", text=PASSWD, mode=0o644)
    add(tar, "etc/group", text=GROUP, mode=0o644)


def busybox(target):
    program = "/usr/bin/busybox" if os.path.exists("/usr/bin/busybox") else "/bin/busybox"
    with tarfile.open(target, "w") as tar:
        skeleton(tar)
        add(tar, "bin", type=tarfile.DIRTYPE)
        tar.add(os.path.realpath(program), "bin/busybox")
        for applet in subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout.split():
            if applet != "busybox":
                add(tar, "bin/" + applet, type=tarfile.SYMTYPE, link="busybox")


def tools(target):
    files = set()
    for package in closure(TOOLS):
        for line in subprocess.run(["dpkg", "-L", package], check=True, capture_output=True, text=True).stdout.splitlines():
            # Packages name /bin/sh; where /bin is a link the file is /usr/bin/sh.
            path = os.path.join(os.path.realpath(os.path.dirname(line)), os.path.basename(line))
            if not SKIP.search(path) and os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
                files.add(path)
    for name in os.listdir("/etc/alternatives"):
        link = os.path.join("/etc/alternatives", name)
        if os.path.realpath(link) in files:
            files.add(link)
            if os.path.islink("/usr/bin/" + name):
                files.add("/usr/bin/" + name)
    with tarfile.open(target, "w") as tar:
        skeleton(tar)
        for d in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            if os.path.islink("/" + d):
                add(tar, d, type=tarfile.SYMTYPE, link=os.readlink("/" + d))
        for path in sorted(files):
            if path.count("/") < 2 or path.startswith("/etc/") and not path.startswith("/etc/alternatives/"):
                continue  # the links above, and the machine's own configuration
            tar.add(path, path.lstrip("/"), recursive=False)
        tar.add("/etc/ld.so.cache", "etc/ld.so.cache")
        if not os.path.exists("/usr/bin/sh"):
            add(tar, "usr/bin/sh", type=tarfile.SYMTYPE, link="dash")


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, write in (("busybox", busybox), ("tools", tools)):
        target = os.path.join(sys.argv[1], name + ".tar")
        write(target + ".part")
        os.replace(target + ".part", target)


main()
