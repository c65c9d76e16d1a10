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
