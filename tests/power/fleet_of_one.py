"""What a power cut happens to: a machine with the self-contained agent, its backend, and releases for it to update to."""

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import tarfile

import vm
from support import BIN, Backend, wait_until

GUEST_SEES = "10.0.2.2"  # the host's loopback, from a guest of qemu's
START = """#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin
while :; do
  /opt/opsagent/launch
  echo "vm: the launcher ended with $?"
  sleep 1
done
"""


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def repack(archive, note, target):
    """The same release with another file in it, so that it is another release. Answers the archive's hash."""
    files = {}
    with tarfile.open(archive) as old:
        for member in old.getmembers():
            files[member.name.rstrip("/")] = (member.mode, old.extractfile(member).read() if member.isfile() else None)
    files["share/note"] = (0o644, note.encode())
    kept = [line for line in files["manifest"][1].decode().splitlines() if not line.startswith("file ")]
    lines = [f"file {sha256(data)} {mode:04o} {len(data)} {name}"
             for name, (mode, data) in sorted(files.items()) if data is not None and name != "manifest"]
    files["manifest"] = (0o644, ("\n".join(kept + lines) + "\n").encode())
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as new:
        for name, (mode, data) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.mode = mode
            entry.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
            entry.size = len(data or b"")
            new.addfile(entry, io.BytesIO(data or b""))
    data = gzip.compress(packed.getvalue(), 6, mtime=0)
    target.write_bytes(data)
    return sha256(data)


class Releases:
    """A signed release folder, made and served by our own programs."""

    def __init__(self, scratch):
        self.folder = scratch / "releases"
        self.keys = scratch / "key"
        self.environment = {**os.environ, "OPSCTL_PASSPHRASE": "power"}
        for role in ("root", "release", "timestamp"):
            self.opsctl("key", "create", f"{self.keys}-{role}")
        self.opsctl("root", "create", self.folder, *self.key("root"), *self.key("release"), *self.key("timestamp"))
        self.root = (self.folder / "1.root.json").read_bytes()

    def key(self, role):
        return f"--{role}-key", f"{self.keys}-{role}"

    def opsctl(self, *words):
        subprocess.run([BIN / "opsctl", "release", *words], check=True, env=self.environment, stdout=subprocess.DEVNULL)

    def publish(self, archive, version):
        self.opsctl("publish", self.folder, archive, "--version", version, *self.key("release"), *self.key("timestamp"))


def lay_out(root, archive, digest, version, backend, releases):
    """The guest's root: busybox, glibc and the agent as `opsagent install` leaves it."""
    for name in ("bin", "sbin", "etc", "tmp", "proc", "sys", "dev", "run", "var/log", "var/lib/opsagent/update"):
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    (root / "bin/sh").symlink_to("busybox")
    vm.copy_with_libraries(root, "/usr/bin/true")  # brings libc and its loader
    vm.copy_library(root, "libm.so.6", "libresolv.so.2", "libnss_files.so.2")
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (root / "etc/os-release").write_text("ID=debian\nVERSION_ID=12\n")
    start = root / "sbin/start"
    start.write_text(START)
    start.chmod(0o755)

    prefix = root / "opt/opsagent"
    name = f"{version}-{digest[:8]}"
    folder = prefix / "versions" / name
    folder.mkdir(parents=True)
    with tarfile.open(archive) as packed:
        packed.extractall(folder)
    (prefix / "staging").mkdir()
    (prefix / "current").symlink_to(f"versions/{name}")
    shutil.copy(folder / "bin/opsagent-launch", prefix / "launch")

    state = root / "var/lib/opsagent"
    (state / "update/root.json").write_bytes(releases.root)
    (state / "join-token").write_text(backend.join_token(uses=1))
    for file in (state / "update/root.json", state / "join-token"):
        file.chmod(0o600)
    (state / "update").chmod(0o700)
    state.chmod(0o711)
    port = backend.listen.split(":")[1]
    (root / "etc/opsagent.conf").write_text(
        f"ws_uri = wss://{GUEST_SEES}:{port}/agent/\ninstance_id = guest\njoin_token = /var/lib/opsagent/join-token\n"
        f"release_base = https://{GUEST_SEES}:{port}/releases\nround_delay = 5\ntrial_s = 3\n")
    (root / "etc/opsagent.conf").chmod(0o600)
