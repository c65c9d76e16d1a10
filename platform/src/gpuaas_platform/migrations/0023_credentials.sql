-- Where a session or personal token was made from, and what proved the person's identity then.
-- Null for those made before this release.
ALTER TABLE tokens
    ADD COLUMN source text,
    ADD COLUMN method text CHECK (method IN ('password', 'oidc'));

-- Failed sign-ins to an account by the address they came from, for the person to see. Swept when an
-- address has been quiet for a month.
CREATE TABLE sign_in_failures (
    id text NOT NULL UNIQUE,
    user_id text NOT NULL REFERENCES users (id),
    source text NOT NULL,
    attempts int NOT NULL,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, source)
);
CREATE INDEX sign_in_failures_page ON sign_in_failures (user_id, id);
CREATE INDEX sign_in_failures_last ON sign_in_failures (last_at);

-- What a person proves with beside their password. A TOTP secret is sealed by the keyring, because
-- codes are computed from it; `last_step` is that of the last code, so that no code works twice. Of
-- a passkey the public half is kept, and until it is confirmed the challenge it answers.
CREATE TABLE second_factors (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id),
    kind text NOT NULL CHECK (kind IN ('totp', 'passkey')),
    name text NOT NULL,
    secret bytea,
    last_step bigint,
    challenge bytea,
    credential_id bytea UNIQUE,
    public_key bytea,
    sign_count bigint,
    created_at timestamptz NOT NULL,
    confirmed_at timestamptz,
    last_used_at timestamptz,
    CHECK ((kind = 'totp') = (secret IS NOT NULL)),
    CHECK ((credential_id IS NULL) = (public_key IS NULL)),
    CHECK (kind = 'totp' OR confirmed_at IS NULL OR credential_id IS NOT NULL)
);
CREATE INDEX second_factors_user ON second_factors (user_id, id);

-- Codes for when the second factor is lost; each works once.
CREATE TABLE recovery_codes (
    user_id text NOT NULL REFERENCES users (id),
    hash bytea NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (user_id, hash)
);

-- Whether people of a tenant who sign in with a password need a second factor.
ALTER TABLE tenants ADD COLUMN second_factor_required boolean NOT NULL DEFAULT false;

-- What a passkey signs at a sign-in; each is used once and lives for minutes.
CREATE TABLE passkey_challenges (
    challenge bytea PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id),
    expires_at timestamptz NOT NULL
);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
