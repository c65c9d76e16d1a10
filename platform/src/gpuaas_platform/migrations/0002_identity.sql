-- Tenants and projects: the tree every other table hangs on. Then who there is, and who may what.

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

-- People. `org_id` is the tenant that manages the account; without one, the platform does.
-- `email_key` is the address as it is compared. Without a password only OIDC lets the person in.
-- `number` is small and never given twice: apps make stable accounts on machines from it.
CREATE TABLE users (
    id text PRIMARY KEY,
    number int GENERATED ALWAYS AS IDENTITY UNIQUE,
    org_id text REFERENCES tenants (id),
    email text NOT NULL,
    email_key text NOT NULL UNIQUE,
    display_name text NOT NULL,
    password_hash text,
    active boolean NOT NULL DEFAULT true,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    last_sign_in_at timestamptz
);
CREATE INDEX users_org ON users (org_id, id);

-- The same person at an OIDC provider.
CREATE TABLE user_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id text NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX user_identities_user ON user_identities (user_id);

-- Automation. Belongs to one project and acts only there. `public_key` (X25519) is what secrets
-- are sealed to for it.
CREATE TABLE service_accounts (
    id text PRIMARY KEY,
    org_id text NOT NULL,
    project_id text NOT NULL,
    name text NOT NULL,
    display_name text NOT NULL,
    description text NOT NULL DEFAULT '',
    public_key bytea CHECK (octet_length(public_key) = 32),
    active boolean NOT NULL DEFAULT true,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id),
    UNIQUE (project_id, name)
);
CREATE INDEX service_accounts_project ON service_accounts (project_id, id);

-- Long-lived keys of service accounts; only a hash of the secret is kept. A key has at most one
-- successor in force: two rotations of one key cannot both win.
CREATE TABLE service_account_keys (
    id text PRIMARY KEY,
    service_account_id text NOT NULL REFERENCES service_accounts (id),
    name text NOT NULL,
    secret_hash bytea NOT NULL,
    predecessor_id text REFERENCES service_account_keys (id),
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);
CREATE INDEX service_account_keys_owner ON service_account_keys (service_account_id, id);
CREATE UNIQUE INDEX service_account_keys_successor ON service_account_keys (predecessor_id)
    WHERE revoked_at IS NULL;

-- What a request is authenticated by: a service account's access token (from a key), a person's
-- personal token, or a browser session. Found by the hash alone. `permissions` and the scope
-- narrow a personal token; `idle_until` moves with the use of a session.
CREATE TABLE tokens (
    id text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('access', 'personal', 'session')),
    hash bytea NOT NULL UNIQUE,
    user_id text REFERENCES users (id),
    service_account_id text REFERENCES service_accounts (id),
    key_id text REFERENCES service_account_keys (id),
    name text NOT NULL DEFAULT '',
    permissions text[],
    org_id text,
    project_id text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    idle_until timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    CHECK ((user_id IS NULL) <> (service_account_id IS NULL)),
    CHECK ((kind = 'access') = (key_id IS NOT NULL))
);
CREATE INDEX tokens_user ON tokens (user_id, kind, id) WHERE user_id IS NOT NULL;
CREATE INDEX tokens_expiry ON tokens (expires_at);

-- Custom roles: a tenant's own bundles of permission keys. Built-in roles live in the contract.
CREATE TABLE roles (
    id text PRIMARY KEY,
    org_id text NOT NULL REFERENCES tenants (id),
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    permissions text[] NOT NULL,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    UNIQUE (org_id, name)
);

-- A group at the OIDC provider that carries a role somewhere; applied at each sign-in.
CREATE TABLE group_mappings (
    id text PRIMARY KEY,
    issuer text NOT NULL,
    group_name text NOT NULL,
    role_name text,
    role_id text REFERENCES roles (id),
    org_id text,
    project_id text,
    created_at timestamptz NOT NULL,
    CHECK ((role_name IS NULL) <> (role_id IS NULL)),
    CHECK (project_id IS NULL OR org_id IS NOT NULL),
    FOREIGN KEY (org_id) REFERENCES tenants (id),
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id),
    UNIQUE NULLS NOT DISTINCT (issuer, group_name, role_name, role_id, org_id, project_id)
);

-- Who holds which role where. The scope is the platform (no tenant), a tenant, or a project.
-- `source` tells a binding made by hand from one that follows a group or a broken glass.
CREATE TABLE role_bindings (
    id text PRIMARY KEY,
    principal_id text NOT NULL,
    user_id text GENERATED ALWAYS AS
        (CASE WHEN principal_id LIKE 'user!_%' ESCAPE '!' THEN principal_id END) STORED
        REFERENCES users (id),
    service_account_id text GENERATED ALWAYS AS
        (CASE WHEN principal_id LIKE 'sa!_%' ESCAPE '!' THEN principal_id END) STORED
        REFERENCES service_accounts (id),
    role_name text,
    role_id text REFERENCES roles (id),
    org_id text REFERENCES tenants (id),
    project_id text,
    source text NOT NULL CHECK (source IN ('direct', 'group', 'break_glass')),
    mapping_id text REFERENCES group_mappings (id),
    reason text NOT NULL DEFAULT '',
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    CHECK ((user_id IS NULL) <> (service_account_id IS NULL)),
    CHECK ((role_name IS NULL) <> (role_id IS NULL)),
    CHECK (project_id IS NULL OR org_id IS NOT NULL),
    CHECK (service_account_id IS NULL OR project_id IS NOT NULL),
    CHECK ((source = 'group') = (mapping_id IS NOT NULL)),
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE INDEX role_bindings_principal ON role_bindings (principal_id);
CREATE INDEX role_bindings_org ON role_bindings (org_id, id);
CREATE INDEX role_bindings_project ON role_bindings (project_id, id);
CREATE INDEX role_bindings_role ON role_bindings (role_id) WHERE role_id IS NOT NULL;
CREATE INDEX role_bindings_mapping ON role_bindings (mapping_id) WHERE mapping_id IS NOT NULL;
CREATE UNIQUE INDEX role_bindings_direct ON role_bindings
    (principal_id, role_name, role_id, org_id, project_id) NULLS NOT DISTINCT
    WHERE source = 'direct';
CREATE UNIQUE INDEX role_bindings_group ON role_bindings (principal_id, mapping_id)
    WHERE source = 'group';

-- Sign-in attempts per account and per address, shared by all replicas. An attempt is counted
-- before the password is looked at, so that parallel guesses are not free.
CREATE TABLE sign_in_throttles (
    subject bytea PRIMARY KEY,
    attempts int NOT NULL,
    last_at timestamptz NOT NULL,
    blocked_until timestamptz NOT NULL
);
CREATE INDEX sign_in_throttles_last ON sign_in_throttles (last_at);
