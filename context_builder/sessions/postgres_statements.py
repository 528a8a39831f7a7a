"""The steps of the PostgreSQL store, one statement each, so that each is whole.

Ids and records are parameters, and bytes: any text can be an id. `synchronous_commit`
is off for leases only.
"""

from __future__ import annotations

__all__ = [
    "ACQUIRE",
    "APPEND",
    "DELETE",
    "FIND_SCHEMA",
    "LIST",
    "LOAD",
    "RELEASE",
    "RENEW",
    "SCHEMA",
    "VERSION",
]

SCHEMA = """
CREATE TABLE IF NOT EXISTS context_builder_schema (version integer NOT NULL);
CREATE TABLE IF NOT EXISTS context_builder_sessions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace bytea NOT NULL,
    session_id bytea NOT NULL,
    incarnation text NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    owner text,
    token bigint NOT NULL DEFAULT 1,
    lease_until timestamptz NOT NULL,
    UNIQUE (namespace, session_id)
) WITH (fillfactor = 70);
CREATE TABLE IF NOT EXISTS context_builder_records (
    session bigint NOT NULL
        REFERENCES context_builder_sessions (number) ON DELETE CASCADE,
    position bigint NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (session, position)
);
INSERT INTO context_builder_schema
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM context_builder_schema);
"""
FIND_SCHEMA = "SELECT to_regclass('context_builder_records') IS NOT NULL"
VERSION = "SELECT max(version) FROM context_builder_schema"

ACQUIRE = """
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO context_builder_sessions AS s
    (namespace, session_id, incarnation, owner, lease_until)
SELECT %(namespace)s, %(id)s, %(incarnation)s, %(owner)s,
       clock_timestamp() + %(seconds)s * interval '1 second' FROM quick
ON CONFLICT (namespace, session_id) DO UPDATE
SET owner = excluded.owner, token = s.token + 1, lease_until = excluded.lease_until
WHERE s.owner IS NULL OR s.owner = excluded.owner
   OR s.lease_until <= clock_timestamp()
RETURNING token, incarnation, version
"""
RENEW = """
UPDATE context_builder_sessions
SET lease_until = clock_timestamp() + %(seconds)s * interval '1 second'
WHERE namespace = %(namespace)s AND session_id = %(id)s
  AND incarnation = %(incarnation)s AND owner = %(owner)s AND token = %(token)s
RETURNING 1
"""
APPEND = """
WITH head AS (
    UPDATE context_builder_sessions
    SET version = version + %(count)s, updated_at = clock_timestamp(),
        owner = CASE WHEN %(release)s THEN NULL ELSE owner END
    WHERE namespace = %(namespace)s AND session_id = %(id)s
      AND incarnation = %(incarnation)s AND owner = %(owner)s AND token = %(token)s
      AND version = %(expected)s
    RETURNING number
), added AS (
    INSERT INTO context_builder_records
    SELECT head.number, %(expected)s + batch.place - 1, batch.record
    FROM head, unnest(%(records)s::bytea[]) WITH ORDINALITY AS batch (record, place)
)
SELECT EXISTS (SELECT 1 FROM head), EXISTS (
    SELECT 1 FROM context_builder_sessions
    WHERE namespace = %(namespace)s AND session_id = %(id)s
      AND incarnation = %(incarnation)s AND owner = %(owner)s AND token = %(token)s)
"""
RELEASE = """
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
mine AS (
    SELECT number, version FROM context_builder_sessions, quick
    WHERE namespace = %(namespace)s AND session_id = %(id)s
      AND incarnation = %(incarnation)s AND owner = %(owner)s AND token = %(token)s
    FOR UPDATE OF context_builder_sessions
), unused AS (
    DELETE FROM context_builder_sessions s USING mine
    WHERE s.number = mine.number AND mine.version = 0
)
UPDATE context_builder_sessions s SET owner = NULL FROM mine
WHERE s.number = mine.number AND mine.version > 0
"""
LOAD = """
SELECT s.incarnation, s.version,
       ARRAY(SELECT r.position FROM context_builder_records r
             WHERE r.session = s.number AND r.position >= %(since)s
             ORDER BY r.position),
       ARRAY(SELECT r.record FROM context_builder_records r
             WHERE r.session = s.number AND r.position >= %(since)s
             ORDER BY r.position)
FROM context_builder_sessions s
WHERE s.namespace = %(namespace)s AND s.session_id = %(id)s AND s.version > 0
"""
DELETE = """
DELETE FROM context_builder_sessions
WHERE namespace = %(namespace)s AND session_id = %(id)s
  AND incarnation = %(incarnation)s AND owner = %(owner)s AND token = %(token)s
RETURNING 1
"""
LIST = """
SELECT session_id, version, extract(epoch FROM created_at)::float8,
       extract(epoch FROM updated_at)::float8
FROM context_builder_sessions
WHERE namespace = %(namespace)s AND version > 0 AND session_id > %(after)s
ORDER BY session_id LIMIT %(limit)s
"""
