-- mend_changed: rows that were copied from another server name its transactions. They get this server's.
-- Out     nothing
-- Keeps   E2: the triggers write the transaction of this very statement: every reader takes the rows for changed, once
WITH copied_items AS (
  UPDATE items SET changed_in = changed_in WHERE id IN (
    SELECT id FROM items WHERE changed_in >= pg_snapshot_xmax(pg_current_snapshot()) AND changed_in <= '18446744073709551615'
    FOR NO KEY UPDATE SKIP LOCKED))
UPDATE sales SET changed_in = changed_in WHERE id IN (
  SELECT id FROM sales WHERE changed_in >= pg_snapshot_xmax(pg_current_snapshot()) AND changed_in <= '18446744073709551615'
  FOR NO KEY UPDATE SKIP LOCKED)
