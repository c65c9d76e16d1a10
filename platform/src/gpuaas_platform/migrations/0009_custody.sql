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
