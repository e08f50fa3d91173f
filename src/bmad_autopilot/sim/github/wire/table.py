"""All the fields of GitHub's graph that the simulator knows, by type."""

from .graph import Node, Table
from .graph_checks import CHECK_RUN, COMMIT, ROLLUP, STATUS, SUITE
from .graph_effects import MUTATION, PAYLOAD
from .graph_pulls import PULL
from .graph_repository import QUERY, RATE_LIMIT, REPOSITORY
from .graph_reviews import REVIEW, THREAD, THREAD_COMMENT, WRITTEN
from .values import commit_of, of, plain, stamp, who

_ACTOR = {**plain("login"), "id": of(lambda actor: f"U_{actor.login}")}

TABLE: Table = {
    "Query": QUERY,
    "Mutation": MUTATION,
    "Payload": PAYLOAD,
    "RateLimit": RATE_LIMIT,
    "Repository": REPOSITORY,
    "Parent": {"nameWithOwner": of(lambda name: name)},
    "User": _ACTOR,
    "Bot": _ACTOR,
    "PullRequest": PULL,
    "PullRequestCommit": {"commit": of(commit_of)},
    "PullRequestReview": REVIEW,
    "PullRequestReviewThread": THREAD,
    "PullRequestReviewComment": THREAD_COMMENT,
    "IssueComment": WRITTEN,
    "Label": {"name": of(lambda name: name)},
    "ReviewRequest": {"requestedReviewer": of(who)},
    "HeadRefForcePushedEvent": {"createdAt": of(lambda event: stamp(event[0]))},
    "Ref": {
        "name": of(lambda name: name),
        "refUpdateRule": of(lambda name: Node("RefUpdateRule", name)),
        "target": lambda context, name, arguments: commit_of(context.model.refs.head_of(name)),
    },
    "RefUpdateRule": {
        "requiredStatusCheckContexts": lambda context, name, arguments: list(
            context.model.repository.protection(name).checks
        ),
    },
    "Commit": COMMIT,
    "StatusCheckRollup": ROLLUP,
    "CheckRun": CHECK_RUN,
    "StatusContext": STATUS,
    "CheckSuite": SUITE,
    "App": {"slug": of(lambda check: check.app)},
    "WorkflowRun": {
        "databaseId": of(lambda check: check.run),
        "event": of(lambda check: "pull_request"),
        "workflow": of(lambda check: Node("Workflow", check)),
    },
    "Workflow": {"name": of(lambda check: check.workflow), "databaseId": of(lambda check: None)},  # by name here
    "Count": {"state": of(lambda pair: pair[0]), "count": of(lambda pair: pair[1])},
    "MergeQueueEntry": {"id": of(lambda pull: f"MQE_{pull.number}")},
    "PageInfo": {
        "hasNextPage": of(lambda window: window[1] < window[2]),
        "hasPreviousPage": of(lambda window: window[0] > 0),
        "endCursor": of(lambda window: str(window[1]) if window[1] > window[0] else None),
        "startCursor": of(lambda window: str(window[0]) if window[1] > window[0] else None),
    },
}
