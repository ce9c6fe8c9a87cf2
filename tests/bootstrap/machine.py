"""Machines for the tests of the bootstrap: roots of tests/container with an overlay each, in namespaces of the test's own.

Call own_namespaces() first: from then on mounts, processes and the network are the test's, and the kernel ends them all with it.
"""

import fcntl
import hashlib
import os
import pathlib
import platform
import stat
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONTAINER = SOURCE / "tests" / "container"
# A release runs on the Debian that it was built on and on later ones: glibc's rule.
_OURS = platform.freedesktop_os_release().get("VERSION_CODENAME")
SUITES = ("trixie",) if _OURS == "trixie" else ("bookworm", "trixie")
_roots = {}  # by suite: the folder, and the lock that is held as long as the test runs


def own_namespaces():
    if os.geteuid() != 0:
        sys.exit(f"{sys.argv[0]}: must be run as root")
    if os.environ.get("OWN_NAMESPACES") != "1":
        os.environ["OWN_NAMESPACES"] = "1"
        os.environ["OUTER_PID"] = str(os.getpid())
        os.execvp("unshare", ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", *sys.orig_argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def root_of(suite=SUITES[0]):
    """The Debian of that name with cloud-init; made when it is missing."""
    if suite not in _roots:
        found = subprocess.run([CONTAINER / "root", "--suite", suite, "--packages", CONTAINER / "packages-cloud"], check=True, text=True,
                               stdout=subprocess.PIPE)
        root = pathlib.Path(found.stdout.strip())
        # Roots that nobody holds, and nobody has used for weeks, are removed.
        lock = os.open(f"{root}.lock", os.O_WRONLY | os.O_CREAT, 0o644)
        fcntl.flock(lock, fcntl.LOCK_SH)
        os.utime(lock)
        _roots[suite] = (root, lock)
    return _roots[suite][0]


def describe(path):
    """What two listings compare of a file; None when there is none."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    kind = stat.S_IFMT(status.st_mode)
    content = ""
    if kind == stat.S_IFLNK:
        content = os.readlink(path)
    elif kind == stat.S_IFREG:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    return (kind, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, content)


class Machine:
    """A root with an overlay; what is written to it is gone with close()."""

    def __init__(self, root):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="opsagent-machine."))
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755,size=2g", "machine", self.folder], check=True)
        self.root = self.folder / "root"
        self.below = pathlib.Path(root)
        self.mounted = []
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir()
        # Overlay folders take the mode of the upper one.
        os.chmod(self.folder / "upper", 0o755)
        subprocess.run(["mount", "-t", "overlay", "-o", f"lowerdir={root},upperdir={self.folder}/upper,workdir={self.folder}/work",
                        "machine", self.root], check=True)

    def close(self):
        subprocess.run(["umount", "--recursive", "--lazy", self.folder], check=False)
        os.rmdir(self.folder)

    def path(self, path):
        return self.root / path.lstrip("/")

    def write(self, path, content, mode=0o644):
        file = self.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        file.chmod(mode)

    def read(self, path):
        try:
            return self.path(path).read_text(errors="replace")
        except OSError:
            return ""

    def remove(self, path):
        self.path(path).unlink()

    def tmpfs(self, path, size):
        self.path(path).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=755,size={size}", "small", self.path(path)], check=True)
        self.mounted.append(self.path(path))

    def listing(self, ignore=()):
        """All that differs from the root below: {path: kind, mode, owner, content}. Overlay keeps exactly that in the upper folder."""
        found = {}
        for top in [self.folder / "upper", *self.mounted]:
            place = pathlib.PurePath() if top == self.folder / "upper" else top.relative_to(self.root)
            for folder, folders, files in os.walk(top):
                below = place / pathlib.Path(folder).relative_to(top)
                folders[:] = [name for name in folders if str(below / name) not in ("proc", "sys", "dev", "run", "tmp")]
                for name in folders + files:
                    path = str(below / name)
                    if any(path == each or path.startswith(each + "/") for each in ignore):
                        continue
                    now, before = describe(self.root / path), describe(self.below / path)
                    if now != before:
                        found[path] = now or "gone"
        return found


class Shell(Machine):
    """A machine that is not booted: a chroot, with a file in the place of the console."""

    def __init__(self, root):
        super().__init__(root)
        subprocess.run(["mount", "-t", "proc", "proc", self.path("/proc")], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "dev", self.path("/dev")], check=True)
        for name, minor in (("null", 3), ("zero", 5), ("urandom", 9)):
            os.mknod(self.path(f"/dev/{name}"), stat.S_IFCHR | 0o666, os.makedev(1, minor))
            self.path(f"/dev/{name}").chmod(0o666)
        self.write("/dev/console", "")

    def start(self, *command, **more):
        return subprocess.Popen(["chroot", self.root, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}, **more)

    def signal(self, number):
        """To every process of the machine, as systemd does it to those of a service."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "root") == str(self.root):
                    os.kill(int(process.name), number)
            except OSError:
                pass  # gone

    def run(self, *command, timeout=120):
        process = self.start(*command)
        output, _ = process.communicate(timeout=timeout)
        return process.returncode, output


def differences(before, after):
    """What changed between two listings, a line each."""
    lines = [f"new: {path}" for path in sorted(after.keys() - before.keys())]
    lines += [f"gone: {path}" for path in sorted(before.keys() - after.keys())]
    lines += [f"changed: {path}: {before[path]} -> {after[path]}" for path in sorted(before.keys() & after.keys()) if before[path] != after[path]]
    return lines
