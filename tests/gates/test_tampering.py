"""Tests deleted and gutted, language by language, beside changes that only look like it."""

from textwrap import dedent
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.changes import ChangeKind, FileChange
from bmad_autopilot.gates.evidence import ObjectionKind as Weight
from bmad_autopilot.gates.judge import judge_work
from tests.gates.evidence_builder import codes, look


class Sample(NamedTuple):
    path: str
    text: str
    check: str  # a check in it
    case: str  # a whole case
    hollow: str  # what a liar puts in the place of `check`
    skip: tuple[str, str]  # old and new text that silence a case


def sample(path: str, text: str, check: str, case: str, hollow: str, skip: tuple[str, str]) -> Sample:
    return Sample(path, dedent(text), check, case, hollow, skip)


SAMPLES = [
    sample(
        "tests/test_cart.py",
        """\
        import cart


        def test_total():
            assert cart.total([1, 2]) == 3


        def test_empty():
            basket = cart.new()
            assert basket.is_empty()
        """,
        "assert cart.total([1, 2]) == 3",
        "def test_total():\n    assert cart.total([1, 2]) == 3\n",
        "assert True",
        ("def test_total", "@pytest.mark.skip\ndef test_total"),
    ),
    sample(
        "src/cart.test.ts",
        """\
        import { total, fresh } from "./cart";

        describe("the cart should work", () => {
          it("adds up", () => {
            expect(total([1, 2])).toBe(3);
          });

          test('is empty at first', async () => {
            expect(await fresh()).toEqual([]);
          });
        });
        """,
        "expect(total([1, 2])).toBe(3);",
        '  it("adds up", () => {\n    expect(total([1, 2])).toBe(3);\n  });\n',
        "expect(true).toBe(true);",
        ('it("adds', 'it.skip("adds'),
    ),
    sample(
        "cart/cart_test.go",
        """\
        package cart

        func TestTotal(t *testing.T) {
        \tif Total(1, 2) != 3 {
        \t\tt.Errorf("wrong")
        \t}
        }

        func TestEmpty(t *testing.T) {
        \trequire.Empty(t, New())
        }
        """,
        't.Errorf("wrong")',
        'func TestTotal(t *testing.T) {\n\tif Total(1, 2) != 3 {\n\t\tt.Errorf("wrong")\n\t}\n}\n',
        "_ = 1",
        ("\tif Total", '\tt.Skip("later")\n\tif Total'),
    ),
    sample(
        "src/cart.rs",
        """\
        pub fn total(a: u32, b: u32) -> u32 { a + b }

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn adds_up() {
                assert_eq!(total(1, 2), 3);
            }

            #[tokio::test]
            async fn is_empty() {
                assert!(fresh().await.is_empty());
            }
        }
        """,
        "assert_eq!(total(1, 2), 3);",
        "    #[test]\n    fn adds_up() {\n        assert_eq!(total(1, 2), 3);\n    }\n",
        "assert!(true);",
        ("    #[test]\n", "    #[test]\n    #[ignore]\n"),
    ),
    sample(
        "src/test/java/shop/CartTest.java",
        """\
        class CartTest {
            @Test
            void addsUp() {
                assertEquals(3, cart.total(1, 2));
            }

            @Test
            @DisplayName("empty")
            public void isEmpty() {
                assertTrue(new Cart().isEmpty());
            }
        }
        """,
        "assertEquals(3, cart.total(1, 2));",
        "    @Test\n    void addsUp() {\n        assertEquals(3, cart.total(1, 2));\n    }\n",
        "assertTrue(true);",
        ("    @Test\n    void", '    @Test\n    @Disabled("flaky")\n    void'),
    ),
    sample(
        "src/test/kotlin/CartTest.kt",
        """\
        class CartTest {
            @Test
            fun `adds up`() {
                assertEquals(3, total(1, 2))
            }

            @Test
            fun isEmpty() {
                assertThat(fresh()).isEmpty()
            }
        }
        """,
        "assertEquals(3, total(1, 2))",
        "    @Test\n    fun `adds up`() {\n        assertEquals(3, total(1, 2))\n    }\n",
        "assertTrue(true)",
        ("    @Test\n    fun `", "    @Ignore\n    @Test\n    fun `"),
    ),
    sample(
        "spec/cart_spec.rb",
        """\
        describe Cart do
          it "adds up" do
            expect(cart.total).to eq(3)
          end

          it "is empty" do
            expect(Cart.new).to be_empty
          end
        end
        """,
        "expect(cart.total).to eq(3)",
        '  it "adds up" do\n    expect(cart.total).to eq(3)\n  end\n',
        "expect(true).to be(true)",
        ('it "adds', 'xit "adds'),
    ),
    sample(
        "tests/CartTest.php",
        """\
        <?php
        class CartTest extends TestCase {
            public function testAddsUp(): void {
                $this->assertSame(3, $cart->total());
            }

            public function testEmpty(): void {
                $this->assertEmpty(new Cart());
            }
        }
        """,
        "$this->assertSame(3, $cart->total());",
        "    public function testAddsUp(): void {\n        $this->assertSame(3, $cart->total());\n    }\n",
        "$this->assertTrue(true);",
        ("        $this->assertSame", "        $this->markTestSkipped();\n        $this->assertSame"),
    ),
    sample(
        "Shop.Tests/CartTests.cs",
        """\
        public class CartTests
        {
            [Fact]
            public void AddsUp()
            {
                Assert.Equal(3, cart.Total());
            }

            [Fact]
            public async Task IsEmpty()
            {
                (await Fresh()).Should().BeEmpty();
            }
        }
        """,
        "Assert.Equal(3, cart.Total());",
        "    [Fact]\n    public void AddsUp()\n    {\n        Assert.Equal(3, cart.Total());\n    }\n",
        "Assert.True(true);",
        ("    [Fact]\n    public void", '    [Fact(Skip = "later")]\n    public void'),
    ),
    sample(
        "test/cart_test.exs",
        """\
        defmodule CartTest do
          test "adds up" do
            assert Cart.total([1, 2]) == 3
          end

          test "is empty" do
            refute Cart.full?(Cart.new())
          end
        end
        """,
        "assert Cart.total([1, 2]) == 3",
        '  test "adds up" do\n    assert Cart.total([1, 2]) == 3\n  end\n',
        "assert true",
        ('  test "adds', '  @tag :skip\n  test "adds'),
    ),
    sample(
        "Tests/CartTests.swift",
        """\
        final class CartTests: XCTestCase {
            func testAddsUp() {
                XCTAssertEqual(total(1, 2), 3)
            }

            func testEmpty() {
                XCTAssertTrue(Cart().isEmpty)
            }
        }
        """,
        "XCTAssertEqual(total(1, 2), 3)",
        "    func testAddsUp() {\n        XCTAssertEqual(total(1, 2), 3)\n    }\n",
        "XCTAssertTrue(true)",
        ("        XCTAssertEqual", "        throw XCTSkip()\n        XCTAssertEqual"),
    ),
    sample(
        "test/cart_test.dart",
        """\
        void main() {
          test('adds up', () {
            expect(total(1, 2), 3);
          });
          test('is empty', () {
            expect(Cart(), isEmpty);
          });
        }
        """,
        "expect(total(1, 2), 3);",
        "  test('adds up', () {\n    expect(total(1, 2), 3);\n  });\n",
        "expect(true, isTrue);",
        ("    expect(total(1, 2), 3);\n  });", "    expect(total(1, 2), 3);\n  }, skip: true);"),
    ),
    sample(
        "tests/cart_test.cpp",
        """\
        TEST(Cart, AddsUp) {
          EXPECT_EQ(total(1, 2), 3);
        }

        TEST(Cart, Empty) {
          EXPECT_TRUE(Cart().empty());
        }
        """,
        "EXPECT_EQ(total(1, 2), 3);",
        "TEST(Cart, AddsUp) {\n  EXPECT_EQ(total(1, 2), 3);\n}\n",
        "EXPECT_TRUE(true);",
        ("  EXPECT_EQ", "  GTEST_SKIP();\n  EXPECT_EQ"),
    ),
    sample(
        "features/cart.feature",
        """\
        Feature: Cart
          Scenario: adds up
            When I add 1 and 2
            Then I owe 3

          Scenario: empty
            Then I owe nothing
        """,
        "Then I owe 3",
        "  Scenario: adds up\n    When I add 1 and 2\n    Then I owe 3\n",
        "And so on",
        ("  Scenario: adds", "  @skip\n  Scenario: adds"),
    ),
]
each_language = pytest.mark.parametrize("one", SAMPLES, ids=[one.path.rpartition(".")[2] for one in SAMPLES])


def changed(one: Sample, old: str, new: str) -> list[str]:
    assert old in one.text
    return codes(look({one.path: one.text}, {one.path: one.text.replace(old, new)}))


@each_language
def test_a_deleted_test_file_is_missed(one):
    found = judge_work(look({one.path: one.text}, {}))
    assert [(one.code, one.kind) for one in found] == [("test-deleted", Weight.VIOLATION)]
    assert one.path in found[0].message


@each_language
def test_a_deleted_case_is_missed(one):
    assert changed(one, one.case, "") == ["test-gutted"]


@pytest.mark.parametrize(
    ("index", "new"),
    [
        (0, "def test_discount():\n    shop = Shop(rate=0.5)\n    assert shop.price(10) == 5\n"),
        (
            1,
            '  it("gives a discount", () => {\n    const shop = new Shop(0.5);\n'
            "    expect(shop.price(10)).toBe(5);\n  });\n",
        ),
    ],
)
def test_a_new_case_does_not_make_up_for_a_deleted_one(index, new):
    one = SAMPLES[index]
    assert changed(one, one.case, one.case + new) == []
    assert changed(one, one.case, new) == ["test-gutted"]


@each_language
def test_a_case_that_checks_nothing_any_more_is_noticed(one):
    assert changed(one, one.check, "") == ["test-gutted"]


@each_language
def test_a_constant_truth_is_no_check(one):
    assert changed(one, one.check, one.hollow) == ["test-gutted"]


@each_language
def test_a_newly_skipped_case_is_noticed(one):
    assert changed(one, *one.skip) == ["test-gutted"]


@each_language
def test_a_case_commented_out_is_gone(one):
    mark = "#" if one.path.endswith((".py", ".rb", ".exs", ".feature")) else "//"
    commented = "".join(f"{mark} {line}\n" for line in one.case.splitlines())
    assert changed(one, one.case, commented) == ["test-gutted"]


@each_language
def test_an_emptied_test_file_is_gutted(one):
    assert codes(look({one.path: one.text}, {one.path: "\n"})) == ["test-gutted"]


@each_language
def test_formatting_is_no_matter(one):
    wider = (
        one.text.replace("(", "( ").replace(")", " )") if one.path.endswith((".ts", ".java", ".cs")) else one.text
    )
    spaced = wider.replace("\n", "\n\n") if not one.path.endswith(".feature") else wider
    assert codes(look({one.path: one.text}, {one.path: spaced})) == []
    assert codes(look({one.path: one.text}, {one.path: one.text.replace("\n", "\r\n")})) == []


@each_language
def test_a_case_added_or_renamed_is_fine(one):
    renamed = one.case
    for word in ("test_total", "adds up", "TestTotal", "adds_up", "addsUp", "testAddsUp", "AddsUp"):
        renamed = renamed.replace(word, f"{word}2" if word in renamed else word)
    assert changed(one, one.case, renamed) == []


@each_language
def test_a_moved_test_file_is_fine(one):
    folder, _, name = one.path.rpartition("/")
    new = f"{folder}/moved/{name}"
    assert codes(look({one.path: one.text}, {new: one.text}, renamed={new: one.path})) == []
    assert codes(look({one.path: one.text}, {new: one.text})) == []  # git did not see that it is the same


@each_language
def test_new_tests_may_be_of_any_kind(one):
    assert codes(look({}, {one.path: one.text.replace(one.check, one.hollow)})) == []
    assert codes(look({}, {one.path: one.text.replace(*one.skip)})) == []


def test_a_test_renamed_to_something_no_runner_finds_is_deleted():
    text = SAMPLES[0].text
    work = look({"tests/test_a.py": text}, {"old/a.txt": text}, renamed={"old/a.txt": "tests/test_a.py"})
    assert codes(work) == ["test-deleted"]


def test_a_suite_may_be_split_up():
    text = SAMPLES[0].text
    first, second = text.split("def test_empty")
    after = {"tests/a/test_one.py": first, "tests/a/test_two.py": "import cart\n\n\ndef test_empty" + second}
    assert codes(look({"tests/test_cart.py": text}, after)) == []


def test_moving_half_of_a_suite_loses_the_other_half():
    text = SAMPLES[0].text
    after = {"tests/a/test_one.py": text.split("def test_empty")[0]}
    assert codes(look({"tests/test_cart.py": text}, after)) == ["test-deleted"]


def test_one_case_does_not_stand_for_two():
    body = "    result = cart.total([1, 2])\n    assert result == 3\n"
    before = "".join(f"def test_{name}():\n{body}\n" for name in ("one", "two", "three"))
    after = f"def test_all():\n{body}\n"
    assert codes(look({"tests/test_a.py": before}, {"tests/test_a.py": after})) == ["test-gutted"]


def test_cases_may_become_rows_of_a_table():
    before = "".join(f"def test_{n}():\n    assert double({n}) == {2 * n}\n\n\n" for n in (1, 2, 3))
    rows = "".join(f"        ({n}, {2 * n}),\n" for n in (1, 2, 3))
    table = f"@pytest.mark.parametrize(\n    'n, twice',\n    [\n{rows}    ],\n)\n"
    after = f"{table}def test_double(n, twice):\n    assert double(n) == twice\n"
    assert codes(look({"tests/test_a.py": before}, {"tests/test_a.py": after})) == []


def test_checks_may_move_into_a_helper():
    before = "def test_a():\n    assert total(1) == 1\n\n\ndef test_b():\n    assert total(2) == 2\n"
    after = (
        "def same(n):\n    assert total(n) == n\n\n\ndef test_a():\n    same(1)\n\n\ndef test_b():\n    same(2)\n"
    )
    assert codes(look({"tests/test_a.py": before}, {"tests/test_a.py": after})) == []


@pytest.mark.parametrize(
    "silencer",
    [
        'import pytest\npytestmark = pytest.mark.skip(reason="slow")\n',
        'import pytest\npytest.skip("slow", allow_module_level=True)\n',
        "__test__ = False\n",
    ],
)
def test_switching_off_a_whole_file_is_noticed(silencer):
    one = SAMPLES[0]
    assert codes(look({one.path: one.text}, {one.path: silencer + one.text})) == ["test-gutted"]


@pytest.mark.parametrize(
    "old_new",
    [
        ("def test_total():\n", "@pytest.mark.xfail\ndef test_total():\n"),
        ("def test_total():\n", "@unittest.skip('x')\ndef test_total():\n"),
        ("def test_total():\n", "@pytest.mark.skipif(True, reason='')\ndef test_total():\n"),
        ("def test_total():\n", "def test_total():\n    return\n"),
        ("def test_total():\n", "def test_total():\n    pytest.skip('x')\n"),
        ("    assert cart.total([1, 2]) == 3", "    if False:\n        assert cart.total([1, 2]) == 3"),
        ("    assert cart.total([1, 2]) == 3", "    # assert cart.total([1, 2]) == 3"),
        ("    assert cart.total([1, 2]) == 3", '    """assert cart.total([1, 2]) == 3"""'),
        ("    assert cart.total([1, 2]) == 3", "    assert 1 == 1"),
        ("    assert cart.total([1, 2]) == 3", "    assert (True)"),
        ("def test_total", "def check_total"),
        ("def test_total", "def _test_total"),
    ],
)
def test_python_has_many_ways_to_lie(old_new):
    assert changed(SAMPLES[0], *old_new) == ["test-gutted"]


@pytest.mark.parametrize(
    "old_new",
    [
        ('it("adds', 'xit("adds'),
        ('it("adds', 'it.todo("adds'),
        ('it("adds', 'it.only("adds'),
        ('it("adds', 'fit("adds'),
        ('it("adds', 'it.failing("adds'),
        ("describe(", "describe.skip("),
        ("describe(", "xdescribe("),
        ("describe(", "describe.only("),
        ("expect(total([1, 2])).toBe(3);", "expect(1).toBe(1);"),
        ("expect(total([1, 2])).toBe(3);", "/* expect(total([1, 2])).toBe(3); */"),
        ("expect(total([1, 2])).toBe(3);", "if (false) { expect(total([1, 2])).toBe(3); }"),
    ],
)
def test_javascript_too(old_new):
    assert changed(SAMPLES[1], *old_new) == ["test-gutted"]


def test_a_mark_that_runs_only_one_test_is_refused_in_a_new_file_too():
    one = SAMPLES[1]
    assert codes(look({}, {one.path: one.text.replace('it("', 'it.only("', 1)})) == ["test-gutted"]


def test_a_rust_file_may_lose_code_and_keep_its_tests():
    one = SAMPLES[3]
    assert changed(one, "pub fn total(a: u32, b: u32) -> u32 { a + b }", "") == []


@pytest.mark.parametrize(
    "path",
    [
        "tests/fixtures/data.json",
        "tests/helpers.py",
        "tests/__init__.py",
        "tests/__snapshots__/a.snap",
        "src/a.py",
    ],
)
def test_what_holds_no_tests_may_go(path):
    assert codes(look({path: "def helper():\n    return 1\n"}, {})) == []


def test_a_test_in_an_unknown_language_is_missed_too():
    assert codes(look({"src/cart.test.zig": "test {}"}, {})) == ["test-deleted"]
    assert codes(look({"src/cart.test.zig": "test {}"}, {"src/cart.test.zig": ""})) == ["test-gutted"]
    assert codes(look({"src/cart.test.zig": "test {}"}, {"src/cart.test.zig": "test { x }"})) == []


def test_a_test_grown_too_large_to_look_at_is_refused():
    one = SAMPLES[0]
    change = FileChange(one.path, ChangeKind.MODIFIED, mode="100644")
    work = look(more=(change,))._replace(contents=lambda path, now: None if now else one.text.encode())
    assert codes(work) == ["test-gutted"]


@pytest.mark.parametrize(
    "asked",
    [
        "## Tasks\n\n- [ ] Remove the obsolete tests\n",
        "## Tasks\n\n- [ ] Task 3: delete tests/test_cart.py\n",
        "## Acceptance Criteria\n\n1. Migrate the unit tests to vitest\n",
        "## Tasks\n\n- [ ] Replace test_cart.py by the new suite\n",
    ],
)
def test_a_story_may_ask_for_tests_to_go(asked):
    one = SAMPLES[0]
    assert codes(look({one.path: one.text}, {}, story_text=asked)) == []


@pytest.mark.parametrize(
    "asked",
    [
        "## Tasks\n\n- [ ] Implement DELETE /cart with tests\n",
        "## Tasks\n\n- [ ] Never delete tests\n",
        "## Tasks\n\n- [ ] Do not remove any existing tests\n",
        "## Tasks\n\n- [ ] Add tests in tests/test_cart.py\n",
        "## Tasks\n\n- [ ] A user can delete the cart\n",
        "## Dev Notes\n\nRemove the obsolete tests.\n\n## Tasks\n\n- [ ] x\n",
        "",
    ],
)
def test_other_words_about_tests_ask_for_nothing(asked):
    one = SAMPLES[0]
    assert codes(look({one.path: one.text}, {}, story_text=asked)) == ["test-deleted"]


def test_the_tests_of_a_thing_that_is_to_go_may_go_with_it():
    one = SAMPLES[0]
    before = {one.path: one.text, "src/cart.py": "def total(): ...\n"}
    asked = "## Tasks\n\n- [ ] Remove the old cart\n"
    assert codes(look(before, {}, story_text=asked)) == []
    assert codes(look(before, {"src/cart.py": before["src/cart.py"]}, story_text=asked)) == ["test-deleted"]
    assert codes(look(before, {})) == ["test-deleted"]


PATHS = st.sampled_from([one.path for one in SAMPLES] + ["src/a.py", "package.json", "Makefile", "x.test.js"])


@given(path=PATHS, before=st.binary(max_size=300), after=st.binary(max_size=300), asked=st.text(max_size=200))
def test_no_bytes_break_the_judge(path, before, after, asked):
    judge_work(look({path: before}, {path: after}, story_text=asked, check_commands=("npm test", "make test")))


@given(
    path=st.text(max_size=60),
    old=st.text(max_size=60),
    kind=st.sampled_from(ChangeKind),
    mode=st.sampled_from(["120000", "160000", "100644"]),
)
def test_no_path_breaks_the_judge(path, old, kind, mode):
    judge_work(
        look(
            more=(FileChange(path, kind, old, mode),),
            story_text=path,
            check_commands=(path,),
            allowed_globs=(old,),
        )
    )


@given(st.sampled_from(SAMPLES), st.data())
def test_the_same_text_is_never_refused(one, data):
    noise = data.draw(st.text(alphabet="ab ()\"'`#/*\n{}[]", max_size=60))
    assert codes(look({one.path: one.text + noise}, {one.path: one.text + noise})) == []
