"""What the fault tests share: the program under test, scratch folders, and private mounts.

A test is `NAME PROGRAM [unittest options]`. All that it does happens in scratch folders of its own.
"""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
IS_ROOT = os.geteuid() == 0
NOBODY = 65534
MIB = 1024 * 1024
LARGEST_TEXT = 4 * MIB  # of what a run prints, the end is kept

needs_root = unittest.skipUnless(IS_ROOT, "needs root")


def main():
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [unittest options]")
    unittest.main(verbosity=2)


def enter_private_mounts():
    """What this process mounts from now on is seen by nobody else, and goes away with it."""
    if not IS_ROOT:
        return
    clone_newns, ms_rec, ms_private = 0x20000, 0x4000, 0x40000
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(clone_newns) or libc.mount(b"none", b"/", None, ms_rec | ms_private, None):
        sys.exit(f"cannot get mounts of its own: {os.strerror(ctypes.get_errno())}")


def wait_until(condition, seconds):
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def leftovers(folder):
    """Temporaries of the agent's below a folder."""
    return [os.path.join(where, name) for where, folders, files in os.walk(folder) for name in folders + files
            if name.startswith(".opsagent-")]


def processes_with(marker):
    """Ids of the processes that have this text in their environment."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def peak_memory_kib(pid):
    """Up to now; None when the process has ended. (What wait4() tells begins with what the parent had at the fork.)"""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except OSError:
        pass
    return None


class Done:
    """How a run ended."""

    def __init__(self, status, out, err, peak_kib):
        self.status, self.out, self.err, self.peak_kib = status, out, err, peak_kib

    @property
    def text(self):
        return self.out + self.err


class FaultTest(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="opsagent-faults-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.scratch.chmod(0o755)
        self.state_dir = self.scratch / "state"
        self.target = self.scratch / "target"
        self.target.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.scratch),
            "OPSAGENT_STATE_DIR": str(self.state_dir),
            "OPSAGENT_CONFIG": "/dev/null",
        }

    def start(self, *arguments, prefix=(), **options):
        defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([*prefix, PROGRAM, *map(str, arguments)], cwd=self.scratch,
                                env=self.environment, **(defaults | options))

    def run_program(self, *arguments, status=None, timeout=60, prefix=()):
        """A finished run; `status` is the exit status that it must have."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            started = time.monotonic()
            process = self.start(*arguments, prefix=prefix, stdout=out, stderr=err)
            peak_kib = 0
            while process.poll() is None:
                peak_kib = peak_memory_kib(process.pid) or peak_kib
                if time.monotonic() - started > timeout:
                    process.kill()
                    process.wait()
                    self.fail(f"{arguments} hangs")
                time.sleep(0.002)
            texts = []
            for stream in (out, err):
                stream.seek(max(0, stream.seek(0, os.SEEK_END) - LARGEST_TEXT))
                texts.append(stream.read().decode(errors="surrogateescape"))
            done = Done(process.returncode, *texts, peak_kib)
        if status is not None:
            self.assertEqual(done.status, status, f"{arguments}\n{done.text[:4000]}")
        return done

    def recipe(self, *states, name="recipe.json"):
        path = self.scratch / name
        path.write_text(json.dumps({"version": 2, "states": states}))
        return path

    def assert_no_leftovers(self, *folders):
        for folder in folders or (self.scratch,):
            self.assertEqual(leftovers(folder), [], "temporaries are left behind")

    def assert_journal_is_empty(self, name="apply"):
        self.assertEqual((self.state_dir / f"{name}.journal").read_text(), "")


def state(name, module, **parameters):
    """A state of a recipe; keys of the state itself start with an underscore: _timeout=1."""
    own = {key[1:]: value for key, value in parameters.items() if key.startswith("_")}
    given = {key.replace("_", "-"): value for key, value in parameters.items() if not key.startswith("_")}
    return {"id": name, "module": module, "parameter": given} | own


def file_state(name, path, content, **more):
    return state(name, "linux.file", path=str(path), content=content, **more)
