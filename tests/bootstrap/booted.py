"""Booted machines: systemd and cloud-init in containers, on a network of the test's own.

The network is a bridge, HOST on it is the test itself: backend, release server, metadata server. Each machine has a network namespace with one
link to the bridge, which can be taken down. Call machine.own_namespaces() first, then make_network().
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

from machine import CONTAINER, Machine
from support import wait_until

HOST = "10.77.0.1"
METADATA = "169.254.169.254"


def command(*words, **more):
    return subprocess.run(words, check=True, **more)


def make_network():
    # Namespaces are named by files below /run, and nspawn keeps its books there: not the host's.
    command("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
    command("ip", "link", "add", "fleet", "type", "bridge")
    command("ip", "address", "add", f"{HOST}/24", "dev", "fleet")
    command("ip", "address", "add", f"{METADATA}/32", "dev", "fleet")
    command("ip", "link", "set", "fleet", "up")


def cgroup_parents():
    """Where systemd keeps its tree, a folder for each hierarchy: see tests/container/cgroups.sh."""
    found = subprocess.run(["bash", "-c", '. "$0" && cgroup_parents', CONTAINER / "cgroups.sh"], check=True, stdout=subprocess.PIPE, text=True)
    return [pathlib.Path(line) for line in found.stdout.splitlines()]


class Booted(Machine):
    """A machine that can be booted again and again; what is written to it stays until close()."""

    count = 0

    def __init__(self, root):
        super().__init__(root)
        Booted.count += 1
        self.number = Booted.count
        self.name = f"machine{self.number}"
        self.address = f"10.77.0.{self.number + 10}"
        self.console = self.folder / "console"
        self.process = None
        command("ip", "netns", "add", self.name)
        command("ip", "link", "add", f"link{self.number}", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        command("ip", "link", "set", f"link{self.number}", "master", "fleet")
        self.inside("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.inside("ip", "link", "set", "lo", "up")
        self.link("up")
        # The last part is a process that lives as long as the test: tests/container takes such groups for used.
        self.cgroups = [parent / f"opsagent-test-{self.name}-{os.environ['OUTER_PID']}" for parent in cgroup_parents()]
        for group in self.cgroups:
            group.mkdir()
        self.write("/etc/opsagent-scratch", "A scratch machine of OpsAgent's tests: whatever happens here is forgotten.\n")
        self.write("/etc/hostname", self.name + "\n")
        self.write("/etc/resolv.conf", "")  # nobody to ask, and nobody to wait for
        self.write("/etc/cloud/cloud.cfg.d/99_test.cfg", "network: {config: disabled}\npreserve_hostname: true\nlocale: false\nssh_genkeytypes: []\nusers: []\n")

    def inside(self, *words):
        """In the machine's network, not on the machine."""
        return command("ip", "netns", "exec", self.name, *words)

    def link(self, state):
        command("ip", "link", "set", f"link{self.number}", state)
        self.inside("ip", "link", "set", "eth0", state)
        if state == "up":
            subprocess.run(["ip", "netns", "exec", self.name, "ip", "route", "replace", "default", "via", HOST], check=False)

    def seed(self, userdata, instance):
        """What NoCloud finds at the next boot."""
        self.write("/etc/cloud/cloud.cfg.d/98_source.cfg", "datasource_list: [ NoCloud ]\n")
        self.write("/var/lib/cloud/seed/nocloud/user-data", userdata, 0o600)
        self.write("/var/lib/cloud/seed/nocloud/meta-data", f"instance-id: {instance}\nlocal-hostname: {self.name}\n")

    def boot(self):
        def join():
            for group in self.cgroups:
                (group / "cgroup.procs").write_text("0")

        for note in self.boot_finished():
            note.unlink()
        with open(self.console, "ab") as console:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "--quiet", f"--directory={self.root}", f"--machine={self.name}", "--register=no", "--keep-unit",
                 f"--network-namespace-path=/run/netns/{self.name}", "--resolv-conf=off", "--console=read-only", "--boot", "systemd.show_status=no"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, preexec_fn=join)
        if not wait_until(lambda: self.leader() or self.process.poll() is not None, 30) or self.process.poll() is not None:
            raise AssertionError("the machine does not boot:\n" + self.console_text()[-2000:])

    def boot_finished(self):
        """cloud-init's note that it is done with this boot, if it is there."""
        return list(self.root.glob("var/lib/cloud/instances/*/boot-finished"))

    def leader(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for child in children:
            if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                return child
        return None

    def run(self, *words, timeout=120, check=False):
        """On the machine, as root. Its status and output."""
        done = subprocess.run(["nsenter", f"--target={self.leader()}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--",
                               "env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
                               *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: {done.returncode}: {done.stdout}")
        return done.returncode, done.stdout

    def wait_for_cloud_init(self, seconds=180):
        """Until it is done with this boot."""
        done = wait_until(lambda: self.boot_finished() or self.process.poll() is not None, seconds)
        if not done or self.process.poll() is not None:
            raise AssertionError("cloud-init does not come to an end:\n" + self.console_text()[-3000:])

    def cloud_init_result(self):
        status, output = self.run("cat", "/run/cloud-init/result.json")
        return json.loads(output)["v1"] if status == 0 else {}

    def console_text(self):
        text = self.console.read_text(errors="replace") if self.console.exists() else ""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text)

    def shut_down(self):
        """As the power button does it."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError("the machine does not go down:\n" + self.console_text()[-2000:]) from None

    def kill(self):
        if self.process and self.process.poll() is None:
            leader = self.leader()
            if leader:
                os.kill(int(leader), signal.SIGKILL)
            self.process.kill()
            self.process.wait()

    def close(self):
        self.kill()
        for group in self.cgroups:
            for _ in range(40):
                subprocess.run(["find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+"], stderr=subprocess.DEVNULL, check=False)
                if not group.exists():
                    break
                time.sleep(0.05)
        subprocess.run(["ip", "link", "delete", f"link{self.number}"], check=False)
        subprocess.run(["ip", "netns", "delete", self.name], check=False)
        super().close()
