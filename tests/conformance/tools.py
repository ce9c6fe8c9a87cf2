"""What the conformance tests share: other people's tools, and how a test says that one is not there.

A test ends with 77 when it was skipped, which CTest knows; the words say what would have to be installed.
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
failures = 0


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def tool(name, package):
    """Where the program is. What is small is installed by scripts/setup; the rest is up to whoever runs the tests."""
    found = shutil.which(name)
    if not found:
        skip(f"{name} is not on this machine: apt install {package}")
    return found


def expect(what, right, seen=""):
    global failures
    print(("ok: " if right else "FAILED: ") + what + (f"\n{seen}" if seen and not right else ""))
    failures += not right


def run(*command, **more):
    """Standard output and error together, and the exit status."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    return done.stdout, done.returncode


def finish():
    sys.exit(failures > 0)
