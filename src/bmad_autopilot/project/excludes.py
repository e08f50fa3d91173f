"""Our lines in `.git/info/exclude`: between two marks, everything else left as it is."""

BEGIN = "# bmad-autopilot: state of runs, which belongs to this machine (written by bmad init)"
END = "# bmad-autopilot: end"


def with_excludes(before: bytes, wanted: list[str]) -> bytes:
    """The file with all of `wanted` between the marks. Other projects of the same repository have theirs there
    too, so nothing is taken away."""
    lines = before.decode("utf-8", "surrogateescape").split("\n")
    bare = [line.rstrip("\r") for line in lines]
    if BEGIN in bare and END in bare[bare.index(BEGIN) :]:
        begin = bare.index(BEGIN)
        end = bare.index(END, begin)
        missing = [line for line in wanted if line not in bare[begin:end]]
        lines[end:end] = missing
    else:
        if lines[-1] == "":
            lines.pop()
        lines += [BEGIN, *wanted, END, ""]
    return "\n".join(lines).encode("utf-8", "surrogateescape")
