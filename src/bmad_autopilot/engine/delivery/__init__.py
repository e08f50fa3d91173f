"""From a finished epic to a merged pull request."""
