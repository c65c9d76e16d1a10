-- The gap log: what was missing or awkward, with its evidence, until it is closed.
CREATE TABLE gaps (
    id text PRIMARY KEY,
    org_id text REFERENCES tenants (id),
    project_id text,
    category text NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    app_slug text,
    evidence_request text NOT NULL,
    evidence_answer text NOT NULL,
    evidence_correlation_id text,
    status text NOT NULL CHECK (status IN ('open', 'closed')),
    resolution text NOT NULL DEFAULT '',
    reported_by text NOT NULL,
    created_at timestamptz NOT NULL,
    closed_by text,
    closed_at timestamptz,
    revision int NOT NULL DEFAULT 1,
    correlation_id text NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE INDEX gaps_org ON gaps (org_id, id);
CREATE INDEX gaps_project ON gaps (project_id, id);
