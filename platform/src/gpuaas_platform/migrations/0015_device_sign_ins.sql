-- A terminal's sign-in: waits for a few minutes until a person who is signed in at the console lets
-- it in or not. Its secret is the terminal's, its code goes from the terminal to the person.
--   pending -> approved -> redeemed;  pending -> denied;  any of them ends with its time
CREATE TABLE device_sign_ins (
    id text PRIMARY KEY,
    secret_hash bytea NOT NULL UNIQUE,
    user_code text NOT NULL UNIQUE,
    name text NOT NULL,
    source text NOT NULL,
    token_seconds int NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    status text NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'approved', 'denied', 'redeemed')),
    user_id text REFERENCES users (id),
    CHECK ((status = 'pending') = (user_id IS NULL))
);
CREATE INDEX device_sign_ins_expiry ON device_sign_ins (expires_at);
