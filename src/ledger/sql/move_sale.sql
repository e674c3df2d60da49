-- move_sale: a sale's stored state, by compare-and-set, and its line in the log.
-- In      sale, the states it may come from, the state it goes to, by, action
-- Out     one row if it moved, none if not
-- Keeps   a move that no longer fits does nothing; the log has what was done, and only that; a new word for the gate has a new number
WITH moved AS (UPDATE sales SET state = $3, word_no = word_no + 1 WHERE id = $1 AND state = ANY ($2::text[]) RETURNING id),
logged AS (INSERT INTO audit_log (by, action, sale) SELECT $4, $5, id FROM moved)
SELECT id FROM moved
