"""Try 10,000 bad inputs against every command, and kill 100 commands.

    python benchmarks/bad_inputs.py --out benchmarks/results/bad-inputs.json [--cases 10000 --kills 100 --seed 0]

tests/bad_inputs has the generator and says what is judged. Each case with a fault is printed, and the counts; they are
written with the commit and the machine. It ends with exit code 1 if there was a fault.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import device_name
from graphmix.experiments.records import source_commit
from graphmix.results.describe import versions
from graphmix.storage.files import write_json

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Run the generator in a process of its own, and write its counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="10000")
    parser.add_argument("--kills", default="100")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--commit", help="commit of the code, if git does not know it")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        command = [sys.executable, "-m", "bad_inputs", "--cases", options.cases, "--kills", options.kills]
        command += ["--seed", options.seed, "--out", str(counts)]
        variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])}
        done = subprocess.run(command, env=variables, check=False)
        found = json.loads(counts.read_text())
    about = {
        "command": "python benchmarks/bad_inputs.py",
        "commit": options.commit or source_commit(),
        "machine": device_name("cpu"),
        "versions": versions(),
    }
    write_json(options.out, about | found)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
