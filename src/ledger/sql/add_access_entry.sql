-- add_access_entry: adds an entry to the access list; the same kind, subject and value again gets the new end and reason.
-- In      id, kind, subject, value, until (ms) or null, reason or null, by, most entries that there may be
-- Out     the entry; no row if there are too many
-- Keeps   entries that have ended are deleted on the way; the revision is raised in the same statement
WITH ended AS (
  DELETE FROM access_list WHERE until < clock_timestamp() AND (kind, subject, value) <> ($2, $3, $4) RETURNING id),
made AS (
  INSERT INTO access_list (id, kind, subject, value, until, reason, by)
  SELECT $1, $2, $3, $4, to_timestamp($5::bigint / 1000.0), $6, $7
  WHERE (SELECT count(*) FROM access_list WHERE until IS NULL OR until >= clock_timestamp()) < $8::int
  ON CONFLICT (kind, subject, value) DO UPDATE SET until = excluded.until, reason = excluded.reason, by = excluded.by, at = clock_timestamp()
  RETURNING *),
raised AS (UPDATE access_revision SET no = no + 1 WHERE EXISTS (SELECT 1 FROM made) OR EXISTS (SELECT 1 FROM ended)),
logged AS (
  INSERT INTO audit_log (by, action, details)
  SELECT by, 'list.add', jsonb_build_object('entry', id::text, 'kind', kind, 'subject', subject, 'value', value, 'reason', reason) FROM made)
SELECT * FROM made
