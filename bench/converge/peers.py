"""Installs the peers from Debian when they are missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools import PATH

POLICY = Path("/usr/sbin/policy-rc.d")
SERVICES = {"cfengine3": "cfengine3", "puppet-agent": "puppet"}  # of packages that bring one


def install_missing(tools):
    """Installs what `tools` need. Their daemons are neither started nor enabled: they would
    disturb the measurement, and nobody asked for them."""
    packages = [tool.package for tool in tools if tool.package and not shutil.which(tool.program, path=PATH)]
    if not packages:
        return
    if os.geteuid() != 0:
        raise SystemExit(f"Missing: {' '.join(packages)}. Run this as root to have them installed, or see --peers.")
    print(f"Installing from Debian, to compare with: {' '.join(packages)}. They stay installed.", file=sys.stderr)
    blocked = not POLICY.exists()
    if blocked:
        POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
        POLICY.chmod(0o755)
    try:
        apt_get("update")
        apt_get("install", "--yes", "--no-install-recommends", *packages)
    finally:
        if blocked:
            POLICY.unlink()
    if shutil.which("systemctl"):
        for service in [SERVICES[package] for package in packages if package in SERVICES]:
            subprocess.run(["systemctl", "--quiet", "disable", service], stderr=subprocess.DEVNULL, check=False)


def apt_get(*arguments):
    argv = ["apt-get", "--quiet=2", "--option", "DPkg::Lock::Timeout=300", *arguments]
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.run(argv, env=quiet, stdout=subprocess.DEVNULL, check=True)
