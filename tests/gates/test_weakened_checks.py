"""What the checks run must not become less: scripts, targets, scripts they call, settings of test runners."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.changes import ChangeKind, FileChange
from bmad_autopilot.gates.judge import judge_work
from bmad_autopilot.gates.weakened_checks import (
    Recipe,
    command_words,
    describe_weakened_settings,
    is_runner_settings,
    lets_failures_pass,
    read_recipes,
    required_targets,
    still_runs,
)
from tests.gates.evidence_builder import codes, look

COMMANDS = ("npm run lint", "npm test", "make check", "./scripts/ci.sh")


def package(**scripts: str) -> str:
    return json.dumps({"name": "x", "scripts": scripts, "dependencies": {"a": "1"}}, indent=2)


def judged(path: str, before: str, after: str, **rest: Any) -> list[str]:
    return codes(look({path: before}, {path: after}, check_commands=COMMANDS, **rest))


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
    assert judged("package.json", before, after, allowed_globs=("package.json",)) == []
    assert (
        judged("package.json", before, after, story_text="## Tasks\n\n- [ ] Change `package.json` to vitest\n")
        == []
    )
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
    found = judge_work(look({path: before} if before else {}, {path: after}, check_commands=COMMANDS))
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
    assert codes(look({path: before} if before else {}, {path: after}, check_commands=COMMANDS)) == []


def test_settings_that_are_gone_demand_nothing():
    assert codes(look({"jest.config.js": JEST}, {})) == ["check-weakened"]
    assert codes(look({"jest.config.js": "module.exports = {};\n"}, {})) == []


def test_which_files_are_settings():
    assert is_runner_settings("a/vitest.config.mts")
    assert not is_runner_settings("src/vitest.py")


def test_targets_are_followed():
    recipes = read_recipes("all: one\none:\n\t$(MAKE) two\ntwo: ; echo x\nthree:\n\techo\nV := x:y\n")
    assert set(required_targets(recipes, ("make all",))) == {"all", "one", "two"}
    assert recipes["two"].lines == ("echo x",)


def test_words_of_a_command():
    assert command_words("cd a && npm run 'test' || (x)") == ["cd", "a", "npm", "run", "test", "x"]


@given(st.text(max_size=80))
def test_a_command_always_keeps_running_itself(command):
    assert still_runs(command, command)


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_command_breaks_the_comparison(old, new):
    still_runs(old, new)
    lets_failures_pass(new)
    read_recipes(f"{old}\n{new}")


# Commands, recipes and settings: the smaller differences between less and more.


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("jest", "FOO=1 npx jest"),
        ("jest", "tsc && CI=1 jest"),
        ("jest", "jest -w 2 --ci"),
        ("jest || true", "tsc && jest || true"),
        ("-jest", "-jest --ci"),
        ("jest --a", "jest --a --b=c --d e"),
        ("jest", "jest&& node x"),
    ],
)
def test_a_command_that_keeps_running(old, new):
    assert still_runs(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("jest", "sudo jest"),
        ("jest", "tsc jest"),
        ("jest", "tsc; jest"),
        ("jest", "tsc & jest"),
        ("jest", "-jest"),
        ("jest", "jestify"),
        ("jest", "jest --config=a b"),
        ("jest", "jest --config ./other.js"),
        ("jest", "jest a/b"),
        ("jest", "jest -a |tee"),
        ("jest", "a"),
        ("jest", "jest --ci | tee log"),
        ("jest", "jest; exit 0"),
        ("jest", "mocha"),
        ("jest", "jest --help"),
        ("jest || true", "jest || true || true"),
    ],
)
def test_a_command_that_does_not(old, new):
    assert not still_runs(old, new)


@pytest.mark.parametrize(
    "line",
    ["a || true", "a || :", "a; true", "exit 0", "set +e", "sys.exit(0)", "a --exit-zero", "a --max-warnings 500"],
)
def test_a_line_that_lets_failures_pass(line):
    assert lets_failures_pass(line)


def test_words_are_split_at_what_a_shell_splits():
    assert command_words("") == []
    assert command_words("a;b|c$(d)`e`") == ["a", "b", "c", "d", "e"]


def test_recipes_line_by_line():
    text = (
        "# a comment\n"
        "all: one two # why\n"
        "\t@echo a \\\n  b\n"
        "\t# nothing\n"
        "    make three\n"
        "one two: ; run x\n"
        "one: three\n"
        "NAME = x:y\n"
        "\tlost\n"
    )
    assert read_recipes(text) == {
        "all": Recipe(("one", "two"), ("echo a    b", "make three")),
        "one": Recipe(("three",), ("run x",)),
        "two": Recipe((), ("run x",)),
    }


def test_an_assignment_ends_a_recipe_and_a_comment_does_not():
    assert read_recipes("a:\n\tx\n# c\n\ty\nN = 1\n\tz\n") == {"a": Recipe((), ("x", "y"))}
    assert read_recipes("a:\n\tx\n\n\ty\n") == {"a": Recipe((), ("x", "y"))}


def test_targets_that_checks_need():
    recipes = read_recipes("a: b\n\tmake c\nb:\n\tx\nc:\n\ty\nrun:\n\tz\nlint: a\n")
    assert sorted(required_targets(recipes, ("make a",))) == ["a", "b", "c"]
    assert required_targets(recipes, ("npm run lint",)) == []
    assert sorted(required_targets(recipes, ("just lint",))) == ["a", "b", "c", "lint"]
    assert required_targets(recipes, ("gmake run",)) == ["run"]
    assert required_targets(read_recipes("a: a\n\t$(MAKE) a\n"), ("make a",)) == ["a"]


@pytest.mark.parametrize("name", ["Makefile", "GNUmakefile", "justfile", ".justfile", "sub/Makefile"])
def test_files_with_targets(name):
    commands = ("make check", "just check")
    work = look({name: MAKEFILE}, {name: MAKEFILE.replace("\tpytest\n", "")}, check_commands=commands)
    assert codes(work) == ["check-weakened"]


def test_failures_that_were_ignored_before_are_no_news():
    before = MAKEFILE + ".IGNORE:\n"
    assert judged("Makefile", before, before + "\nmore:\n\techo\n") == []


def test_what_let_failures_pass_before_is_no_news():
    loose = SCRIPT + "lint || true\n"
    assert judged("scripts/ci.sh", loose, loose + "mypy tests\n") == []
    assert judged("scripts/ci.sh", SCRIPT, loose) == ["check-weakened"]
    assert judged("scripts/ci.sh", "", "exit 0\n") == []


def test_a_script_may_lose_up_to_half():
    text = "a" * 10 + "\n" + "b" * 10 + "\n"
    assert judged("scripts/ci.sh", text, "a" * 11 + "\n") == []
    assert judged("scripts/ci.sh", text, "a" * 10 + "\n") == ["check-weakened"]
    assert judged("scripts/ci.sh", "a" * 20, "b" * 10) == []


def test_a_script_in_a_makefile_target_or_package_is_named():
    found = judge_work(
        look({"Makefile": MAKEFILE}, {"Makefile": MAKEFILE.replace("\tpytest\n", "")}, check_commands=COMMANDS)
    )
    assert "`check`" in found[0].message
    assert "`pytest`" in found[0].message


def test_files_before_it_hide_none():
    before = {"a.txt": "x", "b.ini": "x", "package.json": package(test="jest")}
    after = {"b.ini": "y", "package.json": package(test="true")}
    assert codes(look(before, after, check_commands=COMMANDS, allowed_globs=("b.ini",))) == ["check-weakened"]


def test_settings_may_stand_in_a_package_or_a_makefile_too():
    before = '{"jest": {\n"coverageThreshold": {"global": {"lines": 80}}\n}}'
    assert judged("package.json", before, before.replace("80", "8")) == ["check-weakened"]
    assert judged("Makefile", MAKEFILE, "OPTIONS = --deselect tests/test_a.py\n" + MAKEFILE) == ["check-weakened"]


def test_other_line_ends_are_no_difference():
    assert judged("Makefile", MAKEFILE, MAKEFILE.replace("\n", "\r\n")) == []


def test_a_renamed_makefile_is_compared_with_what_it_was():
    after = MAKEFILE.replace("\tpytest\n", "")
    work = look(
        {"Makefile": MAKEFILE},
        {"GNUmakefile": after},
        renamed={"GNUmakefile": "Makefile"},
        check_commands=COMMANDS,
    )
    assert codes(work) == ["check-weakened"]


@pytest.mark.parametrize("raw", ["{", "[]", '{"scripts": []}', '{"scripts": {"test": 1}}', '"a"'])
def test_a_package_that_is_none_is_no_matter(raw):
    assert judged("package.json", raw, raw + " ") == []
    assert judged("package.json", package(test="jest"), raw) == ["check-weakened"]


def test_scripts_around_a_script_count_and_others_do_not():
    before = package(test="jest", posttest="node after.js", prebuild="x", unit="jest a")
    assert judged("package.json", before, before.replace("node after.js", "true")) == ["check-weakened"]
    assert judged("package.json", before, before.replace('"x"', '"y"')) == []
    assert judged("package.json", before, before.replace('"jest a"', '"y"')) == []


def test_commands_of_no_package_runner_name_no_script():
    work = look({"package.json": package(a="x")}, {"package.json": package(a="y")}, check_commands=("echo a",))
    assert codes(work) == []


def test_a_file_that_cannot_be_read_is_no_settings():
    change = FileChange("pytest.ini", ChangeKind.MODIFIED, mode="100644")
    work = look(more=(change,), check_commands=COMMANDS)
    assert codes(work._replace(contents=lambda path, after: None)) == []
    assert codes(work._replace(contents=lambda path, after: b"x" * 2_000_000)) == []
    assert codes(work._replace(contents=lambda path, after: b"" if after is False else None)) == []
    assert codes(work._replace(contents=lambda path, after: b"x" if after else None)) == []
    assert codes(work._replace(contents=lambda path, after: b"\xff" if after else b"")) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "passWithNoTests\n"),
        ("", "items.clear()\n"),
        ("", "  allow_failure: true\n"),
        ("", "exclude: ['src/a.test.ts']\n"),
        ("", "exclude = [\n'a',\n'src/a.test.ts',\n]\n"),
        ("", "ignore = (\n'tests/login',\n)\n"),
        ("", "norecursedirs = tests/login\n"),
        ("", "exclude: ['<rootDir>/tests/login/']\n"),
        ("", "exclude: ['e2e/a', 'src/a.spec.ts']\n"),
        ("", "coverage: {\nexclude: ['a'],\n},\nexclude: ['tests/a'],\n"),
        ("testpaths = tests\n", "testpaths = other\n"),
        ("testMatch: ['a', 'b']\n", "testMatch: ['a']\n"),
        ("include: ['src/*.test.ts']\n", "include: ['src/a.test.ts']\n"),
        ("fail_under = 90\n", "fail_under = 89\n"),
        ("fail_under = 90.5\n", "fail_under = 90.4\n"),
        ("coverage\nlines: 80\nbranches: 70\n", "coverage\nlines: 80\n"),
        ("coverage\nlines: 80\nlines: 90\n", "coverage\nlines: 85\n"),
        ("include: ['src']\ntestpaths = tests\n", "include: ['src']\ntestpaths = other\n"),
        ("fail_under = 1\n", ""),
        ("fail_under = 1\n", "fail_under = 0\n"),
        ("JaCoCo\nminimum = 80\n", "JaCoCo\nminimum = 8\n"),
        ("", "norecursedirs =\n  tests/login\n"),
    ],
)
def test_settings_that_are_less(before, after):
    assert describe_weakened_settings("x", before, after) is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("passWithNoTests\n", "passWithNoTests\nmore\n"),
        ("", "# passWithNoTests\n// items.clear()\n* allow_failure\n; allow_failure\n"),
        ("", "// exclude: ['src/a.test.ts']\n# exclude: ['src/a.test.ts']\n"),
        ("exclude: ['src/a.test.ts']\n", "exclude: ['src/a.test.ts']\nmore\n"),
        ("", "exclude = [\n'a',\n]\nfiles: ['src/a.test.ts']\n"),
        ("", "exclude = [\n'a',\n\nfiles: ['src/a.test.ts']\n"),
        ("", "exclude: ['docs/a', 'build/tests']\n"),
        ("", "files: ['src/a.test.ts']\n"),
        ("", "exclude: ['Build/tests']\n"),
        ("", "exclude: ['a']\n'src/a.test.ts'\n"),
        ("testpaths = tests\n", "testpaths = tests,more\n"),
        ("", "coverage: {\n  all: { x: 1 },\n  exclude: ['tests/a'],\n}\n"),
        ("testpaths = tests\n", "testpaths = tests more\n"),
        ("testpaths = tests\n", ""),
        ("testMatch: ['src/a.test.ts']\n", "testMatch: ['src/*.test.ts']\n"),
        ("include: ['src/*.ts']\n", "include: ['lib/*.ts']\n"),
        ("spec: ['src/*.ts']\n", "spec: ['lib/*.ts']\n"),
        ("fail_under = 90\n", "fail_under = 90\n"),
        ("fail_under = 90\n", "fail_under = 91\n"),
        ("lines: 80\n", "lines: 8\n"),
        ("coverage\nlines: 80\n", "coverage\nlines: 8\nlines: 80\n"),
    ],
)
def test_settings_that_are_not(before, after):
    assert describe_weakened_settings("x", before, after) is None


def test_what_was_weakened_is_told():
    assert describe_weakened_settings("x", "", "passWithNoTests" + "y" * 200) == (
        f"it lets tests be left out or failures pass (`passWithNoTests{'y' * 85}`)"
    )
    assert describe_weakened_settings("x", "", f"exclude: ['tests/{'y' * 200}']") == (
        f"it leaves out tests (`exclude: ['tests/{'y' * 83}`)"
    )
    assert describe_weakened_settings("x", "testpaths = tests\n", "testpaths = b\n") == (
        "tests are no longer looked for where they were (`testpaths`)"
    )
    assert describe_weakened_settings("x", "fail_under = 90\n", "") == "less coverage is demanded (`fail_under`)"


SETTINGS = """
    pyproject.toml pytest.ini .pytest.ini setup.cfg tox.ini noxfile.py conftest.py .coveragerc jest.config.js
    jest.setup.ts vitest.config.mts vite.config.ts vitest.workspace.ts .mocharc.json karma.conf.js
    playwright.config.ts cypress.config.js .nycrc c8.config.js phpunit.xml phpunit.xml.dist .rspec build.gradle
    build.gradle.kts pom.xml Cargo.toml .c8rc.json bunfig.toml deno.json deno.jsonc angular.json project.json
    Taskfile.yml Taskfile.yaml
"""


@pytest.mark.parametrize("name", SETTINGS.split())
def test_settings_of_test_runners(name):
    assert is_runner_settings(name)
    assert is_runner_settings(f"packages/a/{name}")
    assert not is_runner_settings(f"a{name}")
