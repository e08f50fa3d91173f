"""How tests look in the languages people use: enough to count them, far from understanding them."""

import re
from typing import NamedTuple


class Language(NamedTuple):
    extensions: tuple[str, ...]
    unread: re.Pattern[str]  # comments, and texts that may hold code which never runs
    case: re.Pattern[str]  # the head of a test case, with its name
    check: re.Pattern[str]  # what can fail
    hollow: re.Pattern[str]  # a check that cannot
    skip_next: re.Pattern[str] | None = None  # silences the case below it
    skip_here: re.Pattern[str] | None = None  # the case it stands in or begins
    skip_all: re.Pattern[str] | None = None  # the file, or a good part of it
    only: re.Pattern[str] | None = None  # everything else
    table: re.Pattern[str] | None = None  # one case, run for each row


def _re(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


_C_COMMENT = r"/\*[\s\S]*?(?:\*/|\Z)|(?:^|(?<=[\s;{}(),]))//[^\n]*"
_HASH_COMMENT = r"(?:^|(?<=\s))#[^\n]*"
# Bounded, and only from a word's start: a file of one endless word must not take minutes.
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
    _re(rf"(?:[rbuRBU]{{0,2}})(\"\"\"|''')[\s\S]*?(?:\1|\Z)|{_HASH_COMMENT}"),
    _re(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(?P<name>test\w*)[ \t]*\("),
    _re(rf"\bassert\b|{_WORDS}\s*\(|\bpytest\.(?:raises|warns|fail|approx)\b|\bself\.fail\w*\("),
    _re(
        rf"\bassert[ \t]+(?:\(?[ \t]*{_TRUE}[ \t]*\)?|not[ \t]+False|(\d+)[ \t]*==[ \t]*\1)[ \t]*(?:,|$"
        rf"|;)|{_CONSTANT}"
    ),
    skip_next=_re(r"@(?:pytest\.mark\.|unittest\.|mark\.)?(?:skip\w*|xfail|expectedFailure)\b"),
    skip_here=_re(
        rf"\bpytest\.(?:skip|xfail|importorskip)\(|\bself\.skipTest\(|\bSkipTest\b|{_DEAD}"
        r"|\bdef[ \t]+test\w{0,100}[^\n]{0,200}:[ \t]*\n[ \t]+(?:return|pass)\b"
        r"|\bdef[ \t]+test\w{0,100}[^\n]{0,200}:[ \t]*(?:return|pass|\.\.\.)"
    ),
    skip_all=_re(r"^pytestmark\s*=[^\n]*(?:skip|xfail)|allow_module_level\s*=\s*True|\b__test__\s*=\s*False"),
    table=_re(r"\bparametrize\b|\bsubTest\b"),
)
JAVASCRIPT = Language(
    (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"),
    _re(_C_COMMENT),
    _re(
        r"(?<![\w.$])[xf]?(?:it|test|specify|Deno\.test|bench)(?:\.(?!describe|step)\w+)*"
        r"(?:\s*\(\s*([\"'`])(?P<name>(?:(?!\1)[^\n]){0,300})|(?<=\.each)\s*[(`])"
    ),
    _re(rf"{_WORDS}\s*[.(]|\bt\.(?:is|true|false|deepEqual|throws|truthy|like|ok|equal|same)\b|\.rejects\b"),
    _re(
        r"\bexpect\(\s*(?:true|false|\d+|!0|!\s*false)\s*\)(?:\.\w+)*(?:\(\s*(?:true|false|\d+)?\s*\))?(?![\w(.])"
        rf"|\bassert\.ok\(\s*true|\bt\.pass\(|{_CONSTANT}"
    ),
    skip_here=_re(
        r"(?<![\w.$])(?:it|test|specify)(?:\.\w+)*?\.(?:skip|todo|fixme|failing|fails|skipIf|runIf)\b"
        r"|(?<![\w.$])x(?:it|test|specify)\s*\(|\bthis\.skip\(|\bctx\.skip\(|\bpending\(|=>\s*\{\s*return\s*;"
        rf"|{_DEAD}"
    ),
    skip_all=_re(
        r"(?<![\w.$])(?:x(?:describe|context)\s*\(|(?:test\.)?(?:describe|context"
        r"|suite)(?:\.\w+)*?\.(?:skip|todo|fixme)\b)"
    ),
    only=_re(
        r"(?<![\w.$])(?:f(?:it|describe|test)\s*\(\s*[\"'`]|(?:test\.)?(?:it|test|describe|context|suite|specify)"
        r"(?:\.\w+)*?\.only\b)"
    ),
    table=_re(r"\.each\b|\bforEach\(|\bfor\s*\(\s*const\b"),
)
GO = Language(
    (".go",),
    _re(_C_COMMENT),
    _re(r"^func[ \t]+(?:\([^)\n]*\)[ \t]*)?(?P<name>(?:Test|Fuzz|Example|Benchmark)\w*)[ \t]*\(|\bt\.Run\("),
    _re(rf"\b[tb]\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|is|qt|must)\.\w+\(|{_WORDS}\("),
    _re(
        rf"\b(?:assert|require)\.True\([^,\n]*,\s*true\b|\b(?:assert|require)\.Equal\([^,\n]*,\s*(\d+"
        rf"|true),\s*\1\b|{_CONSTANT}"
    ),
    skip_here=_re(rf"\b[tb]\.Skip\w*\(|^func[ \t]+Test\w*\([^)\n]*\)[ \t]*\{{\s*return\b|{_DEAD}"),
    skip_all=_re(r"^//go:build[ \t]+(?:ignore|never|skip)\b"),
    table=_re(r"\bt\.Run\("),
)
RUST = Language(
    (".rs",),
    _re(_C_COMMENT),
    _re(
        r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|proptest)\b[^\]\n]{0,200}\](?:\s{0,200}#\[[^\]\n]{0,200}\]){0,8}"
        r"\s*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"
    ),
    _re(r"\b(?:debug_)?(?:assert|prop_assert)\w*!|\bpanic!|\bunreachable!|\.unwrap_err\(|\bshould_panic\b"),
    _re(rf"\bassert!\s*\(\s*{_TRUE}\s*[,)]|\bassert_eq!\s*\(\s*(\d+|true)\s*,\s*\1\s*[,)]"),
    skip_next=_re(r"#\[(?:ignore\b|cfg\(\s*(?:any\(\s*\)|FALSE|never))[^\]\n]*\]"),
    skip_here=_re(rf"\bfn\s+\w+\([^)\n]*\)[^{{\n]*\{{\s*return\s*;|{_DEAD}"),
    table=_re(r"#\[(?:case|rstest|test_case)\b"),
)
JVM = Language(
    (".java", ".kt", ".kts", ".groovy", ".scala"),
    _re(_C_COMMENT),
    _re(
        rf"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory"
        rf"|Property)\b(?:\([^()\n]*\))?{_ANNOTATIONS}\s*{_WORDS_BEFORE}"
        r"(?:void|fun|def|[\w<>\[\]]{1,80})\s{1,20}(?P<name>`[^`\n]+`|\w+)\s*\("
        r"|^[ \t]*(?:it|test|should|\"[^\"\n]+\" (?:in|should))\b[ \t]*[({]?[ \t]*(?P<other>\"[^\"\n]*\")?"
    ),
    _re(rf"{_WORDS}\s*[.({{<]|\bfail\(|\bshould\w*\b|\bthrown\b"),
    _re(_CONSTANT),
    skip_next=_re(r"@(?:Disabled|Ignore|EnabledIf|DisabledIf)\w*"),
    skip_here=_re(
        rf"\b(?:enabled|isEnabled)\s*=\s*false|\bassum\w+\(\s*(?:true|false)|\bSkipException\b|\bxit\b|{_DEAD}"
    ),
    table=_re(r"@ParameterizedTest|@CsvSource|@ValueSource|@MethodSource|\bwhere:"),
)
RUBY = Language(
    (".rb",),
    _re(rf"^=begin[\s\S]*?(?:^=end|\Z)|{_HASH_COMMENT}|^__END__[\s\S]*"),
    _re(
        r"^[ \t]*(?:def[ \t]+(?P<name>test_\w+)"
        r"|[xf]?(?:it|specify|example|scenario|test)\b[ \t(]*(?P<other>\"[^\"\n]*\"|'[^'\n]*'|(?=do\b|\{)))"
    ),
    _re(rf"{_WORDS}|\b(?:refute|must|wont)_?\w*|\bflunk\b|\braise_error\b"),
    _re(rf"\bexpect\(\s*true\s*\)|{_CONSTANT}"),
    skip_here=_re(
        r"^[ \t]*(?:skip|pending)\b|^[ \t]*x(?:it|specify|example|scenario)\b|,[ \t]*(?:skip|pending):"
        r"|,[ \t]*:skip\b"
    ),
    skip_all=_re(r"^[ \t]*x(?:describe|context)\b"),
    only=_re(r"^[ \t]*f(?:it|describe|context)\b|,[ \t]*:?focus:?\b"),
)
PHP = Language(
    (".php",),
    _re(_C_COMMENT),
    _re(
        r"\bfunction\s+(?P<name>test\w*|it_\w+)\s*\("
        r"|#\[Test\]\s{0,100}(?:#\[[^\]\n]{0,200}\]\s{0,100}){0,8}(?:public\s+)?function\s+(?P<other>\w+)"
        r"|^[ \t]*(?:it|test)\(\s*(?P<third>\"[^\"\n]*\"|'[^'\n]*')"
    ),
    _re(rf"{_WORDS}\s*\("),
    _re(rf"\bexpect\(\s*true\s*\)|{_CONSTANT}"),
    skip_here=_re(r"\bmarkTest(?:Skipped|Incomplete)\b|->(?:skip|todo)\("),
    only=_re(r"->only\("),
    table=_re(r"@dataProvider|#\[DataProvider|->with\("),
)
CSHARP = Language(
    (".cs", ".fs", ".vb"),
    _re(_C_COMMENT),
    _re(
        rf"\[(?:Fact|Theory|Test|TestMethod|TestCase|DataTestMethod)\b[^\]\n]*\]{_ANNOTATIONS}\s*{_WORDS_BEFORE}"
        r"[\w<>\[\].]{1,80}\s{1,20}(?P<name>\w+)\s*\("
    ),
    _re(rf"{_WORDS}\s*[.(<]|\bThrows\w*[<(]"),
    _re(_CONSTANT),
    skip_next=_re(r"\[(?:Ignore|Explicit)\b"),
    skip_here=_re(rf"\bSkip\s*=|\bAssert\.(?:Ignore|Inconclusive|Skip|Pass)\b|{_DEAD}"),
    skip_all=_re(r"^#if\s+(?:false|FALSE|NEVER)\b"),
    table=_re(r"\[(?:InlineData|TestCase|MemberData|DataRow)\b"),
)
ELIXIR = Language(
    (".exs", ".ex"),
    _re(_HASH_COMMENT),
    _re(r"^[ \t]*(?:test|property|feature)[ \t]*\(?[ \t]*(?P<name>\"[^\"\n]*\")"),
    _re(rf"\brefute\w*|\bflunk\b|{_WORDS}"),
    _re(r"\bassert[ \t]+true[ \t]*$|\bassert[ \t]+(\d+)[ \t]*==[ \t]*\1[ \t]*$"),
    skip_next=_re(r"@tag\s+:?(?:skip|pending)\b"),
    skip_all=_re(r"@(?:module|describe)tag\s+:?(?:skip|pending)\b"),
)
SWIFT = Language(
    (".swift",),
    _re(_C_COMMENT),
    _re(r"\bfunc\s+(?P<name>test\w+)\s*\(|@Test\b[^\n]{0,200}\n?\s{0,100}func\s+(?P<other>\w+)\s*\("),
    _re(rf"\bXCT\w+|#(?:expect|require)\b|{_WORDS}\s*\("),
    _re(rf"\bXCTAssertTrue\(\s*true\s*\)|#expect\(\s*true\s*\)|\bXCTAssert\(\s*true\s*\)|{_CONSTANT}"),
    skip_here=_re(r"\bXCTSkip\w*|\.disabled\("),
)
DART = Language(
    (".dart",),
    _re(_C_COMMENT),
    _re(r"\b(?:test|testWidgets|blocTest<[^>\n]*>)\(\s*([\"'])(?P<name>(?:(?!\1)[^\n]){0,300})"),
    _re(rf"{_WORDS}\s*\("),
    _re(r"\bexpect\(\s*true\s*,\s*(?:true|isTrue)\b"),
    skip_here=_re(r"\bskip:\s*(?!false)"),
    only=_re(r"\bsolo:\s*true"),
)
CPP = Language(
    (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".m", ".mm"),
    _re(_C_COMMENT),
    _re(
        r"^[ \t]*(?:TYPED_)?(?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO|SECTION|BOOST_AUTO_TEST_CASE)\s*\(\s*"
        r"(?P<name>[^)\n]*)|^(?:static\s+)?(?:void|int)\s+(?P<other>test_\w+)\s*\("
    ),
    _re(rf"\b(?:EXPECT|ASSERT|REQUIRE|CHECK|BOOST_\w+|TEST_ASSERT|ck_assert)\w*\s*\(|{_WORDS}\s*\("),
    _re(r"\b(?:EXPECT|ASSERT)_TRUE\(\s*(?:true|1)\s*\)|\b(?:REQUIRE|CHECK|assert)\(\s*(?:true|1)\s*\)"),
    skip_here=_re(r"\bGTEST_SKIP\b|\bDISABLED_\w+|\[!shouldfail\]|\[\.\]"),
    skip_all=_re(r"^#if\s+0\b"),
)
OTHERS = (
    Language(
        (".feature",),
        _re(r"^[ \t]*#[^\n]*"),
        _re(r"^[ \t]*Scenario[^:\n]*:(?P<name>[^\n]*)"),
        _re(r"^[ \t]*Then\b"),
        _re(r"(?!)"),
        skip_next=_re(r"@(?:skip|ignore|wip|disabled)\b"),
        table=_re(r"^[ \t]*Examples:"),
    ),
    Language(
        (".bats",),
        _re(_HASH_COMMENT),
        _re(r"^@test[ \t]+(?P<name>[^{\n]*)"),
        _re(r"\[\[?[ \t]|\bassert\w*|\brefute\w*"),
        _re(r"(?!)"),
        skip_here=_re(r"^[ \t]*skip\b"),
    ),
)

_ALL = (PYTHON, JAVASCRIPT, GO, RUST, JVM, RUBY, PHP, CSHARP, ELIXIR, SWIFT, DART, CPP, *OTHERS)
BY_EXTENSION = {extension: language for language in _ALL for extension in language.extensions}
