"""The commands of permissions.py, as data: beginnings of commands, word by word."""

# Reading, and committing on the branch that is there. No other branch, no remote, no settings, nothing that loses
# work; no stash, which all worktrees of a project share.
GIT = (
    *("status", "diff", "log", "show", "blame", "grep", "ls-files", "ls-tree", "rev-parse", "rev-list"),
    *("merge-base", "describe", "shortlog", "cat-file", "diff-tree", "diff-index", "name-rev", "check-ignore"),
    *(
        "symbolic-ref --short HEAD",
        "branch --show-current",
        "branch --list",
        "branch -a",
        "branch -v",
        "tag --list",
    ),
    *("add", "commit", "mv", "rm", "restore", "checkout --", "apply", "--version"),
)

# No find, xargs, tee and env: one wrong word runs, writes or deletes far away.
READERS = (
    *("ls", "cat", "head", "tail", "wc", "grep", "egrep", "rg", "tree", "file", "stat", "du", "df", "pwd", "cd"),
    *(
        "diff",
        "cmp",
        "sort",
        "uniq",
        "cut",
        "tr",
        "nl",
        "comm",
        "column",
        "jq",
        "awk",
        "sed",
        "xxd",
        "od",
        "strings",
    ),
    *("echo", "printf", "true", "test", "seq", "date", "uname", "nproc", "id", "whoami", "printenv", "export"),
    *("which", "command -v", "type", "basename", "dirname", "realpath", "readlink", "sha256sum", "md5sum"),
    *("mkdir", "touch", "mktemp", "chmod +x"),
)

# Files at the top of a project, and the programs they stand for.
PROGRAMS_OF = {
    "package.json": "npm npx node",
    "pnpm-lock.yaml pnpm-workspace.yaml": "pnpm",
    "yarn.lock .yarnrc.yml": "yarn",
    "bun.lock bun.lockb": "bun bunx",
    "tsconfig.json": "tsc",
    "deno.json deno.jsonc": "deno",
    "pyproject.toml setup.py setup.cfg requirements.txt Pipfile tox.ini": (
        "python python3 pip pip3 pytest ruff mypy black tox nox coverage .venv/bin/python .venv/bin/pip "
        ".venv/bin/pytest .venv/bin/ruff .venv/bin/mypy"
    ),
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pdm.lock": "pdm",
    "Pipfile": "pipenv",
    "manage.py": "./manage.py",
    "Cargo.toml": "cargo rustc rustfmt",
    "go.mod go.work": "go gofmt golangci-lint",
    "pom.xml": "mvn",
    "mvnw": "./mvnw",
    "build.gradle build.gradle.kts settings.gradle settings.gradle.kts": "gradle",
    "gradlew": "./gradlew",
    "*.sln *.slnx *.csproj *.fsproj": "dotnet",
    "composer.json": "composer php vendor/bin/phpunit vendor/bin/phpstan vendor/bin/pest ./vendor/bin/phpunit",
    "Gemfile": "bundle rake rspec ruby bin/rails",
    "mix.exs": "mix",
    "pubspec.yaml": "dart flutter",
    "Package.swift": "swift",
    "CMakeLists.txt": "cmake ctest",
    "Makefile makefile GNUmakefile": "make",
    "justfile Justfile": "just",
    "Taskfile.yml Taskfile.yaml": "task",
    "nx.json": "nx",
    "turbo.json": "turbo",
}

# Programs that run what they are given: alone they would open everything.
RUNNERS = frozenset(
    "python node ruby perl php bash sh zsh dash fish pwsh java tsx ts-node xargs parallel watch dotenv".split()
)
# These only stand before a command; how many words they take.
WRAPPERS = {"env": 1, "time": 1, "nice": 1, "nohup": 1, "xvfb-run": 1, "timeout": 2}

# How many words say what a command does, where it is not the first alone.
NUMBER_OF_WORDS = {
    **dict.fromkeys(
        "npm pnpm yarn bun npx pnpx bunx deno uv poetry pdm pipenv pip pip3 hatch cargo go".split(), 2
    ),
    **dict.fromkeys("mvn mvnw gradle gradlew dotnet composer mix bundle rake swift dart flutter".split(), 2),
    **dict.fromkeys("git gem lerna make just task nx turbo docker podman terraform".split(), 2),
    **{
        f"{program} run": 3 for program in ("npm", "pnpm", "yarn", "bun", "uv", "poetry", "pdm", "pipenv", "hatch")
    },
    **{f"{program} exec": 3 for program in ("npm", "pnpm", "yarn", "bundle")},
    **dict.fromkeys(("deno task", "docker compose", "corepack pnpm", "corepack yarn"), 3),
}

# Whatever else is allowed, also where everything is.
DENIED = (
    *("git push", "git fetch", "git pull", "git remote", "git config", "git worktree", "git update-ref"),
    *("git reset --hard", "git clean", "git stash", "git switch", "git rebase", "git filter-branch", "git reflog"),
    *("git credential", "git submodule", "git send-email", "gh", "glab", "hub"),
    *("sudo", "su", "doas", "ssh", "scp", "sftp", "ssh-add"),
    *(
        f"{program} {verb}"
        for program in ("npm", "pnpm", "yarn", "bun")
        for verb in ("publish", "login", "logout")
    ),
    *("npm adduser", "npm unpublish", "npm token", "npm owner", "npm access", "npm dist-tag", "npm deprecate"),
    *("yarn npm publish", "yarn npm login", "deno publish", "lerna publish", "npx lerna publish"),
    *("uv publish", "uv auth", "poetry publish", "poetry config", "pdm publish", "hatch publish", "twine"),
    *("python -m twine", "python3 -m twine", "pip config", "pip3 config"),
    *("cargo publish", "cargo login", "cargo logout", "cargo owner", "cargo yank"),
    *("mvn deploy", "./mvnw deploy", "gradle publish", "./gradlew publish", "dotnet nuget push"),
    *("gem push", "gem signin", "mix hex.publish", "mix hex.user", "dart pub publish", "flutter pub publish"),
    *("docker push", "docker login", "podman push", "podman login"),
)
