-- Machines between tenants: who held a node last, how it is cleaned, and to which use an agent's
-- identity belongs.

ALTER TABLE regions
    ADD COLUMN cleaning text NOT NULL DEFAULT 'same_tenant_only'
        CHECK (cleaning IN ('same_tenant_only', 'attested', 'reimage', 'recreate')),
    ADD COLUMN keep_warm_seconds int NOT NULL DEFAULT 900,
    ADD COLUMN revision int NOT NULL DEFAULT 1,
    ADD COLUMN reimage_hook jsonb,
    ADD COLUMN reimage_secret bytea; -- sealed with the keyring
UPDATE regions SET cleaning = 'recreate' WHERE provider <> 'enrolled';

-- `last_org_id`: the tenant whose traces may be on the machine; null when there are none.
-- `warm_until`: until when a free machine is kept for that tenant; null: for as long as it takes.
-- `generation` counts the tenants: identities and enrolments of an earlier one are refused.
ALTER TABLE nodes
    ADD COLUMN last_org_id text,
    ADD COLUMN warm_until timestamptz,
    ADD COLUMN generation int NOT NULL DEFAULT 1,
    ADD COLUMN departing boolean NOT NULL DEFAULT false, -- it left, and no cleaning is open yet
    ADD COLUMN departed_by text NOT NULL DEFAULT '', -- correlation id of what made it leave
    ADD COLUMN departed_as text NOT NULL DEFAULT 'ready'; -- the status it had before

UPDATE nodes n SET last_org_id = (
    SELECT a.org_id FROM allocations a WHERE a.node_id = n.id ORDER BY a.id DESC LIMIT 1);
-- More than one tenant has been on it, and it was never cleaned.
UPDATE nodes n SET status = 'cordoned', status_reason = 'Several tenants have held this machine and'
        || ' it was not cleaned in between. Have it cleaned before it is given out again.'
    WHERE allocation_id IS NULL
    AND (SELECT count(DISTINCT a.org_id) FROM allocations a WHERE a.node_id = n.id) > 1;

DROP INDEX nodes_free;
CREATE INDEX nodes_free ON nodes (region, sku, last_org_id, id)
    WHERE allocation_id IS NULL AND status = 'ready';
CREATE INDEX nodes_warm ON nodes (warm_until) WHERE warm_until IS NOT NULL;
CREATE INDEX nodes_departing ON nodes (id) WHERE departing;

-- Of which of the node's generations an enrolment or an identity is.
ALTER TABLE enrolments ADD COLUMN generation int NOT NULL DEFAULT 1;
ALTER TABLE node_identities ADD COLUMN generation int NOT NULL DEFAULT 1;

-- The holding a secret was handed out for, where a machine got it.
ALTER TABLE secret_deliveries ADD COLUMN allocation_id text;

-- Cleanings of nodes. No foreign key: the record outlives the node of a machine that was made.
CREATE TABLE node_cleanings (
    id text PRIMARY KEY,
    node_id text NOT NULL,
    node_name text NOT NULL,
    region text NOT NULL,
    org_id text,
    method text NOT NULL,
    status text NOT NULL CHECK (status IN (
        'closing', 'wiping', 'enrolling', 'checking', 'succeeded', 'set_aside', 'retired')),
    status_reason text NOT NULL DEFAULT '',
    steps jsonb NOT NULL DEFAULT '[]',
    had_agent boolean NOT NULL,
    opens_as text NOT NULL CHECK (opens_as IN ('ready', 'cordoned')),
    attempt int NOT NULL DEFAULT 0, -- requests to the hook
    taken boolean NOT NULL DEFAULT false, -- the hook has answered that it begins
    due_at timestamptz NOT NULL, -- when to look at it again, at the latest
    deadline_at timestamptz,
    confirmed_by text,
    revision int NOT NULL DEFAULT 1,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE UNIQUE INDEX node_cleanings_open ON node_cleanings (node_id)
    WHERE status NOT IN ('succeeded', 'retired');
CREATE INDEX node_cleanings_due ON node_cleanings (due_at)
    WHERE status IN ('closing', 'wiping', 'enrolling', 'checking');
CREATE INDEX node_cleanings_node ON node_cleanings (node_id, id);

-- Where an agent speaks from: its identity is heard from one address at a time.
ALTER TABLE node_agents ADD COLUMN address text NOT NULL DEFAULT '';
ALTER TABLE node_tokens ADD COLUMN address text NOT NULL DEFAULT '';
