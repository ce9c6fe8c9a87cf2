"""The contestants: how each is told what to converge, how it is called, and how it says "done".

A tool is prepared once per workload (`prepare` writes its recipe, policy, manifest or playbook)
and then run many times (`command`). Each is written the way its own documentation recommends, with
the settings under which it is fastest while still doing the whole work.
"""

import json
import re
import shutil
import subprocess

COLD, CONVERGED, EMPTY = "cold", "converged", "empty"

# The whole environment of every tool. Whatever the caller's says is left out: PYTHONUNBUFFERED, for
# one, makes Ansible's modules read themselves byte by byte.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C.UTF-8"}


class Tool:
    key = ""  # in JSON and on the command line
    label = ""  # in tables and charts
    package = None  # Debian package to install when `program` is missing
    program = ""
    largest = None  # the largest N it is run with unless asked for; None: no limit
    peer = True

    def __init__(self):
        self.environment = dict(ENVIRONMENT)

    def prepare(self, workload, folder):
        """Writes whatever the tool reads for this workload; all below `folder`, which is its own."""
        raise NotImplementedError

    def command(self, phase):
        """The argv for the workload prepared last."""
        raise NotImplementedError

    def complaint(self, phase, status, output):
        """Why the run does not count as a success by the tool's own account; None when it does."""
        return f"exit status {status}" if status != 0 else None

    def version(self):
        return ""

    def first_line_of(self, *argv):
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).strip().splitlines()[0]


class Floor(Tool):
    """The C programs: what the kernel alone charges for this work."""

    key, label, peer = "c", "C floor", False

    def __init__(self, programs):
        super().__init__()
        self.programs = programs

    def prepare(self, workload, folder):
        self.root = workload.root
        self.manifest = folder / "manifest"
        with open(self.manifest, "w", encoding="utf-8") as out:
            for path, content in workload.in_order():
                if content is None:
                    out.write(f"D 755 {path}\n")
                else:
                    out.write(f"F 644 {len(content.encode())} {path}\n{content}\n")

    def command(self, phase):
        if phase == COLD:
            return [self.programs["floor_create"], self.manifest, self.root]
        return [self.programs["floor_check"], self.manifest]


class OpsAgent(Tool):
    """`opsagent apply`, with the recipe in JSON or in YAML."""

    peer = False

    def __init__(self, program, form):
        super().__init__()
        self.program = program
        self.form = form
        self.key = f"opsagent-{form.removesuffix('.json')}"
        self.label = f"OpsAgent, {form.upper() if '.' not in form else 'templates'}"

    def prepare(self, workload, folder):
        self.recipe = folder / f"recipe.{self.form}"
        self.state = folder / "state"
        write = {"json": write_json_recipe, "yaml": write_yaml_recipe, "templates.json": write_templates}[self.form]
        with open(self.recipe, "w", encoding="utf-8") as out:
            write(workload, out)

    def command(self, phase):
        return [self.program, "apply", self.recipe, "--quiet", "--state-dir", self.state]

    def version(self):
        return self.first_line_of(self.program, "--version")


def states_of(workload):
    for number, (path, content) in enumerate(workload.in_order(), 1):
        if content is None:
            yield f"d{number}", "linux.dir", {"path": path, "mode": "0755"}
        else:
            yield f"f{number}", "linux.file", {"path": path, "content": content, "mode": "0644"}


def write_json_recipe(workload, out):
    states = [{"id": key, "module": module, "parameter": what} for key, module, what in states_of(workload)]
    json.dump({"recipe": "bench", "states": states}, out)


def write_yaml_recipe(workload, out):
    """As people write it: block style, contents as literal blocks."""
    out.write("recipe: bench\nstates:" + (" []\n" if workload.count == 0 else "\n"))
    for key, module, what in states_of(workload):
        out.write(f"  - id: {key}\n    module: {module}\n    parameter:\n")
        out.write(f'      path: {what["path"]}\n      mode: "{what["mode"]}"\n')
        if "content" in what:
            out.write("      content: |\n")
            out.writelines(f"        {line}\n" for line in what["content"].splitlines())


TEMPLATE = """\
# Service instance {{ item.number }}, written by configuration management
listen = 10.{{ item.net }}:8080
log_level = info
workers = {{ item.workers }}
timeout_seconds = 30
data_dir = /srv/instances/{{ item.number }}/data
max_connections = 1024
"""


def write_templates(workload, out):
    """The same files, each made of one template and of an item with what differs in it."""
    files = [
        {
            "path": file.path,
            "number": f"{number:06d}",
            "net": f"{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
            "workers": number % 16 + 1,
        }
        for number, file in enumerate(workload.files)
    ]
    states = [
        {"each": workload.directories, "linux.dir": {"path": "${{ item }}", "mode": "0755"}},
        {
            "id": "f${{ key }}",
            "each": "${{ vars.files }}",
            "linux.file": {"path": "${{ item.path }}", "template": TEMPLATE, "mode": "0644"},
        },
    ]
    json.dump({"version": 2, "recipe": "bench", "vars": {"files": files}, "states": states}, out)


class CFEngine(Tool):
    """A policy in the work directory's inputs/, as an agent in production has it: it is validated
    once, in `prepare`, and not at every run (as it would be with -f). -K, because with locks
    cf-agent skips, for a minute, what it has just done, and would do nothing at all here."""

    key, label, package, program = "cfengine", "CFEngine", "cfengine3", "cf-agent"

    def prepare(self, workload, folder):
        for name in ("bin", "inputs", "state", "ppkeys", "modules", "outputs"):
            (folder / name).mkdir(mode=0o700)
        folder.chmod(0o700)
        (folder / "bin/cf-promises").symlink_to(shutil.which("cf-promises", path=PATH))
        self.environment["CFENGINE_TEST_OVERRIDE_WORKDIR"] = str(folder)
        policy = folder / "inputs/promises.cf"
        with open(policy, "w", encoding="utf-8") as out:
            out.write('body common control\n{\n  bundlesequence => { "main" };\n}\n\n')
            out.write('body perms mode(value)\n{\n  mode => "$(value)";\n  rxdirs => "false";\n}\n\n')
            out.write("bundle agent main\n{\n" + ("  files:\n" if workload.count else ""))
            for path, content in workload.in_order():
                if content is None:
                    out.write(f'    "{path}/."\n      create => "true",\n      perms => mode("0755");\n')
                else:
                    out.write(f'    "{path}"\n      create => "true",\n      perms => mode("0644"),\n')
                    out.write(f'      content => "{content}";\n')
            out.write("}\n")
        policy.chmod(0o600)
        subprocess.run([self.program, "-K"], env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def command(self, phase):
        return [self.program, "-K"]

    def complaint(self, phase, status, output):
        errors = [line for line in output.splitlines() if "error:" in line]
        return errors[0] if errors else super().complaint(phase, status, output)

    def version(self):
        return self.first_line_of(self.program, "--version")


class Puppet(Tool):
    """One file resource per directory and file, no report, no colours."""

    key, label, package, program = "puppet", "Puppet", "puppet-agent", "puppet"

    def prepare(self, workload, folder):
        self.folder = folder
        self.environment["HOME"] = str(folder)
        self.manifest = folder / "site.pp"
        with open(self.manifest, "w", encoding="utf-8") as out:
            for path, content in workload.in_order():
                if content is None:
                    out.write(f"file {{ '{path}':\n  ensure => directory,\n  mode   => '0755',\n}}\n")
                else:
                    out.write(f"file {{ '{path}':\n  ensure  => file,\n  mode    => '0644',\n")
                    out.write(f"  content => '{content}',\n}}\n")

    def command(self, phase):
        return [self.program, "apply", "--confdir", self.folder / "etc", "--vardir", self.folder / "var",
                "--no-report", "--color=false", "--detailed-exitcodes", self.manifest]  # fmt: skip

    def complaint(self, phase, status, output):
        # With --detailed-exitcodes: 0 nothing was to do, 2 changes were made, all else is failure.
        wanted = 2 if phase == COLD else 0
        return f"exit status {status}, not {wanted}" if status != wanted else None

    def version(self):
        return "Puppet " + self.first_line_of(self.program, "--version")


class Ansible(Tool):
    """A loop over copy with content, facts not gathered, pipelining on. Each file starts two Python
    processes, so that 10,000 files would take the better part of an hour."""

    key, label, package, program = "ansible", "Ansible", "ansible-core", "ansible-playbook"

    def prepare(self, workload, folder):
        self.playbook = folder / "play.json"
        files = [{"path": file.path, "content": file.content} for file in workload.files]
        tasks = [
            {
                "name": "Directories",
                "ansible.builtin.file": {"path": "{{ item }}", "state": "directory", "mode": "0755"},
                "loop": workload.directories,
            },
            {
                "name": "Files",
                "ansible.builtin.copy": {
                    "dest": "{{ item.path }}",
                    "content": "{{ item.content }}",
                    "mode": "0644",
                },
                "loop": files,
                "loop_control": {"label": "{{ item.path }}"},
            },
        ]
        play = {"hosts": "localhost", "gather_facts": False, "tasks": tasks if workload.count else []}
        self.playbook.write_text(json.dumps([play]), encoding="utf-8")
        self.environment.update(
            HOME=str(folder),
            ANSIBLE_PYTHON_INTERPRETER="/usr/bin/python3",
            ANSIBLE_PIPELINING="1",
            ANSIBLE_NOCOLOR="1",
            ANSIBLE_DISPLAY_OK_HOSTS="0",
            ANSIBLE_LOCALHOST_WARNING="0",
        )

    def command(self, phase):
        return [self.program, "-c", "local", "-i", "localhost,", self.playbook]

    def complaint(self, phase, status, output):
        changed = re.search(r"changed=(\d+)", output)
        if phase == CONVERGED and (changed is None or changed[1] != "0"):
            return "reported changes" if changed else "reported no counts"
        return super().complaint(phase, status, output)

    def version(self):
        return self.first_line_of(self.program, "--version")


PEERS = {tool.key: tool for tool in (CFEngine, Puppet, Ansible)}
