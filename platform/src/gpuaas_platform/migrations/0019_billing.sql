-- Usage: stretches of time in which an allocation was active or an app ran, each at one price. They
-- follow from the numbered events, which one replica at a time reads on by number: the records, the
-- prices and the number read up to are one commit, so an event counts exactly once.
CREATE TABLE usage_watermark (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    seq bigint NOT NULL,
    at timestamptz NOT NULL, -- everything that had been told by then is counted
    gap_since timestamptz -- events behind this moment were swept unread: look at the states instead
);

-- What a kind of machine costs since when; the newest by number is in force.
CREATE TABLE usage_prices (
    sku text NOT NULL,
    event_seq bigint NOT NULL, -- the event that told it; 0 for what was there before
    since timestamptz NOT NULL,
    price_per_hour numeric(12, 4) NOT NULL,
    currency text NOT NULL,
    gpus int NOT NULL,
    correlation_id text NOT NULL,
    PRIMARY KEY (sku, event_seq)
);

-- Times are whole seconds. `project_id` is null where the tenant itself is the owner. Like the audit,
-- records refer to nothing: they outlive what they tell of, and one that is odd stops no other.
CREATE TABLE usage_records (
    id text PRIMARY KEY,
    source text NOT NULL CHECK (source IN ('allocation', 'app_runtime', 'job')),
    unit text NOT NULL CHECK (unit IN ('gpu_hour', 'node_hour', 'runtime_hour', 'job_hour')),
    subject_id text NOT NULL,
    subject_name text NOT NULL,
    org_id text NOT NULL,
    project_id text,
    sku text,
    count int NOT NULL CHECK (count > 0),
    price_per_hour numeric(12, 4),
    currency text,
    pricing text NOT NULL CHECK (pricing IN ('charged', 'included', 'unknown')),
    basis text NOT NULL CHECK (basis IN ('observed', 'reconstructed')),
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    began_correlation_id text NOT NULL,
    ended_correlation_id text,
    CHECK ((pricing = 'charged') = (price_per_hour IS NOT NULL AND currency IS NOT NULL)),
    CHECK (ended_at > started_at),
    CHECK (date_trunc('second', started_at, 'UTC') = started_at),
    CHECK (date_trunc('second', ended_at, 'UTC') = ended_at),
    CHECK ((ended_at IS NULL) = (ended_correlation_id IS NULL))
);
-- What holds whatever the code does: nothing begins twice, nothing goes on twice.
CREATE UNIQUE INDEX usage_records_once ON usage_records (subject_id, unit, started_at);
CREATE UNIQUE INDEX usage_records_open ON usage_records (subject_id, unit) WHERE ended_at IS NULL;
CREATE INDEX usage_records_open_sku ON usage_records (sku) WHERE ended_at IS NULL;
-- Lists: what goes on first, then what ended last. A period that is over is found by its end.
CREATE INDEX usage_records_project
    ON usage_records (project_id, (COALESCE(ended_at, 'infinity')), id);
CREATE INDEX usage_records_org ON usage_records (org_id, (COALESCE(ended_at, 'infinity')), id);

-- What was there before this table. Prices: the one of today is known since the SKU was last changed;
-- which one held before was not recorded.
INSERT INTO usage_prices
SELECT s.name, 0,
       CASE WHEN s.revision = 1 THEN s.created_at ELSE COALESCE(changed.at, now()) END,
       s.price_per_hour, s.currency, s.gpus, COALESCE(changed.correlation_id, '')
FROM skus s LEFT JOIN LATERAL (
    SELECT a.at, a.correlation_id FROM audit_entries a
    WHERE a.target_id = s.id AND a.action = 'capacity.sku.update' AND a.outcome = 'allowed'
    ORDER BY a.id DESC LIMIT 1
) AS changed ON true;

-- Changes of state, as far as they were kept: events for a while, the audit for ever, operations and
-- members as long as their instance. `exact`: the moment itself was recorded.
CREATE TEMPORARY TABLE usage_changes ON COMMIT DROP AS
WITH kept AS (
    SELECT COALESCE(min(at), 'infinity') AS since FROM events
), effects (purpose, after) AS (
    VALUES ('deploy', true), ('start', true), ('restart', true), ('upgrade', true),
           ('rollback', true), ('stop', false), ('delete', false)
)
SELECT subject AS subject_id, at, split_part(type, '.', 3) = 'active' AS counted,
       correlation_id, true AS exact, seq AS rank
FROM events WHERE type LIKE 'capacity.allocation.%'
UNION ALL -- a host that was there already is active as soon as it is held
SELECT e.target_id, e.at, e.action <> 'capacity.allocation.release', e.correlation_id, true, 0
FROM audit_entries e
JOIN allocations a ON a.id = e.target_id
JOIN regions r ON r.name = a.region
WHERE e.target_kind = 'allocation' AND e.outcome = 'allowed'
  AND (e.action IN ('capacity.order.made', 'capacity.allocation.release')
       OR (e.action = 'capacity.allocation.create' AND r.provider = 'enrolled'))
UNION ALL
SELECT allocation_id, updated_at, false, correlation_id, false, 0
FROM app_members WHERE status = 'cleanup_blocked'
UNION ALL
SELECT subject, at, data ->> 'status' IN ('running', 'degraded'), correlation_id, true, seq
FROM events WHERE type LIKE 'apps.instance.%' AND data ? 'status'
UNION ALL -- older than the events: an operation has its target between two states while it works
SELECT o.instance_id, o.started_at, false, o.correlation_id, false, 0
FROM operations o JOIN effects USING (purpose), kept
WHERE o.started_at < kept.since
UNION ALL
SELECT o.instance_id, o.ended_at,
       CASE WHEN o.status = 'succeeded' THEN effects.after
            ELSE o.purpose NOT IN ('deploy', 'delete')
                 AND COALESCE((o.error ->> 'instance_usable')::boolean, false) END,
       o.correlation_id, false, 0
FROM operations o JOIN effects USING (purpose), kept
WHERE o.ended_at < kept.since;

-- Stretches: a change that counts, up to the next that does not. What goes on although nothing of it
-- was kept is counted from now; what has ended nobody knows when is not counted.
CREATE TEMPORARY TABLE usage_stretches ON COMMIT DROP AS
WITH cut AS (
    SELECT subject_id, at AS told_at, date_trunc('second', at, 'UTC') AS at, counted,
           correlation_id, exact, rank, lag(counted, 1, false) OVER told AS before
    FROM usage_changes WINDOW told AS (PARTITION BY subject_id ORDER BY at, rank)
), turns AS (
    SELECT *, lead(at) OVER turned AS ended_at, lead(correlation_id) OVER turned AS ended_by,
           lead(exact) OVER turned AS end_exact
    FROM cut WHERE counted <> before
    WINDOW turned AS (PARTITION BY subject_id ORDER BY told_at, rank)
), live AS (
    SELECT id, status = 'active' AS counted, correlation_id FROM allocations
    UNION ALL
    SELECT id, status IN ('running', 'degraded'), correlation_id FROM app_instances
)
SELECT t.subject_id, t.at AS started_at, t.ended_at, t.correlation_id AS began_by, t.ended_by,
       t.exact AND COALESCE(t.end_exact, true) AS exact
FROM turns t JOIN live ON live.id = t.subject_id
WHERE t.counted AND (t.ended_at > t.at OR (t.ended_at IS NULL AND live.counted))
UNION ALL
SELECT live.id, date_trunc('second', now(), 'UTC'), NULL, live.correlation_id, NULL, false
FROM live
WHERE live.counted
  AND NOT EXISTS (SELECT FROM turns t WHERE t.subject_id = live.id AND t.counted
                  AND t.ended_at IS NULL);

-- A machine's hours at the price of today where that is known, without one before.
WITH priced AS (
    SELECT a.*, p.price_per_hour, p.currency, p.gpus, s.started_at, s.ended_at, s.began_by,
           s.ended_by, s.exact, date_trunc('second', p.since, 'UTC') AS known,
           p.correlation_id AS known_by
    FROM usage_stretches s JOIN allocations a ON a.id = s.subject_id
    JOIN usage_prices p ON p.sku = a.sku
), parts AS (
    SELECT id, name, org_id, project_id, sku, exact, 'node_hour' AS unit, 1 AS count,
           price_per_hour, currency, 'charged' AS pricing, GREATEST(started_at, known) AS began,
           ended_at AS ended,
           CASE WHEN started_at < known THEN known_by ELSE began_by END AS began_by, ended_by
    FROM priced WHERE ended_at IS NULL OR ended_at > known
    UNION ALL
    SELECT id, name, org_id, project_id, sku, exact, 'node_hour', 1, NULL, NULL, 'unknown',
           started_at, LEAST(ended_at, known), began_by,
           CASE WHEN ended_at <= known THEN ended_by ELSE known_by END
    FROM priced WHERE started_at < known
    UNION ALL
    SELECT id, name, org_id, project_id, sku, exact, 'gpu_hour', gpus, NULL, NULL, 'included',
           started_at, ended_at, began_by, ended_by
    FROM priced WHERE gpus > 0
    UNION ALL
    SELECT i.id, i.resource_name, i.org_id, i.project_id, NULL, s.exact, 'runtime_hour', 1, NULL,
           NULL, 'included', s.started_at, s.ended_at, s.began_by, s.ended_by
    FROM usage_stretches s JOIN app_instances i ON i.id = s.subject_id
), numbered AS (
    SELECT *, row_number() OVER (ORDER BY began, id, unit) AS n FROM parts
)
INSERT INTO usage_records (id, source, unit, subject_id, subject_name, org_id, project_id, sku, count,
                           price_per_hour, currency, pricing, basis, started_at, ended_at,
                           began_correlation_id, ended_correlation_id)
SELECT 'use_' || lpad(n::text, 26, '0'), -- before every id that is made from the time
       CASE unit WHEN 'runtime_hour' THEN 'app_runtime' ELSE 'allocation' END, unit, id, name,
       org_id, project_id, sku, count, price_per_hour, currency, pricing,
       CASE WHEN exact THEN 'observed' ELSE 'reconstructed' END, began, ended, began_by, ended_by
FROM numbered;

INSERT INTO usage_watermark (seq, at) SELECT seq, now() FROM event_head;
