"""Recognises test files and counts their cases, checks and skips, by language."""

import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

# Patterns per language: enough to count tests, without parsing the language.


class Language(NamedTuple):
    extensions: tuple[str, ...]
    ignored: re.Pattern[str]  # comments, and strings that may contain code that never runs
    case: re.Pattern[str]  # the start of a test case, with its name
    check: re.Pattern[str]  # an assertion
    vacuous: re.Pattern[str]  # an assertion that cannot fail
    skip_next: re.Pattern[str] | None = None  # skips the case below it
    skip_here: re.Pattern[str] | None = None  # skips the case that contains it
    skip_all: re.Pattern[str] | None = None  # skips the file or a group of cases
    only: re.Pattern[str] | None = None  # skips all other cases
    table: re.Pattern[str] | None = None  # a case that runs once per row


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


_C_COMMENT = r"/\*[\s\S]*?(?:\*/|\Z)|(?:^|(?<=[\s;{}(),]))//[^\n]*"
_HASH_COMMENT = r"(?:^|(?<=\s))#[^\n]*"
# Bounded and anchored at a word's start: a file of one endless word must not take minutes.
_WORDS = r"\b\w{0,60}?(?:[Aa]ssert|[Ee]xpect|[Vv]erif|[Ee]nsure|[Ss]hould|[Cc]heck)\w{0,60}"
_TRUE = r"(?:[Tt]rue|1|!0|!!1)"
_CONSTANT = (
    rf"\b[Aa]ssert\w*(?:\.\w+)?[!]?\s*\(?\s*(?:{_TRUE}\s*(?=[),;\n]|$)|(?:not\s+[Ff]alse|!\s*false)\b"
    r"|(\d+|true|True)\s*(?:,|===?)\s*\1\s*(?=[),;\n]|$))"
)
_DEAD = r"\bif\s*\(?\s*(?:[Ff]alse|0)\s*\)?\s*[:{]|\bwhile\s*\(?\s*(?:[Ff]alse|0)\s*\)?\s*[:{]"
_ANNOTATIONS = (
    r"(?:\s{0,200}(?:@\w[\w.]{0,80}(?:\((?:[^()\n]|\([^()\n]{0,100}\)){0,200}\))?|#\[[^\]\n]{0,200}\]"
    r"|\[[^\]\n]{0,200}\])){0,8}"
)
_WORDS_BEFORE = (
    r"(?:(?:public|private|protected|internal|static|final|suspend|open|override|async|virtual)\s{1,20}){0,5}"
)

PYTHON = Language(
    (".py",),
    _pattern(rf"(?:[rbuRBU]{{0,2}})(\"\"\"|''')[\s\S]*?(?:\1|\Z)|{_HASH_COMMENT}"),
    _pattern(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(?P<name>test\w*)[ \t]*\("),
    _pattern(rf"\bassert\b|{_WORDS}\s*\(|\bpytest\.(?:raises|warns|fail|approx)\b|\bself\.fail\w*\("),
    _pattern(
        rf"\bassert[ \t]+(?:\(?[ \t]*{_TRUE}[ \t]*\)?|not[ \t]+False|(\d+)[ \t]*==[ \t]*\1)[ \t]*(?:,|$"
        rf"|;)|{_CONSTANT}"
    ),
    skip_next=_pattern(r"@(?:pytest\.mark\.|unittest\.|mark\.)?(?:skip\w*|xfail|expectedFailure)\b"),
    skip_here=_pattern(
        rf"\bpytest\.(?:skip|xfail|importorskip)\(|\bself\.skipTest\(|\bSkipTest\b|{_DEAD}"
        r"|\bdef[ \t]+test\w{0,100}[^\n]{0,200}:[ \t]*\n[ \t]+(?:return|pass)\b"
        r"|\bdef[ \t]+test\w{0,100}[^\n]{0,200}:[ \t]*(?:return|pass|\.\.\.)"
    ),
    skip_all=_pattern(r"^pytestmark\s*=[^\n]*(?:skip|xfail)|allow_module_level\s*=\s*True|\b__test__\s*=\s*False"),
    table=_pattern(r"\bparametrize\b|\bsubTest\b"),
)
JAVASCRIPT = Language(
    (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"),
    _pattern(_C_COMMENT),
    _pattern(
        r"(?<![\w.$])[xf]?(?:it|test|specify|Deno\.test|bench)(?:\.(?!describe|step)\w+)*"
        r"(?:\s*\(\s*([\"'`])(?P<name>(?:(?!\1)[^\n]){0,300})|(?<=\.each)\s*[(`])"
    ),
    _pattern(rf"{_WORDS}\s*[.(]|\bt\.(?:is|true|false|deepEqual|throws|truthy|like|ok|equal|same)\b|\.rejects\b"),
    _pattern(
        r"\bexpect\(\s*(?:true|false|\d+|!0|!\s*false)\s*\)(?:\.\w+)*(?:\(\s*(?:true|false|\d+)?\s*\))?(?![\w(.])"
        rf"|\bassert\.ok\(\s*true|\bt\.pass\(|{_CONSTANT}"
    ),
    skip_here=_pattern(
        r"(?<![\w.$])(?:it|test|specify)(?:\.\w+)*?\.(?:skip|todo|fixme|failing|fails|skipIf|runIf)\b"
        r"|(?<![\w.$])x(?:it|test|specify)\s*\(|\bthis\.skip\(|\bctx\.skip\(|\bpending\(|=>\s*\{\s*return\s*;"
        rf"|{_DEAD}"
    ),
    skip_all=_pattern(
        r"(?<![\w.$])(?:x(?:describe|context)\s*\(|(?:test\.)?(?:describe|context"
        r"|suite)(?:\.\w+)*?\.(?:skip|todo|fixme)\b)"
    ),
    only=_pattern(
        r"(?<![\w.$])(?:f(?:it|describe|test)\s*\(\s*[\"'`]|(?:test\.)?(?:it|test|describe|context|suite|specify)"
        r"(?:\.\w+)*?\.only\b)"
    ),
    table=_pattern(r"\.each\b|\bforEach\(|\bfor\s*\(\s*const\b"),
)
GO = Language(
    (".go",),
    _pattern(_C_COMMENT),
    _pattern(r"^func[ \t]+(?:\([^)\n]*\)[ \t]*)?(?P<name>(?:Test|Fuzz|Example|Benchmark)\w*)[ \t]*\(|\bt\.Run\("),
    _pattern(rf"\b[tb]\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|is|qt|must)\.\w+\(|{_WORDS}\("),
    _pattern(
        rf"\b(?:assert|require)\.True\([^,\n]*,\s*true\b|\b(?:assert|require)\.Equal\([^,\n]*,\s*(\d+"
        rf"|true),\s*\1\b|{_CONSTANT}"
    ),
    skip_here=_pattern(rf"\b[tb]\.Skip\w*\(|^func[ \t]+Test\w*\([^)\n]*\)[ \t]*\{{\s*return\b|{_DEAD}"),
    skip_all=_pattern(r"^//go:build[ \t]+(?:ignore|never|skip)\b"),
    table=_pattern(r"\bt\.Run\("),
)
RUST = Language(
    (".rs",),
    _pattern(_C_COMMENT),
    _pattern(
        r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|proptest)\b[^\]\n]{0,200}\](?:\s{0,200}#\[[^\]\n]{0,200}\]){0,8}"
        r"\s*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"
    ),
    _pattern(r"\b(?:debug_)?(?:assert|prop_assert)\w*!|\bpanic!|\bunreachable!|\.unwrap_err\(|\bshould_panic\b"),
    _pattern(rf"\bassert!\s*\(\s*{_TRUE}\s*[,)]|\bassert_eq!\s*\(\s*(\d+|true)\s*,\s*\1\s*[,)]"),
    skip_next=_pattern(r"#\[(?:ignore\b|cfg\(\s*(?:any\(\s*\)|FALSE|never))[^\]\n]*\]"),
    skip_here=_pattern(rf"\bfn\s+\w+\([^)\n]*\)[^{{\n]*\{{\s*return\s*;|{_DEAD}"),
    table=_pattern(r"#\[(?:case|rstest|test_case)\b"),
)
JVM = Language(
    (".java", ".kt", ".kts", ".groovy", ".scala"),
    _pattern(_C_COMMENT),
    _pattern(
        rf"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory"
        rf"|Property)\b(?:\([^()\n]*\))?{_ANNOTATIONS}\s*{_WORDS_BEFORE}"
        r"(?:void|fun|def|[\w<>\[\]]{1,80})\s{1,20}(?P<name>`[^`\n]+`|\w+)\s*\("
        r"|^[ \t]*(?:it|test|should|\"[^\"\n]+\" (?:in|should))\b[ \t]*[({]?[ \t]*(?P<other>\"[^\"\n]*\")?"
    ),
    _pattern(rf"{_WORDS}\s*[.({{<]|\bfail\(|\bshould\w*\b|\bthrown\b"),
    _pattern(_CONSTANT),
    skip_next=_pattern(r"@(?:Disabled|Ignore|EnabledIf|DisabledIf)\w*"),
    skip_here=_pattern(
        rf"\b(?:enabled|isEnabled)\s*=\s*false|\bassum\w+\(\s*(?:true|false)|\bSkipException\b|\bxit\b|{_DEAD}"
    ),
    table=_pattern(r"@ParameterizedTest|@CsvSource|@ValueSource|@MethodSource|\bwhere:"),
)
RUBY = Language(
    (".rb",),
    _pattern(rf"^=begin[\s\S]*?(?:^=end|\Z)|{_HASH_COMMENT}|^__END__[\s\S]*"),
    _pattern(
        r"^[ \t]*(?:def[ \t]+(?P<name>test_\w+)"
        r"|[xf]?(?:it|specify|example|scenario|test)\b[ \t(]*(?P<other>\"[^\"\n]*\"|'[^'\n]*'|(?=do\b|\{)))"
    ),
    _pattern(rf"{_WORDS}|\b(?:refute|must|wont)_?\w*|\bflunk\b|\braise_error\b"),
    _pattern(rf"\bexpect\(\s*true\s*\)|{_CONSTANT}"),
    skip_here=_pattern(
        r"^[ \t]*(?:skip|pending)\b|^[ \t]*x(?:it|specify|example|scenario)\b|,[ \t]*(?:skip|pending):"
        r"|,[ \t]*:skip\b"
    ),
    skip_all=_pattern(r"^[ \t]*x(?:describe|context)\b"),
    only=_pattern(r"^[ \t]*f(?:it|describe|context)\b|,[ \t]*:?focus:?\b"),
)
PHP = Language(
    (".php",),
    _pattern(_C_COMMENT),
    _pattern(
        r"\bfunction\s+(?P<name>test\w*|it_\w+)\s*\("
        r"|#\[Test\]\s{0,100}(?:#\[[^\]\n]{0,200}\]\s{0,100}){0,8}(?:public\s+)?function\s+(?P<other>\w+)"
        r"|^[ \t]*(?:it|test)\(\s*(?P<third>\"[^\"\n]*\"|'[^'\n]*')"
    ),
    _pattern(rf"{_WORDS}\s*\("),
    _pattern(rf"\bexpect\(\s*true\s*\)|{_CONSTANT}"),
    skip_here=_pattern(r"\bmarkTest(?:Skipped|Incomplete)\b|->(?:skip|todo)\("),
    only=_pattern(r"->only\("),
    table=_pattern(r"@dataProvider|#\[DataProvider|->with\("),
)
CSHARP = Language(
    (".cs", ".fs", ".vb"),
    _pattern(_C_COMMENT),
    _pattern(
        rf"\[(?:Fact|Theory|Test|TestMethod|TestCase|DataTestMethod)\b[^\]\n]*\]{_ANNOTATIONS}\s*{_WORDS_BEFORE}"
        r"[\w<>\[\].]{1,80}\s{1,20}(?P<name>\w+)\s*\("
    ),
    _pattern(rf"{_WORDS}\s*[.(<]|\bThrows\w*[<(]"),
    _pattern(_CONSTANT),
    skip_next=_pattern(r"\[(?:Ignore|Explicit)\b"),
    skip_here=_pattern(rf"\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive|Skip|Pass)\b|{_DEAD}"),
    skip_all=_pattern(r"^#if\s+(?:false|FALSE|NEVER)\b"),
    table=_pattern(r"\[(?:InlineData|TestCase|MemberData|DataRow)\b"),
)
ELIXIR = Language(
    (".exs", ".ex"),
    _pattern(_HASH_COMMENT),
    _pattern(r"^[ \t]*(?:test|property|feature)[ \t]*\(?[ \t]*(?P<name>\"[^\"\n]*\")"),
    _pattern(rf"\brefute\w*|\bflunk\b|{_WORDS}"),
    _pattern(r"\bassert[ \t]+true[ \t]*$|\bassert[ \t]+(\d+)[ \t]*==[ \t]*\1[ \t]*$"),
    skip_next=_pattern(r"@tag\s+:?(?:skip|pending)\b"),
    skip_all=_pattern(r"@(?:module|describe)tag\s+:?(?:skip|pending)\b"),
)
SWIFT = Language(
    (".swift",),
    _pattern(_C_COMMENT),
    _pattern(r"\bfunc\s+(?P<name>test\w+)\s*\(|@Test\b[^\n]{0,200}\n?\s{0,100}func\s+(?P<other>\w+)\s*\("),
    _pattern(rf"\bXCT\w+|#(?:expect|require)\b|{_WORDS}\s*\("),
    _pattern(rf"\bXCTAssertTrue\(\s*true\s*\)|#expect\(\s*true\s*\)|\bXCTAssert\(\s*true\s*\)|{_CONSTANT}"),
    skip_here=_pattern(r"\bXCTSkip\w*|\.disabled\("),
)
DART = Language(
    (".dart",),
    _pattern(_C_COMMENT),
    _pattern(r"\b(?:test|testWidgets|blocTest<[^>\n]*>)\(\s*([\"'])(?P<name>(?:(?!\1)[^\n]){0,300})"),
    _pattern(rf"{_WORDS}\s*\("),
    _pattern(r"\bexpect\(\s*true\s*,\s*(?:true|isTrue)\b"),
    skip_here=_pattern(r"\bskip:\s*(?!false)"),
    only=_pattern(r"\bsolo:\s*true"),
)
CPP = Language(
    (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".m", ".mm"),
    _pattern(_C_COMMENT),
    _pattern(
        r"^[ \t]*(?:TYPED_)?(?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO|SECTION|BOOST_AUTO_TEST_CASE)\s*\(\s*"
        r"(?P<name>[^)\n]*)|^(?:static\s+)?(?:void|int)\s+(?P<other>test_\w+)\s*\("
    ),
    _pattern(rf"\b(?:EXPECT|ASSERT|REQUIRE|CHECK|BOOST_\w+|TEST_ASSERT|ck_assert)\w*\s*\(|{_WORDS}\s*\("),
    _pattern(r"\b(?:EXPECT|ASSERT)_TRUE\(\s*(?:true|1)\s*\)|\b(?:REQUIRE|CHECK|assert)\(\s*(?:true|1)\s*\)"),
    skip_here=_pattern(r"\bGTEST_SKIP\b|\bDISABLED_\w+|\[!shouldfail\]|\[\.\]"),
    skip_all=_pattern(r"^#if\s+0\b"),
)
OTHERS = (
    Language(
        (".feature",),
        _pattern(r"^[ \t]*#[^\n]*"),
        _pattern(r"^[ \t]*Scenario[^:\n]*:(?P<name>[^\n]*)"),
        _pattern(r"^[ \t]*Then\b"),
        _pattern(r"(?!)"),
        skip_next=_pattern(r"@(?:skip|ignore|wip|disabled)\b"),
        table=_pattern(r"^[ \t]*Examples:"),
    ),
    Language(
        (".bats",),
        _pattern(_HASH_COMMENT),
        _pattern(r"^@test[ \t]+(?P<name>[^{\n]*)"),
        _pattern(r"\[\[?[ \t]|\bassert\w*|\brefute\w*"),
        _pattern(r"(?!)"),
        skip_here=_pattern(r"^[ \t]*skip\b"),
    ),
)

_ALL = (PYTHON, JAVASCRIPT, GO, RUST, JVM, RUBY, PHP, CSHARP, ELIXIR, SWIFT, DART, CPP, *OTHERS)
BY_EXTENSION = {extension: language for language in _ALL for extension in language.extensions}


MAX_SUITE = 1024 * 1024
MAX_CASES = 5000

TEST_FOLDERS = frozenset(
    "test tests __tests__ spec specs e2e cypress integration-tests integration_tests unit-tests androidtest "
    "unittests testing".split()
)
_NAMES = re.compile(
    r"test_.*\.py|.*_tests?\.(?:py|go|rb|exs|dart|cc|cpp|c|rs|js|ts)|tests?\.(?:py|rs|js|ts)"
    r"|.*\.(?:test|tests|spec|cy|e2e|e2e-spec)\.\w+|.*_spec\.(?:rb|js|ts)|test_.*\.(?:rb|c|cc|cpp|sh|js|exs)"
    r"|.*(?:Tests?|IT|Spec|TestCase)\.(?:java|kt|kts|groovy|scala|cs|fs|vb|php|swift|m)|.*\.(?:feature|bats)"
)
_STRING = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
_DEFINITION = re.compile(
    r"^([ \t]*)(?:export\s+|pub\s+|private\s+|public\s+|static\s+|async\s+)*"
    r"(?:def|class|func|fn|fun|function|const\s+\w+\s*=\s*(?:async\s*)?\(|describe)\b",
    re.MULTILINE,
)
_ROW = re.compile(
    r"^[ \t]*(?:[\[({]|pytest\.param\(|\|[^|\n]+\||@?\[?(?:InlineData|TestCase|DataRow|case)\()", re.MULTILINE
)
_WORD = re.compile(r"\w+")


class Case(NamedTuple):
    name: str
    checks: int  # assertions that can fail
    skipped: bool
    words: frozenset[str]  # of its body, to recognise the case under another name


class Suite(NamedTuple):
    cases: tuple[Case, ...]
    checks: int  # assertions in the whole file
    silenced: int  # marks that skip more than one case
    only: int
    rows: int  # table rows, if cases are generated from tables

    @property
    def helper_checks(self) -> int:
        return self.checks - sum(case.checks for case in self.cases)


EMPTY = Suite((), 0, 0, 0, 0)


@lru_cache(maxsize=4096)
def is_test_path(path: str) -> bool:
    """Whether a file matches a test runner's name pattern, or is source code in a test folder."""
    folders, _, name = path.rpartition("/")
    if _NAMES.fullmatch(name):
        return True
    parts = folders.lower().split("/")
    return extension_of(name) in BY_EXTENSION and any(
        part in TEST_FOLDERS or part.endswith((".tests", ".test", "-tests")) for part in parts
    )


def extension_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :].lower() if "." in name else ""


@lru_cache(maxsize=256)  # the old content is read again after every call of a story
def read_suite(path: str, raw: bytes | None) -> Suite | None:
    """Count the tests of a file; None if the language is unknown or the file is too large."""
    language = BY_EXTENSION.get(extension_of(path))
    if language is None or raw is None or len(raw) > MAX_SUITE:
        return None
    text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
    code = language.ignored.sub(_blank, text)
    heads = _heads(language, code)
    bare = _STRING.sub(_blank, code)  # `it("should expect")` is no assertion
    skipped, silenced = _find_skips(language, code, heads)
    cases = tuple(
        Case(name, _checks(language, bare, end, stop), index in skipped, _words(bare, end, stop))
        for index, ((_, end, name), stop) in enumerate(zip(heads, _case_ends(code, heads), strict=True))
    )
    return Suite(
        cases,
        _checks(language, bare, 0, len(bare)),
        silenced,
        _count(language.only, code),
        len(_ROW.findall(code)) if _count(language.table, code) else 0,
    )


def holds_tests(path: str, raw: bytes | None) -> bool:
    """Whether a file contains tests. Rust has tests in source files."""
    if is_test_path(path):
        return True
    return (
        path.endswith(".rs") and raw is not None and RUST.case.search(raw.decode("utf-8", "replace")) is not None
    )


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if char == "\n" else " " for char in match[0])


def _heads(language: Language, code: str) -> list[tuple[int, int, str]]:
    found = []
    for match in language.case.finditer(code):
        names = (value for value in match.groupdict().values() if value)
        found.append((match.start(), match.end(), next(names, "").strip("\"'` ")))
        if len(found) >= MAX_CASES:
            break
    return found


def _case_ends(code: str, heads: list[tuple[int, int, str]]) -> list[int]:
    """The end of each case: the next case, or the next definition that is not nested deeper."""
    definitions = [(match.start(), len(match[1])) for match in _DEFINITION.finditer(code)]
    starts = [start for start, _ in definitions]
    stops = []
    for index, (start, end, _) in enumerate(heads):
        stop = heads[index + 1][0] if index + 1 < len(heads) else len(code)
        line = code.rfind("\n", 0, start) + 1
        indent = len(code[line:start]) - len(code[line:start].lstrip()) + _leading_blanks(code, start)
        for at, depth in definitions[bisect_right(starts, end) :]:
            if at >= stop:
                break
            if depth <= indent:
                stop = at
                break
        stops.append(stop)
    return stops


def _leading_blanks(code: str, start: int) -> int:
    """The number of blanks at the start of a match."""
    count = 0
    while start + count < len(code) and code[start + count] in " \t":
        count += 1
    return count


def _find_skips(language: Language, code: str, heads: list[tuple[int, int, str]]) -> tuple[set[int], int]:
    starts = [start for start, _, _ in heads]
    skipped: set[int] = set()
    silenced = _count(language.skip_all, code)
    for match in language.skip_here.finditer(code) if language.skip_here else ():
        index = bisect_right(starts, match.start() + _leading_blanks(code, match.start())) - 1
        if index >= 0:
            skipped.add(index)
        else:
            silenced += 1
    for match in language.skip_next.finditer(code) if language.skip_next else ():
        index = bisect_right(starts, match.start()) - 1
        inside = index >= 0 and match.start() < heads[index][1]
        index = index if inside else index + 1
        if index < len(heads):
            skipped.add(index)
    return skipped, silenced


def _checks(language: Language, bare: str, start: int, stop: int) -> int:
    every = sum(1 for _ in language.check.finditer(bare, start, stop))
    return max(0, every - sum(1 for _ in language.vacuous.finditer(bare, start, stop)))


def _words(bare: str, start: int, stop: int) -> frozenset[str]:
    return frozenset(_WORD.findall(bare, start, min(stop, start + 20_000)))


def _count(pattern: re.Pattern[str] | None, code: str) -> int:
    return sum(1 for _ in pattern.finditer(code)) if pattern is not None else 0
