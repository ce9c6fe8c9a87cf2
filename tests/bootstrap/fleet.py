"""What stands on the host's side of booted machines: a backend that serves releases, with keys and a release made by `opsctl release`."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from booted import HOST
from support import BIN, ApiError, Backend, file_state

APP = "shop"
MARK, MARK_TEXT = "etc/of-the-fleet", "one of the fleet\n"  # the file that the recipe makes


class Fleet:
    def __init__(self, archive, more_states=(), round_delay=600):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="opsagent-fleet."))
        self.base = self.scratch / "releases"
        self.environment = {**os.environ, "HOME": str(self.scratch)}
        self.make_releases(archive)
        self.backend = Backend(self.scratch, "--name", HOST, "--releases", self.base, host="0.0.0.0")
        self.port = self.backend.listen.split(":")[1]
        self.environment |= {"OPSCTL_SERVER": f"https://{HOST}:{self.port}", "OPSCTL_CA": str(self.backend.data / "ca.crt"),
                             "OPSCTL_TOKEN_FILE": str(self.backend.data / "admin.token")}
        self.ctl("app", "create", APP)
        self.backend.push("base", [file_state("mark", "/" + MARK, MARK_TEXT), *more_states])
        self.backend.assign("base", "role=web", app=APP, round_delay_s=round_delay)

    def make_releases(self, archive):
        (self.scratch / "passphrase").write_text("correct horse\n")
        (self.scratch / "passphrase").chmod(0o600)
        for name in ("root", "release", "timestamp"):
            self.ctl("release", "key", "create", self.key(name), "--passphrase-file", self.scratch / "passphrase")
        self.base.mkdir()
        self.ctl("release", "root", "create", self.base, "--root-key", self.key("root"), "--release-key", f"{self.key('release')}.pub",
                 "--timestamp-key", f"{self.key('timestamp')}.pub", "--passphrase-file", self.scratch / "passphrase")
        self.publish(archive)

    def publish(self, archive):
        self.ctl("release", "publish", self.base, archive, "--release-key", self.key("release"), "--timestamp-key", self.key("timestamp"),
                 "--passphrase-file", self.scratch / "passphrase")

    def key(self, name):
        return self.scratch / f"{name}.key"

    def try_ctl(self, *words):
        """Its status, and what it said."""
        done = subprocess.run([BIN / "opsctl", *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def ctl(self, *words):
        status, output, complaints = self.try_ctl(*words)
        if status != 0:
            raise AssertionError(f"opsctl {words}: {status}: {output}{complaints}")
        return output

    def userdata(self, *options):
        names = () if "--join-token" in options else ("--name", "*")
        return self.ctl("userdata", "--root", self.base / "1.root.json", "--app", APP, "--tag", "role=web", *names, *options)

    def instance(self, name):
        try:
            return self.backend.instance(name, APP)
        except ApiError:
            return None

    def has_converged(self, name):
        found = self.instance(name)
        return found and found["online"] and found["status"] == "converged" and found

    def results(self, name):
        """Newest first."""
        return self.backend.items("/results", app=APP, instance=name)

    def enrolments(self):
        return len([row for row in self.backend.items("/audit") if row["action"] == "agent.enrol" and row["result"] == "ok"])

    def close(self):
        self.backend.kill()
        shutil.rmtree(self.scratch, ignore_errors=True)
