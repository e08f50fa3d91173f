"""Which files are tests."""

import pytest

from bmad_autopilot.gates.suites import is_test_path, read_suite


@pytest.mark.parametrize(
    "path",
    [
        *(
            "tests/test_a.py",
            "test_a.py",
            "pkg/a_test.go",
            "src/a.test.tsx",
            "src/a.spec.ts",
            "src/__tests__/a.js",
        ),
        *(
            "spec/a_spec.rb",
            "src/test/java/ATest.java",
            "AIT.java",
            "A.Tests/B.cs",
            "test/a_test.exs",
            "e2e/login.ts",
        ),
        *("cypress/e2e/a.cy.ts", "features/a.feature", "tests/a.rs", "AppTests.swift", "app/tests.py"),
    ],
)
def test_a_test(path):
    assert is_test_path(path)


@pytest.mark.parametrize(
    "path",
    [
        *("src/a.py", "src/latest.py", "contest.js", "tests/data.json", "specs/spec-1.md", "docs/testing/how.md"),
        *("src/testimony.ts", "tests/readme.md", "src/attest.go", "Manifest.java", ""),
    ],
)
def test_no_test(path):
    assert not is_test_path(path)


def test_a_suite_of_an_unknown_language_or_size_is_not_read():
    assert read_suite("a.zig", b"x") is None
    assert read_suite("test_a.py", None) is None
    assert read_suite("test_a.py", b"x" * 2_000_000) is None


def test_names_and_checks_are_counted_per_case():
    raw = (
        b'describe("should assert", () => {\n  it("a", () => { expect(1).toBe(x); expect(y) });\n'
        b'  test.each([1])("b", () => {});\n});\n'
    )
    suite = read_suite("a.test.js", raw)
    assert suite is not None
    assert [(case.name, case.checks) for case in suite.cases] == [("a", 2), ("", 0)]
    assert suite.checks == 2
