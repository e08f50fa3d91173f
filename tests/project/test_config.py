"""bmad-autopilot.toml: defaults, every key, refusals with the line, and the texts made from the table."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.registry import AGENT_NAMES, PACKAGES
from bmad_autopilot.core.errors import FileError, Location
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.io.toml_reader import load_toml
from bmad_autopilot.project.config import (
    ROLES,
    Commands,
    CommandSettings,
    Config,
    CustomAgent,
    CustomLauncher,
    Role,
    load_config,
)
from bmad_autopilot.project.config_reader import read_config
from bmad_autopilot.project.config_schema import AGENTS, BOOL, KEYS, USER_TABLES
from bmad_autopilot.project.config_template import render_config, render_table
from bmad_autopilot.project.root import Root
from bmad_autopilot.project.skills import CLIENTS
from tests.conftest import REPOSITORY
from tests.project.trees import write

FULL = """\
board = "plans/sprint-status.yaml"
workflow = "full"
agent = "codex"
base_branch = "develop"
stale_days = 14
story_timeout = 45
story_timeout_cap = 240
stall_limit = 20
check_timeout = 40
max_review_rounds = 5
max_check_fixes = 0
max_cost = 12.50
max_hours = 8
retrospective = "run"
human_checkpoint = "before_dev"
bypass_permissions = true

[roles.dev]
agent = "claude"
model = "large"
launcher = "box"

[commands]
install = "npm ci"
check = ["npm run lint", "npm run typecheck"]
test = ["npm test"]
build = []

[permissions]
allow = ["Bash(docker compose:*)"]

[environment]
pass = ["DATABASE_URL", "lower_case", "AWS_*"]

[gates]
allow = [".github/workflows/*", "docs/**"]

[answers]
all = ["Use pnpm."]
dev-story = ["MIT is fine."]

[unattended]
all = "skip"
timeout = "extend"

[[standing_answers]]
question = "which (database|store)"
answer = "PostgreSQL."

[[standing_answers]]
question = "licen[cs]e"
answer = "MIT"
story = "2-*"

[agents.instance]
command = ["./scripts/claude-instance", "create", "{name}", "--prompt", "{prompt}", "--branch", "{branch}"]
stop = ["./scripts/claude-instance", "stop", "{name}"]
completion = "evidence"
skills = "codex"
launcher = "box"

[agents.script]
command = "cat | my-agent {model}"
shell = true

[launchers.box]
kind = "docker"
target = "my-container"

[launchers.pod]
argv = ["kubectl", "exec", "-i", "{target}", "--"]
stop = ["kubectl", "delete", "pod", "{target}"]
target = "builder-0"
"""


def config(folder: Path, text: str | None = None) -> Config:
    if text is not None:
        write(folder, "bmad-autopilot.toml", text)
    return load_config(Root(str(folder), str(folder), None))


def refused(folder: Path, text: str) -> FileError:
    with pytest.raises(FileError) as caught:
        config(folder, text)
    assert caught.value.exit_code == 4
    return caught.value


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert config(tmp_path) == Config()
    assert Config()[1:6] == (None, "auto", "claude", None, 7)
    assert Config().roles == dict.fromkeys(ROLES, Role())


def test_an_empty_file_changes_nothing_but_the_path(tmp_path: Path) -> None:
    assert config(tmp_path, "# nothing\n")._replace(path=None) == Config()


def test_every_key_is_read(tmp_path: Path) -> None:
    found = config(tmp_path, FULL)
    assert found.board is not None
    assert (found.board.value, found.board.location.line) == ("plans/sprint-status.yaml", 1)
    assert found[2:6] == ("full", "codex", "develop", 14)
    assert found.roles == {**dict.fromkeys(ROLES, Role()), "dev": Role("claude", "large", "box")}
    assert found.commands == CommandSettings("npm ci", ("npm run lint", "npm run typecheck"), ("npm test",), ())
    assert (found.story_timeout, found.story_timeout_cap, found.stall_limit) == (45, 240, 20)
    assert (found.check_timeout, found.max_review_rounds, found.max_check_fixes) == (40, 5, 0)
    assert (found.max_cost, found.max_hours) == (12.5, 8.0)
    assert (found.retrospective, found.human_checkpoint) == ("run", "before_dev")
    assert (found.unattended, len(found.standing)) == ({"all": "skip", "timeout": "extend"}, 2)
    assert found.unprotected == (".github/workflows/*", "docs/**")
    assert found.answers == {"all": ("Use pnpm.",), "dev-story": ("MIT is fine.",)}
    assert found.bypass_permissions is True
    assert (found.allowed, found.passed) == (("Bash(docker compose:*)",), ("DATABASE_URL", "lower_case", "AWS_*"))
    tool = "./scripts/claude-instance"
    assert found.agents == {
        "instance": CustomAgent(
            (tool, "create", "{name}", "--prompt", "{prompt}", "--branch", "{branch}"),
            (tool, "stop", "{name}"),
            completion="evidence",
            skills="codex",
            launcher="box",
        ),
        "script": CustomAgent(("cat | my-agent {model}",), shell=True),
    }
    assert found.launchers == {
        "box": CustomLauncher("docker", "my-container"),
        "pod": CustomLauncher(
            None,
            "builder-0",
            ("kubectl", "exec", "-i", "{target}", "--"),
            ("kubectl", "delete", "pod", "{target}"),
        ),
    }


def test_the_time_limits_without_a_word_about_them() -> None:
    defaults = Config()
    assert (defaults.story_timeout, defaults.story_timeout_cap, defaults.stall_limit) == (30, 120, 15)
    assert defaults.bypass_permissions is False


def test_what_bounds_a_run_without_a_word_about_it() -> None:
    defaults = Config()
    assert (defaults.check_timeout, defaults.max_review_rounds, defaults.max_check_fixes) == (20, 3, 3)
    assert (defaults.max_cost, defaults.max_hours) == (None, None)
    assert defaults.retrospective == "offer"


def test_standing_answers_by_skill_the_particular_ones_first() -> None:
    own = Config(answers={"all": ("a",), "dev-story": ("b",)})
    assert own.answers_of("dev-story") == ("b", "a")
    assert own.answers_of("code-review") == ("a",)
    assert own.answers_of(None) == ("a",)
    assert Config().answers_of("dev-story") == Config().answers_of(None) == ()


def test_who_does_a_step_and_where(tmp_path: Path) -> None:
    text = (
        'agent = "mine"\n[roles.sm]\nlauncher = "far"\n[roles.qa]\nagent = "codex"\n'
        '[agents.mine]\ncommand = "x"\nlauncher = "box"\nskills = "gemini"\n'
        '[launchers.box]\nkind = "devcontainer"\n[launchers.far]\nkind = "ssh"\ntarget = "me@host"\n'
    )
    found = config(tmp_path, text)
    assert [found.agent_of(role) for role in ROLES] == ["mine", "mine", "mine", "codex"]
    assert [found.launcher_of(role) for role in ROLES] == ["far", "box", "box", None]
    assert (found.client_of("mine"), found.client_of("codex")) == ("gemini", "codex")


def test_who_stands_in_for_whom(tmp_path: Path) -> None:
    text = (
        'fallback = "codex"\n[roles.sm]\nfallback = "mine"\n[roles.dev]\nfallback = "claude"\n'
        '[roles.qa]\nagent = "codex"\nlauncher = "far"\n[agents.mine]\ncommand = "x"\nlauncher = "box"\n'
        '[launchers.box]\nkind = "devcontainer"\n[launchers.far]\nkind = "ssh"\ntarget = "me@host"\n'
    )
    found = config(tmp_path, text)
    assert [found.fallback_of(role) for role in ROLES] == ["mine", None, "codex", None]
    assert found.agents_of("sm") == ("claude", "mine")
    assert found.agents_of("qa") == ("codex",)
    assert [found.launcher_of("sm", agent) for agent in found.agents_of("sm")] == [None, "box"]
    assert found.launcher_of("qa", "mine") == "far"


def test_the_owners_file_counts_not_the_lanes(tmp_path: Path) -> None:
    write(tmp_path / "owner", "bmad-autopilot.toml", 'agent = "codex"\n')
    write(tmp_path / "lane", "bmad-autopilot.toml", 'agent = "gemini"\n')
    root = Root(str(tmp_path / "owner"), str(tmp_path / "lane"), None)
    assert load_config(root).agent == "codex"


@pytest.mark.parametrize(
    ("text", "line", "suggestion"),
    [
        ('agnet = "claude"\n', 1, "`agent`"),
        ("\nstale_day = 3\n", 2, "`stale_days`"),
        ('[commands]\ntests = ["x"]\n', 2, "`commands.test`"),
        ('[role.dev]\nagent = "claude"\n', 1, "`roles"),
        ('[roles.developer]\nmodel = "x"\n', 1, "`roles.dev"),
        ('[roles.dev]\nmodle = "x"\n', 2, "`roles.dev.model`"),
        ('# a\n\n[commands]\ninstall = "x"\nzzzzzz = 1\n', 5, "here stand: install, check, test, build"),
        ("roles.dev.color = 1\n", 1, ""),
        ('test = ["x"]\n', 1, "`commands.test`"),
        ("story_time = 3\n", 1, "`story_timeout`"),
        ('[agents.mine]\ncommand = "x"\n\ncomand = "y"\n', 4, "`agents.mine.command`"),
        ('[launchers.box]\nkind = "docker"\nhost = "x"\n', 3, "here stand: kind, target, argv, stop"),
    ],
)
def test_an_unknown_key_is_refused_with_its_line_and_a_suggestion(
    tmp_path: Path, text: str, line: int, suggestion: str
) -> None:
    error = refused(tmp_path, text)
    assert "unknown key" in error.message
    assert error.location == (str(tmp_path / "bmad-autopilot.toml"), line, None)
    assert suggestion in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("agent = 3\n", 1, "must be a text"),
        ('\nagent = "clude"\n', 2, "did you mean `claude`?"),
        ('workflow = "huge"\n', 1, '"auto", "lean", "full", "build"'),
        ('stale_days = "7"\n', 1, "from 1 to 3650"),
        ("stale_days = 0\n", 1, "from 1 to 3650"),
        ("stale_days = true\n", 1, "from 1 to 3650"),
        ("stale_days = 7.5\n", 1, "from 1 to 3650"),
        ("commands = 3\n", 1, "must be a table"),
        ("[commands]\ntest = [1]\n", 2, "list of texts"),
        ('[commands]\ntest = [""]\n', 2, "list of texts"),
        ('[commands]\ncheck = ["a\\u0000b"]\n', 2, "list of texts"),
        ('[[roles]]\nagent = "claude"\n', 1, "must be a table"),
        ('board = ""\n', 1, "must be a text"),
        ('board = "x\n', 1, "not valid TOML"),
        ('board = "a"\nboard = "b"\n', 2, "not valid TOML"),
        (f'board = "{"x" * 5000}"\n', 1, "must be a text"),
        ('[agent.mine]\ncommand = "x"\n', 1, "must be a text"),
        ("story_timeout = 0\n", 1, "from 1 to 1440"),
        ("\nstory_timeout = 121\n", 2, "set story_timeout_cap to 121 or more"),
        ("\n\nstory_timeout_cap = 29\n", 3, "above its cap"),
        ("max_review_rounds = 0\n", 1, "from 1 to 10"),
        ("max_check_fixes = 11\n", 1, "from 0 to 10"),
        ("check_timeout = 0\n", 1, "from 1 to 1440"),
        ("max_cost = 0\n", 1, "above 0, up to 100000"),
        ("max_cost = -1.5\n", 1, "above 0"),
        ("\nmax_cost = nan\n", 2, "above 0"),
        ("max_cost = inf\n", 1, "above 0"),
        ("max_cost = true\n", 1, "above 0"),
        ('max_cost = "5"\n', 1, "above 0"),
        ("max_hours = 9000\n", 1, "up to 8760"),
        ('retrospective = "maybe"\n', 1, '"offer", "run", "never"'),
        ('[gates]\nallow = ["/etc/*"]\n', 2, "no file of the project"),
        ('[gates]\nallow = ["a/../../b"]\n', 2, "no file of the project"),
        ('[gates]\nallow = ["!a"]\n', 2, "no file of the project"),
        ('[answers]\n\ndev-stroy = ["x"]\n', 3, "did you mean `dev-story`?"),
        (f'[answers]\nall = ["x"]\ndev-story = {["y"] * 12}\n', 3, "at most 12, those of `all` included"),
        (f"[answers]\nall = {['y'] * 13}\n", 2, "at most 12"),
        (f'[answers]\nall = ["{"x" * 501}"]\n', 2, "at most 500 characters"),
        ("answers = 3\n", 1, "must be a table"),
        ("[answers]\nall = 3\n", 2, "list of texts"),
        ("[answers.all]\nx = 3\n", 1, "list of texts"),
        ("bypass_permissions = 1\n", 1, "true or false"),
        ('bypass_permissions = "yes"\n', 1, "true or false"),
        ('[environment]\npass = ["A=b"]\n', 2, "no variable's name"),
        ('[environment]\npass = ["*"]\n', 2, "no variable's name"),
        ('agent = "mine"\n', 1, '"cursor"'),
        ('agent = "mone"\n[agents.mine]\ncommand = "x"\n', 1, "did you mean `mine`?"),
        ('[roles.qa]\n\nagent = "mone"\n[agents.mine]\ncommand = "x"\n', 3, "did you mean `mine`?"),
        ('\nfallback = "codexx"\n', 2, "did you mean `codex`?"),
        ('[roles.qa]\nfallback = "mine"\n', 2, "has an unknown value"),
        ("fallback = true\n", 1, "must be a text"),
        ('[roles.qa]\nlauncher = "box"\n', 2, "a [launchers.NAME] table"),
        ('[roles.qa]\nlauncher = "bux"\n[launchers.box]\nkind = "devcontainer"\n', 2, "did you mean `box`?"),
        ('[agents.mine]\ncommand = "x"\nlauncher = "box"\n', 3, "a [launchers.NAME] table"),
        ('[agents.mine]\ncommand = "x"\nskills = "mine"\n', 3, '"claude"'),
        ('[agents.mine]\ncommand = "x"\ncompletion = "never"\n', 3, '"exit", "evidence"'),
        ("agents = 3\n", 1, "must be a table"),
        ("[agents]\nmine = 3\n", 2, "must be a table"),
        ("\n[agents.mine]\n", 2, "`agents.mine.command` is needed"),
        ("[agents.mine]\n\ncommand = []\n", 3, "`agents.mine.command` is needed"),
        ('[agents.claude]\ncommand = "x"\n', 1, "[agents.my-claude]"),
        ('[agents."../x"]\ncommand = "x"\n', 1, "cannot be used"),
        ('[agents.Mine]\ncommand = "x"\n', 1, "cannot be used"),
        (f'[agents.{"x" * 41}]\ncommand = "x"\n', 1, "cannot be used"),
        ("".join(f'[agents.a{n}]\ncommand = "x"\n' for n in range(51)), 1, "too many tables"),
        ('[agents.mine]\nstop = "y"\ncommand = ["x", "{promt}"]\n', 3, "did you mean `{prompt}`?"),
        ('[agents.mine]\ncommand = "x"\nstop = ["x", "{prompt}"]\n', 3, "unknown placeholder"),
        ('[agents.mine]\ncommand = "x {prompt}"\n', 2, "shell = true"),
        ('[agents.mine]\ncommand = ["x", "y"]\nshell = true\n', 2, "one text"),
        ("[agents.mine]\nshell = true\ncommand = 'x \"to do: {prompt}\"'\n", 3, "inside quotes"),
        ("\n[launchers.box]\n", 2, "needs a `kind` or an `argv`"),
        ('[launchers.box]\nkind = "podman"\n', 2, '"devcontainer", "docker", "ssh"'),
        ('[launchers.box]\nkind = "docker"\n', 1, "`launchers.box.target` is needed"),
        ('[launchers.box]\nargv = ["x", "{target}"]\n', 1, "`launchers.box.target` is needed"),
        ('[launchers.box]\nkind = "ssh"\ntarget = "-oProxyCommand=x"\n', 3, "no name of a container or host"),
        ('[launchers.box]\nkind = "ssh"\ntarget = "a b"\n', 3, "no name of a container or host"),
        ('[launchers.box]\nkind = "ssh"\ntarget = "-A"\n', 3, "no name of a container or host"),
        ('[launchers.box]\nargv = ["x", "{prompt}"]\n', 2, "{worktree}, {name}, {attempt}, {target}"),
        ('[launchers.box]\nargv = ["{name}"]\n', 2, "begins with no program"),
    ],
)
def test_a_wrong_value_is_refused_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    error = refused(tmp_path, text)
    assert words in str(error)
    assert error.location is not None
    assert error.location.line == line


def test_one_command_may_stand_without_a_list(tmp_path: Path) -> None:
    assert config(tmp_path, '[commands]\ntest = "make test"\n').commands.test == ("make test",)


def test_a_folder_in_place_of_the_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bmad-autopilot.toml").mkdir()
    with pytest.raises(FileError, match="a directory"):
        config(tmp_path)


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(raw)
    place: Location | None = Location("read")
    try:
        assert isinstance(read_config(str(path)), Config)
    except FileError as error:
        place = error.location
    assert place is not None


# The texts

texts = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=20).filter(str.strip)
lists = st.lists(texts, max_size=3).map(tuple)


@given(st.builds(Commands, st.none() | texts, lists, lists, lists))
def test_the_written_file_reads_back_as_what_was_detected(
    tmp_path_factory: pytest.TempPathFactory, detected: Commands
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.toml"
    path.write_text(render_config(detected))
    install, check, test, build = detected  # what was not found is left to be detected
    found = CommandSettings(install, check or None, test or None, build or None)
    assert read_config(str(path)) == Config(path=str(path), commands=found)


_SHOWN = re.compile(r"^# ([\w-]+ = .*)$", re.MULTILINE)
_IS_EXAMPLE = re.compile(r"   # (?:example|default of each )[^\"]*$")


@pytest.mark.parametrize("detected", [Commands(), Commands("npm ci", ("a",), ("b",), ("c",))])
def test_a_line_shown_as_a_default_changes_nothing_when_it_is_set(tmp_path: Path, detected: Commands) -> None:
    text = render_config(detected)
    before = config(tmp_path, text)
    shown = [found for found in _SHOWN.finditer(text) if not _IS_EXAMPLE.search(found[1])]
    assert {"workflow", "parallel", "labels", "allow", "keep"} <= {found[1].split()[0] for found in shown}
    for found in shown:
        assert config(tmp_path, text[: found.start()] + found[1] + text[found.end() :]) == before, found[1]
    every = _SHOWN.sub(lambda found: found[0] if _IS_EXAMPLE.search(found[1]) else found[1], text)
    assert config(tmp_path, every) == before


def test_a_key_without_a_default_is_shown_as_an_example() -> None:
    lines = render_config(Commands()).splitlines()
    for key in KEYS:
        if key.default is None:
            assert any(line.startswith(f"# {key.name} = ") and _IS_EXAMPLE.search(line) for line in lines), key
    assert "# max_cost = 20.0   # example; no limit by default" in lines
    assert '# test = ["…"]   # example; detected by default' in lines


def test_every_default_in_the_written_file_is_a_valid_setting() -> None:
    shown = re.sub(r"^# (\w+ = |\[)", r"\1", render_config(Commands()), flags=re.MULTILINE)
    data = load_toml(TextFile("shown", shown.encode()))
    tables = {key.table.split(".")[0] for key in KEYS if key.table}
    assert data.keys() == tables | {key.name for key in KEYS if not key.table}
    for table in USER_TABLES.values():
        head, name = table.split(".")
        inner = data[head]
        assert isinstance(inner, dict)
        if head not in ("answers", "unattended", "depends"):  # its values are no tables
            assert inner[name].keys() == {key.name for key in KEYS if key.table == table}


def test_what_init_writes_sets_nothing_but_commands() -> None:
    """Then nothing but the file itself is read: `bmad status` imports no rules."""
    data = load_toml(TextFile("written", render_config(Commands(test=("make test",))).encode()))
    assert data.pop("commands") == {"test": ["make test"]}
    assert data.pop("roles") == {role: {} for role in ROLES}
    assert not any(data.values())
    assert not USER_TABLES.keys() & data.keys()


def test_every_key_has_a_sentence() -> None:
    for key in KEYS:
        assert key.doc[0].isupper()
        assert key.doc.endswith(".")


def test_every_default_of_a_choice_is_one_of_them() -> None:
    for key in KEYS:
        assert not key.allowed or key.default is None or key.default in key.allowed
        assert key.type != BOOL or key.default in (True, False)


def test_every_agent_has_an_adapter_skills_and_a_package() -> None:
    assert AGENTS == AGENT_NAMES
    assert set(AGENTS) == CLIENTS.keys() == PACKAGES.keys()


def test_the_examples_of_the_documentation_are_valid(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "configuration.md").read_text()
    examples = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        config(tmp_path, example)


def test_the_documentation_holds_the_current_table() -> None:
    page = (REPOSITORY / "docs" / "configuration.md").read_text()
    assert render_table() in page, "put the output of config_template.render_table() into docs/configuration.md"
