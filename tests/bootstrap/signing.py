"""The formats of releases, written a second time: keys, documents, signatures and the folder that a web server serves.

Independent of the C++ (release/), so that a mistake there and one in the bootstrap script cannot agree. The formats: docs/releases.md.
"""

import base64
import datetime
import hashlib
import io
import json
import pathlib
import platform
import subprocess
import tarfile

ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def instant(**offset):
    """An instant from now on, as the documents write it: instant(days=90)."""
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**offset)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Key:
    """An Ed25519 key, made and used by the openssl program."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"key{len(list(folder.iterdir()))}.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.file], check=True)
        der = subprocess.run(["openssl", "pkey", "-in", self.file, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout
        self.id = hashlib.sha256(der).hexdigest()
        self.public = base64.b64encode(der).decode()

    def sign(self, content):
        file = self.file.with_suffix(".signed")
        file.write_bytes(content)
        signature = subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", self.file, "-rawin", "-in", file], check=True,
                                   capture_output=True).stdout
        file.unlink()
        return f"ed25519 {self.id} {base64.b64encode(signature).decode()}\n"


def signatures(content, keys):
    return "".join(key.sign(content) for key in keys).encode()


def lay_out(members):
    """JSON as release::write() lays it out: a member a line, an object of a list a line."""
    lines = []
    for name, value in members.items():
        if isinstance(value, list):
            objects = ",\n".join("    " + json.dumps(each) for each in value)
            lines.append(f'  "{name}": [\n{objects}\n  ]')
        else:
            lines.append(f'  "{name}": {json.dumps(value)}')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def root_document(keys, roles, version=1, expires=None, product="opsagent"):
    """`roles`: {"root": (threshold, keys), …}"""
    return lay_out({
        "type": "root", "product": product, "version": version, "expires": expires or instant(days=365),
        "keys": [{"id": key.id, "public": key.public} for key in keys],
        "roles": [{"role": role, "threshold": threshold, "keys": [key.id for key in holders]}
                  for role, (threshold, holders) in roles.items()]})


def archive(files):
    """A release's archive: {path: content}; what is in bin/ can be run."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1, format=tarfile.USTAR_FORMAT) as tar:
        folders = sorted({str(parent) for path in files for parent in pathlib.PurePath(path).parents if str(parent) != "."})
        for folder in folders:
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o755 if path.startswith("bin/") else 0o644
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


class ReleaseFolder:
    """What `opsctl release` makes, with knobs for everything that can be wrong.

    The members are what the next publish() uses; set them, then publish.
    """

    def __init__(self, folder, keys):
        self.folder = pathlib.Path(folder)
        self.root_key, self.release_key, self.timestamp_key = Key(keys), Key(keys), Key(keys)
        self.product, self.channel, self.version, self.number, self.arch = "opsagent", "stable", "1.4.0", 7, ARCH
        self.release_expires, self.timestamp_expires = instant(days=90), instant(days=2)
        self.release_signers, self.timestamp_signers = [self.release_key], [self.timestamp_key]
        self.archive = b""
        self.size = None  # that the release document says; None: the true one
        self.sha256 = None
        self.root = self.make_root(1)
        self.put_root(1, self.root, [self.root_key])

    def make_root(self, version, threshold=1, root_keys=None, release_keys=None, release_threshold=1, **more):
        root_keys, release_keys = root_keys or [self.root_key], release_keys or [self.release_key]
        everybody = list({key.id: key for key in [*root_keys, *release_keys, self.timestamp_key]}.values())
        return root_document(everybody, {"root": (threshold, root_keys), "release": (release_threshold, release_keys),
                                         "timestamp": (1, [self.timestamp_key])}, version, **more)

    def put(self, path, content, signers=None):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        if signers is not None:
            file.with_name(file.name + ".sig").write_bytes(signatures(content, signers))

    def put_root(self, version, document, signers):
        self.put(f"{version}.root.json", document, signers)

    @property
    def archive_path(self):
        return f"files/opsagent-{self.version}-linux-{self.arch}.tar.gz"

    def publish(self):
        """The archive, its release document, and a timestamp that offers it."""
        self.put(self.archive_path, self.archive)
        document = lay_out({
            "type": "release", "product": self.product, "channel": self.channel, "version": self.version, "release": self.number,
            "min_from": "", "expires": self.release_expires,
            "targets": [{"os": "linux", "arch": self.arch, "size": self.size or len(self.archive),
                         "sha256": self.sha256 or hashlib.sha256(self.archive).hexdigest(), "path": self.archive_path}]})
        self.put(f"releases/{self.number}.json", document, self.release_signers)
        self.offer([{"channel": self.channel, "version": self.version, "release": self.number,
                     "sha256": hashlib.sha256(document).hexdigest(), "path": f"releases/{self.number}.json"}])

    def offer(self, offers, **more):
        self.offers = offers
        self.put("timestamp.json", lay_out({"type": "timestamp", "product": "opsagent", "version": 12, "expires": self.timestamp_expires,
                                            "offers": offers, **more}), self.timestamp_signers)
