-- What apps install: sources, artifacts with their parts and channels, and who was let fetch what.

-- `org_id` is null where the platform shares the source. `tier` is the same without a null, so
-- that a list over "shared and this tenant's" walks an index.
CREATE TABLE artifact_sources (
    id text PRIMARY KEY,
    org_id text REFERENCES tenants (id),
    tier text NOT NULL GENERATED ALWAYS AS (coalesce(org_id, '')) STORED,
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('blob', 'oci')),
    address text NOT NULL,
    description text NOT NULL,
    plain_http boolean NOT NULL,
    username text,
    password bytea, -- sealed by the keyring
    signature_required boolean NOT NULL,
    project_publish boolean NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    revision int NOT NULL DEFAULT 1,
    created_by text NOT NULL,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (tier, name)
);
CREATE INDEX artifact_sources_tier ON artifact_sources (tier, id);

CREATE TABLE artifact_keys (
    id text PRIMARY KEY,
    source_id text NOT NULL REFERENCES artifact_sources (id),
    org_id text,
    name text NOT NULL,
    public_key text NOT NULL,
    fingerprint text NOT NULL,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'revoked')),
    revoke_reason text NOT NULL DEFAULT '',
    created_by text NOT NULL,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX artifact_keys_name ON artifact_keys (source_id, name) WHERE status = 'active';
CREATE INDEX artifact_keys_source ON artifact_keys (source_id, id);

-- The content of an artifact is kept in the blob store under the artifact's id, and nowhere else.
-- A row comes before the first byte of its content, and outlives the last one.
CREATE TABLE artifacts (
    id text PRIMARY KEY,
    org_id text,
    tier text NOT NULL GENERATED ALWAYS AS (coalesce(org_id, '')) STORED,
    source_id text NOT NULL REFERENCES artifact_sources (id),
    name text NOT NULL,
    version text NOT NULL,
    platform text NOT NULL,
    description text NOT NULL,
    media_type text NOT NULL,
    digest text,
    size bigint,
    reference text,
    part_size int NOT NULL,
    upload text NOT NULL DEFAULT '', -- what the blob store calls the upload that is going on
    status text NOT NULL,
    status_reason text NOT NULL DEFAULT '',
    trust text NOT NULL,
    trust_reason text NOT NULL DEFAULT '',
    signature text,
    key_id text REFERENCES artifact_keys (id),
    expires_at timestamptz,
    -- Work on what is being ingested: whose turn it is, until when, how often it was tried.
    lease text,
    lease_until timestamptz,
    attempts int NOT NULL DEFAULT 0,
    due_at timestamptz,
    -- Set when something in the blob store is no longer wanted: all of it, or just the parts.
    sweep text CHECK (sweep IN ('all', 'parts')),
    revision int NOT NULL DEFAULT 1,
    created_by text NOT NULL,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    published_at timestamptz
);
-- A version is published once. What failed has no version.
CREATE UNIQUE INDEX artifacts_version ON artifacts (source_id, name, version, platform)
    WHERE status <> 'failed';
CREATE INDEX artifacts_tier ON artifacts (tier, id);
CREATE INDEX artifacts_source ON artifacts (source_id, id);
CREATE INDEX artifacts_key ON artifacts (key_id) WHERE key_id IS NOT NULL;
CREATE INDEX artifacts_due ON artifacts (due_at) WHERE status = 'ingesting';
CREATE INDEX artifacts_expiry ON artifacts (expires_at) WHERE status = 'intended';
CREATE INDEX artifacts_sweep ON artifacts (id) WHERE sweep IS NOT NULL;
CREATE INDEX artifacts_correlation ON artifacts (correlation_id);
-- What is stored or reserved, by source and by tenant, without reading the rows.
CREATE INDEX artifacts_bytes ON artifacts (tier, source_id) INCLUDE (size)
    WHERE status NOT IN ('failed', 'retired');

CREATE TABLE artifact_parts (
    artifact_id text NOT NULL REFERENCES artifacts (id),
    number int NOT NULL,
    size int NOT NULL,
    digest text NOT NULL,
    tag text NOT NULL, -- what the blob store calls it
    received_at timestamptz NOT NULL,
    PRIMARY KEY (artifact_id, number)
);

CREATE TABLE artifact_channels (
    source_id text NOT NULL REFERENCES artifact_sources (id),
    name text NOT NULL,
    platform text NOT NULL,
    channel text NOT NULL,
    artifact_id text NOT NULL REFERENCES artifacts (id),
    PRIMARY KEY (source_id, name, platform, channel)
);
CREATE INDEX artifact_channels_artifact ON artifact_channels (artifact_id);

-- That a machine may fetch an artifact. The token that opens it is signed, not kept.
CREATE TABLE artifact_deliveries (
    id text PRIMARY KEY,
    org_id text NOT NULL,
    project_id text NOT NULL,
    allocation_id text NOT NULL REFERENCES allocations (id),
    artifact_id text NOT NULL REFERENCES artifacts (id),
    purpose text NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    fetches int NOT NULL DEFAULT 0,
    last_fetch_at timestamptz,
    last_fetch_from text,
    finished_at timestamptz,
    created_by text NOT NULL,
    correlation_id text NOT NULL,
    created_at timestamptz NOT NULL,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE INDEX artifact_deliveries_org ON artifact_deliveries (org_id, id);
CREATE INDEX artifact_deliveries_project ON artifact_deliveries (project_id, id);
CREATE INDEX artifact_deliveries_allocation ON artifact_deliveries (allocation_id, id);
CREATE INDEX artifact_deliveries_artifact ON artifact_deliveries (artifact_id);
CREATE INDEX artifact_deliveries_correlation ON artifact_deliveries (correlation_id);
CREATE INDEX artifact_deliveries_expiry ON artifact_deliveries (expires_at);
