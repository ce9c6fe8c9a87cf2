"""A backend of protocol version 1, as the specification has it: no Welcome, no acknowledgement, no sequence numbers."""

VERSION_1 = {"Handshake", "StateLog", "WaitQuery", "Test"}
RESULT_FIELDS = {"code", "instance_id", "app_id", "recipe_version", "id", "stateid", "state_result", "state_comment",
                 "state_stdout"}


class V1Backend:
    """Speaks through a ScriptedBackend, and notes whatever version 1 does not have."""

    def __init__(self, backend):
        self.backend = backend
        self.backend.acknowledge = False
        self.connection = self.hello = None
        self.saw_version_2 = []

    def connect(self):
        self.connection = self.backend.accept()
        self.hello = self.connection.next("Handshake")

    def _next(self, code, within=15, where=lambda message: True):
        message = self.connection.next(code, within, where)
        if message["code"] not in VERSION_1:
            self.saw_version_2.append(message)
        return message

    def test(self):
        self.connection.send("Test")
        return self._next("Test")

    def recipe(self, version, states, module=None):
        self.connection.send("RecipeMetadata", recipe_version=version, state=states,
                             **({"module": module} if module else {}))

    def move(self, version):
        self.connection.send("RecipeMetadata", recipe_version=version)

    def result(self, where=lambda message: True):
        message = self._next("StateLog", where=where)
        if set(message) - RESULT_FIELDS:
            self.saw_version_2.append(message)
        return message

    def wait_query(self, version):
        return self._next("WaitQuery", where=lambda message: message["recipe_version"] == version)

    def wait_list(self, version, waited):
        self.connection.send("WaitList", recipe_version=version,
                             waited=[{"instance_id": instance, "state_id": state} for instance, state in waited])

    def done(self, version, state_id):
        self.connection.send("State", recipe_version=version, id=state_id)
