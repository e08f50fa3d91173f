"""Projects for CLI tests and recorded transcripts."""

from tests.support.bmad_project import ProjectMaker, SampleProject, story_text

MIXED = """\
# STATUS DEFINITIONS, kept as they are
generated: 2026-01-15
project: Widgets
tracking_system: file-system

development_status:
  epic-1: done
  1-1-set-up-the-project: done
  1-2-sign-in: done
  epic-1-retrospective: completed

  epic-2: in-progress
  2-1-documents: done
  2-2-search: review  # ready since Monday
  2-3-sharing-with-people-outside-the-organisation-by-link-and-by-mail: in-progress
  2-4-export: blocked  # waits for the certificate
  2-5-项目结构初始化: ready-for-dev
  2-6-old-import: deployed
  2-10-archive: backlog
  epic-2-retrospective: optional

  epic-3: done
  3-1-billing: backlog
  4-1-orphan: backlog
  epic-5: in-progress
  loose-notes: backlog

action_items:
  - epic: 1
    action: "Measure the start-up"
    owner: Dana
    status: open
"""


def mixed_project(project: ProjectMaker) -> SampleProject:
    """A project in the middle of its work, with every kind of drift and odd row."""
    sample = project(board=MIXED, stories={"2-2-search": "done", "2-5-项目结构初始化": "ready-for-dev"})
    sample.write(f"{sample.era.implementation}/2-3-sharing.md", story_text("2-3-sharing", "in-progress"))
    return sample


def finished_project(project: ProjectMaker) -> SampleProject:
    board = "development_status:\n  epic-1: done\n  1-1-a: done\n  1-2-b: done\n  epic-1-retrospective: optional\n"
    return project(board=board, stories={"1-1-a": "done", "1-2-b": "done"}, era="build")


def empty_project(project: ProjectMaker) -> SampleProject:
    return project(board="development_status:\n", stories={}, epics=None, era="build")


def large_project(project: ProjectMaker) -> SampleProject:
    """10,000 stories in 1,000 epics: the first half done, three epics in progress."""
    lines = ["project: Large", "development_status:"]
    for epic in range(1, 1001):
        word = "done" if epic < 500 else "in-progress" if epic < 503 else "backlog"
        lines.append(f"  epic-{epic}: {word}")
        for story in range(1, 11):
            status = word if word != "in-progress" else ("done" if story < 4 else "ready-for-dev")
            lines.append(f"  {epic}-{story}-some-story: {status}")
        lines.append(f"  epic-{epic}-retrospective: {'done' if word == 'done' else 'optional'}")
    files = {
        f"{e}-{s}-some-story": "done" if s < 4 else "ready-for-dev" for e in (500, 501, 502) for s in range(1, 11)
    }
    return project(board="\n".join(lines) + "\n", stories=files)
