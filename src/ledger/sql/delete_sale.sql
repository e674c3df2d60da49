-- delete_sale: a draft is gone, with its items, and a line in the log says so.
-- In      sale, by
-- Out     one row if it was deleted, none if it is no draft or not there
-- Keeps   what was once published stays for ever
WITH gone AS (DELETE FROM sales WHERE id = $1 AND state = 'draft' RETURNING id, name),
logged AS (
  INSERT INTO audit_log (by, action, sale, details)
  SELECT $2, 'sale.delete', id, jsonb_build_object('name', name) FROM gone)
SELECT id FROM gone
