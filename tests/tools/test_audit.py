"""The check for known vulnerabilities: what it says without the service, and that it fails with a vulnerability."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "audit.py"


def import_tool():
    spec = importlib.util.spec_from_file_location("audit", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


audit = import_tool()
FLAW = {"id": "PYSEC-2026-1", "aliases": ["CVE-2026-1"], "fix_versions": ["2.0"], "description": "bad"}


def package(name, *flaws):
    return {"name": name, "version": "1.0", "vulns": list(flaws)}


def skipped(name):
    return {"name": name, "skip_reason": "Dependency not found on PyPI and could not be audited"}


def report(*packages):
    return {"dependencies": list(packages), "fixes": []}


def test_a_known_vulnerability_fails_and_says_what_to_do():
    lines, failed = audit.judge(report(package("good"), package("bad", FLAW)), {})
    assert failed
    assert lines[0] == "bad 1.0: PYSEC-2026-1, fixed in 2.0"
    assert "1 known" in lines[-1]
    unfixed = audit.judge(report(package("bad", FLAW | {"fix_versions": []})), {})
    assert "no version yet" in unfixed.lines[0]


@pytest.mark.parametrize("name", ["PYSEC-2026-1", "CVE-2026-1"])
def test_an_accepted_vulnerability_passes(name):
    assert not audit.judge(report(package("bad", FLAW)), {name: "only on Windows"}).failed


def test_packages_that_were_skipped_are_not_called_audited():
    lines, failed = audit.judge(report(skipped("a"), skipped("b")), {})
    assert not failed
    assert lines == ["not audited: advisory service unreachable; it answered for 0 of 2 packages"]
    some = audit.judge(report(package("a"), skipped("torch")), {})
    assert some.lines == ["1 of 2 packages audited: 0 known vulnerabilities", "not audited: torch"]


def program(code):
    return [sys.executable, "-c", code]


def test_what_pip_audit_prints_is_judged():
    found = audit.audit(program(f"print('''{json.dumps(report(package('bad', FLAW)))}'''); raise SystemExit(1)"))
    assert found.failed


def test_without_the_service_the_check_passes_and_says_so():
    gone = audit.audit(program("import sys; sys.exit('requests.exceptions.ConnectionError: no such host')"))
    assert not gone.failed
    assert gone.lines[0].startswith("not audited: advisory service unreachable")
    slow = audit.audit(program("import time; time.sleep(60)"), seconds=0.5)
    assert slow == (["not audited: the advisory service did not answer within 0.5 s"], False)


def test_another_failure_of_pip_audit_is_not_passed_over():
    broken = audit.audit(program("import sys; sys.exit('No module named pip_audit')"))
    assert broken.failed
    assert "No module named pip_audit" in broken.lines[0]
