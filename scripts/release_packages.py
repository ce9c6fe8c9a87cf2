"""What of this machine's Debian packages is in a release: for scripts/release-sbom and scripts/release-licences."""
import hashlib
import os
import pathlib
import subprocess
import sys

# Of what is compiled into the programs: package, or a file of it where its name has a version, as g++ finds it; name, what of it.
COMPILED_IN = [
    ("/usr/include/boost/version.hpp", "boost", "Asio, Beast, System: headers"),
    ("libarchive-dev", "libarchive", "static library"),
    ("libbz2-dev", "bzip2", "static library"),
    ("libfmt-dev", "fmt", "headers"),
    ("libspdlog-dev", "spdlog", "headers"),
    ("libstdc++.a", "libstdc++", "headers; in the launcher also the static library"),
    ("nlohmann-json3-dev", "nlohmann-json", "headers"),
]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def package_of(path):
    """The package whose file of that name has these bytes."""
    wanted = sha256(path)
    for line in run("dpkg-query", "--search", f"*/{path.name}").splitlines():
        package, file = line.split(": ", 1)
        if os.path.isfile(file) and sha256(file) == wanted:
            return package.split(":")[0]
    sys.exit(f"no installed package has this {path.name}")


def package_with(name):
    """A package's own name, or the package that has the file."""
    if not name.startswith("/") and not name.endswith(".a"):
        return name
    file = os.path.realpath(run("g++", f"-print-file-name={name}").strip())
    return run("dpkg-query", "--search", file).split(":")[0]


def version_of(package):
    return run("dpkg-query", "--show", "--showformat", "${Version}", package)


def copyright_of(package):
    return pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(errors="replace")
