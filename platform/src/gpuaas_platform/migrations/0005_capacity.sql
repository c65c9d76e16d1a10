-- Machines: where they are, what they are, who holds them.

CREATE TABLE regions (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    display_name text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE skus (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    display_name text NOT NULL,
    cpus int NOT NULL,
    memory_mib int NOT NULL,
    gpus int NOT NULL,
    gpu_model text NOT NULL,
    price_per_hour numeric(12, 4) NOT NULL,
    currency text NOT NULL,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL
);

CREATE TABLE nodes (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    region text NOT NULL REFERENCES regions (name),
    sku text NOT NULL REFERENCES skus (name),
    provider text NOT NULL,
    status text NOT NULL,
    status_reason text NOT NULL DEFAULT '',
    address text NOT NULL,
    host_keys jsonb NOT NULL,
    allocation_id text UNIQUE,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL
);
-- Placement asks for a free node of a kind in a place; this holds just those.
CREATE INDEX nodes_free ON nodes (region, sku, id) WHERE allocation_id IS NULL AND status = 'ready';

CREATE TABLE allocations (
    id text PRIMARY KEY,
    name text NOT NULL,
    org_id text NOT NULL,
    project_id text NOT NULL,
    sku text NOT NULL REFERENCES skus (name),
    region text NOT NULL REFERENCES regions (name),
    node_id text NOT NULL REFERENCES nodes (id),
    status text NOT NULL,
    status_reason text NOT NULL DEFAULT '',
    bound_instance_id text,
    scheduler_type text NOT NULL DEFAULT '',
    integration jsonb NOT NULL DEFAULT '{}',
    revision int NOT NULL DEFAULT 1,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE UNIQUE INDEX allocations_name ON allocations (project_id, name) WHERE status <> 'released';
CREATE INDEX allocations_project ON allocations (project_id, id);
CREATE INDEX allocations_org ON allocations (org_id, id) WHERE status <> 'released';
CREATE INDEX allocations_instance ON allocations (bound_instance_id)
    WHERE bound_instance_id IS NOT NULL;
CREATE INDEX allocations_correlation ON allocations (correlation_id);

-- `project_id` is '' for a quota of the whole tenant, `sku` is '*' for all kinds together.
CREATE TABLE quotas (
    org_id text NOT NULL REFERENCES tenants (id),
    project_id text NOT NULL DEFAULT '',
    sku text NOT NULL,
    "limit" int NOT NULL,
    PRIMARY KEY (org_id, project_id, sku)
);
