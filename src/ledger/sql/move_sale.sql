-- move_sale: moves a sale's stored state by compare-and-set, and writes it to the log.
-- In      sale, the states it may come from, the state it goes to, by, action
-- Out     one row if it moved, none if not
-- Keeps   a sale in another state is not touched, nor logged; the new state gets a new word_no, so that the gate takes it over
WITH moved AS (UPDATE sales SET state = $3, word_no = word_no + 1 WHERE id = $1 AND state = ANY ($2::text[]) RETURNING id),
logged AS (INSERT INTO audit_log (by, action, sale) SELECT $4, $5, id FROM moved)
SELECT id FROM moved
