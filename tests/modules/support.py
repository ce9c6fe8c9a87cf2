"""What the tests of module repositories share: repositories, real servers on loopback, and `opsagent module fetch`.

A test is `NAME FOLDER-OF-PROGRAMS [unittest options]`. All that it does happens in scratch folders of its own.
"""

import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAMS = pathlib.Path(os.path.abspath(sys.argv.pop(1))) if len(sys.argv) > 1 else pathlib.Path()
IS_ROOT = os.geteuid() == 0
needs_root = unittest.skipUnless(IS_ROOT, "needs root")
GIT_ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
                   "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A",
                   "GIT_COMMITTER_EMAIL": "a@example.com"}


def main():
    if not os.access(PROGRAMS / "opsagent", os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} FOLDER-OF-PROGRAMS [unittest options]")
    unittest.main(verbosity=2)


def run(*arguments, text=None, cwd="/", environment=GIT_ENVIRONMENT):
    return subprocess.run([str(a) for a in arguments], input=text, capture_output=True, cwd=cwd, env=environment,
                          check=True).stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process):
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"no server on port {port}")


class Repository:
    """A bare repository, written to by its plumbing: every object that git can store can be made."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        run("git", "init", "-q", "--bare", "-b", "main", path)

    def git(self, *arguments, text=None):
        return run("git", "-C", self.path, "-c", "gc.auto=0", *arguments, text=text).decode().strip()

    def blob(self, data):
        return self.git("hash-object", "-w", "--stdin", text=data if isinstance(data, bytes) else data.encode())

    def tree(self, *entries):
        """(mode, name, id): as they are given, however wrong."""
        data = b"".join(f"{mode} ".encode() + (name if isinstance(name, bytes) else name.encode()) + b"\0" +
                        bytes.fromhex(object_id) for mode, name, object_id in entries)
        return self.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", text=data)

    def commit(self, tree, *options):
        return self.git(*options, "commit-tree", tree, "-m", "one") if not options else \
            self.git(*options, "commit-tree", "-S", tree, "-m", "one")

    def files(self, **contents):
        """A commit with these files."""
        return self.commit(self.tree(*((("100644"), name, self.blob(text)) for name, text in sorted(contents.items()))))

    def tag(self, name, target, annotated=False):
        if annotated:
            self.git("tag", "-f", "-a", "-m", "text", name, target)
        else:
            self.git("update-ref", f"refs/tags/{name}", target)


MARKER = """#!/usr/bin/python3
import json, os
requests, answers = os.fdopen(3), os.fdopen(4, "w")
CODE = "@code@"

def say(**message):
    print(json.dumps(message), file=answers, flush=True)

say(type="hello", protocol=1, module="@name@", version="1.0", features=[])
for line in requests:
    request = json.loads(line)
    if request["type"] == "cancel":
        continue
    path = request["parameter"]["path"]
    is_right = os.path.exists(path) and open(path).read() == CODE
    if request["type"] == "apply":
        open(path, "w").write(CODE)
        say(type="applied", id=request["id"], ok=True, message="wrote " + CODE)
    elif is_right:
        say(type="planned", id=request["id"], verdict="kept")
    else:
        say(type="planned", id=request["id"], verdict="change", changes=[{"what": path, "after": CODE}])
"""


def marker_commit(repo, code, compat=None, name="test.marker", parameter="path"):
    """A commit with one module, which keeps a file with this code in it."""
    manifest = json.dumps({"name": name, "version": "1.0", "command": ["./marker"], "schema": {
        "type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}})
    module = repo.tree(("100755", "marker", repo.blob(MARKER.replace("@code@", code).replace("@name@", name))),
                       ("100644", "module.json", repo.blob(manifest)))
    entries = [("40000", "modules", repo.tree(("40000", "marker", module)))]
    if compat is not None:
        entries.insert(0, ("100644", "compat.txt", repo.blob(compat)))
    return repo.commit(repo.tree(*entries))


class Certificates:
    """An authority and what it signs, with openssl's own program."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.authority("ca")

    def path(self, name):
        return self.folder / name

    def authority(self, name):
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-addext",
            "basicConstraints=critical,CA:TRUE", cwd=self.folder)
        return self.path(f"{name}.pem")

    def server(self, name, host="localhost", start="", end=""):
        """A certificate for the host; start and end as openssl ca wants them."""
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.csr", "-subj", f"/CN={host}", cwd=self.folder)
        (self.folder / "new").mkdir(exist_ok=True)
        (self.folder / "index.txt").write_text("")
        (self.folder / "openssl.cnf").write_text(
            f"[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=new\nrand_serial=yes\ndefault_md=sha256\n"
            f"policy=p\nx509_extensions=e\ndefault_days=2\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=DNS:{host}\n"
            "basicConstraints=CA:FALSE\n")
        dates = (["-startdate", start] if start else []) + (["-enddate", end] if end else [])
        run("openssl", "ca", "-batch", "-notext", "-config", "openssl.cnf", "-cert", "ca.pem", "-keyfile", "ca.key", "-in",
            f"{name}.csr", "-out", f"{name}.pem", *dates, cwd=self.folder)
        return self.path(f"{name}.pem"), self.path(f"{name}.key")


class StallingRelay:
    """Passes the first bytes of a server's answers on, and then nothing any more."""

    def __init__(self, port, passes):
        self.target, self.passes = port, passes
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            self.sockets += [client, server]
            threading.Thread(target=self._copy, args=(client, server, 1 << 40), daemon=True).start()
            threading.Thread(target=self._copy, args=(server, client, self.passes), daemon=True).start()

    @staticmethod
    def _copy(source, target, most):
        try:
            while most > 0 and (data := source.recv(min(65536, most))):
                target.sendall(data)
                most -= len(data)
        except OSError:
            pass

    def close(self):
        for each in [self.listener, *self.sockets]:
            each.close()


class ModulesTest(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="opsagent-modules-"))
        self.addCleanup(self.remove_scratch)
        self.scratch.chmod(0o755)
        self.state_dir = self.scratch / "state"
        self.options = []

    def remove_scratch(self):
        subprocess.run(["chmod", "-R", "u+w", self.scratch], check=False)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def server(self, *arguments, port, **options):
        log = open(self.scratch / f"server-{port}.log", "wb")
        process = subprocess.Popen([str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env=GIT_ENVIRONMENT, **options)
        log.close()
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        wait_for_port(port, process)
        return process

    def repository(self, name="repository.git"):
        return Repository(self.scratch / name)

    def command(self, repository, tag, *options, program=None):
        return [str(a) for a in (program or PROGRAMS / "opsagent", "module", "fetch", repository, tag, "--state-dir",
                                 self.state_dir, "--config", "/dev/null", *self.options, *options)]

    def fetch(self, repository, tag="v1", *options, program=None, prefix=(), timeout=90):
        started = time.monotonic()
        done = subprocess.run([*prefix, *self.command(repository, tag, "--json", *options, program=program)],
                              capture_output=True, text=True, errors="replace", timeout=timeout,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.scratch)})
        done.seconds = time.monotonic() - started
        return done

    def fetched(self, repository, tag="v1", *options, **more):
        """What it prints, after a fetch that must succeed."""
        done = self.fetch(repository, tag, *options, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_clean()
        return json.loads(done.stdout)

    def refused(self, words, repository, tag="v1", *options, **more):
        """The fetch fails, says these words, and leaves nothing behind."""
        before = self.commits()
        done = self.fetch(repository, tag, *options, **more)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, done.stderr)
        self.assertEqual(self.commits(), before)
        self.assert_clean()
        return done

    def commits(self):
        folder = self.state_dir / "modules"
        return sorted(p.name for p in folder.iterdir() if len(p.name) == 40) if folder.exists() else []

    def assert_clean(self):
        folder = self.state_dir / "modules"
        if not folder.exists():
            return
        self.assertEqual([p.name for p in folder.iterdir() if p.name.startswith(".")], [])
        self.assertEqual(self.processes(), [])

    def processes(self):
        """Fetchers of this test that still run."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and str(self.scratch).encode() in (entry / "cmdline").read_bytes() and \
                        b"opsagent-fetch" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def assert_read_only(self, folder):
        for path in [pathlib.Path(folder), *pathlib.Path(folder).rglob("*")]:
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode):
                self.assertEqual(mode & 0o222, 0, path)
            self.assertEqual(path.lstat().st_uid, os.geteuid(), path)
