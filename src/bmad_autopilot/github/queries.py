"""All GraphQL documents that we send.

Cost of a query, by GitHub's documented rule: one request per connection, multiplied by the `first` or `last` of
the enclosing connections; the sum divided by 100, rounded, at least one point. Watching 100 pull requests has
three connections each: 300 requests, 3 points, 22 % of 5,000 per hour at one watch every ten seconds. Pull
requests are watched by number, not by listing the open ones, because merged ones must be seen too and few cost
less.

For this reason `Mark` requests neither labels nor the comments of each thread (100 points more): those change
`updatedAt`, and a reply is also a new review. Checks, a resolved thread and the base do not change it."""

MAX_WATCHED = 100

_RATE = "rateLimit { cost remaining limit resetAt }"

# Aliases are needed: the full query requests the same connections with other arguments.
_MARK = """
fragment Mark on PullRequest {
  number state title url isDraft isCrossRepository isInMergeQueue
  headRefName headRefOid baseRefName mergeable reviewDecision updatedAt
  baseRef { target { oid } }
  headRef { target { oid ... on Commit { statusCheckRollup {
    state
    counted: contexts {
      totalCount
      checkRunCountsByState { state count }
      statusContextCountsByState { state count }
    }
  } } } }
  lastReviews: reviews(last: 30) { totalCount nodes { id state } }
  lastThreads: reviewThreads(last: 100) { totalCount nodes { isResolved isOutdated } }
}
"""

_WHO = "author { __typename login } authorAssociation"
_PAGE = "pageInfo { hasNextPage endCursor }"

_THREAD_COMMENT = f"id body createdAt url diffHunk originalCommit {{ oid }} {_WHO}"
_THREADS = f"""
fragment Threads on PullRequestReviewThreadConnection {{
  {_PAGE}
  nodes {{
    id path line isResolved isOutdated
    comments(first: 50) {{ {_PAGE} nodes {{ {_THREAD_COMMENT} }} }}
  }}
}}
"""

_REVIEWS = f"""
fragment Reviews on PullRequestReviewConnection {{
  {_PAGE}
  nodes {{ id databaseId state body submittedAt createdAt commit {{ oid }} {_WHO} }}
}}
"""

_CHECKS = f"""
fragment Checks on StatusCheckRollupContextConnection {{
  {_PAGE}
  nodes {{
    __typename
    ... on CheckRun {{
      databaseId name status conclusion startedAt completedAt detailsUrl
      isRequired(pullRequestNumber: $number)
      checkSuite {{ app {{ slug }} workflowRun {{ databaseId event workflow {{ databaseId name }} }} }}
    }}
    ... on StatusContext {{
      context state targetUrl createdAt
      isRequired(pullRequestNumber: $number)
    }}
  }}
}}
"""

REPOSITORY = f"""
query AutopilotRepository($owner: String!, $name: String!) {{
  {_RATE}
  viewer {{ login }}
  repository(owner: $owner, name: $name) {{
    id name isArchived isFork viewerPermission squashMergeAllowed deleteBranchOnMerge
    owner {{ login }}
    defaultBranchRef {{ name }}
    parent {{ nameWithOwner }}
  }}
}}
"""


def watch_query(count: int) -> str:
    """Query for `count` pull requests by their numbers `$n0`, `$n1` …, returned as `p0`, `p1` …"""
    assert 0 < count <= MAX_WATCHED
    numbers = ", ".join(f"$n{i}: Int!" for i in range(count))
    pulls = "\n    ".join(f"p{i}: pullRequest(number: $n{i}) {{ ...Mark }}" for i in range(count))
    return f"""
query AutopilotWatch($owner: String!, $name: String!, {numbers}) {{
  {_RATE}
  repository(owner: $owner, name: $name) {{
    {pulls}
  }}
}}
{_MARK}"""


# Names only: pull requests that are not ours cost nothing more.
OPEN_PULLS = f"""
query AutopilotOpenPulls($owner: String!, $name: String!, $after: String) {{
  {_RATE}
  repository(owner: $owner, name: $name) {{
    pullRequests(states: OPEN, first: 100, after: $after) {{ {_PAGE} nodes {{ number headRefName }} }}
  }}
}}
"""

PULLS_FROM = f"""
query AutopilotPullsFrom($owner: String!, $name: String!, $head: String!, $after: String) {{
  {_RATE}
  repository(owner: $owner, name: $name) {{
    pullRequests(
      headRefName: $head, first: 50, after: $after, orderBy: {{ field: CREATED_AT, direction: DESC }}
    ) {{
      {_PAGE} nodes {{ ...Mark }}
    }}
  }}
}}
{_MARK}"""

PULL = f"""
query AutopilotPull($owner: String!, $name: String!, $number: Int!) {{
  {_RATE}
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{
      ...Mark
      id body createdAt mergedAt mergeStateStatus baseRefOid isMergeQueueEnabled {_WHO}
      mergeCommit {{ oid }}
      labels(first: 100) {{ nodes {{ name }} }}
      reviewRequests(first: 100) {{
        nodes {{ requestedReviewer {{ ... on Actor {{ login }} ... on Team {{ combinedSlug }} }} }}
      }}
      comments(last: 100) {{ nodes {{ id body createdAt url {_WHO} }} }}
      forced: timelineItems(last: 1, itemTypes: [HEAD_REF_FORCE_PUSHED_EVENT]) {{
        nodes {{ ... on HeadRefForcePushedEvent {{ createdAt }} }}
      }}
      headRef {{ target {{ oid ... on Commit {{
        committedDate
        checkSuites(first: 1) {{ nodes {{ createdAt }} }}
        statusCheckRollup {{ contexts(first: 100) {{ ...Checks }} }}
      }} }} }}
      reviews(first: 100) {{ ...Reviews }}
      reviewThreads(first: 100) {{ ...Threads }}
    }}
  }}
}}
{_MARK}{_REVIEWS}{_THREADS}{_CHECKS}"""

MORE_REVIEWS = f"""
query AutopilotReviews($owner: String!, $name: String!, $number: Int!, $after: String) {{
  {_RATE}
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{ reviews(first: 100, after: $after) {{ ...Reviews }} }}
  }}
}}
{_REVIEWS}"""

MORE_THREADS = f"""
query AutopilotThreads($owner: String!, $name: String!, $number: Int!, $after: String) {{
  {_RATE}
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{ reviewThreads(first: 100, after: $after) {{ ...Threads }} }}
  }}
}}
{_THREADS}"""

MORE_COMMENTS = f"""
query AutopilotThreadComments($thread: ID!, $after: String) {{
  {_RATE}
  node(id: $thread) {{
    ... on PullRequestReviewThread {{
      comments(first: 100, after: $after) {{ {_PAGE} nodes {{ {_THREAD_COMMENT} }} }}
    }}
  }}
}}
"""

# By commit, not by pull request: its head may move between two pages.
CHECKS = f"""
query AutopilotChecks($owner: String!, $name: String!, $number: Int!, $head: GitObjectID!, $after: String) {{
  {_RATE}
  repository(owner: $owner, name: $name) {{
    object(oid: $head) {{
      ... on Commit {{ statusCheckRollup {{ contexts(first: 100, after: $after) {{ ...Checks }} }} }}
    }}
  }}
}}
{_CHECKS}"""

MARK_READY = """
mutation AutopilotMarkReady($pull: ID!) {
  markPullRequestReadyForReview(input: { pullRequestId: $pull }) { pullRequest { isDraft } }
}
"""

REQUEST_REVIEW = """
mutation AutopilotRequestReview($pull: ID!, $bots: [String!]!) {
  requestReviewsByLogin(input: { pullRequestId: $pull, botLogins: $bots, union: true }) { pullRequest { number } }
}
"""

REPLY = """
mutation AutopilotReply($thread: ID!, $body: String!) {
  addPullRequestReviewThreadReply(input: { pullRequestReviewThreadId: $thread, body: $body }) { comment { id } }
}
"""

RESOLVE = """
mutation AutopilotResolve($thread: ID!) {
  resolveReviewThread(input: { threadId: $thread }) { thread { isResolved } }
}
"""

ENQUEUE = """
mutation AutopilotEnqueue($pull: ID!, $head: GitObjectID!) {
  enqueuePullRequest(input: { pullRequestId: $pull, expectedHeadOid: $head }) { mergeQueueEntry { id } }
}
"""

DOCUMENTS = (
    REPOSITORY,
    OPEN_PULLS,
    PULLS_FROM,
    PULL,
    MORE_REVIEWS,
    MORE_THREADS,
    MORE_COMMENTS,
    CHECKS,
    MARK_READY,
    REQUEST_REVIEW,
    REPLY,
    RESOLVE,
    ENQUEUE,
)
