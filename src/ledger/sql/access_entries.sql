-- access_entries: the whole list, if it has changed.
-- In      the revision that is known; 0 for none
-- Out     no row if it is still that one; else a row per entry, newest first, with the revision; a row of the revision alone if the list is empty
-- Keeps   one snapshot: the entries are those of the revision
SELECT r.no, l.id, l.kind, l.subject, l.value, l.until, l.reason, l.by, l.at
FROM access_revision r LEFT JOIN access_list l ON l.until IS NULL OR l.until >= statement_timestamp()
WHERE r.no <> $1::bigint
ORDER BY l.id DESC
