-- People on machines: the Unix name and number an app gives somebody there. Made once, with the
-- user, and never given to anybody else, so that a file's owner means one person for ever; a new
-- email address changes neither.
CREATE TABLE posix_accounts (
    user_id text PRIMARY KEY REFERENCES users (id),
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z_][a-z0-9_-]{0,31}$'),
    uid int NOT NULL UNIQUE CHECK (uid > 200000)
);

-- Whoever was there before has a name nobody else can be given.
INSERT INTO posix_accounts (user_id, name, uid)
    SELECT id, 'u' || (200000 + number), 200000 + number FROM users;

-- Whom a certificate lets in: the operator, as root, or a person, as themselves.
ALTER TABLE access_grants
    ADD COLUMN login text NOT NULL DEFAULT 'operator' CHECK (login IN ('operator', 'person')),
    ADD COLUMN username text NOT NULL DEFAULT 'root';
