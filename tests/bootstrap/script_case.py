"""A machine that is not booted, a release server, and the bootstrap script that opsctl makes for them: what the tests of the script share.

The machine is a chroot with an overlay; the releases are signed by signing.py and served on a loopback of the test's own; the agent in them is a
stand-in. Whatever is wrong must end with exit status 1, the reason in the log and on the console, and nothing installed: the listings of the whole
file system are compared.
"""

import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

import signing
from machine import Shell, differences, root_of
from release_server import ReleaseServer
from support import BIN

LOG = "var/log/opsagent-bootstrap.log"
SECRET = "0123456789abcdef" * 2
TOKEN = f"opsjoin1.{'a' * 16}.{SECRET}.{'0' * 64}"

# Installs itself as the agent does, as far as the script can tell.
STAND_IN = """#!/bin/sh
set -eu
case $1 in
  self-test) echo "self-test: $(cat /self-test 2>/dev/null || echo fine)"; [ ! -e /self-test ] ;;
  install)
    sleep "$(cat /slow 2>/dev/null || echo 0)"
    folder=$(readlink -f "$0") && folder=${folder%/bin/opsagent}
    name=1.4.0-$(echo "$3" | cut -c 1-8)
    mkdir -p -m 755 /opt/opsagent/versions
    mv "$folder" "/opt/opsagent/versions/$name"
    ln -s "versions/$name" /opt/opsagent/current
    cp "/opt/opsagent/versions/$name/bin/opsagent-launch" /opt/opsagent/launch
    printf '#!/bin/sh\\necho "$1" >>/init-calls\\n' >/etc/init.d/opsagent
    chmod 755 /etc/init.d/opsagent
    echo "${4-} ${5-}" >>/installs ;;
esac
"""
FILES = {"bin/opsagent": STAND_IN.encode(), "bin/opsagent-launch": b"#!/bin/sh\n", "share/data": random.Random(1).randbytes(400_000), "manifest": b"opsagent 1.4.0\n"}


class ScriptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root_folder = root_of()
        cls.archive = signing.archive(FILES)

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="opsagent-script."))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.machine = Shell(self.root_folder)
        self.addCleanup(self.machine.close)
        self.releases = signing.ReleaseFolder(self.scratch / "releases", self.scratch / "keys")
        self.releases.archive = self.archive
        self.server = ReleaseServer(self.releases.folder)
        self.addCleanup(self.server.close)

    def userdata(self, *options, wait=5, root=None):
        """What opsctl prints, with less patience; on the machine as /userdata."""
        file = self.scratch / "root.json"
        file.write_bytes(root or self.releases.root)
        token = self.scratch / "token"
        token.write_text(TOKEN)
        text = subprocess.run([BIN / "opsctl", "userdata", "--root", file, "--join-token", token, "--backend", "wss://10.9.8.7:8963/agent/",
                               "--release-base", self.server.url, *options], check=True, capture_output=True, text=True).stdout
        self.assertIn("wait='600'", text)
        self.machine.write("/userdata", text.replace("wait='600'", f"wait='{wait}'"), 0o700)

    def run_script(self, timeout=120):
        return self.machine.run("/userdata", timeout=timeout)

    def installs(self, *options, **more):
        self.userdata(*options, **more)
        status, output = self.run_script()
        self.assertEqual(status, 0, output)
        self.assertIn("installed OpsAgent 1.4.0", output)
        self.assertTrue(self.machine.path("/opt/opsagent/current/bin/opsagent").exists())
        return output

    def check_refusal(self, before, status, output, *reasons):
        self.assertEqual(status, 1, output)
        for reason in ("FAILED", *reasons):
            self.assertIn(reason, output)
            self.assertIn(reason, self.machine.read(LOG))
            self.assertIn(reason, self.machine.read("/dev/console"))
        self.assertEqual(differences(before, self.machine.listing(ignore=[LOG])), [])
        self.assertEqual(self.machine.path(LOG).stat().st_mode & 0o777, 0o600)

    def refuses(self, *reasons, options=(), wait=3, **more):
        """Status 1, the reasons everywhere, nothing installed."""
        self.userdata(*options, wait=wait, **more)
        before = self.machine.listing(ignore=[LOG])
        status, output = self.run_script()
        self.check_refusal(before, status, output, *reasons)
        return output
