"""What the checks run must not become less: scripts, targets, scripts they call, settings of test runners."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.gates.recipes import needed, read_recipes
from bmad_autopilot.gates.settings import is_settings
from bmad_autopilot.gates.shell import keeps_running, lets_failures_pass, words_of
from bmad_autopilot.gates.work import judge_work
from tests.gates.looks import codes, look

COMMANDS = ("npm run lint", "npm test", "make check", "./scripts/ci.sh")


def package(**scripts: str) -> str:
    return json.dumps({"name": "x", "scripts": scripts, "dependencies": {"a": "1"}}, indent=2)


def judged(path: str, before: str, after: str, **rest: Any) -> list[str]:
    return codes(look({path: before}, {path: after}, commands=COMMANDS, **rest))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("jest", "echo ok"),
        ("jest", "true"),
        ("jest", "jest || true"),
        ("jest", "jest; exit 0"),
        ("jest", "jest --passWithNoTests"),
        ("jest", "jest -t 'one thing'"),
        ("jest", "jest --testPathIgnorePatterns=login"),
        ("jest", "jest src/only.test.js"),
        ("jest", "jest --verbose src/only.test.js"),
        ("jest", "echo jest"),
        ("jest", "true || jest"),
        ("jest", "jest | cat"),
        ("jest", "jest & exit"),
        ("tsc && jest", "jest"),
        ("jest --coverage", "jest"),
        ("pytest", "pytest -k 'not slow'"),
        ("pytest", "pytest --ignore=tests/login"),
        ("pytest", "pytest-nothing"),
    ],
)
def test_a_script_that_runs_less_is_weakened(old, new):
    assert judged("package.json", package(test=old), package(test=new)) == ["check-weakened"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("jest", "jest --coverage"),
        ("jest", "jest --ci --reporters=default"),
        ("jest", "jest --maxWorkers 2"),
        ("jest", "tsc --noEmit && jest"),
        ("jest", "jest && node scripts/more.js"),
        ("jest", "CI=1 jest"),
        ("jest", "cross-env NODE_ENV=test jest"),
        ("jest", "jest  "),
        ('echo "Error: no test specified" && exit 1', "vitest run"),
        ("jest || true", "jest || true"),
    ],
)
def test_a_script_that_runs_more_is_fine(old, new):
    assert judged("package.json", package(test=old), package(test=new)) == []


def test_scripts_that_a_script_calls_count_too():
    before = package(test="npm run unit && npm run types", unit="jest", types="tsc", pretest="node check.js")
    assert judged("package.json", before, before.replace('"jest"', '"true"')) == ["check-weakened"]
    assert judged("package.json", before, before.replace('"node check.js"', '"true"')) == ["check-weakened"]


def test_a_script_no_check_uses_is_free():
    before = package(test="jest", dev="vite")
    assert judged("package.json", before, package(test="jest", dev="vite --host", storybook="sb")) == []
    assert judged("package.json", package(start="a"), package(start="b")) == []


def test_a_script_that_is_gone_is_weakened():
    assert judged("package.json", package(test="jest", lint="eslint ."), package(test="jest")) == [
        "check-weakened"
    ]


def test_dependencies_may_change():
    assert judged("package.json", package(test="jest"), package(test="jest").replace('"1"', '"2"')) == []


def test_the_story_or_the_policy_may_want_it():
    before, after = package(test="jest"), package(test="vitest run")
    assert judged("package.json", before, after, allowed=("package.json",)) == []
    assert judged("package.json", before, after, asked="## Tasks\n\n- [ ] Change `package.json` to vitest\n") == []
    assert judged("package.json", before, after) == ["check-weakened"]


MAKEFILE = "check: lint\n\tpytest\n\nlint:\n\truff check .\n\nrun:\n\tpython app.py\n"


@pytest.mark.parametrize(
    "after",
    [
        MAKEFILE.replace("\tpytest", "\t-pytest"),
        MAKEFILE.replace("\tpytest", "\tpytest || true"),
        MAKEFILE.replace("\tpytest\n", ""),
        MAKEFILE.replace("check: lint", "check:"),
        MAKEFILE.replace("\truff check .", "\t@echo fine"),
        MAKEFILE.replace("check: lint", "verify: lint"),
        MAKEFILE + ".IGNORE:\n",
        MAKEFILE.replace("\tpytest\n", "\tpytest\n\texit 0\n"),
    ],
)
def test_a_target_that_does_less_is_weakened(after):
    assert judged("Makefile", MAKEFILE, after) == ["check-weakened"]


@pytest.mark.parametrize(
    "after",
    [
        MAKEFILE.replace("\tpytest", "\t@pytest"),
        MAKEFILE.replace("\tpytest", "\tpytest --durations=5"),
        MAKEFILE.replace("\tpytest\n", "\tpytest\n\tmypy src\n"),
        MAKEFILE.replace("check: lint", "check: lint types") + "\ntypes:\n\tmypy .\n",
        MAKEFILE.replace("\tpython app.py", "\tpython main.py"),
        MAKEFILE.replace("lint:", "lint:  ## look at the style"),
        "# a comment\n" + MAKEFILE,
    ],
)
def test_a_target_that_does_more_is_fine(after):
    assert judged("Makefile", MAKEFILE, after) == []


SCRIPT = "#!/bin/sh\nset -e\nruff check .\npytest\nmypy src\n"


@pytest.mark.parametrize(
    "after",
    [
        SCRIPT.replace("pytest", "pytest || true"),
        SCRIPT.replace("set -e", "set +e"),
        "#!/bin/sh\nexit 0\n",
        "#!/bin/sh\n",
    ],
)
def test_a_script_of_a_check_must_not_let_failures_pass(after):
    assert judged("scripts/ci.sh", SCRIPT, after) == ["check-weakened"]


def test_other_scripts_are_free_and_this_one_may_grow():
    assert judged("scripts/deploy.sh", SCRIPT, "exit 0\n") == []
    assert judged("scripts/ci.sh", SCRIPT, SCRIPT + "coverage report\n") == []


PYPROJECT = (
    '[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = "-q"\n\n[tool.coverage.report]\nfail_under = 90\n'
)
JEST = "module.exports = {\n  coverageThreshold: { global: { lines: 80, branches: 70 } },\n};\n"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"-q"', '"-q --ignore=tests/test_login.py"')),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"-q"', '"-q -k fast"')),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"-q"', '"-q --deselect tests/test_a.py::test_x"')),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('["tests"]', '["smoke"]')),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace("fail_under = 90", "fail_under = 10")),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace("fail_under = 90", "")),
        ("pytest.ini", "[pytest]\n", "[pytest]\nnorecursedirs = tests/login\n"),
        ("pytest.ini", "", "[pytest]\naddopts = --ignore tests/test_a.py\n"),
        ("tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = pytest\nignore_outcome = true\n"),
        ("conftest.py", "", 'collect_ignore = ["test_a.py"]\n'),
        (
            "tests/conftest.py",
            "x = 1\n",
            "x = 1\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
        ),
        ("jest.config.js", JEST, JEST.replace("lines: 80", "lines: 8")),
        ("jest.config.js", JEST, JEST.replace("};\n", "  testPathIgnorePatterns: ['src/login.test.js'],\n};\n")),
        (
            "vitest.config.ts",
            "export default {\n}\n",
            "export default {\n  exclude: ['src/**/login.spec.ts'],\n}\n",
        ),
        ("vitest.config.ts", "a\n", "a\nexclude: [\n  'node_modules',\n  '**/login.test.ts',\n]\n"),
        ("vitest.config.ts", "export default {}\n", "export default { passWithNoTests: true }\n"),
        ("vitest.config.ts", "a\n", "a\ncoverage: {\n  all: true,\n},\nexclude: ['src/login.test.ts'],\n"),
        ("vitest.config.ts", "a\n", "test: { coverage: { all: true }, exclude: ['src/login.test.ts'] }\n"),
        ("pom.xml", "<project>\n</project>\n", "<project>\n<skipTests>true</skipTests>\n</project>\n"),
        ("build.gradle", "test {\n}\n", "test {\n  ignoreFailures = true\n}\n"),
    ],
)
def test_settings_that_run_or_demand_less_are_weakened(path, before, after):
    found = judge_work(look({path: before} if before else {}, {path: after}, commands=COMMANDS))
    assert [one.code for one in found] == ["check-weakened"]
    assert path in found[0].message


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", PYPROJECT, PYPROJECT + '\n[tool.ruff]\nexclude = ["build"]\n'),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('["tests"]', '["tests", "more"]')),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace("90", "95")),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"-q"', '"-q --strict-markers"')),
        ("pyproject.toml", PYPROJECT, PYPROJECT + '\n[project]\ndependencies = ["requests"]\n'),
        (
            "jest.config.js",
            "",
            "module.exports = {\n  testPathIgnorePatterns: ['/node_modules/', '/dist/'],\n};\n",
        ),
        ("vitest.config.ts", "", "export default { test: { exclude: ['node_modules', 'e2e/**'] } }\n"),
        ("vitest.config.ts", "export default {}\n", "export default { test: { environment: 'jsdom' } }\n"),
        ("conftest.py", "", "import pytest\n\n@pytest.fixture\ndef x():\n    return 1\n"),
        ("pytest.ini", "[pytest]\n", "[pytest]\n# --ignore=tests/test_a.py would be wrong\n"),
        ("vite.config.ts", "", "export default { test: { coverage: { exclude: ['**/*.test.ts'] } } }\n"),
        ("vite.config.ts", "a\n", "a\ncoverage: {\n  exclude: [\n    '**/*.test.ts',\n  ],\n},\n"),
        ("playwright.config.ts", "", "export default { testDir: './e2e' }\n"),
        ("Cargo.toml", '[package]\nname = "x"\n', '[package]\nname = "x"\nexclude = ["docs/*"]\n'),
        ("src/config.py", "a = 1\n", "a = '--ignore=tests/test_a.py'\n"),
    ],
)
def test_settings_that_run_more_or_something_else_are_fine(path, before, after):
    assert codes(look({path: before} if before else {}, {path: after}, commands=COMMANDS)) == []


def test_settings_that_are_gone_demand_nothing():
    assert codes(look({"jest.config.js": JEST}, {})) == ["check-weakened"]
    assert codes(look({"jest.config.js": "module.exports = {};\n"}, {})) == []


def test_which_files_are_settings():
    assert is_settings("a/vitest.config.mts")
    assert not is_settings("src/vitest.py")


def test_targets_are_followed():
    recipes = read_recipes("all: one\none:\n\t$(MAKE) two\ntwo: ; echo x\nthree:\n\techo\nV := x:y\n")
    assert set(needed(recipes, ("make all",))) == {"all", "one", "two"}
    assert recipes["two"].lines == ("echo x",)


def test_words_of_a_command():
    assert words_of("cd a && npm run 'test' || (x)") == ["cd", "a", "npm", "run", "test", "x"]


@given(st.text(max_size=80))
def test_a_command_always_keeps_running_itself(command):
    assert keeps_running(command, command)


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_command_breaks_the_comparison(old, new):
    keeps_running(old, new)
    lets_failures_pass(new)
    read_recipes(f"{old}\n{new}")
