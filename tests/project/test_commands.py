"""The project's own commands, from what its files say."""

import json
from pathlib import Path

import pytest

from bmad_autopilot.project.commands import detect_commands, resolve_commands
from bmad_autopilot.project.config import Commands, CommandSettings
from tests.project.trees import lay, write


def package(**parts: object) -> str:
    return json.dumps(parts)


def detected(root: Path) -> Commands:
    return detect_commands(str(root))


@pytest.mark.parametrize(
    ("files", "install", "test"),
    [
        (["package-lock.json"], "npm ci", "npm run test"),
        (["npm-shrinkwrap.json"], "npm ci", "npm run test"),
        (["pnpm-lock.yaml"], "pnpm install --frozen-lockfile", "pnpm run test"),
        (["yarn.lock"], "yarn install --frozen-lockfile", "yarn run test"),
        (["yarn.lock", ".yarnrc.yml"], "yarn install --immutable", "yarn run test"),
        (["bun.lock"], "bun install --frozen-lockfile", "bun run test"),
        (["bun.lockb"], "bun install --frozen-lockfile", "bun run test"),
        ([], "npm install", "npm run test"),
    ],
)
def test_the_lock_file_names_the_package_manager(
    tmp_path: Path, files: list[str], install: str, test: str
) -> None:
    write(lay(tmp_path, *files), "package.json", package(scripts={"test": "vitest run"}))
    assert detected(tmp_path) == Commands(install, (), (test,), ())


def test_package_json_chooses_between_two_lock_files(tmp_path: Path) -> None:
    lay(tmp_path, "package-lock.json", "pnpm-lock.yaml")
    write(tmp_path, "package.json", package(packageManager="npm@10.2.0", scripts={}))
    assert detected(tmp_path).install == "npm ci"


def test_only_scripts_that_are_there_are_named(tmp_path: Path) -> None:
    scripts = {"lint": "eslint .", "typecheck": "tsc", "build": "vite build", "dev": "vite"}
    write(lay(tmp_path, "package-lock.json"), "package.json", package(scripts=scripts))
    assert detected(tmp_path) == Commands("npm ci", ("npm run lint", "npm run typecheck"), (), ("npm run build",))


def test_the_test_script_of_npm_init_is_none(tmp_path: Path) -> None:
    script = 'echo "Error: no test specified" && exit 1'
    write(tmp_path, "package.json", package(scripts={"test": script}))
    assert detected(tmp_path).test == ()


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"scripts": 3}', "\ufeff{}", "[" * 100_000])
def test_a_broken_package_json_names_no_script(tmp_path: Path, text: str) -> None:
    write(tmp_path, "package.json", text)
    assert detected(tmp_path)[1:] == ((), (), ())


@pytest.mark.parametrize(
    ("lock", "install", "run"),
    [
        ("uv.lock", "uv sync", "uv run "),
        ("poetry.lock", "poetry install", "poetry run "),
        ("pdm.lock", "pdm install", "pdm run "),
        ("Pipfile.lock", "pipenv sync --dev", "pipenv run "),
        ("requirements.txt", "pip install -r requirements.txt", ""),
        ("README.md", "pip install -e .", ""),
    ],
)
def test_python_runs_its_tools_by_its_package_manager(tmp_path: Path, lock: str, install: str, run: str) -> None:
    text = '[project]\nname = "x"\n[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n'
    write(lay(tmp_path, lock), "pyproject.toml", text)
    assert detected(tmp_path) == Commands(install, (f"{run}ruff check", f"{run}mypy ."), (f"{run}pytest",), ())


def test_what_the_checks_need_is_installed_too(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\n[project.optional-dependencies]\ndocs = []\ntest = []\ndev = []\n'
    write(tmp_path, "pyproject.toml", text)
    assert detected(tmp_path).install == "pip install -e '.[dev,test]'"
    lay(tmp_path, "requirements.txt", "requirements-dev.txt", "requirements-docs.txt")
    assert detected(tmp_path).install == "pip install -r requirements.txt -r requirements-dev.txt"


@pytest.mark.parametrize(
    ("files", "check", "test"),
    [
        (["ruff.toml", "mypy.ini", "pytest.ini"], ("ruff check", "mypy ."), ("pytest",)),
        (["tox.ini"], (), ("tox",)),
        (["noxfile.py"], (), ("nox",)),
        (["tox.ini", "conftest.py"], (), ("pytest",)),
        (["setup.py"], (), ()),
    ],
)
def test_pythons_tools_are_known_by_their_files(
    tmp_path: Path, files: list[str], check: tuple[str, ...], test: tuple[str, ...]
) -> None:
    assert detected(lay(tmp_path, *files)) == Commands(None, check, test, ())


def test_mypy_that_names_its_files_needs_none(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", '[tool.mypy]\npackages = ["x"]\n')
    assert detected(tmp_path).check == ("mypy",)


def test_a_broken_pyproject_says_nothing(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", "[tool.ruff\n")
    assert detected(tmp_path) == Commands()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["Cargo.toml"], Commands(None, ("cargo check --all-targets",), ("cargo test",), ("cargo build",))),
        (["go.mod"], Commands(None, ("go vet ./...",), ("go test ./...",), ("go build ./...",))),
        (["gradlew"], Commands(None, ("./gradlew check -x test",), ("./gradlew test",), ("./gradlew assemble",))),
        (
            ["pom.xml"],
            Commands(None, (), ("mvn --batch-mode test",), ("mvn --batch-mode package -DskipTests",)),
        ),
        (
            ["pom.xml", "mvnw"],
            Commands(None, (), ("./mvnw --batch-mode test",), ("./mvnw --batch-mode package -DskipTests",)),
        ),
        (["App.sln", "App.csproj"], Commands("dotnet restore", (), ("dotnet test",), ("dotnet build",))),
        (["App.csproj"], Commands("dotnet restore", (), (), ("dotnet build",))),
        (["composer.json", "phpunit.xml"], Commands("composer install", (), ("vendor/bin/phpunit",), ())),
        (["Gemfile", ".rspec"], Commands("bundle install", (), ("bundle exec rspec",), ())),
        (
            ["mix.exs"],
            Commands(
                "mix deps.get",
                ("mix format --check-formatted",),
                ("mix test",),
                ("mix compile --warnings-as-errors",),
            ),
        ),
        ([], Commands()),
    ],
)
def test_one_file_names_the_tool(tmp_path: Path, files: list[str], expected: Commands) -> None:
    assert detected(lay(tmp_path, *files)) == expected


def test_deno_has_tools_of_its_own_and_tasks(tmp_path: Path) -> None:
    write(tmp_path, "deno.json", package(tasks={"test": "deno test -A", "build": "x"}))
    assert detected(tmp_path) == Commands(None, ("deno lint",), ("deno task test",), ("deno task build",))


def test_a_makefile_stands_in_where_nothing_else_speaks(tmp_path: Path) -> None:
    write(tmp_path, "Makefile", "VAR := x\n.PHONY: test\ntest: build\n\trun\nlint:\nbuild :\nvar:=3\n")
    assert detected(tmp_path) == Commands(None, ("make lint",), ("make test",), ("make build",))
    lay(tmp_path, "go.mod")
    assert detected(tmp_path).test == ("go test ./...",)


def test_two_languages_are_both_named(tmp_path: Path) -> None:
    write(
        lay(tmp_path, "uv.lock", "pytest.ini", "package-lock.json"), "package.json", package(scripts={"test": "x"})
    )
    found = detected(tmp_path)
    assert (found.install, found.test) == ("npm ci && uv sync", ("npm run test", "uv run pytest"))


def test_a_folder_that_is_called_like_a_file_names_nothing(tmp_path: Path) -> None:
    lay(tmp_path, "package.json/", "Makefile/", "Cargo.toml/")
    assert detected(tmp_path) == Commands()


def test_a_missing_folder_has_no_commands(tmp_path: Path) -> None:
    assert detected(tmp_path / "missing") == Commands()


FOUND = Commands("npm install", ("npm run lint",), ("npm run test",), ("npm run build",))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (CommandSettings(), FOUND),
        (CommandSettings(test=("make test",)), FOUND._replace(test=("make test",))),
        (CommandSettings(install="make deps"), FOUND._replace(install="make deps")),
        (CommandSettings(check=("ruff",), build=("make",)), FOUND._replace(check=("ruff",), build=("make",))),
        (CommandSettings(build=()), FOUND._replace(build=())),
        (CommandSettings(check=(), test=(), build=()), Commands("npm install")),
        (CommandSettings("x", ("a",), ("b",), ("c",)), Commands("x", ("a",), ("b",), ("c",))),
    ],
)
def test_the_settings_replace_what_was_detected_key_by_key(
    tmp_path: Path, settings: CommandSettings, expected: Commands
) -> None:
    write(tmp_path, "package.json", package(scripts={"lint": "x", "test": "x", "build": "x"}))
    assert resolve_commands(str(tmp_path), settings) == expected
