-- Machines that speak for themselves: who may enrol, who has, and what they are told to do.

-- What an agent says of its machine, in short; the long form is in node_agents.
ALTER TABLE nodes
    ADD COLUMN agent_version text,
    ADD COLUMN last_seen_at timestamptz,
    ADD COLUMN conditions jsonb NOT NULL DEFAULT '[]';

-- One-time permissions to enrol. A token that was used is kept, so that its reuse is told apart
-- from a made-up one.
CREATE TABLE enrolments (
    id text PRIMARY KEY,
    token_hash bytea NOT NULL UNIQUE,
    status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'used', 'expired', 'revoked')),
    node_name text NOT NULL,
    region text NOT NULL,
    sku text NOT NULL,
    address text,
    node_id text REFERENCES nodes (id),
    known boolean NOT NULL, -- for a node that was known before: its host keys must be met
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    created_by text NOT NULL,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX enrolments_due ON enrolments (expires_at) WHERE status = 'pending';

-- The agent of a node. `access_revision` is of the access it was last told of and has handled.
CREATE TABLE node_agents (
    node_id text PRIMARY KEY REFERENCES nodes (id),
    status text NOT NULL CHECK (status IN ('enrolled', 'leaving', 'left')),
    enrolment_id text NOT NULL REFERENCES enrolments (id),
    boot_id text NOT NULL DEFAULT '',
    access_revision text NOT NULL DEFAULT '',
    access_error text NOT NULL DEFAULT '',
    last_seen_at timestamptz NOT NULL,
    absent_since timestamptz,
    leave_reason text NOT NULL DEFAULT '',
    facts jsonb NOT NULL,
    facts_at timestamptz NOT NULL,
    enrolled_at timestamptz NOT NULL
);

-- Identities of agents: public halves only. The one that is next takes over when it is first used.
CREATE TABLE node_identities (
    id text PRIMARY KEY,
    node_id text NOT NULL REFERENCES node_agents (node_id),
    status text NOT NULL CHECK (status IN ('next', 'current', 'ended')),
    public_key text NOT NULL,
    fingerprint text NOT NULL,
    sealing_key bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX node_identities_one ON node_identities (node_id, status)
    WHERE status <> 'ended';
CREATE INDEX node_identities_key ON node_identities (public_key);

-- Short-lived tokens of agents. A challenge is worth one token.
CREATE TABLE node_tokens (
    hash bytea PRIMARY KEY,
    challenge_hash bytea NOT NULL UNIQUE,
    node_id text NOT NULL REFERENCES node_agents (node_id),
    identity_id text NOT NULL REFERENCES node_identities (id),
    expires_at timestamptz NOT NULL
);
CREATE INDEX node_tokens_node ON node_tokens (node_id);
CREATE INDEX node_tokens_due ON node_tokens (expires_at);

-- Who may log in as whom on the machine of an allocation, beside the allocation's own principal.
CREATE TABLE allocation_principals (
    allocation_id text NOT NULL REFERENCES allocations (id),
    username text NOT NULL,
    principals jsonb NOT NULL,
    PRIMARY KEY (allocation_id, username)
);

-- queued → running (the agent has said that it begins) → succeeded | failed | cancelled
-- queued → cancelled | expired | failed: it has never begun
CREATE TABLE node_tasks (
    id text PRIMARY KEY,
    org_id text NOT NULL,
    project_id text NOT NULL,
    allocation_id text NOT NULL REFERENCES allocations (id),
    node_id text NOT NULL REFERENCES nodes (id),
    kind text NOT NULL,
    spec jsonb NOT NULL,
    label text NOT NULL,
    status text NOT NULL DEFAULT 'queued' CHECK (
        status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired')),
    cancel_requested_at timestamptz,
    result jsonb,
    output_bytes int NOT NULL DEFAULT 0,
    output_cut boolean NOT NULL DEFAULT false,
    begin_before timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    created_by text NOT NULL,
    revision int NOT NULL DEFAULT 1,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE INDEX node_tasks_open ON node_tasks (node_id, id) WHERE status IN ('queued', 'running');
CREATE INDEX node_tasks_due ON node_tasks (begin_before) WHERE status = 'queued';
CREATE INDEX node_tasks_org ON node_tasks (org_id, id);
CREATE INDEX node_tasks_project ON node_tasks (project_id, id);
CREATE INDEX node_tasks_allocation ON node_tasks (allocation_id, id);
CREATE INDEX node_tasks_correlation ON node_tasks (correlation_id);
CREATE INDEX node_tasks_ended ON node_tasks (ended_at) WHERE output_bytes > 0;

CREATE TABLE node_task_output (
    task_id text NOT NULL REFERENCES node_tasks (id),
    start int NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (task_id, start)
);
