"""How much memory code takes at its peak, measured in a process of its own."""

import os
import subprocess
import sys
from types import SimpleNamespace

MEASURED = """
import resource, time
{setup}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, since = peak(), time.process_time()
try:
    {code}
    said = "nothing was refused"
except graphmix.GraphMixError as error:
    said = str(error)
print(peak() - before, time.process_time() - since, said, sep="\\n")
"""


def refusal(code, setup=""):
    """Run one line of Python that must be refused: what was said, the bytes that the peak rose by, and seconds.

    The seconds are of the CPU, so that other processes do not count.

    Args:
        code: the line.
        setup: imports, whose memory does not count.
    """
    text = MEASURED.format(code=code, setup=f"import graphmix\n{setup}")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    peak, seconds, said = done.stdout.split("\n", 2)
    return SimpleNamespace(peak=int(peak), seconds=float(seconds), said=said.strip())
