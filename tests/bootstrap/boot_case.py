"""What the tests of whole boots share: a fleet, and machines that boot, run their userdata, join and converge.

A class of tests has one fleet. Set `archive` first: the release that new machines install, as scripts/release made it.
"""

import unittest

from booted import Booted
from fleet import MARK, MARK_TEXT, Fleet
from machine import SUITES, root_of
from support import wait_until

LOG = "var/log/opsagent-bootstrap.log"
# What changes at every boot, whoever is installed.
RESTLESS = ("var/log", "var/lib/cloud", "var/tmp", "var/lib/systemd", "var/cache", "var/lib/dbus", "etc/machine-id", "root")
NOTHING = "#!/bin/sh\nexit 0\n"


class BootTest(unittest.TestCase):
    fleet_options = {}

    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet(cls.archive, **cls.fleet_options)
        cls.addClassCleanup(cls.fleet.close)

    def machine(self, suite=SUITES[0]):
        machine = Booted(root_of(suite))
        self.addCleanup(machine.close)
        return machine

    def boot(self, machine, userdata, instance):
        machine.seed(userdata, instance)
        machine.boot()
        machine.wait_for_cloud_init()

    def told(self, machine):
        """For messages of failures."""
        agent = machine.run("journalctl", "--no-pager", "-u", "opsagent")[1] if machine.process and machine.process.poll() is None else ""
        return f"\n--- log\n{machine.read(LOG)}\n--- agent\n{agent[-3000:]}\n--- console\n{machine.console_text()[-1500:]}"

    def joins(self, machine, name):
        found = wait_until(lambda: self.fleet.has_converged(name), 60)
        self.assertTrue(found, f"{name} does not converge: {self.fleet.instance(name)}{self.told(machine)}")
        self.assertEqual(machine.read(MARK), MARK_TEXT)
        return found
