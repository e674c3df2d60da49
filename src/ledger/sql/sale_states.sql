-- sale_states: what the gate must know of some sales.
-- In      array of sales
-- Out     id, state, word_no, opens_at, closes_at of each that there is
-- Keeps   a plain read of the primary; one row for each, however many items the sale has
SELECT id, state, word_no, opens_at, closes_at FROM sales WHERE id = ANY ($1::bigint[])
