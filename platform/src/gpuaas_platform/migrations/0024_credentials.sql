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
