"""A bench is only worth something if it notices tools that do not do the work they are timed for."""

import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

sys.dont_write_bytecode = True

from measure import is_due  # noqa: E402  (nothing is to be written next to the sources)

RUN = Path(__file__).resolve().parent / "run"

# Stands in for opsagent: understands both forms of the recipe as far as needed to do honest work.
HONEST = """#!/usr/bin/python3
import json, os, sys
if sys.argv[1] == "--version":
    sys.exit(print("stand-in 1"))
recipe = os.path.join(os.path.dirname(sys.argv[2]), "../opsagent-json-%s/recipe.json")
count = os.path.basename(os.path.dirname(sys.argv[2])).rpartition("-")[2]
for state in json.load(open(recipe % count))["states"]:
    what = state["parameter"]
    if state["module"] == "linux.dir":
        os.makedirs(what["path"], 0o755, exist_ok=True)
    elif not os.path.exists(what["path"]):
        open(what["path"], "w").write(what["content"])
"""
LIES = "#!/bin/sh\nexit 0\n"
FAILS = HONEST + "sys.exit(1)\n"
WRITES_ALWAYS = HONEST.replace('elif not os.path.exists(what["path"])', "else")
LEAVES_REMAINS = HONEST + '        open(what["path"] + ".tmp", "w")\n'
WRONG_MODE = HONEST.replace("import json, os, sys", "import json, os, sys\nos.umask(0o077)")


class Converge(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "scratch").mkdir()

    def bench(self, program, *more):
        opsagent = self.folder / "opsagent"
        opsagent.write_text(program, encoding="utf-8")
        opsagent.chmod(0o755)
        argv = [RUN, "--sizes=120", "--repetitions=2", "--peers=none", "--quiet", f"--opsagent={opsagent}"]
        argv += [f"--scratch={self.folder / 'scratch'}", *more]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        self.assertEqual(list((self.folder / "scratch").iterdir()), [], "the scratch folder is removed")
        return done

    def assert_refused(self, program, because):
        done = self.bench(program)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(because, done.stderr)
        self.assertEqual(done.stdout, "", "no figures of a run that failed")

    def test_honest_work_is_measured(self):
        figures, drawing = self.folder / "figures.json", self.folder / "chart.svg"
        done = self.bench(HONEST, f"--json={figures}", f"--svg={drawing}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| Empty recipe: under 15 ms", done.stdout)
        series = json.loads(figures.read_text(encoding="utf-8"))["series"]
        self.assertEqual(
            {(one["tool"], one["files"], one["phase"]) for one in series},
            {
                (tool, files, phase)
                for tool in ("c", "opsagent-json", "opsagent-yaml", "opsagent-templates")
                for files, phase in ((0, "empty"), (120, "cold"), (120, "converged"))
            },
        )
        self.assertTrue(all(len(one["runs"]) == 2 for one in series))
        ours = next(one for one in series if one["tool"] == "opsagent-json")
        floor = next(one for one in series if one["tool"] == "c")
        self.assertLess(floor["median"]["memory"], 4, "the floor does not carry the bench's own memory")
        self.assertGreater(ours["median"]["memory"], floor["median"]["memory"])
        xml.etree.ElementTree.parse(drawing)

    def test_a_tool_that_does_nothing_is_refused(self):
        self.assert_refused(LIES, "entries are not as they should be")

    def test_a_tool_that_reports_failure_is_refused(self):
        self.assert_refused(FAILS, "exit status 1")

    def test_a_tool_that_writes_without_need_is_refused(self):
        self.assert_refused(WRITES_ALWAYS, "it wrote, although there was nothing to do")

    def test_a_tool_that_leaves_temporaries_is_refused(self):
        self.assert_refused(LEAVES_REMAINS, "not asked for")

    def test_a_tool_that_sets_another_mode_is_refused(self):
        self.assert_refused(WRONG_MODE, "mode is")


class Schedule(unittest.TestCase):
    def test_every_tool_gets_its_repetitions_spread_over_all_rounds(self):
        for rounds in (1, 3, 7, 15):
            for wanted in range(1, rounds + 1):
                due = [0] + [number for number in range(1, rounds) if is_due(number, wanted, rounds)]
                self.assertEqual(len(due), wanted)
                gaps = [after - before for before, after in zip(due, due[1:])]
                self.assertLessEqual(max(gaps, default=0) - min(gaps, default=0), 1)


if __name__ == "__main__":
    unittest.main()
