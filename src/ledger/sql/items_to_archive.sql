-- items_to_archive: items of sales that are over and settled for long, whose orders are not all in the archive, in the order of their ids.
-- In      item id (those behind it), how long the final report has been there at least (ms), whether a gate outside the process may have them, limit
-- Out     id
-- Keeps   a plain read. Nothing is listed while a process of an older version has a lease, or had one a minute ago, nor before the migration that
--         brought the archive is as old: such a process does not find what is archived
SELECT i.id FROM items i
WHERE i.id > $1::bigint AND i.archive IS DISTINCT FROM 'done' AND (i.archive IS NOT NULL OR i.door IN ('shut', 'ledger'))
  AND (NOT $3::boolean OR i.epoch = 0 OR i.home_door = 'ledger' OR i.forgotten_epoch = i.epoch)
  -- OFFSET 0: item by item, in the order of the index, until the page is full. As a join, every page was planned over all items.
  AND EXISTS (
    SELECT 1 FROM sales s JOIN reconciliations r ON r.sale = s.id AND r.final
    WHERE s.id = i.sale AND s.state <> 'draft' AND (s.state = 'over' OR s.closes_at <= statement_timestamp())
      AND r.at <= statement_timestamp() - $2::bigint * interval '1 millisecond'
    OFFSET 0)
  AND (SELECT m.at FROM migrations m WHERE m.name ~ '^[0-9]+_archive[.]sql$') <= statement_timestamp() - $2::bigint * interval '1 millisecond'
  AND NOT EXISTS (
    SELECT 1 FROM nodes n
    WHERE n.holder <> '' AND n.archive_holder <> n.holder AND n.lease_until > statement_timestamp() - interval '1 minute')
ORDER BY i.id
LIMIT $4
