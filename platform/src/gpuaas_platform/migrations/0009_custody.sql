-- Secrets at rest, the SSH certificate authority, and what was handed out to whom.

-- The embedded secret store. Each version has a data key of its own, wrapped by a key that is not
-- in the database (`key_id` names it); path and version are bound into both.
CREATE TABLE secret_values (
    path text NOT NULL,
    version int NOT NULL,
    key_id text NOT NULL,
    wrapped_key bytea NOT NULL,
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (path, version)
);
CREATE INDEX secret_values_key ON secret_values (key_id);

-- Paths to delete from the secret store once they are due. A path is put here before its secret is
-- written and taken away by the transaction that names it, so that a secret nobody names goes; one
-- that is no longer wanted is put here by the transaction that gives it up.
CREATE TABLE secret_sweep (
    path text PRIMARY KEY,
    due_at timestamptz NOT NULL,
    taken boolean NOT NULL DEFAULT false -- it is being deleted: nobody may name it any more
);
CREATE INDEX secret_sweep_due ON secret_sweep (due_at);

-- Keys of the SSH user authority. The private halves are in the secret store under `secret_path`.
CREATE TABLE ssh_ca_keys (
    id text PRIMARY KEY,
    status text NOT NULL CHECK (status IN ('upcoming', 'current', 'previous', 'retired')),
    public_key text NOT NULL,
    fingerprint text NOT NULL,
    secret_path text NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX ssh_ca_keys_one ON ssh_ca_keys (status) WHERE status <> 'retired';

CREATE SEQUENCE ssh_serials AS bigint;
CREATE SEQUENCE ssh_revocations AS bigint;

CREATE TABLE access_grants (
    id text PRIMARY KEY,
    serial bigint NOT NULL UNIQUE,
    org_id text NOT NULL,
    project_id text NOT NULL,
    allocation_id text NOT NULL REFERENCES allocations (id),
    principal text NOT NULL,
    ca_key_id text NOT NULL REFERENCES ssh_ca_keys (id),
    fingerprint text NOT NULL,
    source_address jsonb NOT NULL,
    force_command text,
    pty boolean NOT NULL,
    valid_after timestamptz NOT NULL,
    valid_before timestamptz NOT NULL,
    revoked_at timestamptz,
    revoke_reason text NOT NULL DEFAULT '',
    revocation bigint, -- counts revocations: the revocation list's version is the highest of them
    created_by text NOT NULL,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE INDEX access_grants_org ON access_grants (org_id, id);
CREATE INDEX access_grants_project ON access_grants (project_id, id);
CREATE INDEX access_grants_allocation ON access_grants (allocation_id, id);
CREATE INDEX access_grants_revoked ON access_grants (valid_before) WHERE revoked_at IS NOT NULL;
CREATE INDEX access_grants_revocation ON access_grants (revocation) WHERE revocation IS NOT NULL;

-- Private keys of hosts that cannot trust the authority; the keys are in the secret store. A
-- credential that was rotated has a successor and may be delivered until it expires.
CREATE TABLE access_credentials (
    id text PRIMARY KEY,
    org_id text NOT NULL,
    project_id text NOT NULL,
    name text NOT NULL,
    username text NOT NULL,
    public_key text NOT NULL,
    fingerprint text NOT NULL,
    secret_path text NOT NULL,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'expired', 'revoked')),
    predecessor_id text REFERENCES access_credentials (id),
    succeeded boolean NOT NULL DEFAULT false,
    deliveries int NOT NULL DEFAULT 0,
    deliveries_max int NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_reason text NOT NULL DEFAULT '',
    created_by text NOT NULL,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE UNIQUE INDEX access_credentials_name ON access_credentials (project_id, name)
    WHERE status = 'active' AND NOT succeeded;
CREATE INDEX access_credentials_org ON access_credentials (org_id, id);
CREATE INDEX access_credentials_project ON access_credentials (project_id, id);
CREATE INDEX access_credentials_due ON access_credentials (expires_at) WHERE status = 'active';

-- Secrets of projects. `secret_path` is where the current version's value is.
CREATE TABLE runtime_secrets (
    id text PRIMARY KEY,
    org_id text NOT NULL,
    project_id text NOT NULL,
    name text NOT NULL,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'expired', 'revoked')),
    version int NOT NULL DEFAULT 1,
    secret_path text NOT NULL,
    expires_at timestamptz,
    ended_reason text NOT NULL DEFAULT '',
    created_by text NOT NULL,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE UNIQUE INDEX runtime_secrets_name ON runtime_secrets (project_id, name)
    WHERE status = 'active';
CREATE INDEX runtime_secrets_org ON runtime_secrets (org_id, id);
CREATE INDEX runtime_secrets_project ON runtime_secrets (project_id, id);
CREATE INDEX runtime_secrets_due ON runtime_secrets (expires_at) WHERE status = 'active';

-- Who got which version of a runtime secret for what: once.
CREATE TABLE secret_deliveries (
    secret_id text NOT NULL REFERENCES runtime_secrets (id),
    version int NOT NULL,
    reader text NOT NULL,
    task text NOT NULL,
    at timestamptz NOT NULL,
    correlation_id text NOT NULL,
    PRIMARY KEY (secret_id, version, reader, task)
);
