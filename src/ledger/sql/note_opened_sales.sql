-- note_opened_sales: writes sale.opened for the sales whose window has begun.
-- In      limit
-- Out     sale
-- Keeps   once for each sale: the mark is set in the same transaction. A sale that is paused is opened when it goes on, one that has ended never.
--         Bounded by the sales that are ready and not opened
WITH due AS (
  SELECT id FROM sales WHERE NOT opened AND NOT reported AND state = 'ready' AND opens_at <= statement_timestamp()
  ORDER BY opens_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
),
opened AS (UPDATE sales s SET opened = true FROM due WHERE s.id = due.id AND NOT s.opened RETURNING s.id)
INSERT INTO events (type, sale) SELECT 'sale.opened', id FROM opened RETURNING sale
