import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.github.forge import ForgeError
from bmad_autopilot.github.gh_answers import shortened, split_answer


def test_status_headers_and_body_are_told_apart() -> None:
    answer = split_answer(b'HTTP/2.0 200 OK\nEtag: W/"a:b"\r\nX-Ratelimit-Remaining: 12\r\n\r\n{"a":\r\n\r\n1}', 0)
    assert answer is not None
    assert (answer.status, answer.headers["etag"], answer.json()) == (200, 'W/"a:b"', {"a": 1})
    assert answer.number("x-ratelimit-remaining") == 12
    assert answer.number("etag") is None


@pytest.mark.parametrize("out", [b"", b"gh: something", b"HTTP/1.1", b"HTTP/1.1 200 OK", b"\nHTTP/1.1 200 OK\n"])
def test_what_is_no_answer_is_none(out: bytes) -> None:
    assert split_answer(out, 1) is None


def test_headers_without_an_end_are_torn() -> None:
    answer = split_answer(b"HTTP/1.1 200 OK\nA: b\r\n", 0)
    assert answer is not None
    assert not answer.is_whole


@given(st.binary(max_size=300), st.integers(0, 5))
def test_no_output_of_gh_breaks_us(out: bytes, code: int) -> None:
    for data in (out, b"HTTP/1.1 200 OK\n" + out, b"HTTP/2.0 403 No\r\n\r\n" + out):
        answer = split_answer(data, code)
        if answer is None:
            continue
        try:
            answer.json()
        except ForgeError:
            continue


def test_deep_json_is_no_crash() -> None:
    answer = split_answer(b"HTTP/1.1 200 OK\n\r\n" + b"[" * 200_000, 0)
    assert answer is not None
    with pytest.raises(ForgeError):
        answer.json()


@given(st.dictionaries(st.text(max_size=5), st.integers()))
def test_json_comes_back_as_it_was(value: dict[str, int]) -> None:
    answer = split_answer(b"HTTP/1.1 201 Created\n\r\n" + json.dumps(value).encode(), 0)
    assert answer is not None
    assert answer.json() == value


@given(st.text())
def test_a_message_is_one_short_printable_line(text: str) -> None:
    line = shortened(text)
    assert len(line) <= 200
    assert line.isprintable()
