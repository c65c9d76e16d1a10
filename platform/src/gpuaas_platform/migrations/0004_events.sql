-- Which keys the installation's keyring has (names, not keys): a replica without them says so.
CREATE TABLE keyring_keys (
    key_id text PRIMARY KEY,
    at timestamptz NOT NULL
);

-- How far the audit chain reached, signed with a key the database does not hold: a chain that is
-- cut short or rewritten no longer agrees with its heads.
CREATE TABLE audit_heads (
    seq bigint PRIMARY KEY,
    hash bytea NOT NULL,
    at timestamptz NOT NULL,
    key_id text NOT NULL,
    public_key bytea NOT NULL,
    signature bytea NOT NULL
);
CREATE TRIGGER audit_heads_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_heads
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON audit_heads FROM gpuaas_app;

-- Where events of a project or tenant are delivered to. `cursor` is the number of the last event
-- dealt with: a webhook reads the events on from there, in order, whoever serves it. Whoever does
-- holds the lease; what it had not yet written down when it died is delivered again.
CREATE TABLE webhooks (
    id text PRIMARY KEY,
    org_id text NOT NULL REFERENCES tenants (id),
    project_id text,
    url text NOT NULL,
    description text NOT NULL,
    types text[] NOT NULL,
    app_slug text,
    app_instance_id text,
    status text NOT NULL CHECK (status IN ('active', 'disabled')),
    disabled_reason text NOT NULL DEFAULT '',
    secret bytea NOT NULL, -- sealed with the keyring
    old_secret bytea,
    old_secret_until timestamptz,
    cursor bigint NOT NULL,
    event_attempts int NOT NULL DEFAULT 0, -- of the event behind the cursor
    failures int NOT NULL DEFAULT 0,
    failing_since timestamptz,
    next_attempt_at timestamptz NOT NULL,
    last_error text NOT NULL DEFAULT '',
    lease text,
    lease_until timestamptz,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE INDEX webhooks_org ON webhooks (org_id, id);
CREATE INDEX webhooks_project ON webhooks (project_id, id);
CREATE INDEX webhooks_due ON webhooks (next_attempt_at) WHERE status = 'active';

-- How each event fared with each webhook. A dead one keeps its event, which may be swept before
-- somebody asks for it again. Bounded by age and by number per webhook.
CREATE TABLE webhook_deliveries (
    id text PRIMARY KEY,
    webhook_id text NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event_id text NOT NULL,
    event_type text NOT NULL,
    seq bigint NOT NULL,
    status text NOT NULL CHECK (status IN ('delivered', 'failed', 'dead', 'redelivering')),
    attempts int NOT NULL,
    response_status int,
    error text NOT NULL,
    at timestamptz NOT NULL,
    body bytea,
    UNIQUE (webhook_id, event_id)
);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook_id, status, id);
CREATE INDEX webhook_deliveries_hook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_at ON webhook_deliveries (at);

-- How far each outside bus has been told.
CREATE TABLE event_cursors (
    name text PRIMARY KEY,
    seq bigint NOT NULL
);
