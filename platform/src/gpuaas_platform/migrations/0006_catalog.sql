-- Apps, their versions, and who is entitled to them.

CREATE TABLE apps (
    id text PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    display_name text NOT NULL,
    description text NOT NULL,
    publisher text NOT NULL,
    kind_label text NOT NULL,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL
);

-- `sort_key` orders byte-wise as versions do. `prerelease` ones are never the latest by themselves.
CREATE TABLE app_versions (
    id text PRIMARY KEY,
    app_id text NOT NULL REFERENCES apps (id),
    version text NOT NULL,
    sort_key text COLLATE "C" NOT NULL,
    prerelease boolean NOT NULL,
    status text NOT NULL CHECK (status IN ('draft', 'published', 'deprecated', 'withdrawn')),
    manifest jsonb NOT NULL,
    digest text NOT NULL,
    package_version text NOT NULL,
    notes text NOT NULL,
    message text NOT NULL DEFAULT '',
    replacement text,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    published_at timestamptz,
    UNIQUE (app_id, version),
    UNIQUE (app_id, sort_key)
);

-- What was published stays what it was: only the life of a version may change, and none goes away.
CREATE FUNCTION app_version_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR (OLD.id, OLD.app_id, OLD.version, OLD.sort_key, OLD.digest, OLD.notes)
            IS DISTINCT FROM (NEW.id, NEW.app_id, NEW.version, NEW.sort_key, NEW.digest, NEW.notes)
        OR OLD.manifest IS DISTINCT FROM NEW.manifest
        OR OLD.package_version IS DISTINCT FROM NEW.package_version THEN
        RAISE EXCEPTION 'a version of an app never changes'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER app_versions_keep BEFORE UPDATE OR DELETE ON app_versions
    FOR EACH ROW EXECUTE FUNCTION app_version_keep();

-- A project's entitlement narrows its tenant's; without the tenant's it has no effect. One that was
-- taken back stays: the tenant can still read what the instances it has are made of.
CREATE TABLE entitlements (
    id text PRIMARY KEY,
    app_id text NOT NULL REFERENCES apps (id),
    org_id text NOT NULL REFERENCES tenants (id),
    project_id text,
    versions text[],
    settings jsonb NOT NULL,
    revision int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    FOREIGN KEY (project_id, org_id) REFERENCES projects (id, org_id)
);
CREATE UNIQUE INDEX entitlements_one ON entitlements (org_id, project_id, app_id)
    NULLS NOT DISTINCT WHERE revoked_at IS NULL;
CREATE INDEX entitlements_app ON entitlements (app_id);
