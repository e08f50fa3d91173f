import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import mutants
from scripts.mutant_runner import MutantResult
from scripts.mutant_worker import sweep
from scripts.mutations import mutants_of

REPOSITORY = Path(__file__).resolve().parents[2]


def changes(source: str, *left_alone: str) -> list[tuple[str, str]]:
    return [(one.was, one.now) for one in mutants_of("a.py", source, left_alone)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", ["x = a <= b"]),
        ("x = a == b", ["x = a != b"]),
        ("x = a is None", ["x = a is not None"]),
        ("x = a not in b", ["x = a in b"]),
        ("x = a < b < c", ["x = a <= b < c", "x = a < b <= c"]),
        ("x = a and b", ["x = a or b"]),
        ("x = not a", ["x = a"]),
        ("x = -a", ["x = a"]),
        ("x = a + b", ["x = a - b"]),
        ("x += a", ["x -= a"]),
        ("x = True", ["x = False"]),
        ("x = 7", ["x = 8"]),
        ("x = 'done'", ["x = 'doneXX'"]),
        ("x = re.compile('a b')", ["x = re.compile('(?!)(?:a b)')"]),
        ("if f(): pass", ["not f()"]),
        ("if a < b: pass", ["a <= b", "not a < b"]),
        ("x = [a for a in b if a]", ["x = [a for a in b if not a]"]),
        ("f(a, b, c=d)", ["pass", "f(a, b)", "f(a, c=d)"]),
        ("def f():\n    return x", ["return None"]),
        ("raise a", ["pass"]),
        ("a.b = c", ["pass"]),
        ("a[b] = c", ["pass"]),
        ("for a in b:\n    break", ["continue"]),
        ("for a in b:\n    continue", ["break"]),
    ],
)
def test_each_change_is_made(source, expected):
    assert [now for _, now in changes(source)] == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Words."""',
        "x = 'words for people'",
        "x = f'{1} of {2}'",
        "x: int | None",
        "def f(a: 'int' = b) -> 'str':\n    assert a == 1\n    return None",
        "@cache(maxsize=1)\ndef f(): pass",
        "from a import b",
    ],
)
def test_what_nobody_tests_is_left_alone(source):
    assert changes(source) == []


def test_names_may_be_left_alone():
    source = "MAX_A = 1\nMAX_B: int = 2\ndef f():\n    return g(1)\nOTHER = 3\n"
    assert changes(source, "MAX_*", "f") == [("OTHER = 3", "OTHER = 4")]


def test_each_mutant_is_one_change_and_leaves_the_others_alone():
    source = "def f(a):\n    if a < 1:\n        return a + 1\n    return a == 2\n"
    texts = [one.source() for one in mutants_of("a.py", source)]
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert sum(a != b for a, b in zip(source.splitlines(), text.splitlines(), strict=True)) == 1


def test_a_mutant_is_known_again_when_lines_above_it_come_and_go():
    source = "def f(a):\n    return a == 2 or a == 2\n"
    moved = f"import re\n\n\n\n{source}"
    assert [one.key for one in mutants_of("a.py", source)] == [one.key for one in mutants_of("a.py", moved)]


def test_two_that_read_the_same_have_keys_of_their_own():
    keys = [one.key for one in mutants_of("a.py", "def f(a):\n    if a:\n        return True\n    return True\n")]
    assert len(set(keys)) == len(keys)


def test_the_sample_is_of_about_the_size_asked_for():
    every = list(mutants_of("a.py", "\n".join(f"x{n} = {n}" for n in range(2000))))
    assert 150 < sum(mutants.is_sampled(one, 100) for one in every) < 250
    assert all(mutants.is_sampled(one, 1000) for one in every)


@pytest.mark.parametrize(
    ("survived", "known", "code"),
    [(0, 0, 0), (1, 1, 0), (1, 0, 1), (2, 2, 1)],
    ids=["none", "known", "unknown", "too many"],
)
def test_too_many_or_unknown_survivors_fail(survived, known, code, capsys):
    every = list(mutants_of("a.py", "\n".join(f"x{n} = {n}" for n in range(10))))
    ended = [MutantResult(one, index < survived, "") for index, one in enumerate(every)]
    reasons = {one.key: "no matter" for one in every[:known]}
    config = mutants.Config([], [], [], {}, {}, 100, 0.1, reasons)
    assert mutants.judge(ended, config) == code
    assert f"{10 - survived} of 10" in capsys.readouterr().out


def test_a_reason_for_one_that_is_noticed_or_gone_is_out_of_date():
    one, two = mutants_of("a.py", "x = 1\ny = 2\n")
    reasons = {one.key: "no matter", two.key: "no matter", ("a.py", "", "z = 3", "z = 4"): "no matter"}
    config = mutants.Config([], [], [], {}, {}, 100, 0.1, reasons)
    ended = [MutantResult(one, True, ""), MutantResult(two, False, "")]
    assert list(mutants.outdated(ended, config)) == ["a.py  y = 2 y = 3", "a.py  z = 3 z = 4"]


def test_the_configuration_gives_a_reason_for_each_survivor():
    config = mutants.read_config()
    assert config.allowed <= 0.1
    assert all(len(reason) > 10 for reason in config.survivors.values())


SOURCE = """\
def count(most):
    number = 0
    while number < most:
        number += 1
    return number


def unseen(a):
    return a + 1
"""
TEST = """\
from bmad_autopilot.core.counting import count


def test_it_counts():
    assert [count(0), count(3)] == [0, 3]
"""
PROGRAM = """\
import sys
from pathlib import Path
from scripts import mutant_runner, mutants
mutants.ROOT = Path(sys.argv.pop(1))
mutant_runner.CPU_SECONDS = 1
sys.exit(mutants.main())
"""


def test_mutants_are_run_endless_ones_too(tmp_path):
    files = {
        "src/bmad_autopilot/__init__.py": "",
        "src/bmad_autopilot/core/__init__.py": "",
        "src/bmad_autopilot/core/counting.py": SOURCE,
        "tests/core/test_counting.py": TEST,
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\naddopts = "-p no:cacheprovider"\n'
        'markers = ["real", "soak"]\n',
        "scripts/mutants.toml": 'targets = ["core"]\ntests = ["tests"]\nallowed = 1\nsample = 100\nleft_out = []\n'
        "[used_in]\n[left_alone]\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}/src:{REPOSITORY}"}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    survivors = [line.strip() for line in done.stdout.splitlines() if line.startswith("  [")]
    assert done.returncode == 1, done.stderr
    assert {line.partition("],")[0] for line in survivors} == {  # in the order in which workers finish
        '["unseen", "return a + 1", "return None"',
        '["unseen", "return a + 1", "return a - 1"',
        '["unseen", "return a + 1", "return a + 2"',
    }
    assert "6 of 9 mutants noticed" in done.stdout


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are found by /proc")
def test_what_a_mutants_tests_leave_behind_is_ended(tmp_path):
    here, elsewhere = (
        subprocess.Popen(["sleep", "600"], cwd=folder, start_new_session=True) for folder in (tmp_path, "/")
    )
    try:
        sweep(tmp_path)
        assert here.wait(30) == -signal.SIGKILL
        assert elsewhere.poll() is None
    finally:
        for child in (here, elsewhere):
            child.kill()
            child.wait()
