-- delete_sale_of_archive: deletes a sale whose orders are all in the archive, and writes it to the log with its results. Its archived rows are
--                         hidden from now on, and deleted by delete_archived.
-- In      sale, how old its final report is at least (ms), by
-- Out     one row if it was deleted
-- Keeps   decided under lock_sale and lock_items: whole sales, so that what is left adds up; only what is settled and archived
WITH old AS (
  SELECT s.id, s.name, s.closes_at, r.summary
  FROM sales s JOIN reconciliations r ON r.sale = s.id AND r.final
  WHERE s.id = $1 AND r.at <= clock_timestamp() - $2::bigint * interval '1 millisecond'
    AND NOT EXISTS (
      SELECT 1 FROM items i
      WHERE i.sale = s.id AND (i.archive IS DISTINCT FROM 'done' OR EXISTS (SELECT 1 FROM orders o WHERE o.item = i.id)))
),
listed AS (INSERT INTO deleted_items (item) SELECT i.id FROM items i JOIN old ON old.id = i.sale),
letters AS (DELETE FROM dead_letters d USING items i, old WHERE i.sale = old.id AND d.item = i.id),
moves AS (DELETE FROM shard_moves m USING items i, old WHERE i.sale = old.id AND m.item = i.id),
joins AS (DELETE FROM line_joins j USING old WHERE j.sale = old.id),
confirmed AS (DELETE FROM node_items n USING items i, old WHERE i.sale = old.id AND n.item = i.id),
logged AS (
  INSERT INTO audit_log (by, action, sale, details)
  SELECT $3, 'sale.retention', id, jsonb_build_object('name', name, 'closedAt', closes_at, 'summary', summary) FROM old)
DELETE FROM sales USING old WHERE sales.id = old.id
RETURNING sales.id
