"""Record what a release leaves on disk, for the tests that resume it with the next release.

    /path/to/that/release/.venv/bin/python scripts/upgrade_fixture.py [FOLDER]

Run it with the interpreter of the release to record: it uses the `bmad_autopilot` package of that interpreter.
FOLDER is `tests/upgrade/VERSION` of this repository unless it is named, and is written anew.

Each case is a sample project that is stopped halfway in a temporary folder and stored as

    repository.bundle   all refs, those under refs/autopilot/ too; under refs/unreachable/ what no ref holds
    case.json           the checkouts with their branches, tracked files they lack, sizes of blank files
    git/…               files of the git directory that git itself did not write: locks, notes, settings
    CHECKOUT/…          files that differ from the checkout's HEAD: run directories, state files, work

`{ROOT}` stands for the temporary folder and `{HOST}` for the machine's name. The projects' own settings name the
programs `scripted-agent` and `sample-python`, which are found on PATH: no bundle holds a path of this machine, and
digests of settings stay true. A stored file whose name ends in `.py` gets `.txt` behind it, so that no tool takes
it for code of this repository. `tests/upgrade/restore.py` puts a case back.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bmad_autopilot import __version__
from bmad_autopilot.project.config_schema import KEYS
from bmad_autopilot.project.project import open_project
from bmad_autopilot.sim.sample import BOARD, IMPLEMENTATION, make_sample

REPOSITORY = Path(__file__).resolve().parent.parent
SECONDS = 60.0  # until a command is where it is stopped
ROOT, HOST = "{ROOT}", "{HOST}"
RUNS = "_bmad-output/.runs/main"
UNREACHABLE = "refs/unreachable"

# What git keeps in its directory itself. The bundle and `git init` bring it back.
_GITS_OWN = (
    *("objects", "refs", "logs", "hooks", "branches", "worktrees"),
    *("HEAD", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "packed-refs", "index", "description"),
    *("gitdir", "commondir"),
)

# `hold-NAME`: calls whose name ends so write half of a module, report their process and wait to be killed.
# `draft-NAME`: such calls write half of a module first.
AGENT = """\
#!/bin/sh
name=$1
shift
for kind in hold draft; do
  for file in "{root}/$kind"-*; do
    case "$name" in *"${{file##*/$kind-}}")
      printf '# Half of a module.\\n' > "src/ledger/$(cat "$file").py"
      if [ $kind = hold ]; then echo $$ > "{root}/held"; exec sleep 600; fi;;
    esac
  done
done
exec {python} -m bmad_autopilot.sim.agent "$@"
"""
PYTHON = '#!/bin/sh\nexec {python} "$@"\n'
HABIT_COMMAND = ["scripted-agent", "{name}", "--habit"]

# Leaves what a step of the flow must produce, and counts its calls where git does not look.
FLOW_AGENT = r"""
import os, re, sys
name = re.search(r"This is step \d+ of \d+, `([^`]+)`", sys.stdin.read())[1]
LEFT = {
    "Problem": ["00_problem/problem.md", "00_problem/restrictions.md", "00_problem/acceptance_criteria.md",
                "00_problem/input_data/sample.csv"],
    "Research": ["01_solution/solution_draft01.md"],
    "Plan": ["02_document/architecture.md", "02_document/FINAL_report.md"],
    "Decompose": ["02_tasks/todo/01_first.md"],
}
for path in LEFT[name]:
    os.makedirs(os.path.dirname(f"_docs/{path}"), exist_ok=True)
    with open(f"_docs/{path}", "w") as file:
        file.write("# First\n\n**Task**: 01_first\n**Complexity**: 3 points\n**Dependencies**: none\n\nDo it.\n")
if name == "Decompose":
    with open("_docs/02_tasks/_dependencies_table.md", "w") as file:
        file.write("| Task | Name | Complexity | Dependencies |\n|---|---|---|---|\n")
        file.write("| 01 | 01_first | 3 | none |\n")
with open(".git/ran", "a") as file:
    file.write(name + "\n")
"""
WORKFLOW = """\
name: notes
variables:
  since: v1.0
steps:
  - step: collect
    run: |
      echo collect >> .git/ran
      printf '{"changes": "since %s"}' {since} > "$BMAD_VARIABLES"
    checkpoint:
      save: true
      variables_to_persist: [changes]
  - step: publish
    run: |
      test -e .git/ready
      echo publish {changes} >> .git/ran
"""


# Every key of bmad-autopilot.toml, with a value that is not the default.
SETTINGS = r"""
board = "boards/sprint-status.yaml"
workflow = "careful"
agent = "instance"
fallback = "codex"
base_branch = "trunk"
delivery = "local"
merge = "manual"
require_review = "human"
require_checks = false
dependencies = "declared"
parallel = 3
stale_days = 14
story_timeout = 45
story_timeout_cap = 240
stall_limit = 20
check_timeout = 25
max_review_rounds = 4
max_check_fixes = 2
max_cost = 12.5
max_hours = 8
retrospective = "run"
human_checkpoint = "after_each_epic"
bypass_permissions = true

[roles.sm]
agent = "claude"
model = "haiku"
launcher = "box"
fallback = "gemini"

[roles.dev]
agent = "codex"
model = "large"
launcher = "pod"
fallback = "opencode"

[roles.revisor]
agent = "gemini"
model = "pro"
launcher = "box"
fallback = "copilot"

[roles.qa]
agent = "cursor"
model = "careful"
launcher = "pod"
fallback = "claude"

[commands]
install = "npm ci"
check = ["npm run lint", "npm run typecheck"]
test = ["npm test"]
build = ["npm run build"]

[github]
check_interval = 15
check_grace = 90
review_patience = 40
check_patience = 50
approval_patience = 12
max_rounds = 4
max_pending = 2
rerun_failed = false
mend_first = false
conflicts = "agent"
trusted = ["octocat"]
labels = ["robot"]
remote = "upstream"

[depends]
"3" = ["1", "2"]
"4" = ["2.5"]

[worktrees]
folder = "../lanes"
copy = [".env", "config/local.*"]
post_create = ["npm ci", "npm run generate"]
keep = true

[permissions]
allow = ["Bash(docker compose:*)"]

[environment]
pass = ["DATABASE_URL", "AWS_*"]

[gates]
allow = [".github/workflows/docs.yml"]

[answers]
dev-story = ["Use the standard library."]
all = ["Amounts are whole cents."]

[unattended]
timeout = "extend"
all = "skip"

[[standing_answers]]
question = "which (database|store)"
answer = "Postgres"
story = "1-*"

[[standing_answers]]
question = "licen[cs]e"
answer = "MIT"

[flows]
files = ["flows/release.yaml"]

[workflows.careful]
steps = ["create-story", "dev", "document", "polish", "code-review"]

[steps.document]
role = "sm"
skill = "document-project"
prompt = "Describe what {story} adds."
owes = "nothing"

[steps.polish]
role = "revisor"
prompt_file = "prompts/polish.md"
owes = "code"
before = "in-progress"
after = "review"
clean = true

[agents.instance]
command = ["./scripts/instance", "create", "{name}", "--prompt", "{prompt}"]
stop = ["./scripts/instance", "stop", "{name}"]
completion = "evidence"
skills = "codex"
launcher = "box"

[agents.shell]
command = "source ./env.sh && my-agent {prompt}"
shell = true

[launchers.box]
kind = "docker"
target = "my-container"

[launchers.pod]
argv = ["kubectl", "exec", "-i", "{target}", "--"]
target = "builder-0"
stop = ["kubectl", "delete", "pod", "{target}"]
"""
BESIDE_SETTINGS = {
    "flows/release.yaml": (
        "flow:\n  name: release\n  does: Publishes a release\n  state: release/_state.md\n"
        "steps:\n  - step: notes\n    instructions: Write the notes.\n    done: release/notes.md\n"
    ),
    "prompts/polish.md": "Polish {story}.\n",
}
# The bash autopilot's own file counts where bmad-autopilot.toml sets nothing.
LEGACY = """\
AUTOPILOT_DEBUG=1
AUTOPILOT_VERBOSE=1
AUTOPILOT_RUN_MOBILE_NATIVE=0
AUTOPILOT_BASE_BRANCH="develop"
MAX_TURNS=80
CHECK_INTERVAL=20
MAX_CHECK_WAIT=90
MAX_COPILOT_WAIT=30
MAX_PENDING_PRS=3
PARALLEL_MODE=2
PARALLEL_CHECK_INTERVAL=45
"""


class Stage:
    """A temporary folder with one project, `work`, and an environment that shows nothing of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.environment = {
            "PATH": f"{root / 'bin'}:{os.environ['PATH']}",
            "HOME": str(root / "home"),
            "TMPDIR": str(root / "tmp"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        for name in ("home", "tmp"):
            (root / name).mkdir()
        for name, text in (("scripted-agent", AGENT), ("sample-python", PYTHON)):
            self.write(root / "bin" / name, text.format(root=root, python=sys.executable)).chmod(0o755)

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def make(
        self, epics: int, stories: int, habit: str, top: str = "", more: Mapping[str, str] | None = None
    ) -> None:
        """A sample project, with these further files, whose settings name no path."""
        make_sample(str(self.work), epics, stories)
        command = json.dumps([*HABIT_COMMAND, habit])
        settings = (
            f'agent = "scripted"\n{top}\n[agents.scripted]\ncommand = {command}\n\n'
            '[commands]\ntest = ["sample-python check.py"]\n'
        )
        for path, text in {"bmad-autopilot.toml": settings, **(more or {})}.items():
            (self.work / path).write_text(text)
        # make_sample has committed the interpreter's path: its commit is replaced.
        self.git("add", "--all")
        self.git("commit", "--quiet", "--amend", "--no-edit")
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("prune", "--expire=now")

    def make_empty(self, settings: str) -> None:
        """A repository with these settings and nothing else."""
        self.write(self.work / "bmad-autopilot.toml", settings)
        for words in (
            ("init", "--quiet", "--initial-branch", "main"),
            ("config", "user.name", "Sample"),
            ("config", "user.email", "sample@example.invalid"),
            ("add", "--all"),
            ("commit", "--quiet", "--message", "Begin"),
        ):
            self.git(*words)

    def git(self, *words: str, at: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=at or self.work, env=self.environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "bmad_autopilot", *words],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str, code: int) -> None:
        process = self.start(*words)
        out, _ = process.communicate(timeout=SECONDS)
        if process.returncode != code:
            raise SystemExit(f"bmad {' '.join(words)}: exit code {process.returncode}, expected {code}\n{out}")

    def kill_at(self, is_there: Callable[[], bool], *words: str) -> None:
        """Start this command, wait for the moment, then kill it with its agents: no process writes a result."""
        process = self.start(*words)
        deadline = time.monotonic() + SECONDS
        while not is_there() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        is_early = process.poll() is not None
        process.kill()
        for pid in self._processes():
            os.kill(pid, signal.SIGKILL)
        out, _ = process.communicate(timeout=SECONDS)
        if is_early or not is_there():
            raise SystemExit(f"bmad {' '.join(words)} did not come to where it is stopped\n{out}")
        while self._processes():
            time.sleep(0.02)

    def _processes(self) -> list[int]:
        """Processes whose environment names this stage. A shim comes before the agent that it supervises."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                environment = Path("/proc", name, "environ").read_bytes()
            except OSError:
                continue
            if f"{self.root}/".encode() in environment:
                found.append(int(name))
        return sorted(found)


def story(stage: Stage) -> None:
    """A story whose agent asks, in a checkout with a changed and an untracked file of the user's."""
    stage.make(1, 1, "asking")
    stage.write(stage.root / "draft-2-1", "list_accounts")
    stage.write(stage.work / "notes.txt", "Mine, and not for git.\n")
    readme = stage.work / "README.md"
    readme.write_text(f"{readme.read_text()}\nChanged by the user, not committed.\n")
    stage.run("run-story", "1-1", "--allow-dirty", code=3)


def epic(stage: Stage) -> None:
    """An epic killed during a call: the user has done its first story, the run its second, the third is in dev."""
    stage.make(1, 3, "honest")
    board = stage.work / BOARD
    board.write_text(board.read_text().replace("1-1-list-accounts: backlog", "1-1-list-accounts: done"))
    page = "# Story 1.1: List accounts\n\nStatus: done\n\n## Acceptance Criteria\n\n1. Done by hand.\n"
    stage.write(stage.work / IMPLEMENTATION / "1-1-list-accounts.md", page)
    stage.git("add", "--all")
    stage.git("commit", "--quiet", "--message", "List accounts by hand")
    stage.write(stage.work / "notes.txt", "Mine, and not for git.\n")
    stage.write(stage.root / "hold-1-3-search-accounts-5-1", "search_accounts")
    stage.kill_at((stage.root / "held").exists, "run-epic", "1")


def flight(stage: Stage) -> None:
    """Two epics in worktrees with local delivery: one killed in dev, one waits for an answer."""
    top = 'delivery = "local"\nmerge = "auto"\ndependencies = "none"\n'
    stage.make(2, 1, "honest,asking:2-1", top)
    stage.write(stage.work / "notes.txt", "Mine, and not for git.\n")
    stage.write(stage.root / "hold-1-1-list-accounts-2-1", "list_accounts")

    def is_there() -> bool:
        waits = [
            path for path in stage.work.glob(f"{RUNS}/epic-2-*/journal.jsonl") if '"waiting"' in path.read_text()
        ]
        return bool(waits) and (stage.root / "held").exists()

    stage.kill_at(is_there, "autopilot", "--parallel", "2")


def flow(stage: Stage) -> None:
    """The greenfield flow at the gate of Research."""
    agent = '[agents.stub]\ncommand = ["sample-python", ".git/agent.py"]\n'
    stage.make_empty(f'agent = "stub"\n\n{agent}\n[commands]\ntest = ["true"]\n')
    stage.write(stage.work / ".git" / "agent.py", FLOW_AGENT)
    stage.run("flow", "run", "greenfield", code=3)


def workflow(stage: Stage) -> None:
    """A workflow file: its first step is checkpointed, its second waits for a person."""
    stage.make(1, 1, "honest", more={"notes.yaml": WORKFLOW})
    stage.run("workflow", "run", "notes.yaml", "--var", "since=v2.0", code=3)


def protocol(stage: Stage) -> None:
    """A workflow that bmad does not drive, checkpointed by its agent."""
    stage.make(1, 1, "honest", more={"brief.md": "# Brief\n"})
    first = (
        "checkpoint",
        "save",
        "--workflow",
        "create-prd",
        "--step",
        "1",
        "--total",
        "8",
        "--var",
        "project=shop",
    )
    stage.run(*first, code=0)
    stage.run("checkpoint", "update", "--step", "1", "--artefact", "brief.md", "--note", "no accounts", code=0)


CASES = (story, epic, flight, flow, workflow, protocol)


def store(stage: Stage, folder: Path) -> None:
    """The project as a bundle and text files without paths of this machine."""
    folder.mkdir(parents=True)
    for line in stage.git("fsck", "--unreachable", "--no-reflogs", "--no-progress").splitlines():
        sha = line.split()[-1]
        stage.git("update-ref", f"{UNREACHABLE}/{sha}", sha)
    stage.git("bundle", "create", "--quiet", str(folder / "repository.bundle"), "--all")
    stored = _Stored(stage, folder)
    checkouts = [_store_checkout(stage, place, stored) for place in _checkouts(stage)]
    for path in _files(stage.work / ".git"):
        stored.add(path, Path("git") / path.relative_to(stage.work / ".git"))
    case = {"checkouts": checkouts, "blank": stored.blank}
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")


def _checkouts(stage: Stage) -> list[Path]:
    """The main one first."""
    lines = stage.git("worktree", "list", "--porcelain").splitlines()
    return [Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree ")]


def _store_checkout(stage: Stage, place: Path, stored: "_Stored") -> dict[str, Any]:
    name = place.relative_to(stage.root)
    if stage.git("diff-index", "--cached", "HEAD", at=place):
        raise SystemExit(f"{name}: an index that differs from HEAD cannot be stored")
    changed = set(filter(None, stage.git("ls-files", "-z", "--modified", "--others", at=place).split("\0")))
    removed = set(filter(None, stage.git("ls-files", "-z", "--deleted", at=place).split("\0")))
    for changed_path in sorted(changed - removed):
        stored.add(place / changed_path, name / changed_path)
    admin = Path(stage.git("rev-parse", "--absolute-git-dir", at=place).strip())
    for path in _files(admin) if place != stage.work else ():
        stored.add(path, Path("git", "worktrees", admin.name) / path.relative_to(admin))
    branch = stage.git("symbolic-ref", "--short", "HEAD", at=place).strip()
    return {"path": str(name), "branch": branch, "removed": sorted(removed)}


def _files(folder: Path) -> Iterator[Path]:
    """Files of a git directory that git itself did not write."""
    for top in sorted(folder.iterdir()):
        if top.name not in _GITS_OWN:
            yield from (top,) if top.is_file() else sorted(path for path in top.rglob("*") if path.is_file())


class _Stored:
    """The text files of a case."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self._root = str(stage.root)
        self._folder = folder
        self.blank: dict[str, int] = {}  # files of zeros only, which hold room on the disk

    def add(self, path: Path, name: Path) -> None:
        if path.is_symlink():
            raise SystemExit(f"{path}: a link cannot be stored")
        raw = path.read_bytes()
        if raw and not raw.strip(b"\0"):
            self.blank[str(name)] = len(raw)
            return
        text = raw.decode("utf-8").replace(self._root, ROOT)
        text = text.replace(f'"host": {json.dumps(socket.gethostname())}', f'"host": "{HOST}"')
        target = self._folder / (f"{name}.txt" if name.suffix == ".py" else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8"))


def store_settings(folder: Path) -> None:
    """Settings files, each with the values that this release reads from them."""
    for name, files in (
        ("full", {"bmad-autopilot.toml": SETTINGS, **BESIDE_SETTINGS}),
        ("legacy", {".autopilot/config": LEGACY, "bmad-autopilot.toml": 'agent = "codex"\n'}),
    ):
        for path, text in files.items():
            place = folder / name / "files" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        with tempfile.TemporaryDirectory() as root:
            shutil.copytree(folder / name / "files", root, dirs_exist_ok=True)
            (Path(root) / ".git").mkdir()
            values = plain(open_project(root).config, root)
        (folder / name / "values.json").write_text(json.dumps(values, indent=1, sort_keys=True) + "\n")


def missing_settings() -> list[str]:
    """Keys that this release knows and SETTINGS does not set."""
    return sorted({key.full_name for key in KEYS} - set(_names_in_settings()))


def _names_in_settings() -> Iterator[str]:
    """As the schema calls them: `roles.sm.agent`, `agents.NAME.command`, `depends.EPIC`."""
    open_tables = {key.table.partition(".")[0]: key.table for key in KEYS if key.table.endswith(".NAME")}
    single = {key.table: key.name for key in KEYS if key.name.isupper()}
    for table, value in tomllib.loads(SETTINGS).items():
        if not isinstance(value, dict | list):
            yield table
        for row in value if isinstance(value, list) else [value]:
            for name, inner in row.items() if isinstance(row, dict) else ():
                if table in single:
                    yield f"{table}.{single[table]}"
                elif isinstance(inner, dict):
                    yield from (f"{open_tables.get(table, f'{table}.{name}')}.{word}" for word in inner)
                else:
                    yield f"{table}.{name}"


def plain(value: Any, root: str) -> Any:
    """A record of settings as JSON: records and mappings are objects, paths begin with {ROOT}."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(inner, root) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): plain(inner, root) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, root) for inner in value]
    if isinstance(value, bytes):
        return value.decode()
    return value.replace(root, ROOT) if isinstance(value, str) else value


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else REPOSITORY / "tests" / "upgrade" / __version__
    if missing := missing_settings():
        raise SystemExit(f"add to SETTINGS, with a value that is not the default: {', '.join(missing)}")
    shutil.rmtree(folder, ignore_errors=True)
    for case in CASES:
        with tempfile.TemporaryDirectory() as root:
            stage = Stage(Path(root).resolve())
            case(stage)
            store(stage, folder / case.__name__)
        print(f"{case.__name__}: {case.__doc__}")
    store_settings(folder / "settings")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
