-- Overlays: rules that narrow, at the platform (no org), a tenant, or a project of it.

CREATE TABLE policy_overlays (
    id text PRIMARY KEY,
    org_id text REFERENCES tenants (id),
    project_id text,
    name text NOT NULL,
    description text NOT NULL,
    rules jsonb NOT NULL,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id),
    CHECK (project_id IS NULL OR org_id IS NOT NULL),
    UNIQUE NULLS NOT DISTINCT (org_id, project_id, name)
);
