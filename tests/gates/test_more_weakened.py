"""Commands, recipes and settings: the smaller differences between less and more."""

import pytest

from bmad_autopilot.core.changes import Change, Kind
from bmad_autopilot.gates.recipes import Recipe, needed, read_recipes
from bmad_autopilot.gates.settings import weakened_settings
from bmad_autopilot.gates.shell import keeps_running, lets_failures_pass, words_of
from bmad_autopilot.gates.work import judge_work
from tests.gates.looks import codes, look
from tests.gates.test_weakened import COMMANDS, MAKEFILE, SCRIPT, judged, package


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
    assert keeps_running(old, new)


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
    assert not keeps_running(old, new)


@pytest.mark.parametrize(
    "line",
    ["a || true", "a || :", "a; true", "exit 0", "set +e", "sys.exit(0)", "a --exit-zero", "a --max-warnings 500"],
)
def test_a_line_that_lets_failures_pass(line):
    assert lets_failures_pass(line)


def test_words_are_split_at_what_a_shell_splits():
    assert words_of("") == []
    assert words_of("a;b|c$(d)`e`") == ["a", "b", "c", "d", "e"]


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
    assert sorted(needed(recipes, ("make a",))) == ["a", "b", "c"]
    assert needed(recipes, ("npm run lint",)) == []
    assert sorted(needed(recipes, ("just lint",))) == ["a", "b", "c", "lint"]
    assert needed(recipes, ("gmake run",)) == ["run"]
    assert needed(read_recipes("a: a\n\t$(MAKE) a\n"), ("make a",)) == ["a"]


@pytest.mark.parametrize("name", ["Makefile", "GNUmakefile", "justfile", ".justfile", "sub/Makefile"])
def test_files_with_targets(name):
    commands = ("make check", "just check")
    work = look({name: MAKEFILE}, {name: MAKEFILE.replace("\tpytest\n", "")}, commands=commands)
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
        look({"Makefile": MAKEFILE}, {"Makefile": MAKEFILE.replace("\tpytest\n", "")}, commands=COMMANDS)
    )
    assert "`check`" in found[0].message
    assert "`pytest`" in found[0].message


def test_files_before_it_hide_none():
    before = {"a.txt": "x", "b.ini": "x", "package.json": package(test="jest")}
    after = {"b.ini": "y", "package.json": package(test="true")}
    assert codes(look(before, after, commands=COMMANDS, allowed=("b.ini",))) == ["check-weakened"]


def test_settings_may_stand_in_a_package_or_a_makefile_too():
    before = '{"jest": {\n"coverageThreshold": {"global": {"lines": 80}}\n}}'
    assert judged("package.json", before, before.replace("80", "8")) == ["check-weakened"]
    assert judged("Makefile", MAKEFILE, "OPTIONS = --deselect tests/test_a.py\n" + MAKEFILE) == ["check-weakened"]


def test_other_line_ends_are_no_difference():
    assert judged("Makefile", MAKEFILE, MAKEFILE.replace("\n", "\r\n")) == []


def test_a_renamed_makefile_is_compared_with_what_it_was():
    after = MAKEFILE.replace("\tpytest\n", "")
    work = look(
        {"Makefile": MAKEFILE}, {"GNUmakefile": after}, renamed={"GNUmakefile": "Makefile"}, commands=COMMANDS
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
    work = look({"package.json": package(a="x")}, {"package.json": package(a="y")}, commands=("echo a",))
    assert codes(work) == []


def test_a_file_that_cannot_be_read_is_no_settings():
    change = Change("pytest.ini", Kind.MODIFIED, mode="100644")
    work = look(more=(change,), commands=COMMANDS)
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
    assert weakened_settings("x", before, after) is not None


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
    assert weakened_settings("x", before, after) is None


def test_what_was_weakened_is_told():
    assert weakened_settings("x", "", "passWithNoTests" + "y" * 200) == (
        f"it lets tests be left out or failures pass (`passWithNoTests{'y' * 85}`)"
    )
    assert weakened_settings("x", "", f"exclude: ['tests/{'y' * 200}']") == (
        f"it leaves out tests (`exclude: ['tests/{'y' * 83}`)"
    )
    assert weakened_settings("x", "testpaths = tests\n", "testpaths = b\n") == (
        "tests are no longer looked for where they were (`testpaths`)"
    )
    assert weakened_settings("x", "fail_under = 90\n", "") == "less coverage is demanded (`fail_under`)"
