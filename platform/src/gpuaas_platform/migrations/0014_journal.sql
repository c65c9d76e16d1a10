-- The key of a mutation is taken with its answer, at the end: one write for what were two, and no
-- round trip before the change. The function of this name with fewer arguments is for replicas of
-- the release before, which take the key first.
CREATE FUNCTION journal(
    request jsonb, audits jsonb, happened jsonb,
    idem_caller text, idem_key bytea, idem_request bytea, answer_status smallint,
    answer_headers jsonb, answer_body bytea, answer_sealed boolean
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
    INSERT INTO idempotency (caller, key_hash, request_hash, status, headers, answer, sealed, at)
    SELECT idem_caller, idem_key, idem_request, answer_status, answer_headers, answer_body,
           answer_sealed, (request ->> 'at')::timestamptz
    WHERE idem_caller IS NOT NULL;
END $$;

-- The stored answer of a key, once whoever has just taken it has committed or gone; no row when it
-- is free. Taking it is what waits, so it is taken for a moment.
CREATE FUNCTION answered_before(by_caller text, by_key bytea) RETURNS SETOF idempotency
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO idempotency (caller, key_hash, request_hash, at)
        VALUES (by_caller, by_key, '', now()) ON CONFLICT (caller, key_hash) DO NOTHING;
    IF FOUND THEN
        DELETE FROM idempotency WHERE caller = by_caller AND key_hash = by_key;
    ELSE
        RETURN QUERY SELECT * FROM idempotency WHERE caller = by_caller AND key_hash = by_key;
    END IF;
END $$;

-- Indexes that every mutation paid for and nothing needs: ids follow time, so the oldest requests
-- are found by theirs, and an event's id is unique where it ends up.
DROP INDEX requests_at;
ALTER TABLE outbox DROP CONSTRAINT outbox_id_key;
