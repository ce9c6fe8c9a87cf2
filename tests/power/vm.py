"""A machine in software (qemu without acceleration) with Debian's kernel, a disk of disk.py and one network card.

The kernel is Debian's cloud kernel, unpacked, not installed; the initial file system is busybox, a few modules and a script
that mounts the disk and becomes its /sbin/start.
"""

import os
import shutil
import subprocess

MODULES = ("failover", "net_failover", "virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
           "virtio_blk", "virtio_net")
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in %s; do
  file=/modules/$module.ko
  [ ! -f "$file" ] || insmod "$file" || echo "vm: no module $module"
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


def kernel(folder):
    """Debian's newest cloud kernel, unpacked below `folder` (once)."""
    done = folder / "kernel"
    if not done.exists():
        scratch = folder / "kernel.new"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        name = subprocess.run(["apt-cache", "depends", "linux-image-cloud-amd64"], check=True, capture_output=True,
                              text=True).stdout.split("Depends:")[1].split()[0]
        subprocess.run(["apt-get", "--quiet=2", "download", name], cwd=scratch, check=True, stderr=subprocess.DEVNULL)
        package = next(scratch.glob("*.deb"))
        subprocess.run(["dpkg-deb", "-x", package, scratch / "tree"], check=True)
        package.unlink()
        scratch.rename(done)
    return done / "tree"


def initial_files(folder, tree):
    """The initial RAM file system, as a compressed cpio archive."""
    archive = folder / "initrd.gz"
    root = folder / "initrd"
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "proc", "sys", "dev", "disk", "modules"):
        (root / name).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    for module in MODULES:
        for found in tree.rglob(module + ".ko"):
            shutil.copy(found, root / "modules")
    init = root / "init"
    init.write_text(INIT % " ".join(MODULES))
    init.chmod(0o755)
    subprocess.run("find . | cpio --quiet -o -H newc | gzip -1", shell=True, cwd=root, check=True,
                   stdout=archive.open("wb"))
    return archive


class Machine:
    """One that runs, from its start to kill()."""

    def __init__(self, tree, initrd, disk_socket, console):
        image = next((tree / "boot").glob("vmlinuz-*"))
        self.console = open(console, "ab")
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "384", "-smp", "1", "-nodefaults", "-display", "none",
             "-serial", "stdio", "-no-reboot", "-kernel", image, "-initrd", initrd,
             "-append", "console=ttyS0 quiet panic=-1 tsc=unstable mitigations=off",
             "-drive", f"driver=nbd,server.type=unix,server.path={disk_socket},if=virtio,cache.direct=off,cache.no-flush=off",
             "-netdev", "user,id=net,ipv6=off", "-device", "virtio-net-pci,netdev=net,romfile="],
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
