from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.github.forge import ForgeError, Trouble
from bmad_autopilot.github.gh_forge import find_forge
from bmad_autopilot.github.gh_remote import Address, find_address, read_address
from bmad_autopilot.github.git import Git
from tests.github.repositories import Repository

WIDGETS = Address("github.com", "acme", "widgets")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://github.com/acme/widgets.git", WIDGETS),
        ("https://github.com/acme/widgets", WIDGETS),
        ("https://github.com/acme/widgets/", WIDGETS),
        ("https://user:secret@GitHub.com/acme/widgets.git", WIDGETS),
        ("http://github.com:8080/acme/widgets", WIDGETS),
        ("git@github.com:acme/widgets.git", WIDGETS),
        ("github.com:acme/widgets", WIDGETS),
        ("git@github.com:/acme/widgets.git", WIDGETS),
        ("ssh://git@github.com/acme/widgets.git", WIDGETS),
        ("ssh://git@ssh.github.com:443/acme/widgets.git", WIDGETS),
        ("git://github.com/acme/widgets.git", WIDGETS),
        ("git+ssh://git@github.com/acme/widgets.git", WIDGETS),
        ("https://github.com/acme/wid.gets", Address("github.com", "acme", "wid.gets")),
        ("ssh://git@git.example.com:2222/team/app.git", Address("git.example.com", "team", "app")),
        ("https://acme.ghe.com/team/app", Address("acme.ghe.com", "team", "app")),
        ("/srv/git/widgets.git", None),
        ("../widgets", None),
        ("file:///srv/git/widgets", None),
        ("C:\\repos\\widgets", None),
        ("https://github.com/acme", None),
        ("https://github.com/acme/widgets/extra", None),
        ("https://github.com/acme/..", None),
        ("https://github.com/-x/%2e%2e", None),
        ("git@github.com:acme", None),
        ("ext::sh -c touch% /tmp/x", None),
        ("https://[bad/acme/widgets", None),
        ("", None),
    ],
)
def test_an_address_is_read_from_every_form_of_a_url(url: str, address: Address | None) -> None:
    assert read_address(url) == address


@given(st.text(max_size=60))
def test_no_url_breaks_us(url: str) -> None:
    found = read_address(url)
    assert found is None or ("/" not in found.owner and "/" not in found.name)


def test_the_repository_is_found_by_its_remote(repository: Repository) -> None:
    repository.run("remote", "add", "origin", "git@github.com:acme/widgets.git")
    assert find_address(repository.git) == WIDGETS
    assert find_forge(repository.git).gh.host == "github.com"


def test_what_git_rewrites_is_read_as_rewritten_or_as_written(repository: Repository) -> None:
    repository.run("config", "url.git@github.com:.insteadOf", "gh:")
    repository.run("remote", "add", "origin", "gh:acme/widgets")
    assert find_address(repository.git) == WIDGETS
    repository.run("config", "url./srv/mirror/.insteadOf", "https://github.com/")
    repository.run("remote", "add", "mirror", "https://github.com/acme/widgets.git")
    assert find_address(repository.git, "mirror") == WIDGETS


def test_no_remote_says_how_to_add_one(repository: Repository) -> None:
    with pytest.raises(ForgeError, match="no remote origin") as caught:
        find_address(repository.git)
    assert caught.value.trouble is Trouble.MISSING
    assert caught.value.hint is not None
    assert "git remote add origin" in caught.value.hint


@pytest.mark.parametrize("url", ["/srv/git/widgets", "https://gitlab.com/a/b", "git@bitbucket.org:a/b.git"])
def test_another_forge_and_a_path_are_told(repository: Repository, url: str) -> None:
    repository.run("remote", "add", "origin", url)
    with pytest.raises(ForgeError) as caught:
        find_address(repository.git)
    assert caught.value.hint is not None
    assert 'delivery = "local"' in caught.value.hint


def test_a_password_in_an_address_is_not_shown(repository: Repository) -> None:
    repository.run("remote", "add", "origin", "https://me:hunter2@github.com/acme")
    with pytest.raises(ForgeError) as caught:
        find_address(repository.git)
    assert "hunter2" not in str(caught.value)


def test_outside_a_repository_that_is_said_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(AutopilotError) as found:
        find_address(Git(str(tmp_path)))
    assert (found.value.message, found.value.hint) == ("is under no git repository", "git init")
