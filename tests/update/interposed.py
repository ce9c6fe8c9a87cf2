"""Updates in which something happens at a chosen call: interpose.c, and a machine that is put back to where it was before each."""

import pathlib
import shutil
import subprocess

from machines import CLOSED, UpdateTest, wait_until

KEPT = ("prefix", "state/update")  # what is put back


class InterposedTest(UpdateTest):
    launcher_options = ()

    def count_all(self):
        """From here on, calls in the whole state folder count: the spool's, the cursor's, the recipe's. Their order is not the same each time."""
        self.counted_below = f"{self.bench.prefix}:{self.bench.state_dir}"

    def prepare(self):
        self.library = self.scratch / "interpose.so"
        source = pathlib.Path(__file__).resolve().parent / "interpose.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library, source, "-ldl"], check=True)
        self.bench = self.machine()
        self.bench.kill()
        at = self.bench.arguments.index("--")
        self.bench.arguments[at:at] = self.launcher_options
        self.counted_below = f"{self.bench.prefix}:{self.bench.state_dir}/update"
        self.snapshot = self.scratch / "snapshot"
        for name in KEPT:
            shutil.copytree(self.bench.folder / name, self.snapshot / name, symlinks=True)
        self.counted = self.scratch / "counted"
        self.calls = self.scratch / "calls"
        self.step_file = self.scratch / "step"
        self.condition = self.scratch / "condition"

    def restore(self, at=0, how="", step="", **more):
        """As it was installed, and going to meet that at that call, or at that step."""
        self.bench.kill()
        for name in KEPT:
            shutil.rmtree(self.bench.folder / name, ignore_errors=True)
            shutil.copytree(self.snapshot / name, self.bench.folder / name, symlinks=True)
        (self.bench.state_dir / "update").chmod(0o700)
        for file in (self.counted, self.calls, self.step_file, self.scratch / "step.seen", self.condition):
            file.unlink(missing_ok=True)
        conditions = {"INTERPOSE_CONDITION": str(self.condition), "INTERPOSE_REACH": f"{self.bench.prefix}:{self.bench.state_dir}"}
        self.bench.environment = {"LD_PRELOAD": str(self.library), "INTERPOSE_BELOW": self.counted_below,
                                  "INTERPOSE_COUNT": str(self.counted), "INTERPOSE_LOG": str(self.calls), "INTERPOSE_AT": str(at),
                                  "INTERPOSE_STEP": step, "INTERPOSE_STEP_FILE": str(self.step_file) if step else "", "INTERPOSE_HOW": how,
                                  **(conditions if how in ("full", "no_inodes", "read_only") else {}), **more}
        self.bench.log.unlink(missing_ok=True)
        self.bench.start()
        self.keep_running(self.online)

    def online(self):
        return self.is_online("m1") and self.bench.agent_pid() > 0

    def supervise(self):
        """What a service manager does: a launcher that has ended is started again."""
        if self.bench.process.poll() is not None:
            self.bench.start()

    def keep_running(self, condition, seconds=90):
        """Until it is true."""
        def check():
            self.supervise()
            return condition()
        return wait_until(check, seconds)

    def update(self, version):
        """Asks until the agent has taken it down: a request that died with the agent is the backend's to repeat."""
        for _ in range(3):
            self.assertTrue(self.keep_running(self.online), "not online")
            action = self.ask(version)
            taken = self.keep_running(lambda: self.bench.journal().get("action") == action or self.state_of(action)["phase"] in CLOSED, 10)
            if taken:
                break
        closed = self.keep_running(lambda: self.state_of(action)["phase"] in CLOSED and self.state_of(action))
        self.assertTrue(closed, f"not closed: {self.state_of(action)}, {self.bench.journal()}")
        return action, closed["phase"]

    def call(self, at):
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return lines[at - 1] if at <= len(lines) else "?"

    def check(self, action, phase, to_version, where):
        """A `current` that resolves, an agent that is connected within 60 s and is what the report says, and exactly one closing report."""
        self.assertTrue(self.keep_running(self.online, 60), where)
        runs = to_version if phase == "confirmed" else self.bench.version
        self.assertTrue(self.keep_running(lambda: self.online() and self.runs() == runs, 60), f"{where}: {phase}, but {self.runs()} runs")
        self.assertTrue((self.bench.prefix / "current" / "bin" / "opsagent").exists(), where)
        self.assertTrue(self.keep_running(lambda: self.bench.current().startswith(runs), 10), where)
        self.assertTrue(wait_until(lambda: [p for p in self.reports(action) if p in CLOSED], 10), where)
        self.assertEqual([p for p in self.reports(action) if p in CLOSED], [phase], where)

    def again(self, action, version, phase, expected, where):
        """What was interrupted can be had. A version that was killed in its trial, and had too little time left, is taken for bad, and tried again after
        another one was asked for."""
        if phase == expected:
            return
        self.assertIn(phase, ("failed", "rolled_back"), where)
        if phase == "rolled_back" and "ended by signal" in self.state_of(action)["error"]:
            self.assertEqual(self.update("7.7.7")[1], "refused")
        action, phase = self.update(version)
        self.assertEqual(phase, expected, f"the second time, after {where}: {self.state_of(action)}")

    def undisturbed(self, version, expected):
        """How many calls that update makes when nothing happens."""
        self.restore()
        action, phase = self.update(version)
        self.assertEqual(phase, expected)
        self.check(action, phase, version, "undisturbed")
        wait_until(lambda: self.bench.journal().get("reported") == "yes", 10)
        wait_until(lambda: not list((self.bench.prefix / "staging").iterdir()), 5)
        return self.counted.stat().st_size
