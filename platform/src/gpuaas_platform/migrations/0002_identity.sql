-- Tenants and projects: the tree every other table hangs on.

CREATE TABLE tenants (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    display_name text NOT NULL,
    active boolean NOT NULL DEFAULT true,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL
);

CREATE TABLE projects (
    id text PRIMARY KEY,
    org_id text NOT NULL REFERENCES tenants (id),
    name text NOT NULL,
    display_name text NOT NULL,
    active boolean NOT NULL DEFAULT true,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    UNIQUE (org_id, name),
    UNIQUE (id, org_id)
);
