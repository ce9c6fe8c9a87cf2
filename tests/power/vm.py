"""A machine in software (qemu without acceleration) with Debian's kernel, a disk of disk.py and one network card.

The kernel is Debian's cloud kernel of the day, unpacked, not installed; the initial file system is busybox, a few modules and a script
that mounts the disk and becomes its /sbin/start. Which modules those need, and in which order, is what depmod says of that kernel.
"""

import fcntl
import gzip
import lzma
import os
import pathlib
import shutil
import subprocess
import time

WANTED = ("virtio_pci", "virtio_blk", "virtio_net", "ext4")  # with what they need; what is built in needs no module
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in %s; do
  insmod /modules/$module.ko || echo "vm: no module $module"
done
for try in 1 2 3 4 5 6 7 8 9; do [ -b /dev/vda ] && break; sleep 0.2; done
mount -t ext4 -o data=ordered /dev/vda /disk || { echo 'vm: the disk cannot be mounted'; poweroff -f; }
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip link set lo up
mkdir -p /disk/proc /disk/sys /disk/dev
mount --move /proc /disk/proc
mount --move /sys /disk/sys
mount --move /dev /disk/dev
exec switch_root /disk /sbin/start
"""


def testbed():
    """Where images are kept, as tests/container/root has it."""
    caches = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("OPSAGENT_TESTBED") or pathlib.Path(caches) / "opsagent/testbed")


def newest_kernel():
    """The package of Debian's cloud kernel that apt offers now."""
    said = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], check=True, capture_output=True, text=True).stdout
    return said.split("Depends:")[1].split()[0]


def kernel(folder):
    """Debian's newest cloud kernel, unpacked below `folder` (once), with the modules.dep that depmod makes of it."""
    folder.mkdir(parents=True, exist_ok=True)
    name = newest_kernel()
    done = folder / f"kernel-{name}"
    with open(folder / "kernel.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            scratch = folder / "kernel.new"
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            subprocess.run(["apt-get", "--quiet=2", "download", name], cwd=scratch, check=True, stderr=subprocess.DEVNULL)
            package = next(scratch.glob("*.deb"))
            subprocess.run(["dpkg-deb", "-x", package, scratch / "tree"], check=True)
            package.unlink()
            index_modules(scratch / "tree")
            scratch.rename(done)
        os.utime(done)
        # Other worktrees may have come to use another one lately.
        for old in folder.glob("kernel-*"):
            if old.stat().st_mtime < time.time() - 14 * 86400:
                shutil.rmtree(old, ignore_errors=True)
    return done / "tree"


def package(folder, name):
    """A package of Debian's that need not be installed here, unpacked below `folder` (once)."""
    done = folder / f"package-{name}"
    with open(folder / "kernel.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            scratch = folder / "package.new"
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            subprocess.run(["apt-get", "--quiet=2", "download", name], cwd=scratch, check=True, stderr=subprocess.DEVNULL)
            subprocess.run(["dpkg-deb", "-x", next(scratch.glob("*.deb")), scratch / "tree"], check=True)
            scratch.rename(done)
    return done / "tree"


def index_modules(tree):
    """Makes modules.dep. Debian 12 has modules in lib/, Debian 13 in usr/lib/, and depmod looks for them in either."""
    if not (tree / "lib/modules").exists():
        (tree / "lib").symlink_to("usr/lib")
    elif not (tree / "usr/lib").exists():
        (tree / "usr").mkdir(exist_ok=True)
        (tree / "usr/lib").symlink_to("../lib")
    subprocess.run([shutil.which("depmod", path="/usr/sbin:/sbin:/usr/bin:/bin"), "-b", tree, modules_of(tree).name], check=True)


def modules_of(tree):
    return next((tree / "lib/modules").iterdir())


def module_name(path):
    return pathlib.PurePath(path).name.split(".")[0].replace("-", "_")


def modules_in_order(modules, wanted=WANTED):
    """The files, below `modules` (lib/modules/VERSION), of what is wanted and of all that it needs, each after what it needs itself."""
    needs, files, order = {}, {}, []
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, needed = line.partition(":")
        files[module_name(path)] = modules / path
        needs[module_name(path)] = [module_name(each) for each in needed.split()]
    built_in = {module_name(path) for path in (modules / "modules.builtin").read_text().split()}

    def add(name):
        for each in needs[name]:
            add(each)
        if files[name] not in order:
            order.append(files[name])

    for name in wanted:
        if name in needs:
            add(name)
        elif name not in built_in:
            raise AssertionError(f"the kernel in {modules} has no {name}")
    return order


def module_bytes(path):
    """A module as insmod wants it; Debian 13 compresses them."""
    openers = {".xz": lzma.open, ".gz": gzip.open, ".ko": open}
    with openers[path.suffix](path, "rb") as file:
        return file.read()


def initial_files(folder, tree):
    """The initial RAM file system, as a compressed cpio archive."""
    archive = folder / "initrd.gz"
    root = folder / "initrd"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "proc", "sys", "dev", "disk", "modules"):
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    modules = modules_in_order(modules_of(tree))
    for path in modules:
        (root / "modules" / (module_name(path) + ".ko")).write_bytes(module_bytes(path))
    init = root / "init"
    init.write_text(INIT % " ".join(map(module_name, modules)))
    init.chmod(0o755)
    pack(root, archive)
    return archive


def pack(root, archive):
    """A folder as an initial RAM file system."""
    with archive.open("wb") as file:
        subprocess.run("find . | cpio --quiet -o -H newc | gzip -1", shell=True, cwd=root, check=True, stdout=file)


def command(tree, initrd, memory, *devices):
    """What starts a machine without acceleration, whose console is its standard output."""
    image = next((tree / "boot").glob("vmlinuz-*"))
    return ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", str(memory), "-smp", "1", "-nodefaults", "-display",
            "none", "-serial", "stdio", "-no-reboot", "-kernel", image, "-initrd", initrd,
            "-append", "console=ttyS0 quiet panic=-1 tsc=unstable mitigations=off", *devices]


class Machine:
    """One that runs, from its start to kill()."""

    def __init__(self, tree, initrd, disk_socket, console):
        self.console = open(console, "ab")
        self.process = subprocess.Popen(
            command(tree, initrd, 384,
                    "-drive", f"driver=nbd,server.type=unix,server.path={disk_socket},if=virtio,cache.direct=off,cache.no-flush=off",
                    "-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-pci,netdev=net,romfile="),
            stdin=subprocess.DEVNULL, stdout=self.console, stderr=self.console)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.console.close()


def make_disk(folder, tree, size):
    """An ext4 image with the files below `tree`."""
    image = folder / "platter"
    with open(image, "wb") as file:
        os.truncate(file.fileno(), size)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(image)], check=True)
    return image


def copy_libraries(root, program):
    """What a program of this machine is linked with, loader included, where the loader looks for it."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    for file in (word for word in listed.split() if word.startswith("/")):
        target = root / file.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
