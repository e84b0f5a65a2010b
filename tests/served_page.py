"""graphmix label as a process, for tests that speak to it or kill it."""

import json
import re
import subprocess
import time
import urllib.request

from command_line import COMMAND, _variables


class Served:
    """The command as a process, and requests as the page sends them."""

    def __init__(self, *options, cwd):
        self.process = subprocess.Popen(
            [*COMMAND, "label", *options, "--no-browser"],
            cwd=cwd,
            env=_variables(cwd, {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            if found := re.search(r"http://\S+", line):
                self.address = found[0]
                return
        raise AssertionError("".join(self.said))

    def ask(self, path, body=None):
        origin = self.address.rsplit("/", 2)[0]
        headers = {"Content-Type": "application/json", "Origin": origin} if body is not None else {}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.address + path, data, headers), timeout=120) as answer:
            return json.load(answer)

    def wait(self, fits, seconds=300):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if fits(state := self.ask("api/state")):
                return state
            time.sleep(0.1)
        raise AssertionError(state)

    def end(self, number):
        self.process.send_signal(number)
        rest = self.process.communicate(timeout=120)[0]
        return self.process.returncode, rest
