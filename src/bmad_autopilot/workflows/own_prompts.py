"""What steps are told that have no skill of BMAD's, or more to say than their skill."""

VALIDATE = """\
Do not create a story: validate the one that exists. Work through the skill's own checklist.md against the story
file and the planning documents, correct the story file in place, and leave its status as it is."""

REVISION = """\
Revise story {story}: read its story file and the diff, fix what you find, change no status.

You are the revisor, and did not write this code. Read the story's acceptance criteria and tasks, then every change
since the baseline, tracked and untracked. Look for criteria not met, tasks ticked but not done, defects, errors
nobody handles, tests that could not fail, and what breaks the project's conventions. Fix what you find with the
smallest change and a test that fails without it, and run the project's checks. Write into the story's Dev Agent
Record what you changed and why, keep its File List complete, and change no status. Where nothing is wrong, change
nothing."""

FIX = """\
Fix story {story}: deal with what the review or the project's checks found, and with nothing else.

Read the story file and every change since the baseline, tracked and untracked. Take the points below one by one:
find the cause, mend it with the smallest change, and add a test that fails without the change where behaviour was
wrong. A point that is mistaken is left as it is, with the reason written down. Run the project's checks before you
end. Say in the story file's notes what became of each point, keep its File List true, and change no status,
neither there nor on the board."""

FIX_ISSUES = """\
Epic {epic} stands in a pull request. Deal with what its reviewers and its checks found, and with nothing else.

Read what is quoted below, and the code that it is about. Take the points one by one: find the cause, mend it with
the smallest change, and add a test that fails without the change where behaviour was wrong. A point that is
mistaken is left as it is, with the reason given. Where checks failed, mend the cause and leave the checks as they
are. Run the project's own checks before you end, and change no status on the board."""

IMPLEMENT = """\
Implement the task of {story}, whose file is `{story_file}`: read it whole, do what it asks, and nothing else.

Look first at what the task refers to, at what the tasks it depends on have left in the code, and at how the
project's own code and tests are written. Implement each requirement with the tests that would fail without it, and
run the project's checks before you end. Where the file has boxes, tick those that are really done; else leave it
as it is. Leave the file where it lies, and change no status, neither there nor on the board."""

REVIEW = """\
Review the work of {story}, whose task file is `{story_file}`. You did not write this code.

Read what the task asks for, then every change since the baseline, tracked and untracked. Look for requirements not
met, defects, errors nobody handles, tests that could not fail, holes in security, and what breaks the project's
conventions. Change nothing in the code. Give your verdict as told below, with one line for each finding: where it
is, what is wrong, and what would mend it."""
