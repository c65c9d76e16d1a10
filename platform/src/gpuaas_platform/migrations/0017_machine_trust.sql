-- What the sshd of a machine made to order trusts: what is asked of its provider, and what the
-- provider has confirmed. A change marks the row in its own transaction, so nothing is forgotten.
CREATE TABLE machine_trust (
    node_id text PRIMARY KEY REFERENCES nodes (id),
    asked bigint NOT NULL DEFAULT 1, -- counts changes: one that comes meanwhile is not overlooked
    revision text NOT NULL DEFAULT '', -- what was confirmed last, in short
    confirmed_at timestamptz,
    error text NOT NULL DEFAULT '', -- why the last attempt failed
    outstanding_since timestamptz, -- since when it is said that a change has not arrived
    attempt int NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    token text, -- whoever works on it, until `leased_until`
    leased_until timestamptz
);
CREATE INDEX machine_trust_due ON machine_trust (due_at);

INSERT INTO machine_trust (node_id, due_at)
SELECT id, now() FROM nodes WHERE provider <> 'enrolled' AND allocation_id IS NOT NULL;

-- What was revoked of one allocation, for the list of its machine alone.
CREATE INDEX access_grants_revoked_there ON access_grants (allocation_id, revocation)
    WHERE revocation IS NOT NULL;
