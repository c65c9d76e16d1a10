-- Signing in through an identity provider stays within one tenant.

-- An address is unique among the accounts of one tenant (or of the platform), so that an address in
-- use elsewhere is neither visible nor blocked.
ALTER TABLE users DROP CONSTRAINT users_email_key_key;
ALTER TABLE users ADD CONSTRAINT users_email_of_tenant UNIQUE NULLS NOT DISTINCT (org_id, email_key);
CREATE INDEX users_email ON users (email_key);
-- Each sign-in with a password counts the accounts of the address that has the most.
CREATE INDEX users_password_email ON users (email_key) WHERE password_hash IS NOT NULL;

-- An OpenID Connect provider of one tenant. The operator's is in the settings and has no row.
-- `client_secret` is sealed by the keyring. `problem` is what the last look at it found wrong.
CREATE TABLE identity_providers (
    id text PRIMARY KEY,
    org_id text NOT NULL REFERENCES tenants (id),
    name text NOT NULL,
    issuer text NOT NULL,
    client_id text NOT NULL,
    client_secret bytea,
    scopes text NOT NULL,
    groups_claim text NOT NULL,
    create_users boolean NOT NULL,
    trust_email boolean NOT NULL,
    active boolean NOT NULL DEFAULT true,
    checked_at timestamptz NOT NULL,
    problem text,
    revision int NOT NULL DEFAULT 1,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX identity_providers_org ON identity_providers (org_id, id);

-- A tenant's claim to a domain of email addresses. Any tenant may ask; one has it, once a DNS record
-- proves it or the operator decides it.
CREATE TABLE tenant_domains (
    id text PRIMARY KEY,
    org_id text NOT NULL REFERENCES tenants (id),
    domain text NOT NULL,
    challenge text NOT NULL,
    verified_at timestamptz,
    verified_by text CHECK (verified_by IN ('dns', 'operator')),
    created_by text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (org_id, domain),
    CHECK ((verified_at IS NULL) = (verified_by IS NULL))
);
CREATE UNIQUE INDEX tenant_domains_verified ON tenant_domains (domain)
    WHERE verified_at IS NOT NULL;

-- A person at a provider may have an account of the platform and of tenants; each is linked once.
-- Without `provider_id` it is the operator's provider. Links made before this stay.
ALTER TABLE user_identities DROP CONSTRAINT user_identities_pkey;
ALTER TABLE user_identities
    ADD COLUMN provider_id text REFERENCES identity_providers (id) ON DELETE CASCADE,
    ADD CONSTRAINT user_identities_once
        UNIQUE NULLS NOT DISTINCT (issuer, subject, provider_id, user_id);

-- A group is one provider's: the same issuer at two tenants is two providers.
ALTER TABLE group_mappings
    DROP CONSTRAINT group_mappings_issuer_group_name_role_name_role_id_org_id_p_key,
    ADD COLUMN provider_id text REFERENCES identity_providers (id),
    ADD CONSTRAINT group_mappings_once UNIQUE NULLS NOT DISTINCT
        (issuer, group_name, role_name, role_id, org_id, project_id, provider_id);

-- A sign-in at a provider that waits for the person: which account, or the password of one that is
-- to be linked. Its secret is in the browser's cookie.
CREATE TABLE pending_sign_ins (
    secret_hash bytea PRIMARY KEY,
    provider_id text REFERENCES identity_providers (id) ON DELETE CASCADE,
    issuer text NOT NULL,
    subject text NOT NULL,
    email text,
    email_verified boolean NOT NULL,
    name text,
    groups text[] NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX pending_sign_ins_expiry ON pending_sign_ins (expires_at);

-- A terminal that is let in by a session of one tenant gets a token of that tenant.
ALTER TABLE device_sign_ins ADD COLUMN org_id text REFERENCES tenants (id);
