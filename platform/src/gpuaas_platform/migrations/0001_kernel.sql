-- What every mutation leaves behind: the stored answer, the audit row, the event, the request.

-- The answer given to a mutation, kept so that a repeat gets it again. Written in the mutation's
-- own transaction. `answer` of a secret-bearing reply is sealed with the caller's key.
CREATE TABLE idempotency (
    caller text NOT NULL,
    key_hash bytea NOT NULL,
    request_hash bytea NOT NULL,
    status smallint,
    headers jsonb,
    answer bytea,
    sealed boolean NOT NULL DEFAULT false,
    at timestamptz NOT NULL,
    PRIMARY KEY (caller, key_hash)
);
CREATE INDEX idempotency_at ON idempotency (at);

-- Who did what to what. Append-only: the platform's role may insert and read, nothing else, and a
-- trigger refuses everybody else too. The chain over it is written by one process at a time.
CREATE TABLE audit_entries (
    id text PRIMARY KEY,
    at timestamptz NOT NULL,
    action text NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('allowed', 'denied', 'failed')),
    actor_kind text NOT NULL,
    actor_id text NOT NULL,
    org_id text,
    project_id text,
    target_kind text NOT NULL,
    target_id text NOT NULL,
    correlation_id text NOT NULL,
    source text NOT NULL,
    reason text NOT NULL DEFAULT '',
    before_digest text,
    after_digest text,
    detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_entries_org ON audit_entries (org_id, id);
CREATE INDEX audit_entries_project ON audit_entries (project_id, id);
CREATE INDEX audit_entries_correlation ON audit_entries (correlation_id, id);
CREATE INDEX audit_entries_target ON audit_entries (target_id, id);
CREATE INDEX audit_entries_actor ON audit_entries (actor_id, id);
CREATE INDEX audit_entries_action ON audit_entries (action, id);

CREATE TABLE audit_chain (
    seq bigint PRIMARY KEY,
    entry_id text NOT NULL UNIQUE REFERENCES audit_entries (id),
    hash bytea NOT NULL
);

-- Entries that wait for their place in the chain; the queue is not part of the record.
CREATE TABLE audit_unchained (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entry_id text NOT NULL
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_chain_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_chain
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
REVOKE UPDATE, DELETE, TRUNCATE ON audit_entries, audit_chain FROM gpuaas_app;

-- Events: committed to the outbox with the change they tell of, then numbered by the one relay.
CREATE TABLE outbox (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    type text NOT NULL,
    subject text NOT NULL,
    at timestamptz NOT NULL,
    org_id text,
    project_id text,
    app_slug text,
    app_instance_id text,
    correlation_id text NOT NULL,
    traceparent text,
    data jsonb NOT NULL
);

-- The number of the last event. One row: it outlives the events, which are swept after a while,
-- and locking it keeps any two relays apart even where an election failed.
CREATE TABLE event_head (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    seq bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO event_head (seq) VALUES (0);

CREATE TABLE events (
    seq bigint PRIMARY KEY,
    id text NOT NULL UNIQUE,
    type text NOT NULL,
    subject text NOT NULL,
    at timestamptz NOT NULL,
    org_id text,
    project_id text,
    app_slug text,
    app_instance_id text,
    correlation_id text NOT NULL,
    traceparent text,
    data jsonb NOT NULL
);
CREATE INDEX events_org ON events (org_id, seq);
CREATE INDEX events_project ON events (project_id, seq);
CREATE INDEX events_instance ON events (app_instance_id, seq);
CREATE INDEX events_type ON events (type, seq);
CREATE INDEX events_correlation ON events (correlation_id, seq);

-- Move up to `batch` events from the outbox to their numbered place, all or none; returns them.
-- Events of transactions that follow one another keep their order: the later one's are given their
-- position after the earlier one was committed. Called by the one relay, as one statement.
CREATE FUNCTION relay(batch int) RETURNS SETOF events LANGUAGE sql AS $$
    WITH moved AS (
        DELETE FROM outbox
        WHERE position IN (SELECT position FROM outbox ORDER BY position LIMIT batch)
        RETURNING *
    ), counted AS (
        SELECT count(*) AS number FROM moved
    ), head AS (
        UPDATE event_head SET seq = seq + counted.number FROM counted WHERE counted.number > 0
        RETURNING seq - counted.number AS before
    ), numbered AS (
        INSERT INTO events (seq, id, type, subject, at, org_id, project_id, app_slug,
                            app_instance_id, correlation_id, traceparent, data)
        SELECT head.before + row_number() OVER (ORDER BY position), id, type, subject, at, org_id,
               project_id, app_slug, app_instance_id, correlation_id, traceparent, data
        FROM moved, head
        RETURNING *
    )
    SELECT * FROM numbered ORDER BY seq;
$$;

-- Requests that changed something or tried to: the start of every incident timeline.
CREATE TABLE requests (
    id text PRIMARY KEY,
    at timestamptz NOT NULL,
    correlation_id text NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    status smallint NOT NULL,
    code text,
    actor_id text NOT NULL,
    org_id text,
    project_id text,
    traceparent text
);
CREATE INDEX requests_correlation ON requests (correlation_id);
CREATE INDEX requests_at ON requests (at);

-- The end of every mutation in one round trip: its request, audit rows, events and stored answer.
-- One statement inside too: five by themselves cost half as much again.
-- No NOTIFY in here: it would make every commit wait for every other (see kernel/signals.py).
CREATE FUNCTION journal(
    request jsonb, audits jsonb, happened jsonb,
    idem_caller text, idem_key bytea, answer_status smallint, answer_headers jsonb,
    answer_body bytea, answer_sealed boolean
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH requested AS (
        INSERT INTO requests (id, at, correlation_id, method, path, status, code, actor_id, org_id,
                              project_id, traceparent)
        VALUES (request ->> 'id', (request ->> 'at')::timestamptz, request ->> 'correlation_id',
                request ->> 'method', request ->> 'path', (request ->> 'status')::smallint,
                request ->> 'code', request ->> 'actor_id', request ->> 'org_id',
                request ->> 'project_id', request ->> 'traceparent')
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
    UPDATE idempotency SET status = answer_status, headers = answer_headers, answer = answer_body,
                           sealed = answer_sealed
        WHERE caller = idem_caller AND key_hash = idem_key;
END $$;
