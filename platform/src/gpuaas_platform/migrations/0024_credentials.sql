-- Where a session or personal token was made from, and what proved the person's identity then.
-- Null for those made before this release.
ALTER TABLE tokens
    ADD COLUMN source text,
    ADD COLUMN method text CHECK (method IN ('password', 'oidc'));
