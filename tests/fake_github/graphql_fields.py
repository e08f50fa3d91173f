"""The GraphQL fields that the fake GitHub supports, by type."""

from tests.fake_github.graphql import Node, Table
from tests.fake_github.graphql_checks import CHECK_RUN, COMMIT, ROLLUP, STATUS, SUITE
from tests.fake_github.graphql_mutations import MUTATION, PAYLOAD
from tests.fake_github.graphql_pulls import PULL
from tests.fake_github.graphql_repository import QUERY, RATE_LIMIT, REPOSITORY
from tests.fake_github.graphql_reviews import COMMENT, REVIEW, THREAD, THREAD_COMMENT
from tests.fake_github.graphql_values import actor_node, attributes, commit_node, computed, format_time

_ACTOR = {**attributes("login"), "id": computed(lambda actor: f"U_{actor.login}")}

TABLE: Table = {
    "Query": QUERY,
    "Mutation": MUTATION,
    "Payload": PAYLOAD,
    "RateLimit": RATE_LIMIT,
    "Repository": REPOSITORY,
    "Parent": {"nameWithOwner": computed(lambda name: name)},
    "User": _ACTOR,
    "Bot": _ACTOR,
    "PullRequest": PULL,
    "PullRequestCommit": {"commit": computed(commit_node)},
    "PullRequestReview": REVIEW,
    "PullRequestReviewThread": THREAD,
    "PullRequestReviewComment": THREAD_COMMENT,
    "IssueComment": COMMENT,
    "Label": {"name": computed(lambda name: name)},
    "ReviewRequest": {"requestedReviewer": computed(actor_node)},
    "HeadRefForcePushedEvent": {"createdAt": computed(lambda event: format_time(event[0]))},
    "Ref": {
        "name": computed(lambda name: name),
        "refUpdateRule": computed(lambda name: Node("RefUpdateRule", name)),
        "target": lambda context, name, arguments: commit_node(context.model.refs.head_of(name)),
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
    "App": {"slug": computed(lambda check: check.app)},
    "WorkflowRun": {
        "databaseId": computed(lambda check: check.run),
        "event": computed(lambda check: "pull_request"),
        "workflow": computed(lambda check: Node("Workflow", check)),
    },
    "Workflow": {
        "name": computed(lambda check: check.workflow),
        "databaseId": computed(lambda check: None),
    },  # by name here
    "Count": {"state": computed(lambda pair: pair[0]), "count": computed(lambda pair: pair[1])},
    "MergeQueueEntry": {"id": computed(lambda pull: f"MQE_{pull.number}")},
    "PageInfo": {
        "hasNextPage": computed(lambda window: window[1] < window[2]),
        "hasPreviousPage": computed(lambda window: window[0] > 0),
        "endCursor": computed(lambda window: str(window[1]) if window[1] > window[0] else None),
        "startCursor": computed(lambda window: str(window[0]) if window[1] > window[0] else None),
    },
}
