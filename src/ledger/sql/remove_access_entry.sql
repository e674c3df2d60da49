-- remove_access_entry: takes an entry off the list.
-- In      id, by
-- Out     one row if it was there
-- Keeps   the revision is raised in the same statement; again changes nothing
WITH gone AS (DELETE FROM access_list WHERE id = $1 RETURNING *),
raised AS (UPDATE access_revision SET no = no + 1 WHERE EXISTS (SELECT 1 FROM gone)),
logged AS (
  INSERT INTO audit_log (by, action, details)
  SELECT $2, 'list.remove', jsonb_build_object('entry', id::text, 'kind', kind, 'subject', subject, 'value', value) FROM gone)
SELECT id FROM gone
