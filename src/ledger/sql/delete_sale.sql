-- delete_sale: deletes a draft with its items, and writes it to the log.
-- In      sale, by
-- Out     one row if it was deleted, none if it is not a draft or does not exist
-- Keeps   a sale that was published is never deleted
WITH gone AS (DELETE FROM sales WHERE id = $1 AND state = 'draft' RETURNING id, name),
logged AS (
  INSERT INTO audit_log (by, action, sale, details)
  SELECT $2, 'sale.delete', id, jsonb_build_object('name', name) FROM gone)
SELECT id FROM gone
