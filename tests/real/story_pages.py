"""The texts of a small project: its plan, and what agents write for its first story."""

KEY = "1-1-greet-by-name"
FOLDER = "_bmad-output/implementation-artifacts"
BOARD = """\
# STATUS DEFINITIONS: a story goes backlog, ready-for-dev, in-progress, review, done
generated: 01-15-2026 09:00
last_updated: 01-15-2026 09:00
project: Greeter
project_key: NOKEY
tracking_system: file-system
story_location: "{project-root}/_bmad-output/implementation-artifacts"

development_status:
  epic-1: backlog
  1-1-greet-by-name: backlog  # the first
  1-2-say-goodbye: backlog
  epic-1-retrospective: optional
"""

EPICS = """\
# Greeter - Epic Breakdown

## Epic 1: Greetings

### Story 1.1: Greet by name

As a visitor, I want to be greeted by name, so that I feel welcome.

**Acceptance Criteria:**

**Given** a name
**When** I am greeted
**Then** the greeting holds it

### Story 1.2: Say goodbye
"""

STORY = """\
# Story 1.1: Greet by name

Status: ready-for-dev

## Story

As a visitor,
I want to be greeted by name,
so that I feel welcome.

## Acceptance Criteria

1. Given a name, the greeting holds it.

## Tasks / Subtasks

- [ ] Write the greeting (AC: 1)
  - [ ] Test it

## Dev Agent Record

### Agent Model Used

### Completion Notes List

### File List
"""

SPEC = """\
---
title: 'Greet by name'
type: 'feature'
created: '2026-01-15'
status: 'in-progress'
baseline_revision: '{baseline}'
review_loop_iteration: 0
followup_review_recommended: false
context: []
warnings: []
deferred: []
---

<intent-contract>

## Intent

**Problem:** Nobody is greeted.

**Approach:** A function that greets by name.

</intent-contract>

## Tasks & Acceptance

**Execution:**
- `src/greet.js` -- greet by name -- the story's wish

**Acceptance Criteria:**
- Given a name, when greeted, then the greeting holds it

## Verification

**Commands:**
- `npm test` -- expected: all pass
"""

BLOCKED = """\
---
title: 'Greet by name'
status: 'blocked'
---

## Auto Run Result

Status: blocked
Blocking condition: unclear intent
"""

CODE = "exports.greet = (name) => `Hello, ${name}!`\n"
TEST = """\
const test = require('node:test')
const assert = require('node:assert')
const { greet } = require('../src/greet.js')

test('greets by name', () => assert.strictEqual(greet('Ada'), 'Hello, Ada!'))
"""
NOBODY = "\ntest('greets nobody', () => assert.strictEqual(greet(''), 'Hello!'))\n"
FINDING = "An empty name gives an odd greeting [src/greet.js:1]"
