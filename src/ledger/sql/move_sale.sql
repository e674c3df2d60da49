-- move_sale: a sale's stored state, by compare-and-set.
-- In      sale, the states it may come from, the state it goes to
-- Out     one row if it moved, none if not
-- Keeps   a move that no longer fits does nothing
UPDATE sales SET state = $3 WHERE id = $1 AND state = ANY ($2::text[]) RETURNING id
