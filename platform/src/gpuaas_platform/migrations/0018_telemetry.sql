-- Log lines and spans that carry a correlation id, for its timeline: a few for each id, for a while.
-- `place` is the project they belong to, or empty for the platform's own: two tenants that chose the
-- same id share neither rows nor room.
CREATE TABLE telemetry (
    correlation_id text NOT NULL,
    place text NOT NULL,
    at timestamptz NOT NULL, -- by the platform's clock: whoever told it may have another
    key text NOT NULL, -- of whoever told it: told again, it is not kept again
    org_id text,
    project_id text,
    kind text NOT NULL CHECK (kind IN ('log', 'span')),
    title text NOT NULL,
    status text NOT NULL, -- a line's level, a span's outcome
    source text NOT NULL,
    span_id text, -- of a span its own, of a line the one it belongs to
    parent_id text,
    seconds double precision,
    fields jsonb NOT NULL,
    CONSTRAINT telemetry_correlation PRIMARY KEY (correlation_id, place, key)
);

-- How much of an id is kept and how much is not any more. What is to be forgotten is found here, so
-- that rows need no other index.
CREATE TABLE telemetry_shares (
    correlation_id text NOT NULL,
    place text NOT NULL,
    org_id text,
    project_id text,
    kept int NOT NULL,
    dropped bigint NOT NULL DEFAULT 0,
    dropped_at timestamptz, -- of the newest that is missing
    first_at timestamptz NOT NULL, -- nothing that is kept is older
    CONSTRAINT telemetry_shares_correlation PRIMARY KEY (correlation_id, place)
);
CREATE INDEX telemetry_shares_first ON telemetry_shares (first_at);

-- A request is a span too: how long it took until its answer was written down. Null in rows of a
-- release before, and from replicas that still run it.
ALTER TABLE requests ADD COLUMN milliseconds real;

CREATE OR REPLACE FUNCTION journal(
    request jsonb, audits jsonb, happened jsonb,
    idem_caller text, idem_key bytea, idem_request bytea, answer_status smallint,
    answer_headers jsonb, answer_body bytea, answer_sealed boolean
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH requested AS (
        INSERT INTO requests (id, at, correlation_id, method, path, status, code, actor_id, org_id,
                              project_id, traceparent, milliseconds)
        VALUES (request ->> 'id', (request ->> 'at')::timestamptz, request ->> 'correlation_id',
                request ->> 'method', request ->> 'path', (request ->> 'status')::smallint,
                request ->> 'code', request ->> 'actor_id', request ->> 'org_id',
                request ->> 'project_id', request ->> 'traceparent',
                (request ->> 'milliseconds')::real)
    ), audited AS (
        INSERT INTO audit_entries
        SELECT * FROM jsonb_populate_recordset(NULL::audit_entries, audits)
    ), queued AS (
        INSERT INTO audit_unchained (entry_id)
        SELECT entry ->> 'id' FROM jsonb_array_elements(audits) WITH ORDINALITY AS a (entry, n)
        ORDER BY n
    ), told AS (
        INSERT INTO outbox (id, type, subject, at, org_id, project_id, app_slug, app_instance_id,
                            correlation_id, traceparent, data)
        SELECT e ->> 'id', e ->> 'type', e ->> 'subject', (e ->> 'at')::timestamptz,
               e ->> 'org_id', e ->> 'project_id', e ->> 'app_slug', e ->> 'app_instance_id',
               e ->> 'correlation_id', e ->> 'traceparent', e -> 'data'
        FROM jsonb_array_elements(happened) WITH ORDINALITY AS h (e, n) ORDER BY n
    )
    INSERT INTO idempotency (caller, key_hash, request_hash, status, headers, answer, sealed, at)
    SELECT idem_caller, idem_key, idem_request, answer_status, answer_headers, answer_body,
           answer_sealed, (request ->> 'at')::timestamptz
    WHERE idem_caller IS NOT NULL;
END $$;
