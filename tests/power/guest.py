"""The guest's disk: busybox, libc, and the self-contained agent as an installation leaves it."""

import hashlib
import io
import shutil
import tarfile

import machines
import vm
from support import BIN

HOST = "10.0.2.2"  # the host's loopback, as a guest of qemu's user network sees it
NAME = "guest"
START = """#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin
while :; do
  /opt/opsagent/launch
  echo "guest: the launcher ended with $?"
  sleep 1
done
"""


def another_archive(program, number):
    """(version, archive) of a built program; no two numbers give the same archive."""
    version = machines.version_of(BIN / program)
    return version, machines.archive_of(version, (BIN / program).read_bytes(), note=f"release {number}\n".encode())


def lay_out(root, version, archive, backend, base):
    for name in ("bin", "sbin", "etc", "tmp", "proc", "sys", "dev", "run", "var/log", "var/lib/opsagent/update"):
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    (root / "bin/sh").symlink_to("busybox")
    # The archives of the update tests have no libraries: the guest gets this machine's.
    vm.copy_libraries(root, BIN / "opsagent")
    (root / "etc/passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (root / "etc/os-release").write_text("ID=debian\nVERSION_ID=12\n")
    (root / "sbin/start").write_text(START)
    (root / "sbin/start").chmod(0o755)

    prefix = root / "opt/opsagent"
    folder = prefix / "versions" / f"{version}-{hashlib.sha256(archive).hexdigest()[:8]}"
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder)
    (prefix / "staging").mkdir()
    (prefix / "current").symlink_to(f"versions/{folder.name}")
    shutil.copy(BIN / "opsagent-launch", prefix / "launch")

    state = root / "var/lib/opsagent"
    shutil.copy(base.root, state / "update/root.json")
    (state / "join-token").write_text(backend.join_token())
    port = backend.listen.split(":")[1]
    conf = root / "etc/opsagent.conf"
    conf.write_text(f"ws_uri = wss://{HOST}:{port}/agent/\ninstance_id = {NAME}\njoin_token = /var/lib/opsagent/join-token\n"
                    f"release_base = https://{HOST}:{port}/releases\nround_delay = 5\nupdate_trial = 6\nupdate_delay = 0\n")
    for private in (state / "update/root.json", state / "join-token", conf):
        private.chmod(0o600)
    (state / "update").chmod(0o700)
    state.chmod(0o711)
