-- Machines made to order: a region's provider makes them when somebody asks, and unmakes them.

ALTER TABLE regions
    ADD COLUMN provider text NOT NULL DEFAULT 'enrolled',
    ADD COLUMN provider_options jsonb NOT NULL DEFAULT '{}';

-- An allocation has no node before its machine is made, nor after it is gone.
ALTER TABLE allocations ALTER COLUMN node_id DROP NOT NULL;

-- What is still to be made or unmade. A row is there until that is done or given up, so whoever
-- comes after a crash goes on. `token` is whoever works on it, until `leased_until`.
CREATE TABLE machine_orders (
    allocation_id text PRIMARY KEY REFERENCES allocations (id),
    kind text NOT NULL CHECK (kind IN ('make', 'unmake')),
    attempt int NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    token text,
    leased_until timestamptz,
    created_at timestamptz NOT NULL
);
CREATE INDEX machine_orders_due ON machine_orders (due_at);
