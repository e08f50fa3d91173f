"""Which files are tests."""

import pytest

from bmad_autopilot.gates.test_suites import EMPTY, Suite, holds_tests, is_test_path, read_suite


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


# Suites language by language: what switches tests off, runs only some, makes cases from a table, is a comment.


def suite(path: str, text: str) -> Suite:
    found = read_suite(path, text.encode())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.test.js", "xdescribe('a', () => {});\n"),
        ("a.test.js", "describe.skip('a', () => {});\n"),
        ("test_a.py", "__test__ = False\n"),
        ("a_spec.rb", "xdescribe Cart do\nend\n"),
        ("ATests.cs", "#if false\n#endif\n"),
        ("a_test.exs", "  @moduletag :skip\n"),
        ("a_test.cpp", "#if 0\n#endif\n"),
    ],
)
def test_a_mark_that_silences_more_than_one_case(path, text):
    assert suite(path, text).silenced == 1


def test_a_skip_above_all_cases_silences_the_file():
    assert suite("test_a.py", "pytest.skip('x')\n\n\ndef test_a():\n    assert f()\n").silenced == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.test.js", "it.only('a', () => {});\n"),
        ("a.test.js", "fdescribe('a', () => {});\n"),
        ("a_spec.rb", "  fit 'a' do\n"),
        ("ATest.php", "it('a', fn () => 1)->only();\n"),
        ("a_test.dart", "test('a', () {}, solo: true);\n"),
    ],
)
def test_a_mark_that_runs_only_some(path, text):
    assert suite(path, text).only == 1
    assert suite(path, "").only == 0


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test_a.py", "@pytest.mark.parametrize('a', [\n    (1, 2),\n    (2, 4),\n])\n"),
        ("a.test.js", "test.each([\n  [1, 2],\n  [2, 4],\n])('a', () => {});\n"),
        ("a_test.go", "for _, c := range cases {\n\tt.Run(c.name, f)\n}\n\t{1, 2},\n\t{2, 4},\n"),
        ("a.rs", "#[rstest]\n#[case(1, 2)]\n[1, 2],\n(2, 4),\n"),
        ("ATest.java", "@ParameterizedTest\n({1, 2})\n({2, 4})\n"),
        ("ATest.php", "/** */\n#[DataProvider('x')]\n  [1, 2],\n  [2, 4],\n"),
        ("ATests.cs", "[InlineData(1, 2)]\n[InlineData(2, 4)]\n"),
        ("a.feature", "  Examples:\n    | 1 | 2 |\n    | 2 | 4 |\n"),
    ],
)
def test_rows_are_counted_where_cases_are_made_from_tables(path, text):
    assert suite(path, text).rows >= 2


def test_rows_are_no_matter_where_there_is_no_table():
    assert suite("test_a.py", "a = [\n    (1, 2),\n]\n").rows == 0


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test_a.py", "def test_a():\n    self.skipTest('x')\n"),
        ("test_a.py", "def test_a(): pass\n"),
        ("a.test.js", "it('a', () => {\n  this.skip();\n});\n"),
        ("a.test.js", "it('a', () => {\n  while (false) {\n    expect(f())\n  }\n});\n"),
        ("a_test.go", "func TestA(t *testing.T) {\n\tt.Skip()\n}\n"),
        ("a.rs", "#[test]\nfn a() { return; }\n"),
        ("ATest.java", "@Test\nvoid a() {\n  assumeTrue(false);\n}\n"),
        ("a_spec.rb", "  it 'a' do\n    skip\n  end\n"),
        ("ATest.php", "function testA() {\n  $this->markTestIncomplete();\n}\n"),
        ("ATests.cs", "[Test]\npublic void A()\n{\n  Assert.Ignore();\n}\n"),
        ("ATests.swift", "func testA() {\n  throw XCTSkip()\n}\n"),
        ("a_test.dart", "test('a', () {}, skip: 'later');\n"),
        ("a_test.cpp", "TEST(Cart, DISABLED_A) {\n}\n"),
        ("a.bats", "@test 'a' {\n  skip\n}\n"),
        ("a.rs", "#[test]\n#[ignore]\nfn a() {}\n"),
        ("test_a.py", "@pytest.mark.skip\ndef test_a():\n    assert f()\n"),
        ("ATest.java", "@Disabled\n@Test\nvoid a() {\n  assertTrue(f());\n}\n"),
        ("ATests.cs", "[Explicit]\n[Test]\npublic void A()\n{\n}\n"),
        ("a_test.exs", '  @tag :skip\n  test "a" do\n  end\n'),
        ("a.feature", "  @wip\n  Scenario: a\n    Then b\n"),
    ],
)
def test_a_skipped_case_is_known(path, text):
    assert [case.skipped for case in suite(path, text).cases] == [True]


def test_a_skip_belongs_to_the_case_it_stands_in_or_above():
    text = "def test_a():\n    f()\n\n\n@pytest.mark.skip\ndef test_b():\n    f()\n\n\ndef test_c():\n    f()\n"
    assert [case.skipped for case in suite("test_a.py", text).cases] == [False, True, False]
    text = "def test_a():\n    f()\n\n\ndef test_b():\n    pytest.skip('x')\n\n\ndef test_c():\n    f()\n"
    assert [case.skipped for case in suite("test_a.py", text).cases] == [False, True, False]


def test_a_skipped_case_is_not_the_one_before_it():
    text = "  it 'a' do\n    expect(f)\n  end\n  xit 'b' do\n    expect(f)\n  end\n"
    assert [case.skipped for case in suite("a_spec.rb", text).cases] == [False, True]


def test_a_hollow_check_is_not_taken_from_another_case():
    found = suite("test_a.py", "def test_a():\n    assert f()\n\n\ndef test_b():\n    assert True\n")
    assert [case.checks for case in found.cases] == [1, 0]


def test_a_skip_in_a_comment_is_none():
    assert [case.skipped for case in suite("a.feature", "# @skip\nScenario: a\n  Then b\n").cases] == [False]


def test_a_skip_below_all_cases_is_nobodys():
    text = "def test_a():\n    assert f()\n\n\n@pytest.mark.skip\nclass Other:\n    pass\n"
    assert [case.skipped for case in suite("test_a.py", text).cases] == [False]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test_a.py", '"""\ndef test_a():\n    assert f()\n"""\n# def test_b(): assert f()\n'),
        ("a.test.js", "/* it('a', () => { expect(f()) }) */\n// it('b', () => { expect(f()) })\n"),
        (
            "a_test.go",
            "// func TestA(t *testing.T) { t.Error() }\n/*\nfunc TestB(t *testing.T) { t.Error() }\n*/\n",
        ),
        ("a.rs", "// #[test] fn a() { assert!(f()); }\n"),
        ("ATest.java", "// @Test void a() { assertTrue(f()); }\n"),
        ("a_spec.rb", "=begin\nit 'a' do\n  expect(f).to be\nend\n=end\n# it 'b' do expect(f) end\n"),
        ("ATest.php", "// function testA() { assertTrue(f()); }\n"),
        ("ATests.cs", "// [Test] public void A() { Assert.True(f()); }\n"),
        ("a_test.exs", '# test "a" do assert f() end\n'),
        ("ATests.swift", "// func testA() { XCTAssert(f()) }\n"),
        ("a_test.dart", "// test('a', () { expect(f(), 1); });\n"),
        ("a_test.cpp", "// TEST(A, B) { EXPECT_TRUE(f()); }\n"),
        ("a.feature", "# Scenario: a\n#   Then b\n"),
        ("a.bats", "# @test 'a' { [ 1 ]\n"),
    ],
)
def test_a_comment_holds_no_case_and_no_check(path, text):
    assert suite(path, text) == EMPTY


@pytest.mark.parametrize(
    ("path", "text", "checks"),
    [
        ("test_a.py", "def test_a():\n    assert True\n    assert f() == 1\n", 1),
        ("a.bats", "@test 'a' {\n  [ -f x ]\n  assert_output b\n}\n", 2),
        ("a.feature", "  Scenario: a\n    Then b\n    Then c\n", 2),
        ("a_test.dart", "test('a', () {\n  expect(true, true);\n  expect(f(), 1);\n});\n", 1),
        ("a_test.exs", '  test "a" do\n    assert true\n    refute f()\n  end\n', 1),
        ("a_test.cpp", "TEST(A, B) {\n  ASSERT_TRUE(1);\n  CHECK(f());\n}\n", 1),
        ("ATests.swift", "func testA() {\n  XCTAssertTrue(true)\n  XCTAssert(f())\n}\n", 1),
        ("a.rs", "#[test]\nfn a() {\n  assert!(true);\n  assert!(f());\n}\n", 1),
        ("a_test.go", "func TestA(t *testing.T) {\n\trequire.True(t, true)\n\tt.Error()\n}\n", 1),
    ],
)
def test_checks_that_can_fail_are_counted(path, text, checks):
    found = suite(path, text)
    assert (found.checks, found.cases[0].checks) == (checks, checks)


def test_a_case_ends_where_something_else_is_defined_no_deeper():
    text = "def test_a():\n    f()\n\n\ndef helper():\n    assert f()\n\n\nclass Other:\n    assert f()\n"
    found = suite("test_a.py", text)
    assert [case.checks for case in found.cases] == [0]
    assert (found.checks, found.helper_checks) == (2, 2)


def test_what_is_defined_inside_a_case_is_part_of_it():
    text = "def test_a():\n    def inner():\n        assert f()\n    inner()\n    assert g()\n"
    assert [case.checks for case in suite("test_a.py", text).cases] == [2]


def test_a_case_in_a_class_ends_at_the_next_method():
    text = "class TestA:\n    def test_a(self):\n        f()\n\n    def helper(self):\n        assert f()\n"
    assert [case.checks for case in suite("test_a.py", text).cases] == [0]


def test_a_case_ends_where_the_next_begins():
    text = "it('a', () => { f() });\nit('b', () => { expect(f()) });\nit('c', () => { f() });\n"
    assert [case.checks for case in suite("a.test.js", text).cases] == [0, 1, 0]


def test_a_helper_beside_a_case_is_no_part_of_it():
    text = (
        "describe('x', () => {\n  it('a', () => {\n    f();\n  });\n  function g() {\n    expect(h());\n  }\n});\n"
    )
    assert [case.checks for case in suite("a.test.js", text).cases] == [0]
    inner = text.replace("    f();\n  });\n  function g() {", "    function g() {")
    assert [case.checks for case in suite("a.test.js", inner).cases] == [1]


def test_checks_in_a_text_are_none():
    assert suite("a.test.js", "it('should expect(a)', () => { f('expect(b)'); });\n").checks == 0


def test_a_case_knows_its_words():
    found = suite("test_a.py", "def test_a():\n    assert total == 3\n\n\ndef test_b():\n    other()\n")
    assert [case.name for case in found.cases] == ["test_a", "test_b"]
    assert {"total", "3"} <= found.cases[0].words
    assert "other" not in found.cases[0].words


def test_rust_keeps_tests_beside_the_code():
    assert holds_tests("src/a.rs", b"#[test]\nfn a() {}\n")
    assert not holds_tests("src/a.rs", b"fn a() {}\n")
    assert not holds_tests("src/a.rs", None)
    assert not holds_tests("src/a.py", b"#[test]\nfn a() {}\n")
    assert holds_tests("tests/test_a.py", None)


EXTENSIONS = """
    py js jsx ts tsx mjs cjs mts cts vue svelte go rs java kt kts groovy scala rb php cs fs vb exs ex swift dart c
    cc cpp cxx h hpp m mm feature bats
"""


@pytest.mark.parametrize("extension", EXTENSIONS.split())
def test_languages_are_known_by_their_extension(extension):
    assert is_test_path(f"tests/helpers.{extension}")
    assert not is_test_path(f"src/helpers.{extension}") or extension in ("feature", "bats")
    assert read_suite(f"tests/a.{extension}", b"") is not None


@pytest.mark.parametrize(
    "folder",
    ["test", "tests", "__tests__", "spec", "e2e", "cypress", "Shop.Tests", "shop.test", "unit-tests", "it-tests"],
)
def test_folders_that_hold_tests(folder):
    assert is_test_path(f"{folder}/deep/helpers.py")
    assert not is_test_path(f"{folder}x/deep/helpers.py")
